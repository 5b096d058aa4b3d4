"""The door: what a frame is called, what may be in it, and `check_frame`, through which all data enters.

Inside the door names are constants, series are contiguous, in time order and without missing rows, and nothing is
checked again. Nothing is repaired unless the caller has named the repair.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from forecast.frame.calendar import Calendar, calendar_of, infer_freq, integer_calendar, raw_stamps
from forecast.frame.panel import Panel

ID, TIME, TARGET = "unique_id", "ds", "y"
_BLOCK = 1 << 18  # rows looked at together: keeps what the checks need beside the data small


class FrameError(ValueError):
    """A frame that may not enter; the message names the column, the first series and stamp concerned, and the remedy."""


@dataclass(frozen=True, kw_only=True)
class Roles:
    """When the covariates of a frame are known; declared, never guessed. A column without a role is not used.

    Attributes
    ----------
    static: one value per series.
    known: also known in the future (prices set ahead, holidays).
    past: known up to the cutoff (observed weather).
    delayed: column -> how many steps after its own stamp a value becomes known.

    """

    static: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    delayed: Mapping[str, int] = field(default_factory=dict)

    def columns(self) -> list[str]:
        """Give every column that has a role."""
        return [*self.static, *self.known, *self.past, *self.delayed]


def check_frame(
    frame: pd.DataFrame,
    *,
    freq: str | int | None = None,
    columns: Mapping[str, str] | None = None,
    roles: Roles | None = None,
    gaps: Literal["error", "mask", "fill"] = "error",
    unsorted: Literal["error", "sort"] = "error",
    short: Literal["error", "drop"] = "error",
    min_length: int = 1,
) -> Panel:
    """Check a long frame and give it as a panel; the frame itself is left as it is.

    Parameters
    ----------
    frame: one row per series and time step, with the columns `unique_id`, `ds` (timestamps or integers) and `y` (numbers;
        NaN is a missing value and is masked).
    freq: the frequency, such as `"h"` or `"MS"`, a step for integer `ds`; read off the data where not given. Either way
        every row of every series is checked against it.
    columns: our name -> the frame's, where the frame calls them otherwise: `{"unique_id": "store", "y": "sales"}`.
    roles: when covariates are known; their columns must be there.
    gaps: what to do with missing rows: refuse, mask (missing values), or fill with the last value of the series before
        the gap (can be read by models; still does not count in losses and scores; also applied to NaN).
    unsorted: what to do with rows out of order: refuse, or sort by series (first come first) and time.
    short: what to do with series of fewer than `min_length` observed values: refuse, or leave out with a warning.
    min_length: observed values that every series must have.

    Raises
    ------
    FrameError: for anything in the frame that is not as described, naming where it is first met.
    TypeError: `frame` is not a pandas DataFrame.
    ValueError: an argument that is not one of those allowed.

    """
    for name, value, allowed in [
        ("gaps", gaps, ("error", "mask", "fill")),
        ("unsorted", unsorted, ("error", "sort")),
        ("short", short, ("error", "drop")),
    ]:
        if value not in allowed:
            raise ValueError(f"`{name}` is {value!r}; allowed: {', '.join(map(repr, allowed))}")
    frame = _with_our_names(frame, columns or {}, roles or Roles())
    begins, ids = _runs(frame[ID])
    if len(set(ids)) < len(ids):  # a series whose rows do not lie together
        if unsorted == "error":
            row = int(begins[_first_repeat(ids)])
            raise FrameError(f"{_at(frame, row)}: rows of this series do not lie together (row {row}). {_SORT}")
        return check_frame(_sorted(frame), freq=freq, gaps=gaps, unsorted="error", short=short, min_length=min_length)
    values = _numbers(frame)
    calendar = _calendar(frame, begins, freq)
    try:
        complete = _check_time(frame, calendar, begins, gaps)
    except _OutOfOrder as error:
        if unsorted == "error":
            raise FrameError(f"{error} {_SORT}") from None
        return check_frame(_sorted(frame), freq=freq, gaps=gaps, unsorted="error", short=short, min_length=min_length)
    panel = _panel(frame, values, calendar, begins, ids, complete)
    if gaps == "fill":
        _fill(panel)
    return _long_enough(panel, min_length, short)


def as_panel(frame: "pd.DataFrame | Panel", **door) -> Panel:
    """Give a panel as it is, and a frame checked by `check_frame` with the options of the door."""
    if not isinstance(frame, Panel):
        return check_frame(frame, **door)
    if door:
        raise TypeError(
            f"{', '.join(f'`{name}`' for name in door)}: the panel is already checked; give a frame, or none"
        )
    return frame


_SORT = (
    f"Allowed: the rows of a series together and in time order. Sort with frame.sort_values(['{ID}', '{TIME}']), "
    'or ask for it: unsorted="sort".'
)


class _OutOfOrder(FrameError):
    """Rows that go back in time."""


def _at(frame: pd.DataFrame, row: int) -> str:
    """Name the series and stamp of a row, for messages."""
    return f"series {frame[ID].iloc[row]!r}, {TIME} {frame[TIME].iloc[row]}"


def _first_repeat(ids: list) -> int:
    seen: set = set()
    for position, name in enumerate(ids):
        if name in seen:
            return position
        seen.add(name)
    raise AssertionError("no name comes twice")


def _with_our_names(frame: pd.DataFrame, columns: Mapping[str, str], roles: Roles) -> pd.DataFrame:
    """Give the frame with our column names, once all are known to be there."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"`frame` must be a pandas DataFrame with {ID}, {TIME}, {TARGET}; got {type(frame).__name__}")
    if unknown := [name for name in columns if name not in (ID, TIME, TARGET)]:
        raise ValueError(f"`columns` names {unknown[0]!r}; allowed keys: {ID!r}, {TIME!r}, {TARGET!r}")
    if not frame.columns.is_unique:
        raise FrameError(
            f"column {frame.columns[frame.columns.duplicated()][0]!r} comes twice; every name may come once"
        )
    theirs = {columns.get(name, name): name for name in (ID, TIME, TARGET)}
    for their_name, name in theirs.items():
        if their_name not in frame.columns:
            remedy = f"columns={{{name!r}: ...}}"
            raise FrameError(
                f"column `{their_name}` is not there; got {list(frame.columns)}. Map another with {remedy}"
            )
    declared = roles.columns()
    for position, column in enumerate(declared):
        if column in theirs:
            raise FrameError(f"column `{column}` is {theirs[column]!r} and cannot be a covariate too")
        if column not in frame.columns:
            raise FrameError(f"column `{column}` has a role but is not there; got {list(frame.columns)}")
        if column in declared[:position]:
            raise FrameError(f"column `{column}` has two roles; allowed: one of static, known, past, delayed")
    if frame.empty:
        raise FrameError("the frame has no rows")
    frame = frame[list(theirs)]
    return frame if all(a == b for a, b in theirs.items()) else frame.rename(columns=theirs)


