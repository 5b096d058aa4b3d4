"""Origins: where in a panel forecasts start. M origins, S series."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import pandas as pd

from forecast.frame import Calendar, Panel
from forecast.frame.rows import plain


@dataclass(frozen=True)
class Origins:
    """Where forecasts start: `series[m]` is a position in the panel, `ends[m]` the flat index after its last row.

    The history of forecast m is `panel.values[panel.starts[series[m]]:ends[m]]`, never empty; `cutoffs[m]` is the
    calendar ordinal of its last row.
    """

    series: np.ndarray  # (M,)
    ends: np.ndarray  # (M,)
    cutoffs: np.ndarray  # (M,)

    def __len__(self) -> int:
        return len(self.series)

    def take(self, which: np.ndarray | slice) -> "Origins":
        """Give some of the origins, by position, mask or slice."""
        return Origins(self.series[which], self.ends[which], self.cutoffs[which])


def scattered(count: int, most: int) -> np.ndarray:
    """Give at most `most` of the numbers 0 to `count` - 1, rising.

    They are apart by the golden section of all, which falls in step with no number of series and with no season.
    """
    if count <= most:
        return np.arange(count)
    places = np.arange(1, most + 1) * ((5**0.5 - 1) / 2) % 1.0 * count
    return np.unique(places.astype("int64"))


def places_of(panel: Panel, ids: Iterable) -> np.ndarray:
    """Give the positions in a panel of the series that are asked for, in the order in which they are asked, (S,).

    Raises
    ------
    TypeError: `ids` is no list of ids.
    ValueError: the list is empty, names a series twice, or one that is not in the panel.

    """
    if isinstance(ids, str | bytes | Mapping | Set) or not isinstance(ids, Iterable):  # a set has no order
        raise TypeError(f"`ids` is {ids!r}; allowed: a list of one or more ids")
    asked = list(ids)
    if not asked:
        raise ValueError("`ids` is empty; allowed: a list of one or more ids")
    known = {name: place for place, name in enumerate(panel.ids)}
    if unknown := [name for name in asked if not pd.api.types.is_hashable(name) or name not in known]:
        spelled = {str(name).lower(): plain(name) for name in known}
        (nearest,) = get_close_matches(str(unknown[0]).lower(), spelled, n=1, cutoff=0)
        raise ValueError(
            f"`ids` names {plain(unknown[0])!r}, which is none of the {len(panel)} series; the nearest is "
            f"{spelled[nearest]!r} ({len(unknown)} of {len(asked)} ids are unknown)"
        )
    places = np.array([known[name] for name in asked])
    if (twice := pd.Index(places).duplicated()).any():
        raise ValueError(f"`ids` names {plain(asked[int(twice.argmax())])!r} twice; allowed: each once")
    return places


def ordinals_of(calendar: Calendar, cutoffs: Sequence, name: str = "cutoffs") -> list[int]:
    """Give the calendar ordinals at or before cutoffs, (M,); `name` is what errors call them.

    Raises
    ------
    TypeError: `cutoffs` is no list of stamps, or one of them is no stamp of this calendar.
    ValueError: the list is empty; a text that is no date; a stamp with a time zone where the data have none.

    """
    if isinstance(cutoffs, str) or np.ndim(cutoffs) != 1:  # type: ignore[arg-type]
        raise TypeError(f"`{name}` is {cutoffs!r}; allowed: a list of one or more stamps")
    if len(cutoffs) == 0:
        raise ValueError(f"`{name}` is empty; allowed: a list of one or more stamps")
    ordinals = []
    for cutoff in cutoffs:
        try:
            ordinals.append(calendar.ordinal(cutoff))
        except TypeError as error:
            raise TypeError(f"`{name}`: {error}") from error
        except ValueError as error:
            raise ValueError(f"`{name}` holds {cutoff!r}: {error}") from error
    return ordinals


def origins_of(panel: Panel, cutoffs: Sequence[int] | np.ndarray | None = None) -> Origins:
    """Give the origins of a panel: each series' own end, or every series that is under way at each cutoff (ordinals).

    A series is under way at a cutoff if it has a row at it; one that begins later or ended before is left out.

    Raises
    ------
    ValueError: a cutoff at which no series is under way, or that comes twice.

    """
    if cutoffs is None:
        return Origins(np.arange(len(panel)), panel.stops.copy(), panel.last)
    if (twice := pd.Index(cutoffs).duplicated()).any():
        stamp = panel.calendar.stamp(int(cutoffs[int(twice.argmax())]))
        raise ValueError(f"`cutoffs`: {stamp} comes twice; allowed: each once")
    series, times = np.meshgrid(np.arange(len(panel)), np.asarray(cutoffs, dtype="int64"), indexing="ij")
    under_way = (panel.first[:, None] <= times) & (times <= panel.last[:, None])
    if len(idle := np.flatnonzero(~under_way.any(axis=0))):
        first, last = panel.calendar.stamp(int(panel.first.min())), panel.calendar.stamp(int(panel.last.max()))
        raise ValueError(
            f"`cutoffs`: no series is under way at {panel.calendar.stamp(int(times[0, idle[0]]))}; the data run from "
            f"{first} to {last}: give cutoffs within"
        )
    series, times = series[under_way], times[under_way]
    return Origins(series, panel.starts[series] + times - panel.first[series] + 1, times)


def origins_within(panel: Panel, stride: int) -> Origins:
    """Give the origins that lie `stride`, twice `stride`, ... rows before each series' end, in order of time."""
    counts = (panel.lengths - 1) // stride
    series = np.repeat(np.arange(len(panel)), counts)
    back = (np.cumsum(counts)[series] - np.arange(len(series))) * stride
    return Origins(series, panel.stops[series] - back, panel.last[series] - back)
