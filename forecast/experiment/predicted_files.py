"""One file of series, one of forecasts: the work on a single file of a folder, and the folder that keeps what comes.

A file of forecasts is written beside its place and put there by one rename, so that whoever ends the process, and when,
leaves whole files only. At its end it tells what was asked of which model and of which input, by which it is known
again.
"""

import json
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.experiment.store import Failure, Store, key_of
from forecast.experiment.work import Work
from forecast.folders import Source, parquet, tables_of
from forecast.folders.source import UNREADABLE
from forecast.forecaster import Forecaster
from forecast.frame import ID, TARGET, TIME, FrameError, Roles

if TYPE_CHECKING:
    import pyarrow as pa

_NOTE = b"foretell"
FAILED = "_failed"  # the folder of what went wrong; who reads folders of Parquet files looks into none of such a name


@dataclass(frozen=True)
class Saved:
    """A saved forecaster: its class, the folder it lies in, and the checksum of what was saved."""

    kind: type[Forecaster]
    folder: Path
    mark: str


@dataclass(frozen=True, eq=False)
class FilePrediction(Work):
    """The forecasts of all series of one file.

    Attributes
    ----------
    source: the folder that the file is of, and no other file.
    out: the folder of forecasts.
    model: who forecasts.
    config: what is asked, and of which input.
    wrong: what is known to be wrong with the file.

    """

    source: Source
    out: Path
    model: Saved
    config: dict[str, Any]
    wrong: str | None = None

    @property
    def file(self) -> Path:
        """The file of series."""
        return self.source.files[0]

    @property
    def key(self) -> str:  # type: ignore[override]
        """All that the forecasts depend on as a hash, and the name of their file."""
        return f"{key_of(self.config)}-{self.file.name}"

    def __str__(self) -> str:
        return self.file.name

    @property
    def kind(self) -> object:
        """All files alike."""
        return None

    def facts(self) -> dict[str, Any]:
        """Give what a table says of it."""
        return {"key": self.key, "file": self.file.name}

    def compute(self) -> "Written":
        """Forecast, and write the file of forecasts."""
        if self.wrong is not None:
            raise FrameError(self.wrong)
        model = loaded(self.model)
        with Store(self.out).replacing(self.file.name) as path:
            self._write(model, path)
        return Written()

    def _write(self, model: Forecaster, path: Path) -> None:
        model = copy(model)
        if (gaps := self.config["gaps"]) is not None:
            model.door_ = {**model.door_, "gaps": gaps}
        calendar = model.panel_of(None).calendar
        freq = calendar.freq if calendar.unit else int(calendar.freq)
        names, asked, series = self.source.names, {"horizon": self.config["horizon"]}, 0
        asked["quantile_levels"] = self.config["levels"]
        writer: Any = None
        try:
            for table, begins in tables_of(self.source, self.file, freq):
                forecasts = _forecasts(model, table, begins, asked)
                given = {ID: names[ID], TIME: names[TIME]}
                forecasts = forecasts.rename_columns([given.get(name, name) for name in forecasts.column_names])
                if writer is None:
                    keys = [names[ID], "cutoff", names[TIME], "step"]  # of the others each value is another
                    writer = parquet().ParquetWriter(path, forecasts.schema, compression="zstd", use_dictionary=keys)
                writer.write_table(forecasts.cast(writer.schema))
                series += len(begins)
            if writer is None:
                raise FrameError("there are no rows in it: leave it out")
            writer.add_key_value_metadata({_NOTE: json.dumps({"asked": self.config, "series": series}).encode()})
        finally:
            if writer is not None:
                writer.close()


class Written:
    """Forecasts that lie in their place."""

    def write(self, folder: Path) -> None:
        """Do nothing more."""


@dataclass(frozen=True)
class OutFolder:
    """The folder of forecasts, as that which keeps finished work."""

    folder: Path

    def is_done(self, key: str) -> bool:
        """Tell whether forecasts of this key lie there, whole."""
        asked, _, name = key.partition("-")
        note = note_of(self.folder / name)
        return bool(note) and key_of(note["asked"]) == asked

    def write(self, key: str, config: Mapping[str, Any], content: object) -> None:
        """Forget that it failed before; the forecasts have been put in their place by who made them."""
        del config, content
        Store(self.folder).remove(self._failed(key))

    def write_error(self, key: str, config: Mapping[str, Any], failure: Failure) -> None:
        """Keep why it failed; forecasts of what its file was before are no longer any."""
        Store(self.folder).remove(key.partition("-")[2])
        with Store(self.folder).replacing(self._failed(key)) as path:
            path.write_text(json.dumps({**vars(failure), "asked": config}, indent=1), encoding="utf-8")

    def failure(self, key: str) -> dict[str, str] | None:
        """Give `type`, `message` and `traceback` of a file that failed; None where it did not."""
        path = self.folder / self._failed(key)
        return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None

    def _failed(self, key: str) -> str:
        return f"{FAILED}/{key.partition('-')[2]}.json"


def note_of(file: Path) -> dict[str, Any] | None:
    """Give what a file of forecasts tells of itself, nothing if it is another's; None where none can be read."""
    try:
        metadata = parquet().read_metadata(file)
    except UNREADABLE:
        return None
    note = (metadata.metadata or {}).get(_NOTE)
    return {} if note is None else {**json.loads(note), "forecasts": metadata.num_rows}


@lru_cache(maxsize=1)
def loaded(model: Saved) -> Forecaster:
    """Load a forecaster, once in a process for all of its files."""
    return model.kind.load(model.folder)


def _forecasts(model: Forecaster, table: "pa.Table", begins: np.ndarray, asked: Mapping[str, Any]) -> "pa.Table":
    """Forecast the series of a long table, in whose first columns are id, stamp and target."""
    door = model.door_
    theirs = {name: (door.get("columns") or {}).get(name, name) for name in (ID, TIME, TARGET)}
    table = table.rename_columns([*theirs.values(), *table.column_names[3:]])
    roles, future = door.get("roles") or Roles(), None
    if roles.known or roles.forecasted:
        ahead = _ahead(table, begins, theirs[TARGET])
        if ahead.any():
            future = table.filter(ahead).drop_columns([theirs[TARGET]])
            table = table.filter(~ahead)
    return model.predict(table, future=future, **asked)


def _ahead(table: "pa.Table", begins: np.ndarray, target: str) -> np.ndarray:
    """Tell which rows come after the last value of their series: what is known of them is known ahead."""
    values = table[target].to_numpy(zero_copy_only=False).astype("float64")
    rows = np.arange(len(table))
    last = np.maximum.reduceat(np.where(np.isfinite(values), rows, -1), begins)
    last = np.where(last < begins, len(table), last)  # a series without any value has no end
    return rows > np.repeat(last, np.diff(np.append(begins, len(table))))
