"""Tables of one's own, CSV or Parquet: read without guessing, written in the names and formats in which they came.

What cannot be read is named by column and line, with the option that mends it. What was found out by looking at the
table (a separator, 20240131 for a day) is told in the notes.
"""

import csv
import gzip
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from forecast.experiment.faults import ConfigError, nearest
from forecast.experiment.spelling import is_text, read_numbers, read_times
from forecast.frame import Roles

_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
_TYPED = (".parquet", ".pq")
_SEPARATORS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar"}
_ALONE = "unique_id"  # the column that a table without one gets
_CUTOFFS = ("cutoff", "fit_cutoff")  # stamps beside those of the table


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What the columns of a table are, and how its texts spell numbers and times.

    Attributes
    ----------
    time, target: columns of stamps and of the values to forecast.
    id: the column of series; None for one series.
    roles: when covariates are known.
    separator: between columns of a text file; None to look.
    decimal: the mark before decimals, "." or ",".
    time_format: of stamps that are not ISO 8601, as of `strftime`.

    """

    time: str = "ds"
    target: str = "y"
    id: str | None = None
    roles: Roles = field(default_factory=Roles)
    separator: str | None = None
    decimal: str = "."
    time_format: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """Our name -> the table's, as `check_frame` takes it."""
        return {"unique_id": self.id or _ALONE, "ds": self.time, "y": self.target}


@dataclass(frozen=True)
class OwnTable:
    """A table as read: the frame, the layout with what was found out, and notes on that."""

    frame: pd.DataFrame
    layout: Layout
    notes: tuple[str, ...]


def read_table(path: str | Path, layout: Layout, *, target: bool = True) -> OwnTable:
    """Read a table; rows are sorted by series and time, and columns without a purpose are left out.

    Parameters
    ----------
    path: a file that ends in .csv, .tsv, .txt (.gz behind it, too) or .parquet.
    layout: the columns. Without `id`, a column `unique_id` is taken if there is one.
    target: whether the column of values has to be there; it need not be in a table of the future.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, OSError: no file that can be read.
    ConfigError: what the table does not have, or holds in a form that cannot be read, by column and line.

    """
    path = Path(path).expanduser()
    check_input(path)
    notes: list[str] = []
    frame = pd.DataFrame(_typed(path)) if path.name.lower().endswith(_TYPED) else _text(path, layout, notes)
    if not len(frame):
        raise ConfigError(f"{path}: there are no rows below the header")
    if layout.id is None and _ALONE in frame.columns:
        layout = replace(layout, id=_ALONE)
        notes.append(f"series are told apart by the column {_ALONE!r}")
    names, file = _check_columns(path, frame, layout, target), str(path)
    frame = pd.DataFrame(frame.loc[:, names]).dropna(how="all")  # blank lines
    if layout.id is None:
        frame.insert(0, _ALONE, layout.target)
    elif (nameless := frame[layout.id].isna().to_numpy()).any():
        line = frame.index[nameless][0]
        raise ConfigError(f"{path}: column `{layout.id}` is empty in line {line}; every row must name its series")
    times, time_format = read_times(pd.Series(frame[layout.time]), file, layout.time_format, notes)
    read = {layout.time: times}
    for name, role in [(layout.target, "target"), *layout.roles.uses()]:
        if name in names and role == "issue time":
            read[name] = _issue_times(pd.Series(frame[name]), file, layout.time_format, notes)
        elif name in names:
            beside = role not in ("target", "weight")
            read[name] = read_numbers(pd.Series(frame[name]), file, layout.decimal, or_categories=beside)
    if categories := [name for name, column in read.items() if is_text(column)]:
        notes.append(f"read as categories: {', '.join(categories)}")
    layout = replace(layout, time_format=time_format)
    return OwnTable(_in_order(frame.assign(**read), layout, path, notes), layout, tuple(notes))


