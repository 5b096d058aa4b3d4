"""Errors against those of a baseline on the same points: as a ratio of two numbers, and as skill over many series."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.grouping import Across, Grouping, check_across, groups_of
from forecast.evaluation.ledger import Ledger, check
from forecast.evaluation.metrics import check_error, error_of, score
from forecast.params import is_probability


def skill(
    ledger: Ledger,
    baseline: str = "SeasonalNaive",
    by: Sequence[str] = ("forecaster",),
    floor: float = 0.01,
    metric: str | Averaged | Pooled = "mae",
    across: Across = "mean",
) -> pd.DataFrame:
    """Skill against a baseline: 1 - exp(mean over series of log(error / error of the baseline)).

    One minus a geometric mean, which orders two forecasters the same whichever is the denominator. The error of a
    series is averaged over cutoffs, then seeds; the baseline's over all of its seeds, also when `by` has `seed`.

    Where the baseline's error is zero the ratio is 1 for a forecaster whose error is zero too and undefined for any
    other; a series undefined for one forecaster is left out for all. A ratio below `floor`, as without any error,
    counts as `floor`, so that no single series decides.

    `metric` is a name or a metric whose loss is an error, the less the better; of a pooled one the loss is averaged,
    for in a ratio at the same points what it is divided by falls out. `across` is how the logs go across series, as in
    `score`.

    Returns one row per group: the columns of `by`, `skill` (NaN if no series is left), then the numbers of series
    averaged, `series`, left out, `undefined`, and put at the floor, `clipped`.

    Raises what `score` raises, and ValueError when `baseline` is not in the ledger, `floor` is not in (0, 1) or
    `metric` is no error.
    """
    check(ledger)
    check_across(across)
    grouping, chosen = Grouping(ledger, tuple(groups_of(by))), error_of(metric)
    if not is_probability(floor):
        raise ValueError(f"`floor` must lie between 0 and 1; got {floor!r}.")
    places = _runs_of(ledger, baseline)
    errors = grouping.by_run(grouping.means(chosen), chosen.root)  # (R, P)
    ratios = ratios_of(grouping.over_seeds(errors), errors[places].mean(axis=0))  # (N, P)
    ratios[:, ~np.isfinite(ratios).all(axis=0)] = np.nan
    table = grouping.keys()
    table["skill"] = 0.0 - np.expm1(grouping.across_series(np.log(np.maximum(ratios, floor)), across)).ravel()
    counts = {"series": np.isfinite(ratios), "undefined": np.isnan(ratios), "clipped": ratios < floor}
    for name, counted in counts.items():
        table[name] = grouping.count(counted).ravel()
    return table


def relative(
    ledger: Ledger,
    baseline: str = "SeasonalNaive",
    by: Sequence[str] = ("forecaster",),
    metric: str | Averaged | Pooled = "mae",
) -> pd.DataFrame:
    """Give the error of each group over that of a baseline at the same points: a relative error as of Theil.

    Returns one row per group: the columns of `by`, `relative`, and `undefined`, which is true where the baseline has no
    error but the forecaster has: there `relative` is NaN. Where neither has any it is 1. By `unique_id` this is the
    ratio of each series, of which `skill` is made; a mean of such ratios would favour the baseline, so none is offered.

    Raises what `skill` raises; any metric whose loss is an error is allowed.
    """
    check(ledger)
    groups = groups_of(by)
    _runs_of(ledger, baseline)
    chosen = {"relative": check_error(metric)}
    table = score(ledger, chosen, groups)
    of_forecasters = score(ledger, chosen, [name for name in groups if name != "seed"]) if "seed" in groups else table
    base = of_forecasters.loc[of_forecasters["forecaster"] == baseline, "relative"].to_numpy()  # (G,)
    errors = table["relative"].to_numpy().reshape(-1, len(base))
    ratios = ratios_of(errors, base)
    lost = np.isnan(ratios) & np.isfinite(errors)
    return table[groups].assign(relative=ratios.ravel(), undefined=lost.ravel())


def ratios_of(errors: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Give errors over those of a baseline, which broadcast: 1 where both are 0, NaN where that of the baseline is."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = errors / np.where(base > 0, base, np.nan)
    return np.where((errors == 0) & (base == 0), 1.0, ratios)


def _runs_of(ledger: Ledger, baseline: str) -> list[int]:
    """Give the positions of a forecaster's runs. Raises ValueError where there is none."""
    if baseline not in ledger.forecasters:
        raise ValueError(
            f"`baseline` {baseline!r} is not in the ledger; it has {list(ledger.forecasters)}. Name one of these, or "
            "backtest the baseline too."
        )
    return [place for place, run in enumerate(ledger.runs) if run.forecaster == baseline]
