"""The panel of a folder: all of its series or, of more than memory should hold, some drawn at random."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from forecast.folders.identity import look_at_ids
from forecast.folders.series import tables_of
from forecast.folders.source import Source, source_of
from forecast.frame import FrameError, Panel, check_frame
from forecast.params import check_positive, check_seed

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUES = 20_000_000


def folder_panel(folder: str | Path, *, most_values: int = MOST_VALUES, seed: int = 0, **door) -> Panel:
    """Read a folder of Parquet files as a panel, through the door: that of the frame of all files, in their order.

    Parameters
    ----------
    folder: its files are long, with a row for each value, or have a row for each series (see docs/scale.md).
    most_values: where the files have more, each series is drawn with the same chance, so that about as many values
        are read in as this; a warning tells how many series that are. The others are read past.
    seed: of the draw, which depends on it, the names of the files and the order of series in them.
    door: options of `check_frame`. A file with a row for each series needs `freq`, or tells it in its metadata.

    Raises
    ------
    FrameError: as `source_of` and `check_frame`; a file that cannot be read, or a series whose rows do not lie together
        in one file.
    FileNotFoundError, NotADirectoryError: no such folder.
    TypeError, ValueError: an argument that is not allowed.

    """
    check_positive(most_values=most_values)
    check_seed(seed)
    source = source_of(folder, door.get("columns"), door.get("roles"))
    found = look_at_ids(source)
    for file, why in found.wrong.items():
        raise FrameError(f"{file}: {why}")
    if source.by_series and door.get("freq") is None:
        door["freq"] = source.freq
    share = min(1.0, most_values / max(1, source.values))
    tables = []
    for place, file in enumerate(source.files):
        random = np.random.default_rng([seed, place])
        try:
            tables += [_drawn(*part, share, random) for part in tables_of(source, file, door.get("freq"))]
        except FrameError as error:
            raise FrameError(f"{file}: {error}") from error
    if share < 1:
        _tell(source, sum(found.series.values()), tables, share, seed)
    return _checked(source, [table for table, _ in tables], door)


def _drawn(table: "pa.Table", begins: np.ndarray, share: float, random: np.random.Generator) -> tuple["pa.Table", int]:
    """Give the rows of the series that are drawn, and how many series these are."""
    import pyarrow as pa

    if share == 1:
        return table, len(begins)
    kept = random.random(len(begins)) < share
    rows = np.repeat(kept, np.diff(np.append(begins, len(table))))
    return table.filter(pa.array(rows)), int(kept.sum())


def _tell(source: Source, series: int, tables: list[tuple["pa.Table", int]], share: float, seed: int) -> None:
    drawn = sum(count for _, count in tables)
    if not drawn:
        raise FrameError(
            f"{source.folder}: `most_values` draws none of the {series:,} series, which have {source.values:,} values: "
            "give a larger one"
        )
    warnings.warn(
        f"{source.folder}: {drawn:,} of {series:,} series are learned from, each drawn with a chance of {share:.2%} "
        f"(seed {seed}), as there are {source.values:,} values; `most_values` takes more",
        stacklevel=4,
    )


def _checked(source: Source, tables: list["pa.Table"], door: dict) -> Panel:
    import pyarrow as pa

    try:
        frame = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowInvalid as error:
        raise FrameError(
            f"{source.folder}: a column has types in its files that do not go together: {error}. Write it as one type"
        ) from error
    try:
        return check_frame(frame, **door)
    except FrameError as error:
        raise FrameError(f"{source.folder}: {error}") from error
