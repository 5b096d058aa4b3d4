"""What is left of an experiment for people: tables, ledgers, plots and the report, all from what its store holds.

summary.csv        one row per dataset, horizon and forecaster
cells.csv          one row per cell: done, failed (with its traceback) or unfinished
folds.csv          the plan on each data set
ledger/<dataset>/  every forecast with what came true
history/           the series from shortly before the first cutoff on, for plots
plots/<dataset>/   the plots of the report, as PNG
report.html        the one page to read
experiment.yaml    the config as written
protocol.json      versions and machine
"""

import importlib.metadata
import json
import os
import platform
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from forecast import __version__
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import METRICS, score, skill
from forecast.evaluation.plan import Plan
from forecast.experiment.config import Experiment
from forecast.experiment.store import Store
from forecast.frame import Panel

BASELINE = "SeasonalNaive"
COSTS = ["fit_seconds", "predict_seconds", "parameters"]
SUMMARY = ["dataset", "horizon", "forecaster", "family", "decoder", "seeds", *METRICS, "skill", *COSTS]
CELLS = ["dataset", "horizon", "forecaster", "seed", "folds", "status", "error", "traceback", "key"]
_LIBRARIES = ["foretell", "torch", "lightning", "numpy", "pandas", "scikit-learn", "matplotlib"]
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

    """

    folder: Path
    summary: pd.DataFrame
    cells: pd.DataFrame
    ledgers: Mapping[str, Ledger]
    verdicts: Mapping[str, str]

    @property
    def ledger(self) -> Ledger:
        """The ledger of an experiment on one data set. Raises ValueError where there are more, or none."""
        if len(self.ledgers) != 1:
            raise ValueError(f"there are ledgers of {list(self.ledgers)}; take one of `ledgers`")
        return next(iter(self.ledgers.values()))

    @property
    def failures(self) -> pd.DataFrame:
        """The cells that failed, with their tracebacks."""
        return self.cells[self.cells["status"] == "failed"]

    @property
    def report(self) -> Path | None:
        """The page to read; None where no forecaster got through."""
        path = self.folder / "report.html"
        return path if path.is_file() else None


def write_setting(store: Store, experiment: Experiment, data: Mapping[str, tuple[Panel, Plan]]) -> None:
    """Write what is known before the first cell: config, protocol, the folds on each data set and its latest history."""
    if experiment.text is not None:
        with store.replacing("experiment.yaml") as path:
            path.write_text(experiment.text, encoding="utf-8")
    with store.replacing("protocol.json") as path:
        path.write_text(json.dumps(_protocol(), indent=1) + "\n", encoding="utf-8")
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
    from forecast.experiment.report import Chapter, verdict, write_report

    note = store.experiment()
    config, horizon = note["config"], note["config"]["horizon"]
    cells = _cells(store, note)
    ledgers, summaries, chapters, verdicts = {}, [], [], {}
    for dataset in (one["name"] for one in config["datasets"]):
        here = cells[cells["dataset"] == dataset]
        ledger = _ledger(store, here)
        summary = _summary(dataset, horizon, here, ledger)
        summaries.append(summary)
        if ledger is None:
            continue
        ledgers[dataset] = ledger
        verdicts[dataset] = verdict(ledger, summary.to_dict("records"), dataset)
        history, folds = _history(store, dataset, ledger), _folds(store, dataset, ledger)
        with store.replacing(f"ledger/{dataset}") as path:
            ledger.write(path)
        _write_plots(store, dataset, ledger, history, folds)
        lost = here[here["status"] != "done"]
        chapters.append(
            Chapter(
                ledger,
                summary,
                folds,
                {"dataset": dataset, "horizon": horizon, **_facts(store, note, folds)},
                failures=_failures(lost[lost["status"] == "failed"]),
                history=history,
                not_tested=_left_out(lost),
            )
        )
    summary = pd.concat(summaries, ignore_index=True)
    _write_table(store, "summary.csv", summary)
    _write_table(store, "cells.csv", cells.drop(columns=["family"]))
    report = store.folder / "report.html"
    if chapters:
        with store.replacing(report.name) as path:
            write_report(path, chapters, title=f"Experiment {config['name']}")
    else:
        report.unlink(missing_ok=True)
    return Results(store.folder, summary, cells, ledgers, verdicts)


def _cells(store: Store, note: Mapping[str, Any]) -> pd.DataFrame:
    rows = []
    for cell in note["cells"]:
        error = store.read_error(cell["key"])
        status = "failed" if error else "done" if store.is_done(cell["key"]) else "unfinished"
        told = {"error": f"{error['type']}: {error['message']}", "traceback": error["traceback"]} if error else {}
        first, last = cell["folds"][0] + 1, cell["folds"][-1] + 1
        folds = str(first) if first == last else f"{first} to {last}"
        rows.append({**cell, "horizon": note["config"]["horizon"], "folds": folds, "status": status, **told})
    return pd.DataFrame(rows, columns=[*CELLS, "family"]).fillna({"error": "", "traceback": ""})


def _ledger(store: Store, cells: pd.DataFrame) -> Ledger | None:
    """Join the cells of all forecasters and seeds that got through all folds: only they can be compared."""
    parts = [
        store.read(key)
        for _, run in cells.groupby(["forecaster", "seed"], sort=False)
        if (run["status"] == "done").all()
        for key in run["key"]
    ]
    return Ledger.concat(parts) if parts else None


def _summary(dataset: str, horizon: int, cells: pd.DataFrame, ledger: Ledger | None) -> pd.DataFrame:
    table = cells.drop_duplicates("forecaster")[["dataset", "horizon", "forecaster", "family"]].reset_index(drop=True)
    if ledger is None:
        return table.reindex(columns=SUMMARY).assign(decoder="", seeds=0)
    fits = ledger.fits.groupby(["forecaster", "seed"], sort=False)
    runs = fits.agg({"decoder": "first", "fit_seconds": "sum", "predict_seconds": "sum", "parameters": "max"})
    runs = runs.reset_index().groupby("forecaster", sort=False)
    costs = runs.agg(
        decoder=("decoder", "first"),
        seeds=("seed", "nunique"),
        fit_seconds=("fit_seconds", "mean"),
        predict_seconds=("predict_seconds", "mean"),
        parameters=("parameters", "max"),
    )
    scores = [score(ledger)[["forecaster", *METRICS]], costs.reset_index()]
    if BASELINE in ledger.forecasters:
        scores.append(skill(ledger, BASELINE)[["forecaster", "skill"]])
    for part in scores:
        table = table.merge(part, how="left", on="forecaster")
    table = table.reindex(columns=SUMMARY).fillna({"decoder": "", "seeds": 0})
    return table.astype({"seeds": "int64", "parameters": "Int64"})


def _write_plots(store: Store, dataset: str, ledger: Ledger, history: pd.DataFrame | None, folds: pd.DataFrame) -> None:
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


def _failures(cells: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(row) for row in cells[["forecaster", "seed", "folds", "traceback"]].to_dict("records")]


def _left_out(cells: pd.DataFrame) -> list[str]:
    runs = cells[["forecaster", "seed"]].drop_duplicates()
    return [
        f"{name}, seed {seed}: left out, since not all of its folds are there (see cells.csv)."
        for name, seed in runs.itertuples(index=False)
    ]


def _history(store: Store, dataset: str, ledger: Ledger) -> pd.DataFrame | None:
    path = store.folder / "history" / f"{dataset}.csv.gz"
    if not path.is_file():
        return None
    table = pd.read_csv(path, dtype={"unique_id": "str", "ds": "str"}, keep_default_na=False, na_values={"y": [""]})
    like = ledger.forecasts.dtypes
    return table.assign(unique_id=table["unique_id"].astype(like["unique_id"]), ds=_times(table["ds"], like["cutoff"]))


def _folds(store: Store, dataset: str, ledger: Ledger) -> pd.DataFrame:
    table = pd.read_csv(store.folder / "folds.csv", dtype="str", keep_default_na=False)
    table = table[table["dataset"] == dataset].drop(columns=["dataset"]).reset_index(drop=True)
    counts = ["fold", "fit_fold", "series", "points"]
    for column in table.columns.drop(counts):
        given = table[column].where(table[column] != "")
        table[column] = (
            given.astype("float64") if given.isna().all() else _times(given, ledger.forecasts["cutoff"].dtype)
        )
    return table.astype(dict.fromkeys(counts, "int64"))


def _times(text: pd.Series, dtype: Any) -> pd.Series:
    """Read stamps as the ledger has them."""
    if not isinstance(dtype, pd.DatetimeTZDtype) and dtype.kind != "M":
        return text.astype(dtype)
    zone = getattr(dtype, "tz", None)
    # Local stamps carry two offsets a year; only UTC gives them one dtype on the way in.
    stamps = pd.to_datetime(text, format="ISO8601", utc=zone is not None)
    return stamps.astype(dtype) if zone is None else stamps.dt.tz_convert(zone).astype(dtype)


def _write_table(store: Store, name: str, table: pd.DataFrame) -> None:
    with store.replacing(name) as path:
        table.to_csv(path, index=False, lineterminator="\n")


def _protocol() -> dict[str, Any]:
    """Give versions and machine, as far as numbers and times depend on them."""
    versions = {"python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:  # used from its sources, without being installed
            versions[library] = __version__ if library == "foretell" else "not installed"
    machine = {"platform": platform.platform(), "processors": os.cpu_count()}
    torch = sys.modules.get("torch")  # only networks have it imported
    if torch is not None and torch.cuda.is_available():
        machine["accelerator"] = torch.cuda.get_device_name()
    return {"versions": versions, "machine": machine}
