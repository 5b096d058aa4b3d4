"""The folder of an experiment: each finished cell under a key of all that it depends on, and never half of one.

- cells/<key>/: config.json, the tables of a ledger and, written last, done.json with a checksum of each file; or
  error.json of a cell that failed, which the next run does again
- experiment.json: the config with all defaults, its hash, and what the cells are, with their keys

Whatever is written is written beside its place first and then put there by one rename: whoever ends the process, and
when, the folder holds whole cells only.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd

from forecast import __version__
from forecast.evaluation.ledger import Ledger
from forecast.frame import Panel

_UNFINISHED, _LOCK = ".writing-", ".lock"
_DONE, _ERROR, _CONFIG, _EXPERIMENT = "done.json", "error.json", "config.json", "experiment.json"
# Parts of the library that no number of a cell depends on.
_WITHOUT_NUMBERS = (
    *("__init__.py", "_bundled", "catalog", "cli.py", "experiment", "plots"),
    *("page.py", "panel_files.py", "progress.py", "saving.py", "searching.py"),
)
# What an experiment may change and keep its folder.
FREE_TO_CHANGE = (
    *("name", "seeds", "forecasters", "ablations", "fallback", "audit", "context_lengths", "history_lengths"),
    *("metrics", "standardised", "published", "ledger"),
    *("backbones", "patch_lengths", "lengths", "tasks"),
)


class StoreError(ValueError):
    """A folder that cannot hold the results of this experiment."""


class Content(Protocol):
    """What a finished cell holds: a ledger, or whatever else can be written to a folder."""

    def write(self, folder: Path) -> object:
        """Write it to a folder, which is made."""


@dataclass(frozen=True)
class Forecasts:
    """A ledger as a cell holds it: in files that are mapped and not read, for there may be many large ones."""

    ledger: Ledger

    def write(self, folder: Path) -> None:
        """Write it to a folder, which is made."""
        self.ledger.write(folder, table=False)


@dataclass(frozen=True)
class Failure:
    """Why a cell failed, as text: tracebacks stay in the process in which they came about."""

    type: str
    message: str
    traceback: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Tell an exception."""
        return cls(type(error).__name__, str(error), "".join(traceback.format_exception(error)))


class Store:
    """The cells and results of one experiment in a folder."""

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)

    @contextlib.contextmanager
    def opened(self, config: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], **more: Any) -> Iterator[Self]:
        """Make the folder, or take it up again, for an experiment, of which it keeps what `record` does.

        An experiment keeps its folder when only its forecasters or seeds change: cells go by their content, so that
        those still asked for are taken as they are, and others stay unused.

        Raises
        ------
        StoreError: the folder holds another experiment, or something else; it cannot be made or written to; another
            process is writing to it.

        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._check_is_ours(config)
            self._cells.mkdir(exist_ok=True)
            (self.folder / _LOCK).touch()
        except OSError as error:
            raise StoreError(
                f"results cannot be written to {self.folder}: {error.strerror or error}; name a folder that you may "
                "write to: --out FOLDER"
            ) from error
        with self.locked():
            self.record(config, cells, **more)
            yield self

    def record(self, config: Mapping[str, Any], cells: Sequence[Mapping[str, Any]], **more: Any) -> None:
        """Keep what the experiment is: its config, what its cells are, in their order, and more that tables tell."""
        note = {"foretell": __version__, "hash": key_of(config), "config": config, "cells": list(cells), **more}
        with self.replacing(_EXPERIMENT) as path:
            path.write_text(_json(note), encoding="utf-8")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from writing here meanwhile, and clear away what a killed run has left half written.

        Raises StoreError while another process writes here.
        """
        with open(self.folder / _LOCK, "a+b") as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # not on Windows, where two runs at once are not told of each other
                pass
            except BlockingIOError as error:
                raise StoreError(
                    f"another run is writing to {self.folder}: wait for it, or write elsewhere: --out FOLDER"
                ) from error
            for left in self.folder.glob(f"{_UNFINISHED}*"):
                _remove(left)
            yield

    @property
    def _cells(self) -> Path:
        return self.folder / "cells"

    # -- the experiment ------------------------------------------------------------------------------------------------

    def experiment(self) -> dict[str, Any]:
        """Give what `experiment.json` holds. Raises StoreError where there is none."""
        try:
            return json.loads((self.folder / _EXPERIMENT).read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise StoreError(
                f"{self.folder} has no {_EXPERIMENT}: give a folder that `forecast run` has written"
            ) from error
        except (OSError, ValueError) as error:
            raise StoreError(f"{self.folder / _EXPERIMENT} cannot be read: {error}; delete it and run again") from error

    def _check_is_ours(self, config: Mapping[str, Any]) -> None:
        if all(path.name == _LOCK or path.name.startswith(_UNFINISHED) for path in self.folder.iterdir()):
            return
        if not (self.folder / _EXPERIMENT).is_file():
            raise StoreError(
                f"{self.folder} holds other files and no {_EXPERIMENT}; name a new or an empty folder: --out FOLDER"
            )
        differing = sorted(_differing(self.experiment()["config"], config))
        if differing:
            raise StoreError(
                f"{self.folder} holds the results of another experiment, which differs in "
                + "; ".join(f"`{name}` ({there!r} there, {here!r} now)" for name, there, here in differing)
                + f". Write elsewhere: --out FOLDER, or delete {self.folder} to start anew"
            )

    # -- cells ---------------------------------------------------------------------------------------------------------

    def folder_of(self, key: str) -> Path:
        """Give the folder of a cell, which is there if it has been computed."""
        return self._cells / key

    def is_done(self, key: str) -> bool:
        """Tell whether a cell is finished and still what was written."""
        folder = self._cells / key
        try:
            checksums = json.loads((folder / _DONE).read_text(encoding="utf-8"))
            return all(_checksum(folder / name) == checksum for name, checksum in checksums.items())
        except (FileNotFoundError, ValueError):  # no marker, or files damaged later
            return False

    def read(self, key: str) -> Ledger:
        """Give the ledger of a finished cell.

        Raises FileNotFoundError where there is none, StoreError where it is not as this version writes it.
        """
        try:
            return Ledger.read(self._cells / key)
        except ValueError as error:
            raise StoreError(
                f"a cell stored in {self.folder} cannot be read: {error} If another version of foretell has stored it, "
                "run the experiment again: forecast run CONFIG --out FOLDER"
            ) from error

    def read_error(self, key: str) -> dict[str, str] | None:
        """Give `type`, `message` and `traceback` of a cell that failed; None where it did not."""
        path = self._cells / key / _ERROR
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def write(self, key: str, config: Mapping[str, Any], content: Content) -> None:
        """Store a finished cell, in place of what was there."""
        with self.replacing(f"cells/{key}") as folder:
            content.write(folder)
            (folder / _CONFIG).write_text(_json(config), encoding="utf-8")
            checksums = {path.name: _checksum(path) for path in sorted(folder.iterdir())}
            (folder / _DONE).write_text(_json(checksums), encoding="utf-8")

    def write_error(self, key: str, config: Mapping[str, Any], failure: Failure) -> None:
        """Store why a cell failed."""
        with self.replacing(f"cells/{key}") as folder:
            folder.mkdir()
            (folder / _CONFIG).write_text(_json(config), encoding="utf-8")
            (folder / _ERROR).write_text(_json(vars(failure)), encoding="utf-8")

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """Give a path to write a file or a folder to, which takes the place of `name` when the block ends well.

        Raises StoreError where it cannot be written.
        """
        target = self.folder / name
        place = None
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            # In the folder of the store, where the next run finds and removes what a killed one has left.
            place = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.folder))
            yield place / target.name
            if target.is_dir():
                # No folder takes the place of another in one step: between the two nothing is there, hence not done.
                target.rename(place / "replaced")
            (place / target.name).replace(target)
        except OSError as error:
            raise StoreError(
                f"{name} cannot be written to {self.folder}: {error.strerror or error}. What was written before is "
                "whole: the same command goes on from there, once it can"
            ) from error
        finally:
            if place is not None:
                _remove(place)

    def remove(self, name: str) -> None:
        """Remove a file or folder of results, if it is there."""
        _remove(self.folder / name)