def _sorted(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the rows by series, in the order in which the series first come, and by time."""
    codes, _ = pd.factorize(frame[ID])
    return frame.iloc[np.lexsort((raw_stamps(frame[TIME]).view("int64"), codes))]


def _runs(ids: pd.Series) -> tuple[np.ndarray, list]:
    """Give the first row and the id of every stretch of rows with the same id."""
    if missing := int(ids.isna().sum()):
        row = int(ids.isna().to_numpy().argmax())
        raise FrameError(
            f"column `{ID}` is missing in {missing} rows (first: row {row}); every row must name its series"
        )
    begins: list[np.ndarray] = []
    names: list = []
    for block in range(0, len(ids), _BLOCK):
        codes, uniques = pd.factorize(ids.iloc[block : block + _BLOCK])
        changes = np.flatnonzero(np.diff(codes, prepend=-1))
        block_names = [uniques[code] for code in codes[changes]]
        if names and block_names[0] == names[-1]:
            changes, block_names = changes[1:], block_names[1:]
        begins.append(changes + block)
        names.extend(block_names)
    return np.concatenate(begins), names


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    """Give the target as a float32 copy, NaN where it is missing."""
    target = frame[TARGET]
    kind = pd.api.types.infer_dtype(target, skipna=True) if target.dtype == object else str(target.dtype)
    is_number = pd.api.types.is_numeric_dtype(target) and not pd.api.types.is_complex_dtype(target)
    if not is_number and kind not in ("floating", "integer", "mixed-integer-float", "decimal", "boolean", "empty"):
        texts = target.map(lambda value: isinstance(value, str)).to_numpy(dtype=bool)
        row = int(texts.argmax())
        raise FrameError(
            f"column `{TARGET}` must hold numbers; got {target.iloc[row]!r} ({kind}) at {_at(frame, row)}. Convert with "
            f"pd.to_numeric(frame['{TARGET}'], errors=...) and decide what becomes of the text"
        )
    with np.errstate(over="ignore"):
        if isinstance(target.dtype, np.dtype):  # one copy, where na_value would make a second in float64
            values = np.array(target.to_numpy(), dtype="float32")
        else:
            values = target.to_numpy(dtype="float32", na_value=np.nan, copy=True)
    if np.isinf(values).any():
        infinite = np.isinf(values)
        row = int(infinite.argmax())
        raise FrameError(
            f"column `{TARGET}` holds {int(infinite.sum())} values that are infinite or beyond float32 (3.4e38); first "
            f"{target.iloc[row]!r} at {_at(frame, row)}. Replace them, by NaN where they are unknown, or rescale"
        )
    return values


def _calendar(frame: pd.DataFrame, begins: np.ndarray, freq: str | int | None) -> Calendar:
    """Give the calendar of the frame: as asked for, or read off the first series that is long enough."""
    stamps = frame[TIME]
    if missing := int(stamps.isna().sum()):
        row = int(stamps.isna().to_numpy().argmax())
        raise FrameError(
            f"column `{TIME}` is missing in {missing} rows, first in {_at(frame, row)}; every row needs one"
        )
    stops = np.append(begins[1:], len(frame))
    telling = int((stops - begins >= 3).argmax())
    series = stamps.iloc[begins[telling] : min(stops[telling], begins[telling] + 10_000)]
    if pd.api.types.is_integer_dtype(stamps):
        distances = np.diff(np.sort(series.to_numpy()))
        distances = distances[distances > 0]
        step = int(freq) if freq is not None else int(distances.min()) if len(distances) else 1
        if step < 1:
            raise ValueError(f"`freq` is {freq!r}; integer `{TIME}` advance by a whole number of 1 or more")
        return integer_calendar(step, int(series.iloc[0]))
    if not pd.api.types.is_datetime64_any_dtype(stamps):
        raise FrameError(
            f"column `{TIME}` must hold timestamps or integers; got {stamps.iloc[0]!r} ({stamps.dtype}) in row 0. Convert "
            f"with pd.to_datetime(frame['{TIME}'])"
        )
    if freq is None:
        freq = infer_freq(pd.DatetimeIndex(series).sort_values())
    if freq is None:
        raise FrameError(
            f"the frequency cannot be read off column `{TIME}` of {_at(frame, int(begins[telling]))}: give `freq`"
        )
    return calendar_of(str(freq), series.iloc[0])


def _check_time(frame: pd.DataFrame, calendar: Calendar, begins: np.ndarray, gaps: str) -> bool:
    """Refuse stamps off the grid, backward, repeated or (by policy) left out; True if no row is missing."""
    stamps = raw_stamps(frame[TIME], calendar.in_wall_time)
    missing, first_gap, gap_size = 0, None, 0
    repeats, first_repeat = 0, None
    for block in range(0, len(stamps), _BLOCK):
        low = max(block - 1, 0)  # with the row before, so that no distance is lost between blocks
        ordinals, exact = calendar.steps.locate(stamps[low : block + _BLOCK])
        if not exact.all():
            row = low + int(exact.argmin())
            raise FrameError(
                f"{_at(frame, row)} does not lie on a grid of frequency {calendar.freq!r} through the first stamp "
                f"{frame[TIME].iloc[0]}. Give the right `freq`, or resample the frame to one regular step"
            )
        distances = np.diff(ordinals)
        inside = np.ones(len(distances), dtype=bool)
        starts = begins[(begins > low) & (begins < low + len(ordinals))]
        inside[starts - low - 1] = False
        if (backward := inside & (distances < 0)).any():
            row = low + 1 + int(backward.argmax())
            raise _OutOfOrder(f"column `{TIME}`: {_at(frame, row)} comes after {frame[TIME].iloc[row - 1]}.")
        same = inside & (distances == 0)
        if same.any():
            repeats += int(same.sum())
            first_repeat = low + 1 + int(same.argmax()) if first_repeat is None else first_repeat
        wide = inside & (distances > 1)
        if wide.any():
            missing += int((distances[wide] - 1).sum())
            if first_gap is None:
                first_gap = low + 1 + int(wide.argmax())
                gap_size = int(distances[wide][0]) - 1
    if first_repeat is not None:
        raise FrameError(
            f"column `{TIME}`: {_at(frame, first_repeat)} comes more than once ({repeats} repeated rows in all). Allowed: one "
            f"row per series and stamp. Remove them with frame.drop_duplicates(['{ID}', '{TIME}']), or aggregate"
        )
    if first_gap is not None and gaps == "error":
        raise FrameError(
            f"column `{TIME}`: {gap_size} rows are missing before {_at(frame, first_gap)} (after "
            f"{frame[TIME].iloc[first_gap - 1]}, frequency {calendar.freq!r}; {missing} rows missing in all). Add them, or say "
            'what to do: gaps="mask" (missing values) or gaps="fill" (last value carried forward)'
        )
    return first_gap is None


def _panel(
    frame: pd.DataFrame, values: np.ndarray, calendar: Calendar, begins: np.ndarray, ids: list, complete: bool
) -> Panel:
    """Give the panel; where rows are missing, every value goes to the place of its stamp."""
    stops = np.append(begins[1:], len(frame))
    first, last = (calendar.locate(frame[TIME].iloc[rows])[0] for rows in (begins, stops - 1))
    lengths = last - first + 1
    ends = np.cumsum(lengths)
    if not complete:
        placed = np.full(ends[-1], np.nan, dtype="float32")
        stamps = raw_stamps(frame[TIME], calendar.in_wall_time)
        offsets = ends - lengths - first
        for block in range(0, len(values), _BLOCK):
            rows = slice(block, block + _BLOCK)
            series = np.searchsorted(begins, np.arange(block, min(block + _BLOCK, len(values))), side="right") - 1
            placed[calendar.steps.locate(stamps[rows])[0] + offsets[series]] = values[rows]
        values = placed
    return Panel(values, ~np.isnan(values), ends - lengths, ends, first, pd.Index(ids, name=ID), calendar)


def _fill(panel: Panel) -> None:
    """Carry the last value of each series forward into its gaps, in place."""
    rows = np.arange(len(panel.values))
    source = np.maximum.accumulate(np.where(panel.observed, rows, -1))
    begin = np.repeat(panel.starts, panel.lengths)
    panel.values[:] = np.where(source >= begin, panel.values[source], np.nan)


def _long_enough(panel: Panel, min_length: int, short: str) -> Panel:
    counts = np.add.reduceat(panel.observed, panel.starts, dtype="int64")
    too_short = counts < max(min_length, 1)
    if not too_short.any():
        return panel
    which = int(too_short.argmax())
    message = (
        f"series {panel.ids[which]!r} has {counts[which]} observed values of `{TARGET}`; at least {max(min_length, 1)} are "
        f"needed ({int(too_short.sum())} of {len(panel)} series are too short)"
    )
    if short == "error" or too_short.all():
        raise FrameError(f'{message}. Give longer series, or leave the short ones out: short="drop"')
    dropped = list(panel.ids[too_short])
    warnings.warn(f"left out: {message}: {dropped[:10]}{' ...' if len(dropped) > 10 else ''}", stacklevel=3)
    return panel.take(~too_short)
