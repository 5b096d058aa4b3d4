"""A folder of Parquet files: which ones, in which of two layouts, and what its columns are called.

Long: a row for each value, with the columns `unique_id`, `ds` and `y`. By series: a row for each series, with `y` a
column of lists and `ds` the stamp of the first value. The type of `y` tells which.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from forecast.frame import ID, TARGET, TIME, FrameError, Roles

ENDINGS = (".parquet", ".pq")
_HIDDEN = ("_", ".")  # how names begin that other writers of such folders keep for themselves
UNREADABLE = (OSError, ValueError, NotImplementedError)  # what pyarrow raises for files that it cannot read
_FREQ = b"freq"  # in the metadata of a file by series


@dataclass(frozen=True)
class Source:
    """The files of a folder, of one layout.

    Attributes
    ----------
    folder: where they lie.
    files: in the order of their names; those that cannot be read too.
    names: our name -> theirs, of `unique_id`, `ds` and `y`.
    others: further columns that are read.
    by_series: whether a row is a series, else it is a value.
    freq: the frequency that files by series name in their metadata; None where they do not.
    values: how many there are, as the files say at their ends.
    damaged: what is wrong with files that cannot be read.

    """

    folder: Path
    files: tuple[Path, ...]
    names: Mapping[str, str]
    others: tuple[str, ...]
    by_series: bool
    freq: str | None
    values: int
    damaged: Mapping[Path, str] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns that are read."""
        return [*self.names.values(), *self.others]


