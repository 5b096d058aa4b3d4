"""Figures that others have published, quoted beside ours: shown apart, and never ranked with them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import pandas as pd
from pydantic import Field, field_validator

from forecast.evaluation.metrics import METRICS
from forecast.experiment.datasets import Name, Strict
from forecast.experiment.faults import Fault, nearest
from forecast.experiment.numerals import number

KEYS = ["dataset", "horizon", "name", "source", "ours"]
Text = Annotated[str, Field(min_length=1)]


class Published(Strict):
    """A row of somebody else's table.

    Attributes
    ----------
    name: of the method.
    source: the paper, and where the figures were read.
    dataset: on which data set of the experiment; it may be left out where there is one.
    horizon: steps ahead; None for every horizon of the experiment. Rows of other horizons are not shown.
    metrics: name of a metric -> figure, in our units: `smape` goes from 0 to 2, not to 200.

    """

    name: Text
    source: Text
    dataset: Name | None = None
    horizon: Annotated[int, Field(strict=True, ge=1)] | None = None
    metrics: Annotated[dict[str, float], Field(min_length=1)]

    @field_validator("metrics")
    @classmethod
    def _known(cls, given: dict[str, float]) -> dict[str, float]:
        if unknown := [name for name in given if name not in METRICS]:
            raise ValueError(
                f"unknown metric {unknown[0]!r}; {nearest(unknown[0], METRICS)}known: {', '.join(METRICS)}"
            )
        return given


def misplaced(rows: Sequence[Published], datasets: Sequence[str], metrics: Sequence[str]) -> list[Fault]:
    """Give a fault for each row of a data set that is not compared, or of a metric that is not scored here."""
    faults = []
    for place, row in enumerate(rows):
        field = ("published", place)
        if row.dataset is None and len(datasets) > 1:
            faults.append(Fault((*field, "dataset"), f"say of which data set: {', '.join(datasets)}"))
        if row.dataset is not None and row.dataset not in datasets:
            told = f"should be a data set of this experiment: {', '.join(datasets)}; got {row.dataset!r}"
            faults.append(Fault((*field, "dataset"), told))
        for name in row.metrics:
            if name not in metrics:
                told = f"{name!r} is not scored here, so that nothing stands beside it; add it to `metrics`"
                faults.append(Fault((*field, "metrics", name), told, at_key=True))
    return faults


def beside(summary: pd.DataFrame, published: Sequence[Mapping[str, Any]], dataset: str, horizon: int) -> pd.DataFrame:
    """Give our scores on a data set and below them the published ones, as they were given; no row where there are none.

    The columns are `KEYS` and all metrics that the published rows have; our own rows say in `source` how many seeds
    they are the mean of.
    """
    rows = [row for row in published if row["dataset"] in (None, dataset) and row["horizon"] in (None, horizon)]
    metrics = list(dict.fromkeys(name for row in rows for name in row["metrics"]))
    if not rows:
        return pd.DataFrame(columns=KEYS)
    place = {"dataset": dataset, "horizon": horizon}
    ours = [
        {**place, "name": row["forecaster"], "source": _seeds(row["seeds"]), "ours": True}
        | {name: row[name] for name in metrics}
        for row in summary.to_dict("records")
        if row["seeds"]
    ]
    theirs = [{**place, "name": row["name"], "source": row["source"], "ours": False, **row["metrics"]} for row in rows]
    return pd.DataFrame([*ours, *theirs]).reindex(columns=[*KEYS, *metrics])


def _seeds(number: int) -> str:
    return "here" if number == 1 else f"here, mean of {number} seeds"


def published_rows(table: pd.DataFrame | None) -> dict[str, Any] | None:
    """Give what a page shows of such a table, as text: `metrics`, and `rows` of each side; None for no row."""
    if table is None or table.empty:
        return None
    metrics = [str(name) for name in table.columns if name not in KEYS]
    told: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for row in table.to_dict("records"):
        figures = [number(row[name], 3 if name == "mase" else 4) for name in metrics]
        told[bool(row["ours"])].append({"name": row["name"], "source": row["source"], "figures": figures})
    return {"metrics": metrics, "ours": told[True], "theirs": told[False]}
