"""The backtest: fit on what lies before each cutoff, forecast what lies after it, and enter every point in a ledger.

It knows only the contract `Forecaster`, so that a rule, a network and a class of one's own are equals. The unit of work
is a group: the folds of one forecaster and one seed that share a fit.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.actuals import points_of
from forecast.evaluation.folds import Fold
from forecast.evaluation.group import Group, name_of, run_of
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.plan import Plan
from forecast.forecaster import Forecaster
from forecast.frame import Panel, as_panel
from forecast.params import takes
from forecast.progress import Bar
from forecast.quantiles import check_levels


def backtest(
    frame: pd.DataFrame | Panel,
    forecasters: Mapping[str, Forecaster] | Sequence[Forecaster],
    plan: Plan,
    *,
    seeds: Sequence[int] = (0,),
    fallback: Forecaster | None = None,
    progress: Callable[[int, int, str], object] | None = None,
    verbose: int = 0,
    **door,
) -> Ledger:
    """Forecast every fold of a plan with every forecaster and seed.

    Nothing leaks: a fit is given the rows up to its cutoff, copied into arrays of their own, so that later ones are
    not there to be read. The folds of a group are forecast together, on the rows up to the last of their cutoffs; the
    first of them is then forecast once more on the rows up to its own, and has to come out the same. With a `context`
    in the plan each fold is forecast by itself, on the rows of its context alone.

    Parameters
    ----------
    frame: a long frame, or a panel from `check_frame`.
    forecasters: label -> forecaster, or a list of them, labelled by class and, where there are any, backbone and
        decoder. They are used as patterns: none of them is fitted itself.
    plan: the cutoffs, and when to fit again.
    seeds: each forecaster with a parameter `seed` is run once with each; all others once, entered as seed 0. The first
        fit of a run has the seed itself, a later one a seed that follows from it and the number of its fold.
    fallback: whose forecast is scored in place of one that is no finite number, or that a forecaster raised an error
        for; a warning tells of it, and `fallbacks` in `fits` counts it. None: such a failure ends the backtest.
    progress: called after each group with how many are done, how many there are, and what was done.
    verbose: 0 for silence, 1 for one progress bar over all groups, whatever the forecasters show of their fits.
    door: options of `check_frame` for a frame, such as `gaps="mask"`.

    Returns
    -------
    The ledger: a row for every forecaster, seed, series, cutoff and step, in the units of the series.

    Raises
    ------
    FrameError: the frame may not enter, or its series are too short for a forecaster.
    TypeError: `plan` is no Plan, `forecasters` or `seeds` no lists, or what they hold no forecasters or whole numbers.
    ValueError: labels or seeds that come twice; forecasters that differ in quantile levels, or whose horizon is not
        that of the plan; folds that the data do not hold; forecasts that are not finite, or that depend on rows after
        their cutoff; series aligned by their ends for one that learns across them.

    """
    if not isinstance(plan, Plan):
        raise TypeError(f"`plan` is {plan!r}; allowed: a Plan, such as Plan(horizon=24, n_folds=8)")
    all_runs = runs(forecasters, seeds)
    panel = as_panel(frame, **door)
    folds = plan.folds(panel)
    for label, forecaster, _ in all_runs:  # before the first of them is fitted, which may take long
        check_follows(forecaster, label, plan, folds)
    if fallback is not None:
        _check_fallback(fallback, plan, folds, all_runs[0][1])
    if progress is not None and not callable(progress):
        raise TypeError(f"`progress` is {progress!r}; allowed: a function (done, total, what was done)")
    work = [_group(panel, plan, group) for group in groups(folds)]
    total = len(all_runs) * len(work)
    done, found, fits = 0, [], []
    with Bar("backtest", total, "fits") if verbose else nullcontext() as bar:
        for label, forecaster, seed in all_runs:
            for group in work:
                run, fit = run_of(group, forecaster, label, seed, fallback)
                found.append(run)
                fits.append(fit)
                done += 1
                told = f"{label}, seed {seed}, cutoff {group.folds[-1].stamp}"
                if progress is not None:
                    progress(done, total, told)
                if bar is not None:
                    bar.update(done, told)
    return Ledger(tuple(found), pd.concat(fits, ignore_index=True), season_of(panel, plan))


def run_group(
    panel: Panel,
    forecaster: Forecaster,
    label: str,
    seed: int,
    plan: Plan,
    folds: Sequence[Fold],
    fallback: Forecaster | None = None,
) -> Ledger:
    """Fit once, forecast the folds that share this fit, and give their part of the ledger.

    `Ledger.concat` of the parts of all runs and groups is what `backtest` gives. `forecaster` is a pattern and stays as
    it is. Raises what `backtest` raises.
    """
    check_follows(forecaster, label, plan, folds)
    if fallback is not None:
        _check_fallback(fallback, plan, folds, forecaster)
    run, fit = run_of(_group(panel, plan, folds), forecaster, label, seed, fallback)
    return Ledger((run,), fit, season_of(panel, plan))


def groups(folds: Sequence[Fold]) -> list[list[Fold]]:
    """Give the folds that share a fit, group by group, in order of time."""
    together: dict[int, list[Fold]] = {}
    for fold in folds:
        together.setdefault(fold.fit_fold, []).append(fold)
    return list(together.values())


def runs(
    forecasters: Mapping[str, Forecaster] | Sequence[Forecaster], seeds: Sequence[int]
) -> list[tuple[str, Forecaster, int]]:
    """Give (label, forecaster, seed) of every run; one without a parameter `seed` runs once, as seed 0.

    Raises what `backtest` raises of `forecasters` and `seeds`.
    """
    if not isinstance(seeds, Sequence | np.ndarray):
        raise TypeError(f"`seeds` is {seeds!r}; allowed: a list of whole numbers")
    if not len(seeds) or len(set(seeds)) < len(seeds) or not all(map(_is_seed, seeds)):
        raise ValueError(f"`seeds` is {seeds!r}; allowed: one or more whole numbers, each once, none below 0")
    if isinstance(forecasters, Mapping):
        labelled = list(forecasters.items())
    elif isinstance(forecasters, Sequence) and not isinstance(forecasters, str):
        labelled = [(label_of(forecaster), forecaster) for forecaster in forecasters]
    else:
        raise TypeError(f"`forecasters` is {forecasters!r}; allowed: a list of Forecasters, or a mapping from labels")
    if not labelled:
        raise ValueError("`forecasters` is empty: give one or more")
    for place, (label, forecaster) in enumerate(labelled):
        if not isinstance(label, str) or not label:
            raise TypeError(f"`forecasters` has the label {label!r}; allowed: texts")
        if not isinstance(forecaster, Forecaster):
            raise TypeError(f"`forecasters` holds {forecaster!r}; allowed: a Forecaster, such as Naive(24)")
        if label in [earlier for earlier, _ in labelled[:place]]:
            raise ValueError(
                f"`forecasters`: {label!r} comes twice; give a mapping with labels of your own: {{'my label': ...}}"
            )
        check_levels(forecaster.quantile_levels)
        first, levels = labelled[0][0], tuple(labelled[0][1].quantile_levels)
        if tuple(forecaster.quantile_levels) != levels:
            raise ValueError(
                f"`quantile_levels`: forecaster {label!r} has {tuple(forecaster.quantile_levels)} and {first!r} "
                f"{levels}; give all the same, so that all are scored alike"
            )
    return [
        (label, forecaster, int(seed))
        for label, forecaster in labelled
        for seed in (seeds if takes(forecaster, "seed") else (0,))
    ]


def label_of(forecaster: Forecaster) -> str:
    """Give what a table calls a forecaster without a label: its class, or its backbone and decoder."""
    if isinstance(forecaster, Forecaster) and forecaster.wraps:
        return f"{type(forecaster).__name__} {label_of(getattr(forecaster, forecaster.wraps))}"
    params = forecaster.get_params(deep=False) if isinstance(forecaster, Forecaster) else {}
    parts = [name_of(params[part]) for part in ("backbone", "decoder") if part in params]
    return " ".join(filter(None, parts)) or type(forecaster).__name__


def season_of(panel: Panel, plan: Plan) -> int:
    """Give the season by which errors are scaled."""
    return plan.season_length or panel.calendar.season_length


def _is_seed(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def _group(panel: Panel, plan: Plan, folds: Sequence[Fold]) -> Group:
    return Group(panel, plan, folds, points_of(panel, folds, plan.horizon, season_of(panel, plan)))


def check_follows(forecaster: Forecaster, label: str, plan: Plan, folds: Sequence[Fold]) -> None:
    """Refuse a forecaster that cannot follow a plan, naming the argument at fault. Raises ValueError."""
    if forecaster.horizon != plan.horizon:
        raise ValueError(
            f"`horizon`: forecaster {label!r} has {forecaster.horizon!r} and the plan {plan.horizon}; give both the "
            "same"
        )
    if folds[0].lag.any() and forecaster.across_series and not plan.lookahead_across_series:
        raise ValueError(
            f"`align` is 'ends' and series end at different dates, up to {int(folds[0].lag.max())} steps apart; "
            f"forecaster {label!r} learns across series, and would see dates of some that come after the cutoffs of "
            "others. Take cutoffs that all share, leave it out, or allow it by `lookahead_across_series=True`"
        )


def _check_fallback(fallback: Forecaster, plan: Plan, folds: Sequence[Fold], first: Forecaster) -> None:
    """Refuse a fallback that cannot stand in for the others."""
    if not isinstance(fallback, Forecaster):
        raise TypeError(f"`fallback` is {fallback!r}; allowed: a Forecaster, such as SeasonalNaive({plan.horizon})")
    check_follows(fallback, "fallback", plan, folds)
    check_levels(fallback.quantile_levels)
    if tuple(fallback.quantile_levels) != tuple(first.quantile_levels):
        raise ValueError(
            f"`quantile_levels`: forecaster 'fallback' has {tuple(fallback.quantile_levels)} and the others "
            f"{tuple(first.quantile_levels)}; give all the same, so that all are scored alike"
        )
