"""Runs over some of the points each, put together: every run then has the same points, or an error says which not.

R runs; S, F, M, H as in `points`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from forecast.evaluation.ledger.check import kind_of, place, spelled
from forecast.evaluation.ledger.points import Points, Run


@dataclass(frozen=True)
class _Axes:
    """What all pieces count by: series, cutoffs, steps."""

    ids: pd.Index
    cutoffs: pd.Index
    steps: np.ndarray

    def keys(self, points: Points) -> np.ndarray:
        """Give a number for each cell, (M,), which rises by series, then cutoff."""
        series = self.ids.get_indexer(points.ids)[points.series]
        return series * len(self.cutoffs) + self.cutoffs.get_indexer(points.cutoffs)[points.cutoff]


def join(pieces: Sequence[Run]) -> tuple[Run, ...]:
    """Give one run for each (forecaster, seed) of the pieces, in order of appearance, all over the same points.

    Raises ValueError, naming the first that differs, for runs that lack a forecast which another has or hold one twice,
    that disagree in what came true or in its scale, or that have other quantile levels or kinds of time.
    """
    together: dict[tuple[str, int], list[Run]] = {}
    for piece in pieces:
        together.setdefault((piece.forecaster, piece.seed), []).append(piece)
    _check_levels(pieces)
    if len(together) == len(pieces) and all(piece.points is pieces[0].points for piece in pieces):
        return tuple(pieces)
    firsts: dict[int, Run] = {}  # of the pieces that share their points
    for piece in pieces:
        firsts.setdefault(id(piece.points), piece)
    distinct = list(firsts.values())
    axes = _axes(distinct)
    keys = {place: axes.keys(piece.points) for place, piece in firsts.items()}
    cells = np.unique(np.concatenate(list(keys.values())))  # (M,)
    gathered = [_gathered(axes, parts, [keys[id(part.points)] for part in parts], cells) for parts in together.values()]
    points = _points(axes, distinct, gathered[0].points)
    for run in gathered[1:]:
        _check_agree(gathered[0], run)
    return tuple(replace(run, points=points) for run in gathered)


def _check_levels(pieces: Sequence[Run]) -> None:
    first = pieces[0]
    for piece in pieces:
        if piece.levels != first.levels:
            raise ValueError(
                f"`quantile_levels`: forecaster {piece.forecaster!r} has {piece.levels} and {first.forecaster!r} "
                f"{first.levels}; give all the same, so that all are scored alike"
            )


def _axes(pieces: Sequence[Run]) -> _Axes:
    distinct = [piece.points for piece in pieces]
    kinds = {kind_of(points.cutoffs) for points in distinct}
    if len(kinds) > 1:
        raise ValueError(f"all times must be timestamps of one time zone, or all integers; got {sorted(kinds)}.")
    if len({points.folds is None for points in distinct}) > 1:
        raise ValueError("some of the ledgers have cutoffs shared by all series, others each series' own: join alike")
    ids = distinct[0].ids
    for points in distinct[1:]:
        ids = ids.append(points.ids[~points.ids.isin(ids)]) if not points.ids.equals(ids) else ids
    cutoffs = distinct[0].cutoffs.append([points.cutoffs for points in distinct[1:]])
    steps = np.unique(np.concatenate([points.steps for points in distinct]))
    for piece in pieces:
        if len(lacking := np.setdiff1d(steps, piece.points.steps)):
            _lacks(piece, f"{spelled(piece.points, 0)}, step {lacking[0]}")
    return _Axes(ids, cutoffs.unique().sort_values(), steps)


def _gathered(axes: _Axes, parts: Sequence[Run], keys: Sequence[np.ndarray], cells: np.ndarray) -> Run:
    """Give one run of parts that have some of its cells each, in the order of all cells."""
    own = np.concatenate(keys)
    order = np.argsort(own, kind="stable")
    own = own[order]
    if len(twice := np.flatnonzero(own[1:] == own[:-1])):
        raise ValueError(
            f"{_place_of(parts, int(order[twice[0]]))} has more than one row; each forecast is entered once."
        )
    if len(own) < len(cells):
        series, cutoff = divmod(int(np.setdiff1d(cells, own)[0]), len(axes.cutoffs))
        name = axes.ids[series]
        told = f"series {name.item() if isinstance(name, np.generic) else name!r}"
        _lacks(parts[0], f"{told}, cutoff {axes.cutoffs[cutoff]}, step {axes.steps[0]}")
    fit_cutoffs = parts[0].fit_cutoffs.append([part.fit_cutoffs for part in parts[1:]])
    begins = np.cumsum([0, *(len(part.fit_cutoffs) for part in parts[:-1])])
    fits, fit_cutoffs = pd.factorize(fit_cutoffs)
    fit = np.concatenate([part.fit + begin for part, begin in zip(parts, begins, strict=True)])

    def joined(name: str, of: str = "") -> np.ndarray:
        arrays = [getattr(part.points if of else part, name) for part in parts]
        in_order = (order == np.arange(len(order))).all()
        whole = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return whole if in_order else whole[order]

    quantiles = joined("quantiles")
    views = 0.5 in parts[0].levels and all(np.shares_memory(part.median, part.quantiles) for part in parts)
    points = replace(
        parts[0].points,
        ids=axes.ids,
        cutoffs=axes.cutoffs,
        series=cells // len(axes.cutoffs),
        cutoff=cells % len(axes.cutoffs),
        folds=None if parts[0].points.folds is None else joined("folds", "points"),
        **{name: joined(name, "points") for name in ("y", "status", "absolute", "squared")},
    )
    return replace(
        parts[0],
        points=points,
        quantiles=quantiles,
        median=quantiles[..., parts[0].levels.index(0.5)] if views else joined("median"),
        mean=joined("mean"),
        fit_cutoffs=fit_cutoffs,
        fit=fits[fit][order],
        staleness=joined("staleness"),
    )


def _points(axes: _Axes, pieces: Sequence[Run], points: Points) -> Points:
    """Give the points of all, whose times are those of the pieces."""
    H, begin = len(axes.steps), 0
    known = np.full(len(axes.cutoffs), -1)
    for own in (piece.points for piece in pieces):
        where = axes.cutoffs.get_indexer(own.cutoffs)
        known[where] = np.where(known[where] < 0, begin + np.arange(len(where)) * H, known[where])
        begin += len(own.times)
    times = pieces[0].points.times.append([piece.points.times for piece in pieces[1:]])
    times = times[(known[:, None] + np.arange(H)).ravel()]
    for piece in pieces:
        where = axes.cutoffs.get_indexer(piece.points.cutoffs)
        theirs = times[(where[:, None] * H + np.arange(H)).ravel()]
        if (other := np.asarray(theirs != piece.points.times)).any():
            at = int(other.argmax())
            raise ValueError(
                f"column `ds` disagrees: {theirs[at]} for cutoff {piece.points.cutoffs[at // H]}, step "
                f"{axes.steps[at % H]}, but {piece.points.times[at]} for the same of forecaster {piece.forecaster!r}. "
                "Score them against the same data."
            )
    return replace(points, times=times)


def _check_agree(first: Run, other: Run) -> None:
    """Raise ValueError unless two runs have the same actuals and scales."""
    mine, theirs = first.points, other.points
    if (differs := (mine.y != theirs.y) & ~(np.isnan(mine.y) & np.isnan(theirs.y))).any():
        cell, step = np.argwhere(differs)[0]
        raise ValueError(
            f"column `y` disagrees: {mine.y[cell, step]} for {place(first, cell, step)}, but "
            f"{theirs.y[cell, step]} for {place(other, cell, step)}. Score them against the same data."
        )
    for name in ("absolute", "squared"):
        one, two = getattr(mine, name), getattr(theirs, name)
        if (differs := (one != two) & ~(np.isnan(one) & np.isnan(two))).any():
            cell = int(differs.argmax())
            raise ValueError(
                f"column `{name}` of `scales` disagrees: {one[cell]} for {place(first, cell, 0)}, but {two[cell]} for "
                f"{place(other, cell, 0)}. Score them against the same data."
            )


def _place_of(parts: Sequence[Run], cell: int) -> str:
    for part in parts:
        if cell < len(part.points):
            return place(part, cell, 0)
        cell -= len(part.points)
    raise IndexError(cell)


def _lacks(run: Run, what: str) -> None:
    raise ValueError(
        f"forecaster {run.forecaster!r}, seed {run.seed} lacks the row of {what}; all forecasters and seeds must "
        "forecast the same (unique_id, cutoff, step). Backtest them with one plan."
    )
