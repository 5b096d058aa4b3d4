"""How texts spell numbers and times: read by rules that are told, refused with the line and the remedy otherwise."""

import re
import warnings
from itertools import product

import pandas as pd

from forecast.experiment.faults import ConfigError

_MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none", "<na>"}
_LOOKED_AT = 1000  # values on which a format is tried
_DATES = [
    *("%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y"),
    *("%b %Y", "%B %Y", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y", "%m/%Y", "%Y/%m"),
]
_CLOCKS = ["", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"]
_ISO = [
    *("%Y-%m-%d", "%Y-%m", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M"),
    *("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y/%m/%d", "%Y-%m-%d %H", "%Y"),
]
_WITHOUT_MARKS = {8: "%Y%m%d", 6: "%Y%m"}


def read_numbers(column: pd.Series, file: str, decimal: str, *, or_categories: bool = False) -> pd.Series:
    """Give a column as numbers, NaN where it is empty or says NA; a column that has numbers already as it is.

    With `or_categories` a column of which less than half are numbers stays text. Raises ConfigError, with column and
    line, for what is no number.
    """
    if not is_text(column):
        return column
    text = column.str.strip()
    missing = text.isna() | text.str.lower().isin(_MISSING)
    # Dots beside a decimal comma would stand for thousands, or be points after all: nobody can tell.
    plain = text.mask(text.str.contains(".", regex=False, na=False)).str.replace(",", ".") if decimal == "," else text
    numbers = pd.Series(pd.to_numeric(plain.mask(missing), errors="coerce"), dtype="float64")
    wrong = numbers.isna() & ~missing
    if not wrong.any():
        return numbers
    first = text[wrong].iloc[0]
    comma = decimal == "." and bool(re.fullmatch(r"[-+]?\d+,\d+", first))
    if or_categories and not comma and 2 * int(wrong.sum()) > int((~missing).sum()):
        return text.mask(missing)
    remedy = "write numbers plainly, as in 1234.5, and leave out what is missing"
    if comma:
        remedy = "if that is a decimal comma: `--decimal ,`; if it parts thousands, take it out of the file"
    elif decimal == "," and "." in first:
        remedy = "beside a decimal comma there may be no points: take those that part thousands out of the file"
    raise ConfigError(
        f"{file}: column `{column.name}` holds {first!r} in line {column.index[wrong][0]}, which is no number "
        f"({int(wrong.sum()):,} such lines); {remedy}"
    )


def read_times(column: pd.Series, file: str, time_format: str | None, notes: list[str]) -> tuple[pd.Series, str | None]:
    """Give a column as timestamps or whole numbers, and the format in which to write them again.

    Texts have to be ISO 8601, as 2024-01-31 or 2024-01-31T14:00, digits, or of the format that is given. Raises
    ConfigError, with column and line, for others, with the format that would read them all.
    """
    if pd.api.types.is_integer_dtype(column) and time_format is not None:
        column = column.astype("str")  # 20240131, as a number
    if not is_text(column):
        if column.dtype == object and pd.api.types.infer_dtype(column) == "date":
            return pd.to_datetime(column), "%Y-%m-%d"
        return column, time_format
    text = column.str.strip()
    empty = text.isna() | (text == "")
    if empty.any():
        raise ConfigError(
            f"{file}: column `{column.name}` is empty in line {column.index[empty][0]}; every row needs a time"
        )
    if time_format is None and text.str.fullmatch(r"[-+]?\d+").all():
        lengths = set(text.str.len())
        guess = _WITHOUT_MARKS.get(lengths.pop()) if len(lengths) == 1 else None
        if guess is None or _parsed(text, guess).isna().any() or not text.str.match(r"(?:19|20)").all():
            return text.astype("int64"), None
        notes.append(f"column {column.name!r} is read as {'days' if guess == '%Y%m%d' else 'months'} written {guess}")
        time_format = guess
    stamps = _parsed(text, time_format or "ISO8601")
    wrong = stamps.isna()
    if not wrong.any():
        offsets = text.str.extract(r":\d\d(?:\.\d+)?([+-]\d\d:?\d\d|Z)$", expand=False)
        if stamps.dt.tz is not None and offsets.nunique() > 1:
            notes.append(f"column {column.name!r} has several offsets from UTC: read, and written, in UTC")
        return stamps, time_format or _format_of(text, stamps)
    line, first = column.index[wrong.to_numpy()][0], text.loc[wrong].iloc[0]
    problem = f"{file}: column `{column.name}` holds {first!r} in line {line}"
    if time_format is not None:
        raise ConfigError(f"{problem}, which is not of the format {time_format!r} (--time-format)")
    fitting = [one for one in map("".join, product(_DATES, _CLOCKS)) if _fits(text, one)]
    if not fitting:
        remedy = "write 2024-01-31 or 2024-01-31 14:00, or say how to read it with --time-format, as of strftime"
    elif len(fitting) == 1:
        remedy = f"say how to read it: --time-format '{fitting[0]}'"
    else:
        words = {"%d": "day first", "%m": "month first"}
        told = [f"--time-format '{one}'" + (f" ({words[one[:2]]})" if one[:2] in words else "") for one in fitting]
        remedy = f"nobody can tell which comes first, so say it: {' or '.join(told)}"
    raise ConfigError(f"{problem}, which is not ISO 8601 (2024-01-31); {remedy}")


def is_text(column: pd.Series) -> bool:
    """Whether a column holds texts, and nothing else but what is missing."""
    return isinstance(column.dtype, pd.StringDtype) or (
        column.dtype == object and pd.api.types.infer_dtype(column, skipna=True) in ("string", "empty")
    )


def _parsed(text: pd.Series, time_format: str) -> pd.Series:
    """Give timestamps, NaT where a text is not of the format; several offsets from UTC become UTC."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)  # pandas 2 only warns of several offsets
            return pd.to_datetime(text, format=time_format, errors="coerce")
    except (ValueError, FutureWarning):
        return pd.to_datetime(text, format=time_format, errors="coerce", utc=True)


def _fits(text: pd.Series, time_format: str) -> bool:
    return bool(_parsed(text.iloc[:_LOOKED_AT], time_format).notna().all()) and bool(
        _parsed(text, time_format).notna().all()
    )


def _format_of(text: pd.Series, stamps: pd.Series) -> str | None:
    """Give the format that writes the stamps as they were, None if no single one does."""
    text, stamps = text.iloc[:_LOOKED_AT], stamps.iloc[:_LOOKED_AT]
    return next((one for one in _ISO if (stamps.dt.strftime(one) == text).all()), None)
