"""What lies in a folder of results: which experiments there are, how far each is, and its cells one by one.

All of it is read off the notes and markers of the store; nothing is computed, and no forecast is read.
"""

import csv
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from forecast.experiment.cells import cell_rows, curve_cells
from forecast.experiment.costs import CostExperiment
from forecast.experiment.recalls import RecallExperiment
from forecast.experiment.store import Store, StoreError, read_json
from forecast.experiment.suite import holds_suite, suite_note

LISTED = (
    *("folder", "suite", "name", "datasets", "done", "failed", "unfinished"),
    *("bytes", "written", "format", "version", "fault"),
)
SHOWN = ["dataset", "forecaster", "context_length", "seed", "folds", "status", "seconds", "error", "traceback", "key"]
_ON_CURVES = {kind.kind: kind.subject for kind in (CostExperiment, RecallExperiment)}
_COUNTS = ("done", "failed", "unfinished")
_UNKNOWN = dict.fromkeys(("suite", "name", "datasets", "version", "fault"), "")


def experiments_below(folder: str | Path) -> list[Path]:
    """Give the folders of all experiments in a folder, itself among them, in the order of their names.

    Raises StoreError where there is none.
    """
    folder = Path(folder)
    found = list(_experiments(folder))
    if not found:
        what = "there is no experiment in it" if folder.is_dir() else "there is no such folder"
        raise StoreError(f"{folder}: {what}; give one that `forecast run` has written, or a folder of such")
    return found


def place_of(experiment: Path, folder: str | Path) -> str:
    """Say where an experiment lies in a folder; one that is the folder itself is called as that is."""
    return experiment.relative_to(folder).as_posix() if experiment != Path(folder) else experiment.resolve().name


def subject_of(note: Mapping[str, Any]) -> str | None:
    """Say what an experiment on curves is on, such as costs; None for one that has forecasts."""
    return _ON_CURVES.get(note["config"].get("kind"))


def datasets_of(note: Mapping[str, Any]) -> list[str]:
    """Give the data sets of an experiment by name; one on curves has none."""
    return [one["name"] for one in note["config"].get("datasets", ())]


def list_results(folder: str | Path = "results") -> pd.DataFrame:
    """Give a row for each experiment in a folder, however deep.

    `folder` where it is; `suite` of which it is one; `name`; its `datasets`; how many cells are `done`, `failed` and
    `unfinished` by their markers, empty for one of a suite that has not begun; `bytes` of all files; `written` when
    the last of them was; `format` of the store, `version` of this library that has written it; `fault`, why no more
    can be told of it.

    Raises StoreError where there is none.
    """
    rows: dict[str, dict[str, Any]] = {}
    for experiment in experiments_below(folder):
        rows[place_of(experiment, folder)] = _listed(experiment)
        if holds_suite(experiment.parent) and Path(folder) in (experiment.parent, *experiment.parents):
            rows |= {place: row for place, row in _of_suite(experiment.parent, folder).items() if place not in rows}
    table = pd.DataFrame([{"folder": place, **row} for place, row in rows.items()], columns=list(LISTED))
    table["written"] = pd.to_datetime(table["written"], unit="s", utc=True).dt.floor("s")
    return table.astype(dict.fromkeys((*_COUNTS, "bytes", "format"), "Int64"))


def facts_of(folder: str | Path) -> dict[str, str]:
    """Say what an experiment is: its data, plan and forecasters, or what it measures; hashes, and where the report is.

    Raises StoreError where the folder is not that of an experiment.
    """
    folder = Path(folder)
    note = Store(folder).experiment()
    config = note["config"]
    facts = {"experiment": str(config.get("name", "")), "folder": str(folder)}
    if subject := subject_of(note):
        facts |= {f"{subject} of": ", ".join(config["backbones"]), "lengths": ", ".join(map(str, config["lengths"]))}
    else:
        facts |= {
            "data sets": ", ".join(datasets_of(note)),
            "horizon": str(config["horizon"]),
            "plan": ", ".join(f"{name} {value}" for name, value in config["plan"].items() if value is not None),
            "regime": str(config.get("regime", {}).get("type", "")),
            "forecasters": ", ".join(config["forecasters"]),
            "seeds": ", ".join(map(str, config["seeds"])),
        }
        for name, of in _hashes(folder).items():
            facts[f"hashes of {name}"] = f"data {of['data'][:12]}, plan {of['plan'][:12]}"
    facts["config hash"] = str(note.get("hash", ""))[:12]
    facts["written by"] = f"foretell {note.get('foretell', 'of old')}, format {note.get('format', 1)}"
    if (report := folder / "report.html").is_file():
        facts["report"] = str(report)
    return facts


