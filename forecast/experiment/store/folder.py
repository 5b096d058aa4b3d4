"""The folder of an experiment: each finished cell under a key of all that it depends on, and never half of one.

- cells/<key>/: config.json, the tables of a ledger and, written last, done.json with a checksum of each file; or
  error.json of a cell that failed, which the next run does again
- experiment.json: the config with all defaults, its hash, and what the cells are, with their keys
"""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from forecast import __version__
from forecast.evaluation.ledger import Ledger
from forecast.experiment.store.contents import Content, Failure
from forecast.experiment.store.files import (
    FORMAT,
    UNFINISHED,
    StoreError,
    check_format,
    checksum,
    read_json,
    remove,
    replacing,
    write_json,
)
from forecast.experiment.store.keys import key_of

Status = Literal["done", "failed", "unfinished"]
EXPERIMENT = "experiment.json"
_LOCK, _DONE, _ERROR, _CONFIG = ".lock", "done.json", "error.json", "config.json"
# What an experiment may change and keep its folder.
FREE_TO_CHANGE = (
    *("name", "seeds", "forecasters", "ablations", "fallback", "audit", "context_lengths", "history_lengths"),
    *("metrics", "standardised", "published", "ledger"),
    *("backbones", "patch_lengths", "lengths", "tasks"),
)


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
        note = {"format": FORMAT, "foretell": __version__, "hash": key_of(config), "config": config}
        with self.replacing(EXPERIMENT) as path:
            write_json(path, note | {"cells": list(cells), **more})

    @contextlib.contextmanager
    def locked(self, *, clearing: bool = True) -> Iterator[None]:
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
            for left in self.half_written() if clearing else ():
                remove(left)
            yield

    def half_written(self) -> list[Path]:
        """Give what a killed run has left half written; while one runs, it is what that is writing."""
        return sorted(self.folder.glob(f"{UNFINISHED}*"))

    @property
    def _cells(self) -> Path:
        return self.folder / "cells"

    # -- the experiment ------------------------------------------------------------------------------------------------

    def experiment(self) -> dict[str, Any]:
        """Give what `experiment.json` holds. Raises StoreError where there is none that can be read."""
        path = self.folder / EXPERIMENT
        try:
            note = read_json(path)
        except FileNotFoundError as error:
            raise StoreError(
                f"{self.folder} has no {EXPERIMENT}: give a folder that `forecast run` has written"
            ) from error
        if lacking := [name for name in ("config", "cells") if name not in note]:
            raise StoreError(f"{path} cannot be read: it lacks `{lacking[0]}`; delete it and run again")
        return note

    def _check_is_ours(self, config: Mapping[str, Any]) -> None:
        if all(path.name == _LOCK or path.name.startswith(UNFINISHED) for path in self.folder.iterdir()):
            return
        if not (self.folder / EXPERIMENT).is_file():
            raise StoreError(
                f"{self.folder} holds other files and no {EXPERIMENT}; name a new or an empty folder: --out FOLDER"
            )
        if found := sorted(differing(self.experiment()["config"], config)):
            raise StoreError(
                f"{self.folder} holds the results of another experiment, which differs in "
                + "; ".join(f"`{name}` ({there!r} there, {here!r} now)" for name, there, here in found)
                + f". Write elsewhere: --out FOLDER, or delete {self.folder} to start anew"
            )

    # -- cells ---------------------------------------------------------------------------------------------------------

    def folder_of(self, key: str) -> Path:
        """Give the folder of a cell, which is there if it has been computed."""
        return self._cells / key

    @property
    def keys(self) -> list[str]:
        """The keys of all cells that there are, whatever has become of them, and whether they are asked for."""
        return sorted(path.name for path in self._cells.iterdir()) if self._cells.is_dir() else []

    def is_done(self, key: str) -> bool:
        """Tell whether a cell is finished and still what was written.

        Raises StoreError for one of a format that is to come.
        """
        folder = self._cells / key
        try:
            note = json.loads((folder / _DONE).read_bytes())
            check_format(note, folder / _DONE)
            files = note.get("files", note)  # format 1 had nothing but them
            return all(checksum(folder / name) == was for name, was in files.items())
        except StoreError:
            raise
        except (FileNotFoundError, ValueError, AttributeError):  # no marker, or files damaged later
            return False

    def status(self, key: str, *, check: bool = True) -> Status:
        """Tell what has become of a cell: whether it is done, has failed, or is not finished.

        Without `check` one that is marked as finished is taken as it is, its files not read. Raises as `is_done`.
        """
        folder = self._cells / key
        if (folder / _ERROR).is_file():
            return "failed"
        return "done" if (self.is_done(key) if check else (folder / _DONE).is_file()) else "unfinished"

    def read(self, *keys: str) -> Ledger:
        """Give the ledger of one or more finished cells.

        Raises FileNotFoundError where one is not there, StoreError where it is not as this version writes it.
        """
        try:
            return Ledger.read_all([self._cells / key for key in keys])
        except ValueError as error:
            raise StoreError(
                f"a cell stored in {self.folder} cannot be read: {error} If another version of foretell has stored it, "
                "run the experiment again: forecast run CONFIG --out FOLDER"
            ) from error

    def read_error(self, key: str) -> dict[str, str] | None:
        """Give `type`, `message` and `traceback` of a cell that failed; None where it did not."""
        path = self._cells / key / _ERROR
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def read_config(self, key: str) -> dict[str, Any]:
        """Give all that a cell depends on; nothing where that cannot be read."""
        try:
            return json.loads((self._cells / key / _CONFIG).read_bytes())
        except (FileNotFoundError, ValueError):
            return {}

    def write(self, key: str, config: Mapping[str, Any], content: Content) -> None:
        """Store a finished cell, in place of what was there."""
        with self.replacing(f"cells/{key}") as folder:
            content.write(folder)
            write_json(folder / _CONFIG, config)
            files = {path.name: checksum(path) for path in sorted(folder.iterdir())}
            write_json(folder / _DONE, {"format": FORMAT, "foretell": __version__, "files": files})

    def write_error(self, key: str, config: Mapping[str, Any], failure: Failure) -> None:
        """Store why a cell failed."""
        with self.replacing(f"cells/{key}") as folder:
            folder.mkdir()
            write_json(folder / _CONFIG, config)
            write_json(folder / _ERROR, vars(failure))

    @contextlib.contextmanager
    def replacing(self, name: str) -> Iterator[Path]:
        """Give a path to write a file or a folder to, which takes the place of `name` when the block ends well.

        Raises StoreError where it cannot be written.
        """
        with replacing(self.folder, name) as path:
            yield path

    def remove(self, name: str) -> None:
        """Remove a file or folder of results, if it is there."""
        remove(self.folder / name)

    def discard(self, path: Path) -> None:
        """Remove a file or folder in one step: whoever ends the process, what is left of it is cleared away later.

        Raises StoreError where it cannot be removed.
        """
        aside = path if path.name.startswith(UNFINISHED) else self.folder / f"{UNFINISHED}{path.name}"
        try:
            path.rename(aside)
        except OSError as error:
            raise StoreError(f"{path} cannot be removed: {error.strerror or error}") from error
        remove(aside)
        if aside.exists():
            raise StoreError(f"{path} cannot be removed: not all of it may be deleted; look at {aside}")


def differing(there: Any, here: Any, name: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Give each key in which two configs differ, with both values."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        for key in {*there, *here}:
            if name or key not in FREE_TO_CHANGE:
                yield from differing(there.get(key), here.get(key), f"{name}.{key}" if name else key)
    elif there != here:
        yield name, there, here
