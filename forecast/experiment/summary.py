"""The table of scores of an experiment: one row per dataset, horizon and forecaster."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import DEFAULTS, METRICS, coverage, score
from forecast.evaluation.skill import skill
from forecast.evaluation.standardised import standardised
from forecast.experiment.levels import INTERVALS
from forecast.experiment.setting import read_deviations
from forecast.experiment.store import Store

BASELINE = "SeasonalNaive"
COSTS = ["fit_seconds", "predict_seconds", "parameters"]
PARTS = ["backbone", "decoder"]
SUMMARY = ["dataset", "horizon", "forecaster", "family", *PARTS, "seeds", *DEFAULTS, "skill", *COSTS]
Row = dict[str, Any]


def metrics_of(store: Store, config: Mapping[str, Any], dataset: str, ledger: Ledger) -> dict[str, Averaged | Pooled]:
    """Give the metrics of a summary by name, the coverage of every interval that there are quantile levels for."""
    found = {name: METRICS[name] for name in dict.fromkeys([*DEFAULTS, *config.get("metrics", ())])}
    levels = set(ledger.quantile_levels)
    found |= {name: coverage(*edges) for name, edges in INTERVALS.items() if name not in found and {*edges} <= levels}
    if config.get("standardised"):
        deviations = read_deviations(store, dataset, ledger)
        found |= {"mae": standardised("mae", deviations), "mse": standardised("mse", deviations)}
    return found


def summary_of(cells: Sequence[Row], ledger: Ledger | None, metrics: Mapping[str, Averaged | Pooled]) -> pd.DataFrame:
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
        tables = [score(ledger, metrics), costs.rename(columns={"seed": "seeds"}).reset_index()]
        if BASELINE in ledger.forecasters:
            tables.append(skill(ledger, BASELINE).loc[:, ["forecaster", "skill"]])
        for one in tables:
            table = table.merge(one, how="left", on="forecaster")
    columns = [*SUMMARY, *(name for name in metrics if name not in SUMMARY)]
    table = table.reindex(columns=columns).astype({**dict.fromkeys(PARTS, "object"), "parameters": "Int64"})
    table = table.fillna({**dict.fromkeys(PARTS, ""), "seeds": 0})
    return table.astype({**dict.fromkeys(PARTS, "str"), "seeds": "int64"})