def cell_table(folder: str | Path, *, check: bool = False) -> pd.DataFrame:
    """Give a row for each cell of an experiment, with what has become of it.

    `seconds` are those of its fits and predictions; `error` and `traceback` say why it failed. Those of an experiment
    on costs or memory have `backbone`, `length` and whatever else tells a point of a curve in place of data and folds.

    With `check` every file is read, and a cell that is damaged counts as not finished, as a run sees it.

    Raises StoreError where the folder is not that of an experiment.
    """
    store = Store(folder)
    note = store.experiment()
    if subject_of(note):
        return curve_cells(store, note, check=check)
    rows = cell_rows(store, note, check=check)
    table = pd.DataFrame([{**row, "seconds": _seconds(store, row)} for row in rows], columns=SHOWN)
    return table.astype({"context_length": "Int64", "seconds": "float64"})


def beside_table(folder: str | Path, *, check: bool = False) -> pd.DataFrame:
    """Give how many of the audits, costs, trials and measurements of an experiment are `done, failed, unfinished`.

    One row for each `kind` that it has. Raises as `cell_table`.
    """
    store = Store(folder)
    note = store.experiment()
    found: dict[str, dict[str, int]] = {}
    for work in (*note.get("before", ()), *note.get("beside", ())):
        of = found.setdefault(work["kind"], dict.fromkeys(_COUNTS, 0))
        of[store.status(work["key"], check=check)] += 1
    return pd.DataFrame([{"kind": kind, **of} for kind, of in found.items()], columns=["kind", *_COUNTS])


def _experiments(folder: Path) -> Iterator[Path]:
    for place, below, files in os.walk(folder):
        if "experiment.json" in files:
            below.clear()  # an experiment holds no other
            yield Path(place)
        else:
            below.sort()


def _listed(experiment: Path) -> dict[str, Any]:
    size, written = _extent(experiment)
    row: dict[str, Any] = {**_UNKNOWN, "bytes": size, "written": written}
    try:
        suite = experiment.parent
        row["suite"] = suite_note(suite)["name"] if holds_suite(suite) else ""
        store = Store(experiment)
        note = store.experiment()
        row |= {
            "name": note["config"].get("name", ""),
            "datasets": ", ".join(datasets_of(note)),
            **dict.fromkeys(_COUNTS, 0),
            "format": note.get("format", 1),
            "version": note.get("foretell", ""),
        }
        for cell in note["cells"]:
            row[store.status(cell["key"], check=False)] += 1
    except StoreError as error:
        row["fault"] = str(error)
    return row


def _of_suite(suite: Path, folder: str | Path) -> dict[str, dict[str, Any]]:
    """Give the rows of experiments of a suite that have not begun."""
    try:
        note = suite_note(suite)
    except StoreError:  # told of those that have
        return {}
    begun = {place.name for place in _experiments(suite)}
    return {
        place_of(suite / label, folder): {**_UNKNOWN, "suite": note["name"], "name": f"{note['name']} {label}"}
        for label in note["experiments"]
        if label not in begun
    }


def _hashes(folder: Path) -> dict[str, dict[str, Any]]:
    """Give the facts of each data set; nothing where a run was stopped before it knew them."""
    try:
        return read_json(folder / "setting.json")
    except FileNotFoundError:
        return {}


def _extent(folder: Path) -> tuple[int, float]:
    """Give the bytes of all files of a folder, and when the last of them was written."""
    size, written = 0, 0.0
    for place, _, files in os.walk(folder):
        for name in files:
            try:
                found = os.stat(os.path.join(place, name))
            except FileNotFoundError:  # of a run that goes on meanwhile
                continue
            size, written = size + found.st_size, max(written, found.st_mtime)
    return size, written


def _seconds(store: Store, row: Mapping[str, Any]) -> float:
    """Give the seconds of all fits and predictions of a cell; NaN where it is not done, or does not say."""
    if row["status"] != "done":
        return float("nan")
    try:
        with (store.folder_of(row["key"]) / "fits.csv").open(encoding="utf-8", newline="") as file:
            spent = [fit[name] for fit in csv.DictReader(file) for name in ("fit_seconds", "predict_seconds")]
        return sum(float(seconds or "nan") for seconds in spent)
    except (FileNotFoundError, KeyError, ValueError):
        return float("nan")
