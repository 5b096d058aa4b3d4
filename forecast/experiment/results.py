"""What is left of an experiment for people: tables, ledgers, plots and the report, all from what its store holds.

- summary.csv: one row per dataset, horizon and forecaster
- cells.csv: one row per cell: done, failed (with its traceback) or unfinished
- budgets.csv: what each forecaster could spend and has spent; one row per dataset and forecaster
- trials.csv, tuning.csv: of a search, each trial, and the error of the best of so many
- folds.csv: the plan on each data set
- ledger/<dataset>/: every forecast with what came true
- history/: the series from shortly before the first cutoff on, for plots
- plots/<dataset>/: the plots of the report, as PNG
- report.html: the one page to read
- experiment.yaml, protocol.json: the config as written; versions and machine
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from forecast.evaluation.effects import is_crossed
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import DEFAULTS, score
from forecast.evaluation.plan import Plan
from forecast.evaluation.skill import skill
from forecast.experiment.config import Experiment
from forecast.experiment.protocol import protocol
from forecast.experiment.regimes.account import budget_table, sentences, trial_table, tuning_curves
from forecast.experiment.store import Store
from forecast.frame import Panel

BASELINE = "SeasonalNaive"
COSTS = ["fit_seconds", "predict_seconds", "parameters"]
PARTS = ["backbone", "decoder"]
SUMMARY = ["dataset", "horizon", "forecaster", "family", *PARTS, "seeds", *DEFAULTS, "skill", *COSTS]
CELLS = ["dataset", "horizon", "forecaster", "seed", "folds", "status", "error", "traceback", "key"]
Row = dict[str, Any]
_ZIPPED: dict[str, Any] = {"method": "gzip", "compresslevel": 1, "mtime": 0}


@dataclass(frozen=True)
class Results:
    """The results of an experiment, as its folder holds them.

    Attributes
    ----------
    folder: where they are.
    summary: one row per dataset, horizon and forecaster: scores (`score`, and `skill` against SeasonalNaive), how many
        seeds they are averaged over, seconds spent per seed on all fits and all predictions, trained parameters.
        Empty scores where no seed of a forecaster got through all folds.
    cells: one row per cell: `status` is done, failed or unfinished.
    ledgers: every forecast, by data set; of forecasters and seeds that got through all folds.
    verdicts: one sentence for each data set.
    regimes: what was made equal between networks, how far, and what was not, by data set.
    budgets: one row per dataset and forecaster: size, context, steps, batch, trials, seeds, seconds of a fit.
    trials: one row per trial of a search; none where the regime makes none.

    """

    folder: Path
    summary: pd.DataFrame
    cells: pd.DataFrame
    ledgers: Mapping[str, Ledger]
    verdicts: Mapping[str, str]
    regimes: Mapping[str, str]
    budgets: pd.DataFrame
    trials: pd.DataFrame

    @property
    def ledger(self) -> Ledger:
        """The ledger of an experiment on one data set. Raises ValueError where there are more, or none."""
        if len(self.ledgers) != 1:
            raise ValueError(f"there are ledgers of {list(self.ledgers)}; take one of `ledgers`")
        return next(iter(self.ledgers.values()))

    @property
    def failures(self) -> list[Row]:
        """The cells that failed, with their tracebacks."""
        return [row for row in _records(self.cells) if row["status"] == "failed"]

    @property
    def report(self) -> Path | None:
        """The page to read; None where no forecaster got through."""
        path = self.folder / "report.html"
        return path if path.is_file() else None


def write_setting(store: Store, experiment: Experiment, data: Mapping[str, tuple[Panel, Plan]]) -> None:
    """Write what is known before the first cell: config, protocol, the folds on each data set, its latest history."""
    if experiment.text is not None:
        with store.replacing("experiment.yaml") as path:
            path.write_text(experiment.text, encoding="utf-8")
    with store.replacing("protocol.json") as path:
        path.write_text(json.dumps(protocol(), indent=1) + "\n", encoding="utf-8")
    tables = []
    for name, (panel, plan) in data.items():
        table = plan.table(panel).astype("object")  # data sets may count time differently
        table.insert(0, "dataset", name)
        tables.append(table)
        begin = plan.folds(panel)[0].cutoff - 2 * plan.horizon
        with store.replacing(f"history/{name}.csv.gz") as path:
            panel.since(begin).to_frame().to_csv(path, index=False, lineterminator="\n", compression=_ZIPPED)
    _write_table(store, "folds.csv", pd.concat(tables))


def publish(store: Store) -> Results:
    """Score what the store holds, write all results and give them back; neither data nor models are needed."""
    # Here, since they draw: whoever asks what an experiment is does without matplotlib.
    from forecast.experiment.report import Chapter, write_report
    from forecast.experiment.verdict import verdict

    note = store.experiment()
    config, horizon = note["config"], note["config"]["horizon"]
    cells, settled = _cells(store, note), note.get("settled", {})
    trials = trial_table(store, note.get("before", ()))
    curves = tuning_curves(trials, settled, {cell["forecaster"]: cell["family"] for cell in cells})
    ledgers, summaries, chapters, verdicts, regimes = {}, [], [], {}, {}
    for dataset in (one["name"] for one in config["datasets"]):
        here = [cell for cell in cells if cell["dataset"] == dataset]
        lost = [cell for cell in here if cell["status"] != "done"]
        if not here:  # what the regime has to do first is not finished
            continue
        ledger = _ledger(store, here)
        regimes[dataset] = told = " ".join(sentences(settled[dataset], ledger)) if dataset in settled else "not told"
        summaries.append(summary := _summary(here, ledger))
        if ledger is None:
            continue
        ledgers[dataset] = ledger
        verdicts[dataset] = verdict(ledger, _records(summary), dataset)
        history, folds = _history(store, dataset, ledger), _folds(store, dataset, ledger)
        with store.replacing(f"ledger/{dataset}") as path:
            ledger.write(path)
        _write_plots(store, dataset, ledger, history, folds, pd.DataFrame(curves[curves["dataset"] == dataset]))
        chapters.append(
            Chapter(
                ledger,
                summary,
                folds,
                {"dataset": dataset, "horizon": horizon, "regime": told, **_facts(store, note, folds)},
                failures=[_failure(cell) for cell in lost if cell["status"] == "failed"],
                history=history,
                not_tested=_left_out(lost),
            )
        )
    summary = pd.concat(summaries, ignore_index=True) if summaries else pd.DataFrame(columns=SUMMARY)
    cell_table, budgets = pd.DataFrame(cells, columns=CELLS), budget_table(settled, ledgers)
    _write_table(store, "summary.csv", summary)
    _write_table(store, "cells.csv", cell_table)
    _write_table(store, "budgets.csv", budgets)
    if len(trials):
        _write_table(store, "trials.csv", trials)
        _write_table(store, "tuning.csv", curves)
    report = store.folder / "report.html"
    if chapters:
        with store.replacing(report.name) as path:
            write_report(path, chapters, title=f"Experiment {config['name']}")
    else:
        report.unlink(missing_ok=True)
    return Results(store.folder, summary, cell_table, ledgers, verdicts, regimes, budgets, trials)


def _cells(store: Store, note: Mapping[str, Any]) -> list[Row]:
    rows = []
    for cell in note["cells"]:
        error = store.read_error(cell["key"])
        first, last = cell["folds"][0] + 1, cell["folds"][-1] + 1
        rows.append(
            {
                **cell,
                "horizon": note["config"]["horizon"],
                "folds": str(first) if first == last else f"{first} to {last}",
                "status": "failed" if error else "done" if store.is_done(cell["key"]) else "unfinished",
                "error": f"{error['type']}: {error['message']}" if error else "",
                "traceback": error["traceback"] if error else "",
            }
        )
    return rows


def _ledger(store: Store, cells: Sequence[Row]) -> Ledger | None:
    """Join the cells of all forecasters and seeds that got through all folds: only they can be compared."""
    lost = {(cell["forecaster"], cell["seed"]) for cell in cells if cell["status"] != "done"}
    parts = [store.read(cell["key"]) for cell in cells if (cell["forecaster"], cell["seed"]) not in lost]
    return Ledger.concat(parts) if parts else None


def _summary(cells: Sequence[Row], ledger: Ledger | None) -> pd.DataFrame:
    """Give the rows of a data set, one per forecaster, in the order of the config."""
    families = {cell["forecaster"]: cell["family"] for cell in cells}
    table = pd.DataFrame({"forecaster": list(families), "family": list(families.values())})
    table = table.assign(dataset=cells[0]["dataset"], horizon=cells[0]["horizon"])
    if ledger is not None:
        fits = ledger.fits.groupby(["forecaster", "seed"], sort=False)
        parts = dict.fromkeys(PARTS, "first")
        runs = fits.agg({**parts, "fit_seconds": "sum", "predict_seconds": "sum", "parameters": "max"})
        costs = runs.reset_index().groupby("forecaster", sort=False)
        costs = costs.agg({**parts, "seed": "count", **dict.fromkeys(COSTS, "mean"), "parameters": "max"})
        tables = [score(ledger), costs.rename(columns={"seed": "seeds"}).reset_index()]
        if BASELINE in ledger.forecasters:
            tables.append(skill(ledger, BASELINE).loc[:, ["forecaster", "skill"]])
        for one in tables:
            table = table.merge(one, how="left", on="forecaster")
    table = table.reindex(columns=SUMMARY).astype({**dict.fromkeys(PARTS, "object"), "parameters": "Int64"})
    table = table.fillna({**dict.fromkeys(PARTS, ""), "seeds": 0})
    return table.astype({**dict.fromkeys(PARTS, "str"), "seeds": "int64"})


def _write_plots(
    store: Store,
    dataset: str,
    ledger: Ledger,
    history: pd.DataFrame | None,
    folds: pd.DataFrame,
    curves: pd.DataFrame,
) -> None:
    from forecast import plots
    from forecast.plots.style import look

    figures = {
        "forecasts": plots.plot_forecasts(ledger, history),
        "error_by_step": plots.plot_error_by_step(ledger),
        "error_by_cutoff": plots.plot_error_by_cutoff(ledger),
        "calibration": plots.plot_calibration(ledger),
        "folds": plots.plot_folds(folds),
    }
    if BASELINE in ledger.forecasters:
        figures["skill"] = plots.plot_skill(ledger, BASELINE)
        if is_crossed(ledger):
            figures["effects"] = plots.plot_effects(ledger, BASELINE)
    if len(curves):
        figures["tuning"] = plots.plot_tuning_curve(curves)
    with store.replacing(f"plots/{dataset}") as path, look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        path.mkdir()
        for name, figure in figures.items():
            figure.savefig(path / f"{name}.png")


def _facts(store: Store, note: Mapping[str, Any], folds: pd.DataFrame) -> dict[str, Any]:
    """Give what the report says of the protocol, beside what it reads off the ledger."""
    plan, protocol = note["config"]["plan"], json.loads((store.folder / "protocol.json").read_text(encoding="utf-8"))
    return {
        "first cutoff": folds["cutoff"].iloc[0],
        "last cutoff": folds["cutoff"].iloc[-1],
        "stride": plan["stride"] or ("as given" if plan["cutoffs"] else "the horizon"),
        "window": plan["window"],
        "refit": plan["refit"],
        "missing rows": note["config"]["gaps"],
        "config": note["hash"][:12],
        **protocol,
    }


def _failure(cell: Row) -> Row:
    # The report tells one line of a failure; the traceback may end with notes.
    told = " ".join(cell["error"].split())
    return {"forecaster": cell["forecaster"], "seed": cell["seed"], "folds": cell["folds"], "traceback": told}


def _left_out(cells: Sequence[Row]) -> list[str]:
    runs = dict.fromkeys((cell["forecaster"], cell["seed"]) for cell in cells)
    return [
        f"{name}, seed {seed}: left out, since not all of its folds are there (see cells.csv)." for name, seed in runs
    ]


def _history(store: Store, dataset: str, ledger: Ledger) -> pd.DataFrame | None:
    path = store.folder / "history" / f"{dataset}.csv.gz"
    if not path.is_file():
        return None
    table = pd.read_csv(path, dtype={"unique_id": "str", "ds": "str"}, keep_default_na=False, na_values={"y": [""]})
    points = ledger.points
    table["unique_id"] = table["unique_id"].astype(points.ids.dtype)
    table["ds"] = _times(table, "ds", points.cutoffs.dtype)
    return table


def _folds(store: Store, dataset: str, ledger: Ledger) -> pd.DataFrame:
    table = pd.read_csv(store.folder / "folds.csv", dtype="str", keep_default_na=False)
    table = pd.DataFrame(table[table["dataset"] == dataset]).drop(columns="dataset").reset_index(drop=True)
    times = ["cutoff", "train_start", "train_end", "context_start", "test_start", "test_end"]
    if (table["validation_start"] == "").any():  # forecasters hold back what they will
        table["validation_start"] = float("nan")
    else:
        times.append("validation_start")
    for column in times:
        table[column] = _times(table, column, ledger.points.cutoffs.dtype)
    return table.astype(dict.fromkeys(["fold", "fit_fold", "gap", "series", "points"], "int64"))


def _times(table: pd.DataFrame, column: str, dtype: Any) -> pd.Series:
    """Read a column of stamps as the ledger has them."""
    text = table[column]
    if dtype.kind in "iu":
        return pd.Series(text.astype(dtype))
    zone = getattr(dtype, "tz", None)
    # Local stamps carry two offsets a year; only UTC gives them one dtype on the way in.
    stamps = pd.to_datetime(text, format="ISO8601", utc=zone is not None)
    return stamps.astype(dtype) if zone is None else stamps.dt.tz_convert(zone).astype(dtype)


def _records(table: pd.DataFrame) -> list[Row]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _write_table(store: Store, name: str, table: pd.DataFrame) -> None:
    with store.replacing(name) as path:
        table.to_csv(path, index=False, lineterminator="\n")
