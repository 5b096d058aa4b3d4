"""One number for several data sets, each with the same weight: how many series one has does not count.

A ledger holds one data set. Only what has no unit can be averaged over several.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.grouping import Across
from forecast.evaluation.ledger import Ledger, check
from forecast.evaluation.metrics import DEFAULTS, METRICS, chosen_metrics, score
from forecast.evaluation.skill import skill


def score_over(
    ledgers: Mapping[str, Ledger],
    metrics: Sequence[str] | Mapping[str, Averaged | Pooled] | None = None,
    across: Across = "mean",
) -> pd.DataFrame:
    """Average the scores of forecasters over data sets.

    Parameters
    ----------
    ledgers: data set -> its ledger; all of the same forecasters and quantile levels.
    metrics: as for `score`, of those that have no unit; None for those of `DEFAULTS`.
    across: as for `score`, over the series of each data set.

    Returns
    -------
    One row per forecaster: `forecaster`, a column per metric, `data_sets`, of how many these are the means, and
    `undefined`, how many were left out for all since one of the metrics is NaN there.

    Raises
    ------
    TypeError: no mapping of ledgers.
    ValueError: what `score` raises; forecasters or levels that differ; a metric in the units of the series.

    """
    names = _forecasters(ledgers)
    levels = {name: ledger.quantile_levels for name, ledger in ledgers.items()}
    for name, own in levels.items():
        if own != (first := next(iter(levels.values()))):
            raise ValueError(f"`ledgers`: {name!r} has the quantile levels {own}, another {first}; give all the same")
    unitless = [name for name in DEFAULTS if _has_no_unit(METRICS[name])]
    chosen = chosen_metrics(unitless if metrics is None else metrics)
    for name, metric in chosen.items():
        if not _has_no_unit(metric):
            raise ValueError(
                f"`metrics`: {name!r} is in the units of the series, which differ between data sets; allowed are those "
                "without a unit, such as 'mase' and 'wql', and `skill_over`"
            )
    tables = [score(ledger, chosen, across=across).set_index("forecaster").loc[names] for ledger in ledgers.values()]
    return _averaged(names, {name: np.stack([table[name].to_numpy() for table in tables]) for name in chosen})


def skill_over(
    ledgers: Mapping[str, Ledger],
    baseline: str = "SeasonalNaive",
    floor: float = 0.01,
    metric: str | Averaged | Pooled = "mae",
    across: Across = "mean",
) -> pd.DataFrame:
    """Give skill over data sets: one minus the geometric mean of the ratios of errors of each, which `skill` gives.

    Returns one row per forecaster: `forecaster, skill, data_sets, undefined`, as `score_over`. Raises what `skill`
    raises, TypeError for no mapping of ledgers and ValueError for forecasters that differ.
    """
    names = _forecasters(ledgers)
    tables = [skill(ledger, baseline, ("forecaster",), floor, metric, across) for ledger in ledgers.values()]
    logs = [np.log1p(-table.set_index("forecaster").loc[names, "skill"].to_numpy()) for table in tables]
    table = _averaged(names, {"skill": np.stack(logs)})
    return table.assign(skill=0.0 - np.expm1(table["skill"]))


def _averaged(names: list[str], values: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Average columns, each (data sets, forecasters), over the data sets where all of them are defined."""
    defined = np.all([np.isfinite(column).all(axis=1) for column in values.values()], axis=0)
    number = int(defined.sum())
    means = {name: column[defined].mean(axis=0) if number else np.nan for name, column in values.items()}
    return pd.DataFrame({"forecaster": names} | means | {"data_sets": number, "undefined": len(defined) - number})


def _forecasters(ledgers: Mapping[str, Ledger]) -> list[str]:
    """Give the forecasters that all ledgers have. Raises TypeError and ValueError where they differ."""
    if not isinstance(ledgers, Mapping) or not ledgers:
        raise TypeError(f"`ledgers` is {type(ledgers).__name__}; give a mapping from data sets to their ledgers")
    for ledger in ledgers.values():
        check(ledger)
    names = list(next(iter(ledgers.values())).forecasters)
    for data_set, ledger in ledgers.items():
        if differ := set(names) ^ set(ledger.forecasters):
            raise ValueError(
                f"`ledgers`: {sorted(differ)[0]!r} is not in all of them, as {data_set!r} and {next(iter(ledgers))!r} "
                "show; give ledgers of the same forecasters, for a mean over other data sets is no comparison"
            )
    return names


def _has_no_unit(metric: Averaged | Pooled) -> bool:
    return isinstance(metric, Pooled) or metric.scale is not None or not metric.unit