def parquet() -> Any:
    """Give `pyarrow.parquet`. Raises ModuleNotFoundError, with the remedy, where it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ModuleNotFoundError("Parquet needs pyarrow: pip install 'foretell[parquet]'") from error
    return pyarrow.parquet


def unreadable(error: Exception) -> str:
    """Say of a file what pyarrow has raised."""
    return f"cannot be read as Parquet ({' '.join(str(error).split())}): write it again"


def source_of(folder: str | Path, columns: Mapping[str, str] | None = None, roles: Roles | None = None) -> Source:
    """Look at a folder of Parquet files; only what stands at their ends is read.

    Parameters
    ----------
    folder: its files end in .parquet or .pq; those whose names begin with `_` or a point are not read.
    columns: our name -> theirs, as of `check_frame`.
    roles: which further columns are read.

    Raises
    ------
    FrameError: no such file, or none that can be read; files inside folders in it; files of two layouts; a column that
        a file has not, or of another type than the file before it.
    FileNotFoundError, NotADirectoryError: no such folder.
    ModuleNotFoundError: pyarrow is not installed.

    """
    folder = Path(folder).expanduser()
    if not folder.is_dir():
        kind = NotADirectoryError if folder.exists() else FileNotFoundError
        raise kind(f"{folder}: there is no such folder; give one of Parquet files, or a table as a frame")
    files = _files(folder)
    names = {name: (columns or {}).get(name, name) for name in (ID, TIME, TARGET)}
    others = tuple(dict.fromkeys(column for column in (roles or Roles()).columns() if column not in names.values()))
    heads, damaged = {}, {}
    for file in files:
        try:
            with parquet().ParquetFile(file) as opened:
                heads[file] = opened.schema_arrow, opened.metadata
        except UNREADABLE as error:
            damaged[file] = unreadable(error)
    if not heads:
        raise FrameError(f"{files[0]}: {damaged[files[0]]}; {len(files)} such files are all there are")
    for file, (schema, _) in heads.items():
        _check_columns(file, schema, [*names.values(), *others])
    _check_alike({file: schema for file, (schema, _) in heads.items()}, names)
    first = next(iter(heads.values()))[0]
    return Source(
        folder,
        files,
        names,
        others,
        _by_series(first, names),
        _freq_of(heads) if _by_series(first, names) else None,
        sum(values_in(metadata, names[TARGET]) for _, metadata in heads.values()),
        damaged,
    )


def _files(folder: Path) -> tuple[Path, ...]:
    def theirs(paths: Iterable[Path]) -> list[Path]:
        named = (path for path in paths if path.name.lower().endswith(ENDINGS) and not path.name.startswith(_HIDDEN))
        return sorted(path for path in named if path.is_file())

    files = theirs(folder.iterdir())
    inside = [path for path in sorted(folder.iterdir()) if path.is_dir() and not path.name.startswith(_HIDDEN)]
    if deep := next((path for path in inside if theirs(path.rglob("*"))), None):
        raise FrameError(
            f"{folder}: Parquet files lie in the folder {deep.name!r} inside it: give one folder at a time"
        )
    if not files:
        raise FrameError(f"{folder}: there is no file in it that ends in {' or '.join(ENDINGS)}; give a folder of such")
    return tuple(files)


def _check_columns(file: Path, schema: Any, wanted: Iterable[str]) -> None:
    for name in wanted:
        if name not in schema.names:
            lowered = {one.lower(): one for one in schema.names}
            near = get_close_matches(name.lower(), lowered, n=1)
            hint = f"; did you mean {lowered[near[0]]!r}?" if near else ""
            raise FrameError(
                f"{file}: column `{name}` is not there; it has {', '.join(schema.names)}{hint}. Name it with "
                "columns={...}, or declare another role"
            )
        if schema.names.count(name) > 1:
            raise FrameError(f"{file}: column `{name}` comes twice; every name may come once")


def _check_alike(schemas: Mapping[Path, Any], names: Mapping[str, str]) -> None:
    """Refuse files of two layouts, or whose ids or stamps are of two types."""
    first, told = next(iter(schemas.items()))
    for file, schema in schemas.items():
        if _by_series(schema, names) != _by_series(told, names):
            one, other = (first, file) if _by_series(told, names) else (file, first)
            raise FrameError(
                f"{file}: column `{names[TARGET]}` holds {'lists' if file == one else 'numbers'}, and that of "
                f"{first.name} {'lists' if first == one else 'numbers'}: {one.name} has a row for each series, "
                f"{other.name} one for each value. Give a folder of one layout"
            )
        for name in (names[ID], names[TIME]):
            if (here := _plain(schema.field(name).type)) != (there := _plain(told.field(name).type)):
                raise FrameError(
                    f"{file}: column `{name}` holds {here}, that of {first.name} {there}: give one type in all files"
                )


def _plain(kind: Any) -> Any:
    """Give the type of the values of a column, whether it holds them as a dictionary or not."""
    import pyarrow.types as types

    return kind.value_type if types.is_dictionary(kind) else kind


def _by_series(schema: Any, names: Mapping[str, str]) -> bool:
    return is_list(schema.field(names[TARGET]).type)


def is_list(kind: Any) -> bool:
    """Whether a column of a type holds lists."""
    import pyarrow.types as types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _freq_of(heads: Mapping[Path, Any]) -> str | None:
    """Give the frequency that files name; it is the same in all that do."""
    named = {file: (schema.metadata or {}).get(_FREQ) for file, (schema, _) in heads.items()}
    told = {file: freq.decode() for file, freq in named.items() if freq is not None}
    for file, freq in told.items():
        if freq != next(iter(told.values())):
            first = next(iter(told))
            raise FrameError(
                f"{file}: its metadata name the frequency {freq!r}, those of {first.name} {told[first]!r}: give a "
                "folder of one frequency"
            )
    return next(iter(told.values()), None)


def values_in(metadata: Any, target: str) -> int:
    """Give how many values of the target a file has, missing ones too; its metadata tell."""
    if not metadata.num_row_groups:
        return 0
    group = metadata.row_group(0)
    columns = [at for at in range(metadata.num_columns) if _top(group.column(at).path_in_schema, target)]
    return sum(metadata.row_group(at).column(columns[0]).num_values for at in range(metadata.num_row_groups))


def _top(path: str, name: str) -> bool:
    """Whether the path of a leaf is that of a column, or of what is inside it."""
    return path == name or path.startswith(f"{name}.")
