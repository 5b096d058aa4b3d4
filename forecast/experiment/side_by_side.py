"""Forecasters of several experiments compared as if they were of one: the same series, cutoffs and steps, paired.

Only what is stored is read.

- summary.csv, comparison.csv, pairs.csv, win_rates.csv: as of one experiment, with a column `folder`
- plots/<dataset>/, report.html: as of one experiment
- compared.json: the folders, the hashes of data and plan, and what is not the same
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from forecast import __version__
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import Standings
from forecast.experiment.agreement import shared_datasets, sides_of, unlike
from forecast.experiment.cells import Row, cell_rows, failure_of, left_out
from forecast.experiment.merging import COMPARED, Own, Whole, brought_together, own_of
from forecast.experiment.setting import facts_of, read_folds, read_history, write_table
from forecast.experiment.store import FORMAT, Store, StoreError, read_json, write_json
from forecast.experiment.tables import joined, standing_tables

_NOTE = "compared.json"
_OF_EACH = ("code", "config", "versions", "machine", "seeds of networks", "fallback")  # facts that may differ


@dataclass(frozen=True)
class SideBySide:
    """What a comparison of experiments found.

    Attributes
    ----------
    folders: of the experiments, by what they are called.
    summary: one row per data set and forecaster: as of `Results`, with the `folder` that it is of, and the interval of
        its skill, `low` to `high`.
    ledgers, verdicts, standings: by data set, as of `Results`.
    notes: what is not the same in the experiments, and what is shown once or left out.
    folder: where it was written; None where it was not.

    """

    folders: Mapping[str, Path]
    summary: pd.DataFrame
    ledgers: Mapping[str, Ledger]
    verdicts: Mapping[str, str]
    standings: Mapping[str, Standings]
    notes: tuple[str, ...]
    folder: Path | None = None

    @property
    def report(self) -> Path | None:
        """The page to read; None where it was not written."""
        return None if self.folder is None else self.folder / "report.html"


def compare_results(folders: Sequence[str | Path], out: str | Path | None = None) -> SideBySide:
    """Compare the forecasters of two or more experiments that ask the same, in one table, paired as in one experiment.

    Parameters
    ----------
    folders: of experiments, as `run_experiment` wrote them.
    out: a folder, for tables, plots and a report; None to write nothing.

    Raises
    ------
    StoreError: the experiments differ in data or plan, or in quantile levels; a folder does not hold one; `out` holds
        something else, or cannot be written to.

    """
    sides = sides_of(folders)
    shared = shared_datasets(sides)
    store = None if out is None else _place(out)
    notes = unlike(sides, shared)
    of = {side.name: cell_rows(side.store, side.note) for side in sides}
    wholes = [
        brought_together(name, [own_of(side, of[side.name], name, notes) for side in sides], notes) for name in shared
    ]
    found = SideBySide(
        folders={side.name: side.store.folder for side in sides},
        summary=joined([one.summary for one in wholes], COMPARED),
        ledgers={one.name: one.ledger for one in wholes},
        verdicts={one.name: one.verdict for one in wholes},
        standings={one.name: one.found for one in wholes},
        notes=tuple(dict.fromkeys(notes)),
        folder=None if store is None else store.folder,
    )
    if store is not None:
        with store.locked():
            _write(store, found, wholes)
    return found


def _place(out: str | Path) -> Store:
    """Give the folder to write to, which is made. Raises StoreError for one that holds something else."""
    store = Store(out)
    folder = store.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [path.name for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        raise StoreError(
            f"results cannot be written to {folder}: {error.strerror or error}; name a folder that you may write to: "
            "--out FOLDER"
        ) from error
    if there and _NOTE not in there:
        raise StoreError(f"{folder} holds other files and no {_NOTE}; name a new or an empty folder: --out FOLDER")
    if there:
        read_json(folder / _NOTE)  # refuses one of a format that is to come
    return store


def _write(store: Store, found: SideBySide, wholes: Sequence[Whole]) -> None:
    # Here, since they draw.
    from forecast.experiment.pictures import write_pictures
    from forecast.experiment.report import write_report

    hashes = {one.name: _hashes(one) for one in wholes}
    folders = {name: str(path) for name, path in found.folders.items()}
    note = {"format": FORMAT, "foretell": __version__, "folders": folders}
    with store.replacing(_NOTE) as path:
        write_json(path, note | {"datasets": hashes, "notes": list(found.notes)})
    for name, table in {"summary.csv": found.summary, **standing_tables(found.standings)}.items():
        write_table(store, name, table)
    chapters = [_chapter(one, found.notes) for one in wholes]
    with store.replacing("report.html") as path:
        write_report(path, chapters, title=f"Experiments {' and '.join(found.folders)}")
    for one, chapter in zip(wholes, chapters, strict=True):
        write_pictures(store, f"plots/{one.name}", chapter.drawn or ())


def _chapter(whole: Whole, notes: Sequence[str]) -> Any:
    from forecast.experiment.pictures import Drawn, pictures
    from forecast.experiment.report import Chapter

    first, ledger = whole.owns[0].side, whole.ledger
    folds, history = read_folds(first.store, whole.name, ledger), read_history(first.store, whole.name, ledger)
    lost = [cell for own in whole.owns for cell in own.cells if cell["status"] != "done"]
    return Chapter(
        ledger,
        whole.summary,
        folds,
        {"dataset": whole.name, "horizon": ledger.horizon, "regime": whole.regime or "not the same"}
        | _facts(whole, folds)
        | {"notes": "; ".join(notes) or "none"},
        failures=[failure_of(cell) for cell in lost if cell["status"] == "failed"],
        not_tested=left_out(lost),
        found=whole.found,
        audits={label: one for own in whole.owns for label, one in own.audits.items()},
        regime=whole.regime,
        budgets={label: one for own in whole.owns for label, one in own.budgets.items()},
        unequal=[line for own in whole.owns for line in _unequal(own, whole.name)],
        drawn=pictures(ledger, Drawn(whole.found, folds, history)),
    )


def _unequal(own: Own, dataset: str) -> list[str]:
    told = own.side.note.get("settled", {}).get(dataset, {}).get("unequal", ())
    return [f"in {own.side.name} {line}" for line in told]


def _facts(whole: Whole, folds: pd.DataFrame) -> Row:
    """Give the facts of the protocol, those that may differ for each experiment."""
    of = {own.side.name: facts_of(own.side.store, own.side.note, folds, whole.name) for own in whole.owns}
    first = next(iter(of.values()))
    told = dict(first)
    for name in _OF_EACH:
        values = {side: facts.get(name, "none") for side, facts in of.items()}
        if any(value != first.get(name, "none") for value in values.values()):
            told[name] = values
    return told


def _hashes(whole: Whole) -> dict[str, str]:
    setting = whole.owns[0].side.setting(whole.name)
    return {kind: setting[kind] for kind in ("data", "plan")}
