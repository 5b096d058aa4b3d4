"""What several data sets say together: leaders, pairs, effects of family and decoder, and what accuracy costs.

Each data set counts once: of several horizons on one, the mean of the logs of errors is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.effects import effects, is_crossed
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import OverDataSets, Ranks, over_data_sets, ranks
from forecast.evaluation.statistics.over_data_sets import mean_and_interval
from forecast.evaluation.statistics.ranks import LEAST_BLOCKS
from forecast.experiment.effect_words import named
from forecast.experiment.summary import BASELINE

_CONFIDENCE = 0.95
CONTRASTS = ["dataset", "effect", "log"]
LEADERS = ["forecaster", "family", "skill", "low", "high", "mase", "wql", "coverage", "mean_rank", "first"]
LEADERS += ["fit_seconds", "parameters", "data_sets"]


@dataclass(frozen=True, eq=False)
class Grid:
    """Several data sets together.

    Attributes
    ----------
    found: how forecasters stand that went through all of them.
    leaders: one row for each of these, best first: what `found` says, means of scores, geometric means of seconds.
    contrasts: `effect, dataset, change, low, high`: a row for each data set, and one of their mean, with `dataset` "".
    ranks: mean ranks and tests, from ten data sets on; None below.
    absent: forecasters that are not in all data sets.

    """

    found: OverDataSets
    leaders: pd.DataFrame
    contrasts: pd.DataFrame
    ranks: Ranks | None
    absent: Sequence[str]


def contrasts_of(dataset: str, ledger: Ledger) -> pd.DataFrame:
    """Give the effects of family and decoder on one data set, as logs; no row where nothing is crossed."""
    if BASELINE not in ledger.forecasters or not is_crossed(ledger):
        return pd.DataFrame(columns=CONTRASTS)
    told = [
        {"dataset": dataset, "effect": named(row), "log": row["log"]}
        for row in effects(ledger, BASELINE).contrasts.to_dict("records")
        if np.isfinite(row["log"]) and (row["effect"] != "decoder" or not row["family"])
    ]
    return pd.DataFrame(told, columns=CONTRASTS)


def grid_of(summary: pd.DataFrame, contrasts: pd.DataFrame) -> Grid | None:
    """Give what data sets say together, from their summaries and contrasts; None where they are fewer than two.

    None, too, where they share no two forecasters of which one is the seasonal naive one.
    """
    if summary.empty:
        return None
    rows = pd.DataFrame(summary[np.isfinite(summary["skill"].astype("float64"))])
    rows = rows.assign(log=np.log1p(-rows["skill"]))
    logs = rows.pivot_table(index="dataset", columns="forecaster", values="log", aggfunc="mean", sort=False)
    shared = logs.dropna(axis="columns")
    if len(logs) < 2 or shared.shape[1] < 2 or BASELINE not in shared.columns:
        return None
    errors = shared.transform(np.exp)
    found = over_data_sets(errors, BASELINE, _CONFIDENCE)
    return Grid(
        found,
        _leaders(rows, found),
        _contrasts(contrasts),
        ranks(errors) if len(errors) >= LEAST_BLOCKS else None,
        [name for name in dict.fromkeys(summary["forecaster"]) if name not in shared.columns],
    )


def _leaders(rows: pd.DataFrame, found: OverDataSets) -> pd.DataFrame:
    """Put what the data sets' summaries say on average beside the standings."""
    each = rows.assign(fit_seconds=np.log(rows["fit_seconds"].clip(lower=1e-6)))
    columns = ["mase", "wql", "coverage", "fit_seconds", "parameters"]
    own = each.pivot_table(index=["forecaster", "family", "dataset"], values=columns, aggfunc="mean")
    means = own.reset_index().pivot_table(index=["forecaster", "family"], values=columns, aggfunc="mean").reset_index()
    means = means.assign(fit_seconds=np.exp(means["fit_seconds"]))
    return found.leaders.merge(means, on="forecaster", how="left").reindex(columns=LEADERS)


def _contrasts(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Give each effect on each data set, and its mean over them, as changes of the error."""
    parts: list[Mapping[str, Any]] = []
    for effect in dict.fromkeys(contrasts["effect"]):
        rows = contrasts[contrasts["effect"] == effect]
        own = {name: float(rows.loc[rows["dataset"] == name, "log"].mean()) for name in dict.fromkeys(rows["dataset"])}
        unknown = {"low": np.nan, "high": np.nan}
        parts += [{"effect": effect, "dataset": name, "change": np.expm1(log), **unknown} for name, log in own.items()]
        mean, low, high = (np.expm1(x[0]) for x in mean_and_interval(np.array([*own.values()])[:, None], _CONFIDENCE))
        parts.append({"effect": effect, "dataset": "", "change": mean, "low": low, "high": high})
    return pd.DataFrame(parts, columns=["effect", "dataset", "change", "low", "high"])
