"""Whether the series of a folder can be told apart: each lies in one file and, in a long one, together."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
from pandas.util import hash_array

from forecast.folders.series import ids_of
from forecast.folders.source import Source
from forecast.frame import ID, FrameError


@dataclass(frozen=True)
class Looked:
    """What the ids of a folder tell: how many series each file has, and what is wrong with single files."""

    series: Mapping[Path, int]
    wrong: Mapping[Path, str]


def look_at_ids(source: Source) -> Looked:
    """Read the ids of all files, 8 bytes of each of which are kept.

    Raises
    ------
    FrameError: a series that lies in two files.

    """
    series, wrong, hashes = {}, dict(source.damaged), {}
    for file in source.files:
        if file in wrong:
            continue
        try:
            found = [_hashed(ids) for ids in ids_of(source, file)]
        except FrameError as error:
            wrong[file] = str(error)
            continue
        hashes[file] = np.sort(np.concatenate([*found, np.empty(0, "uint64")]))
        series[file] = len(hashes[file])
        if not series[file]:
            wrong[file] = "there are no rows in it: leave it out"
        if twice := _twice_in(source, file, hashes[file]):
            wrong[file] = twice
    _check_apart(source, hashes)
    return Looked(series, wrong)


def _hashed(ids: list) -> np.ndarray:
    values = np.empty(len(ids), dtype=object)
    values[:] = list(map(str, ids))
    return cast("Callable", hash_array)(values, categorize=False)


def _twice_in(source: Source, file: Path, hashes: np.ndarray) -> str | None:
    """Tell of a series that comes twice in a file, whose hashes are in order; None where there is none."""
    suspects = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    seen = set()
    column = source.names[ID]
    for name in _named(source, file, suspects):
        if name in seen and source.by_series:
            return f"column `{column}`: series {name!r} has two rows; allowed: a row for each series. Leave one out"
        if name in seen:
            return (
                f"column `{column}`: series {name!r} comes again after rows of another; allowed: the rows of a series "
                f"together, in time order. Sort by `{column}` and time before the file is written"
            )
        seen.add(name)
    return None


def _check_apart(source: Source, hashes: Mapping[Path, np.ndarray]) -> None:
    if len(hashes) < 2:
        return
    every = np.sort(np.concatenate(list(hashes.values())))
    suspects = set(every[1:][every[1:] == every[:-1]].tolist())
    seen = {}
    for file, own in hashes.items():
        here = suspects.intersection(own[np.isin(own, list(suspects))].tolist()) if suspects else set()
        for name in _named(source, file, here):
            if (other := seen.setdefault(name, file)) != file:
                raise FrameError(
                    f"{file}: column `{source.names[ID]}`: series {name!r} also lies in {other.name}. Allowed: a "
                    "series in one file: write the files by series, not by time, or give series of the same name others"
                )


def _named(source: Source, file: Path, suspects: set) -> list:
    """Give the ids of a file whose hashes are among some, as often as they come."""
    if not suspects:
        return []
    named = ((name, one) for ids in ids_of(source, file) for name, one in zip(ids, _hashed(ids).tolist(), strict=True))
    return [name for name, one in named if one in suspects]
