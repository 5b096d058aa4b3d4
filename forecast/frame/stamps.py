"""Stamps as people write them: timestamps, integers, periods, dates or text; and how they are given back the same way.

Inside they are timestamps or integers alone: a period is the moment at which it begins, a date its midnight.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from forecast.frame.errors import FrameError, plain
from forecast.frame.frequency import STEPS, parse_freq

FARTHEST = 1 << 61  # integer stamps beyond it have distances that int64 cannot hold
_ISO = re.compile(  # a day, or month; a time, to the hour or finer; a zone
    r"(?P<day>(?!0000)\d{4}-\d{2}(?:-\d{2})?)"
    r"(?:(?<=-\d\d-\d\d)(?P<between>[T ])(?P<clock>\d{2}(?::\d{2}(?::\d{2}(?P<fraction>\.\d{1,9})?)?)?)"
    r"(?P<zone>Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?"
)


@dataclass(frozen=True)
class Stamps:
    """How the stamps of a frame are written.

    Attributes
    ----------
    kind: `"timestamps"`, `"integers"`, `"periods"`, `"dates"` or `"datetimes"` (Python's), or `"text"`.
    dtype: of their column; None for the one that pandas has for the kind.
    shape: of text, as a template: `"2000-01-01T00:00Z"`.

    """

    kind: str = "timestamps"
    dtype: Any = None
    shape: str = ""

    def freq_inside(self, freq: str | int | None) -> str | int | None:
        """Give the frequency of the stamps as they are inside, where people gave `freq`, or nothing.

        Periods bring their own, and are known by their ends (`"M"`, `"W-SUN"`), where inside they are their beginnings.
        """
        if self.kind != "periods" or freq == STEPS:
            return freq
        own = parse_freq(_freq_of(self.dtype)).of_starts()
        asked = own if freq is None else parse_freq(freq)
        return str(asked if (asked.unit, asked.anchor) == (own.unit, own.anchor) else asked.of_starts())

    def give(self, stamps: pd.Index) -> pd.Series:
        """Give stamps in the way of the frame; what has none stays missing."""
        values: Any = _WRITERS[self.kind](stamps, self) if self.kind in _WRITERS else stamps
        too_large = self.kind == "integers" and self.dtype is not None and not _fit(stamps, self.dtype)
        return pd.Series(values, dtype=None if too_large else self.dtype, copy=False)

    def can_tell(self, stamps: pd.Index) -> bool:
        """Whether all of these stamps can be written in the way of the frame."""
        if self.kind in ("timestamps", "integers"):
            return True
        try:
            return bool((read_stamps(self.give(stamps))[0] == stamps).all())
        except ValueError:  # a year of five digits
            return False


def is_iso(text: str) -> bool:
    """Whether a text is a stamp as in ISO 8601, which means the same to everybody."""
    return _ISO.fullmatch(text) is not None


def read_stamps(column: pd.Series) -> tuple[pd.Index, Stamps]:
    """Give the stamps of a column as a DatetimeIndex or int64, and how they were written; none is missing.

    Raises
    ------
    FrameError: stamps of another kind, of several kinds, or in several shapes or time zones.

    """
    dtype = column.dtype
    if pd.api.types.is_datetime64_any_dtype(dtype):
        plainly = isinstance(dtype, np.dtype | pd.DatetimeTZDtype)
        return pd.DatetimeIndex(column, copy=False), Stamps("timestamps", None if plainly else dtype)
    kind = "integer" if pd.api.types.is_integer_dtype(dtype) else pd.api.types.infer_dtype(column, skipna=True)
    if (reader := _READERS.get(kind)) is None:
        raise _refused(column, 0, kind)
    stamps, found = reader(column)
    return stamps.rename(column.name), found


def _integers(column: pd.Series) -> tuple[pd.Index, Stamps]:
    low, high = int(column.min()), int(column.max())
    if max(-low, high) > FARTHEST:
        raise FrameError(
            f"column `{column.name}` goes from {low} to {high}; integers may go up to 2**61 in size. Count from a "
            "nearer point"
        )
    dtype = None if column.dtype == np.dtype("int64") else column.dtype
    return pd.Index(column.to_numpy(dtype="int64"), copy=False), Stamps("integers", dtype)


def _periods(column: pd.Series) -> tuple[pd.Index, Stamps]:
    if not isinstance(column.dtype, pd.PeriodDtype):
        raise _refused(column, 0, "Period objects", f"Give them a dtype with pd.PeriodIndex(frame[{column.name!r}])")
    if _freq_of(column.dtype).lstrip("0123456789") == "B":  # pandas is about to drop them
        raise _refused(column, 0, "periods", f"Convert with frame[{column.name!r}].dt.to_timestamp()")
    unit = _unit_of_periods(column.dtype)
    begins = pd.PeriodIndex(column).asfreq(unit, how="start")
    return pd.DatetimeIndex(begins.asi8.view(f"datetime64[{unit}]")), Stamps("periods", column.dtype)


def _as_periods(stamps: Any, form: Stamps) -> pd.PeriodIndex:
    counts = stamps.as_unit(_unit_of_periods(form.dtype)).asi8
    return pd.PeriodIndex.from_ordinals(counts, freq=_unit_of_periods(form.dtype)).asfreq(_freq_of(form.dtype))


def _freq_of(dtype: Any) -> str:
    """Give the frequency of periods as pandas spells it for them, which is not as it does for timestamps."""
    return str(dtype).removeprefix("period[").removesuffix("]")


def _unit_of_periods(dtype: Any) -> Any:
    """Give the unit of the moments at which periods begin: seconds, where no period is shorter."""
    unit = _freq_of(dtype).lstrip("0123456789")
    return unit if unit in ("ms", "us", "ns") else "s"


def _dates(column: pd.Series) -> tuple[pd.Index, Stamps]:
    codes, days = pd.factorize(column.to_numpy(dtype=object))
    if mixed := [day for day in days if isinstance(day, datetime)]:
        raise _refused(column, int((column == mixed[0]).argmax()), "dates and timestamps")
    stamps = pd.DatetimeIndex(np.array(days, dtype="datetime64[D]").astype("datetime64[s]"))
    return stamps.take(codes), Stamps("dates", column.dtype)


def _as_dates(stamps: Any, form: Stamps) -> np.ndarray:
    return _each(stamps, lambda stamp: stamp.date())


def _datetimes(column: pd.Series) -> tuple[pd.Index, Stamps]:
    moments = column.to_list()
    if len({str(moment.tzinfo) for moment in moments}) > 1:
        remedy = (
            "The column mixes timestamps that have no common unit or time zone: convert with "
            f"pd.to_datetime(frame[{column.name!r}], utc=True).dt.tz_convert(zone)"
        )
        raise _refused(column, 0, "datetime", remedy)
    try:
        stamps = pd.DatetimeIndex(moments)
    except (ValueError, OverflowError) as error:  # beyond what nanoseconds can hold, in pandas 2
        raise _refused(column, 0, f"datetime, {error}") from error
    pythons = not any(isinstance(moment, pd.Timestamp) for moment in moments)
    return stamps, Stamps("datetimes" if pythons else "timestamps", np.dtype(object))


def _as_datetimes(stamps: Any, form: Stamps) -> np.ndarray:
    return _each(stamps, lambda stamp: stamp.to_pydatetime())


def _text(column: pd.Series) -> tuple[pd.Index, Stamps]:
    codes, texts = pd.factorize(column.to_numpy(dtype=object))
    matches = [_ISO.fullmatch(text) for text in texts]
    shapes = [match and _shape(match) for match in matches]
    if wrong := [place for place, shape in enumerate(shapes) if shape is None or shape != shapes[0]]:
        several = shapes[0] and shapes[wrong[0]]
        raise _refused_text(
            column, codes, wrong[0], f"shaped otherwise than {texts[0]!r} in row 0" if several else "text"
        )
    found = [match for match in matches if match]
    whole = [_whole_seconds(match) for match in found]
    fraction, zone = found[0]["fraction"], found[0]["zone"]
    finer: list[tuple[Any, int]] = [("ms", 3), ("us", 6), ("ns", 9)]
    unit, digits = finer[(len(fraction) - 2) // 3] if fraction else ("s", 0)
    try:
        stamps = pd.DatetimeIndex(np.array(whole, dtype="datetime64[s]")).as_unit(unit)
    except ValueError as error:
        wrong = next(place for place, text in enumerate(whole) if not _is_moment(text, unit))
        raise _refused_text(column, codes, wrong, str(error)) from error
    if fraction:
        parts = [int(match["fraction"][1:].ljust(digits, "0")) for match in found]
        stamps += np.array(parts, dtype=f"timedelta64[{unit}]")
    if zone:
        stamps = stamps.tz_localize("UTC" if zone == "Z" else datetime.fromisoformat(f"2000-01-01T00:00{zone}").tzinfo)
    return stamps.take(codes), Stamps("text", column.dtype, shapes[0] or "")


def _shape(match: re.Match) -> str:
    """Give the template of a text: another time, written in the same way, with its zone."""
    day, clock = "2000-01-01"[: len(match["day"])], re.sub(r"\d", "0", match["clock"] or "")
    return f"{day}{match['between'] or ''}{clock}{match['zone'] or ''}"


def _whole_seconds(match: re.Match) -> str:
    clock = (match["clock"] or "").removesuffix(match["fraction"] or "")
    return f"{match['day']}T{clock}" if clock else match["day"]


def _is_moment(text: str, unit: Any) -> bool:
    try:
        pd.DatetimeIndex(np.array([text], dtype="datetime64[s]")).as_unit(unit)
    except ValueError:
        return False
    return True


def _as_text(stamps: Any, form: Stamps) -> np.ndarray:
    match = _ISO.fullmatch(form.shape)
    assert match
    zone = match["zone"] or ""
    codes, unique = pd.factorize(stamps.tz_localize(None))
    texts = np.datetime_as_string(np.asarray(unique), unit="ns" if match["fraction"] else "s")
    texts = [text[: len(form.shape) - len(zone)].replace("T", match["between"] or "") + zone for text in texts]
    return np.array([*texts, None], dtype=object)[codes]


def _each(stamps: Any, write: Callable) -> np.ndarray:
    """Give what `write` makes of each stamp, None where there is none."""
    codes, unique = pd.factorize(stamps)
    written = np.empty(len(unique) + 1, dtype=object)
    written[:-1] = [write(stamp) for stamp in pd.DatetimeIndex(unique).to_list()]
    return written[codes]


def _fit(stamps: Any, dtype: Any) -> bool:
    if dtype == np.dtype(object):
        return True
    width = np.iinfo(getattr(dtype, "numpy_dtype", dtype))
    return not len(stamps) or bool(stamps.min() >= width.min and stamps.max() <= width.max)


_READERS = {
    "integer": _integers,
    "period": _periods,
    "date": _dates,
    "datetime": _datetimes,
    "string": _text,
}
_WRITERS = {"periods": _as_periods, "dates": _as_dates, "datetimes": _as_datetimes, "text": _as_text}


def _refused_text(column: pd.Series, codes: np.ndarray, place: int, kind: str) -> FrameError:
    """Give the error of the first row whose text is the one at a place among the distinct ones."""
    remedy = (
        "Allowed is text as in ISO 8601, '2024-05-31' or '2024-05-31T17:00', of one shape in all rows. Convert with "
        f"pd.to_datetime(frame[{column.name!r}], format=...)"
    )
    return _refused(column, int((codes == place).argmax()), kind, remedy)


def _refused(column: pd.Series, row: int, kind: str, remedy: str = "") -> FrameError:
    remedies = {
        "boolean": "Number the steps: 0, 1, 2, ...",
        "floating": f"Convert whole numbers with frame[{column.name!r}].astype('int64')",
    }
    remedy = remedy or remedies.get(kind, f"Convert with pd.to_datetime(frame[{column.name!r}])")
    return FrameError(
        f"column `{column.name}` must hold timestamps, periods, dates or integers; got {plain(column.iloc[row])!r} in "
        f"row {row} ({kind}, dtype {column.dtype}). {remedy}"
    )
