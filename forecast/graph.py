"""A graph of series: from pairs of ids, which series reads which, to pairs of places in a panel."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from forecast.frame import Panel

_NAMED = 5  # unknown ids that a message names


def edges_of(graph: pd.DataFrame | Sequence[tuple[Any, Any]], panel: Panel) -> tuple[tuple[int, int], ...]:
    """Give the edges (reader, read) of a graph as places in a panel, each once, in the order in which they came.

    Parameters
    ----------
    graph: a frame with two columns, whatever their names, or a list of pairs: the id of the series that reads, then
        that of the one that is read. Nothing is added to it: where two read each other, it holds two pairs.
    panel: the series.

    Raises
    ------
    TypeError: neither a frame nor a list of pairs.
    ValueError: a frame with more or fewer columns than two; ids that the panel does not have.

    """
    pairs = _pairs(graph)
    places = {panel.id_of(series): series for series in range(len(panel))}
    unknown = list(dict.fromkeys(name for pair in pairs for name in pair if name not in places))
    if unknown:
        more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
        raise ValueError(
            f"`graph` names series that are not there: {', '.join(map(repr, unknown[:_NAMED]))}{more}; the first that "
            f"there are: {', '.join(map(repr, list(places)[:_NAMED]))}: leave their pairs out, or give the series"
        )
    return tuple(dict.fromkeys((places[reader], places[read]) for reader, read in pairs))


def _pairs(graph: Any) -> list[tuple[Any, Any]]:
    if isinstance(graph, pd.DataFrame):
        if graph.shape[1] != 2:
            raise ValueError(
                f"`graph` has the columns {list(graph.columns)}; allowed: two, the series that reads and the one read"
            )
        return list(zip(graph.iloc[:, 0].tolist(), graph.iloc[:, 1].tolist(), strict=True))
    if not isinstance(graph, Sequence) or isinstance(graph, str):
        raise TypeError(f"`graph` is {graph!r}; allowed: a frame with two columns of ids, a list of pairs, or None")
    for pair in graph:
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise TypeError(f"`graph` holds {pair!r}; allowed: pairs of ids, the series that reads and the one read")
    return [(reader, read) for reader, read in graph]