def key_of(value: Any) -> str:
    """Give a key of JSON content: equal for equal content, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def checksum_of(panel: Panel) -> str:
    """Give a checksum of all that a forecaster can see of a panel: values, covariates, ids and calendar."""
    digest = hashlib.sha256()

    def add(array: np.ndarray) -> None:
        if array.dtype.kind == "f":
            array = np.where(np.isnan(array), array.dtype.type(np.nan), array)  # one bit pattern for all NaN
        digest.update(np.ascontiguousarray(array).tobytes() + b"|")

    for array in (panel.values, panel.observed, panel.starts, panel.stops, panel.first):
        add(array)
    if panel.weights is not None:
        add(panel.weights)
    if (beside := panel.covariates) is not None:
        for table in (beside.static, beside.past, beside.known):
            add(table.numbers)
            columns = [[one.name, one.delay, _told(one.categories)] for one in table.columns]
            digest.update(json.dumps(columns).encode())
        for array in (beside.starts, beside.stops, beside.first, *([] if beside.late is None else [beside.late])):
            add(array)
    calendar = panel.calendar
    # One stamp tells where a regular axis lies; one that is listed is all of its stamps.
    ordinals = range(int(panel.first.min()), int(panel.last.max()) + 1) if calendar.freq == "steps" else [0]
    stamps = [str(stamp) for stamp in calendar.stamps(ordinals)]
    digest.update(json.dumps([_told(panel.ids), calendar.freq, str(calendar.zone), stamps]).encode())
    return digest.hexdigest()


def _told(names: pd.Index | None) -> list[list[str]] | None:
    """Give names as text, each with its type."""
    return None if names is None else [[type(one).__name__, str(one)] for one in names.tolist()]


@cache
def code_version() -> str:
    """Give the version of this library and a hash of the code that numbers depend on, for work between two versions."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package)
        if name.parts[0] not in _WITHOUT_NUMBERS:
            digest.update(name.as_posix().encode() + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:12]}"


def _differing(there: Any, here: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Give each key in which two configs differ, with both values."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for key in {*there, *here}:
            if name or key not in FREE_TO_CHANGE:
                yield from _differing(there.get(key), here.get(key), f"{name}.{key}" if name else key)
    elif there != here:
        yield name, there, here


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists():
        with contextlib.suppress(OSError):
            os.unlink(path)