def named(forecasts: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    """Give forecasts under the user's names, stamps spelled as in the table that was read.

    Raises ConfigError for a name that would come twice.
    """
    check_names(list(forecasts.columns), layout)
    table = forecasts.rename(columns=layout.columns)
    if layout.id is None:
        table = table.drop(columns=_ALONE)
    if layout.time_format:
        stamps = {
            name: table[name].dt.strftime(layout.time_format) for name in (layout.time, *_CUTOFFS) if name in table
        }
        table = table.assign(**stamps)
    return table


def check_names(columns: Sequence[str], layout: Layout) -> None:
    """Refuse a layout with a name that a table of such columns has for one of its own. Raises ConfigError."""
    names = [layout.columns.get(name, name) for name in columns if name != _ALONE or layout.id is not None]
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ConfigError(f"error: forecasts have a column `{twice[0]}` of their own; rename that of the data")


def spelled(table: pd.DataFrame) -> pd.DataFrame:
    """Give forecasts as a text holds them: numbers with the seven figures that they have."""
    short = {name: table[name].map(_seven_figures) for name in table.columns if table[name].dtype == "float32"}
    times = {name: table[name].astype("str") for name in table.columns if table[name].dtype.kind == "M"}
    return table.assign(**short, **times)


def write_table(table: pd.DataFrame, path: Path | None) -> str | None:
    """Write what `named` gave, as the ending says; without a path give it as CSV. Raises ConfigError, OSError."""
    if path is not None and path.name.lower().endswith(_TYPED):
        with _parquet():
            table.to_parquet(path, index=False)
        return None
    return spelled(table).to_csv(path, index=False, lineterminator="\n")


def check_input(path: Path) -> None:
    """Refuse a table that cannot be read, by what is known before it is. Raises ConfigError, OSError."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file")
    if not path.is_file():
        there = sorted(one.name for one in path.parent.glob("*") if one.is_file()) if path.parent.is_dir() else []
        hint = nearest(path.name, there).strip()
        raise FileNotFoundError(f"{path}: there is no such file{f'; {hint}' if hint else ''}")
    if not path.name.lower().endswith(_TEXT + _TYPED):
        how = "; save it as CSV there" if path.suffix.lower() in (".xlsx", ".xls", ".ods") else ""
        raise ConfigError(f"{path}: is no kind of table that can be read{how}; allowed: {', '.join(_TEXT + _TYPED)}")
    if not path.stat().st_size:
        raise ConfigError(f"{path}: the file is empty")


def check_output(path: Path, endings: Sequence[str], argument: str) -> None:
    """Refuse, before any work, a file that cannot be written. Raises ConfigError."""
    if path.is_dir():
        raise ConfigError(f"error: `{argument}` {path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise ConfigError(f"error: `{argument}` {path}: there is no folder {path.parent}; make it first")
    if not path.name.lower().endswith(tuple(endings)):
        raise ConfigError(f"error: `{argument}` {path}: allowed endings: {', '.join(endings)}")


TABLE_ENDINGS = (".csv", ".csv.gz", *_TYPED)


def _issue_times(column: pd.Series, file: str, time_format: str | None, notes: list[str]) -> pd.Series:
    """Give a column of stamps, missing where nothing was issued."""
    issued = column.dropna()
    return read_times(issued, file, time_format, notes)[0].reindex(column.index) if len(issued) else column


def _text(path: Path, layout: Layout, notes: list[str]) -> pd.DataFrame:
    """Give all fields of a text file as text, NaN where nothing stands; the index counts its lines."""
    try:
        header = _header(path)
        separator = _separator(header, layout.separator)
        names = [name.strip() for name in next(csv.reader([header], delimiter=separator), [])]
        if separator != "," and layout.separator is None:
            notes.append(f"{path.name}: columns are separated by {_SEPARATORS[separator]}s")
        if not any(names):
            raise ConfigError(f"{path}: the first line is empty; it has to name the columns")
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"{path}: column `{twice}` comes twice; every name may come once")
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=separator,
                header=0,
                names=names,
                index_col=False,
                dtype="str",
                keep_default_na=False,
                na_values=[""],
                skip_blank_lines=False,
                skipinitialspace=True,
                encoding="utf-8-sig",
            )
    except UnicodeError as error:
        raise ConfigError(f"{path}: is not text in UTF-8; save it as CSV in UTF-8") from error
    except (pd.errors.ParserError, pd.errors.ParserWarning, csv.Error, gzip.BadGzipFile, EOFError) as error:
        raise ConfigError(f"{path}: {_torn(str(error))}") from error
    frame.index += 2  # line 1 is the header
    return frame


def _header(path: Path) -> str:
    with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
        return file.readline(1 << 20).decode("utf-8-sig").rstrip("\r\n")


def _separator(header: str, asked: str | None) -> str:
    if asked is not None:
        separator = {"tab": "\t", "\\t": "\t"}.get(asked, asked)
        if len(separator) != 1:
            raise ConfigError(f"error: `separator` is {asked!r}; allowed: one character, or tab")
        return separator
    fields = {separator: len(next(csv.reader([header], delimiter=separator), [])) for separator in _SEPARATORS}
    most = max(fields.values())
    return "," if fields[","] == most else next(separator for separator, number in fields.items() if number == most)


def _torn(message: str) -> str:
    """Say in our words that a line has more fields than the header names."""
    advice = "a decimal comma? a comma in a text without quotes? Quote such fields, or separate columns by ';'"
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", message):
        return f"line {found[2]} has {found[3]} fields, and the header {found[1]}: {advice}"
    if "does not match length of data" in message:
        return f"the rows have more fields than the header: {advice}"
    return f"cannot be read as CSV: {' '.join(message.split())}"


def _seven_figures(value: float) -> float:
    return float(f"{value:.7g}")


class _parquet:
    """A context in which a missing or failing pyarrow is told by what to do."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, error, trace) -> None:
        if isinstance(error, ImportError):
            raise ConfigError("error: Parquet needs pyarrow: pip install 'foretell[parquet]', or use CSV") from error
        if isinstance(error, ValueError):
            raise ConfigError(f"error: not readable as Parquet: {' '.join(str(error).split())}") from error


def _typed(path: Path) -> pd.DataFrame:
    with _parquet():
        frame = pd.read_parquet(path)
    frame.index = pd.RangeIndex(1, len(frame) + 1)
    return frame


def _check_columns(path: Path, frame: pd.DataFrame, layout: Layout, target: bool) -> list[str]:
    """Give the columns that have a purpose, once they are known to be there, each for one."""
    options = {"--id": layout.id, "--time": layout.time, "--target": layout.target if target else None}
    wanted = [(name, option) for option, name in options.items() if name is not None]
    if not target and layout.target in frame.columns:
        wanted.append((layout.target, "--target"))
    static = [] if target else list(layout.roles.static)
    wanted += [
        (name, "--forecasted" if role == "issue time" else f"--{role}")
        for name, role in layout.roles.uses()
        if target or role in ("known", "forecasted", "issue time") or (name in static and name in frame.columns)
    ]
    there = [str(name) for name in frame.columns]
    for place, (name, option) in enumerate(wanted):
        if name not in frame.columns:
            hint = nearest(name, there)
            raise ConfigError(f"{path}: there is no column {name!r} ({option}); {hint}it has {', '.join(there)}")
        if name in [earlier for earlier, _ in wanted[:place]]:
            other = next(option for earlier, option in wanted if earlier == name)
            raise ConfigError(f"{path}: column {name!r} is both {other} and {option}; allowed: one purpose")
    return [name for name, _ in wanted]


def _in_order(frame: pd.DataFrame, layout: Layout, path: Path, notes: list[str]) -> pd.DataFrame:
    """Sort rows by series (first come first) and time, where they are not, and say so."""
    order = frame[[layout.time]].assign(series=frame[layout.id or _ALONE].factorize()[0])
    order = order.sort_values(by=["series", layout.time], kind="stable")
    if not order.index.equals(frame.index):
        notes.append(f"{path.name}: rows were sorted by series and time")
        frame = frame.loc[order.index]
    return frame
