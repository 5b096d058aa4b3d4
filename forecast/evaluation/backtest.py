"""The backtest: fit on what lies before each cutoff, forecast what lies after it, and enter every point in a ledger.

It knows only the contract `Forecaster`, so that a rule, a network and a class of one's own are equals. The unit of work
is a group: the folds of one forecaster and one seed that share a fit. F folds, M origins, S series.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.actuals import points_of
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.ledger.points import Points, Run
from forecast.evaluation.plan import Fold, Plan
from forecast.forecaster import Forecast, Forecaster
from forecast.frame import Panel, as_panel
from forecast.origins import Origins
from forecast.params import takes
from forecast.progress import Bar
from forecast.quantiles import check_levels


def backtest(
    frame: pd.DataFrame | Panel,
    forecasters: Mapping[str, Forecaster] | Sequence[Forecaster],
    plan: Plan,
    *,
    seeds: Sequence[int] = (0,),
    progress: Callable[[int, int, str], object] | None = None,
    verbose: int = 0,
    **door,
) -> Ledger:
    """Forecast every fold of a plan with every forecaster and seed.

    Nothing leaks: a fit is given the rows up to its cutoff, copied into arrays of their own, so that later ones are
    not there to be read. The folds of a group are forecast together, on the rows up to the last of their cutoffs; the
    first of them is then forecast once more on the rows up to its own, and has to come out the same.

    Parameters
    ----------
    frame: a long frame, or a panel from `check_frame`.
    forecasters: label -> forecaster, or a list of them, labelled by class and, where there are any, backbone and
        decoder. They are used as patterns: none of them is fitted itself.
    plan: the cutoffs, and when to fit again.
    seeds: each forecaster with a parameter `seed` is run once with each; all others once, entered as seed 0.
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
        their cutoff.

    """
    if not isinstance(plan, Plan):
        raise TypeError(f"`plan` is {plan!r}; allowed: a Plan, such as Plan(horizon=24, n_folds=8)")
    all_runs = runs(forecasters, seeds)
    for label, forecaster, _ in all_runs:  # before the first of them is fitted, which may take long
        _check_horizon(forecaster, label, plan)
    panel = as_panel(frame, **door)
    folds = plan.folds(panel)
    season = season_of(panel, plan)
    work = [(points_of(panel, group, plan.horizon, season), group) for group in groups(folds)]
    total = len(all_runs) * len(work)
    done, found, fits = 0, [], []
    with Bar("backtest", total, "fits") if verbose else nullcontext() as bar:
        for label, forecaster, seed in all_runs:
            for points, group in work:
                run, fit = _run(panel, points, forecaster, label, seed, plan, group)
                found.append(run)
                fits.append(fit)
                done += 1
                told = f"{label}, seed {seed}, cutoff {group[-1].stamp}"
                if progress is not None:
                    progress(done, total, told)
                if bar is not None:
                    bar.update(done, told)
    return Ledger(tuple(found), pd.concat(fits, ignore_index=True), season)


def run_group(panel: Panel, forecaster: Forecaster, label: str, seed: int, plan: Plan, folds: Sequence[Fold]) -> Ledger:
    """Fit once, forecast the folds that share this fit, and give their part of the ledger.

    `Ledger.concat` of the parts of all runs and groups is what `backtest` gives. `forecaster` is a pattern and stays as
    it is. Raises what `backtest` raises.
    """
    season = season_of(panel, plan)
    points = points_of(panel, folds, plan.horizon, season)
    run, fit = _run(panel, points, forecaster, label, seed, plan, folds)
    return Ledger((run,), fit, season)


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
    parts = [_name(params[part]) for part in ("backbone", "decoder") if part in params]
    return " ".join(filter(None, parts)) or type(forecaster).__name__


def season_of(panel: Panel, plan: Plan) -> int:
    """Give the season by which errors are scaled."""
    return plan.season_length or panel.calendar.season_length


def _is_seed(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 0


def _check_horizon(forecaster: Forecaster, label: str, plan: Plan) -> None:
    if forecaster.horizon != plan.horizon:
        raise ValueError(
            f"`horizon`: forecaster {label!r} has {forecaster.horizon} and the plan {plan.horizon}; give both the same"
        )


def _run(
    panel: Panel, points: Points, pattern: Forecaster, label: str, seed: int, plan: Plan, folds: Sequence[Fold]
) -> tuple[Run, pd.DataFrame]:
    """Give what one group of folds says of its points, and the row of its fit."""
    _check_horizon(pattern, label, plan)
    first, last = folds[0], folds[-1]
    if any(fold.fit_fold != first.fit_fold for fold in folds):
        raise ValueError("`folds` do not share a fit: take one of groups(plan.folds(panel))")
    try:
        began = perf_counter()
        forecaster = _fresh(pattern, seed)
        forecaster.fit(panel.until(first.train_end).since(first.train_start).detached())
        fitted = perf_counter()
        known = panel.until(last.cutoff).detached()
        _, origins = _origins(panel, known, folds)
        forecast = forecaster.forecast(known, origins)
        predicted = perf_counter()
        if len(folds) > 1:
            _check_no_look_ahead(panel, forecaster, label, first, known, origins, forecast)
    except Exception as error:
        end = panel.calendar.stamp(first.train_end)
        error.add_note(f"(in the backtest of {label!r}, seed {seed}, fold {first.number}, fitted up to {end})")
        raise
    levels = tuple(float(level) for level in forecaster.quantile_levels)
    quantiles = forecast.quantiles.astype("float32", copy=False)
    fit_cutoffs = panel.calendar.stamps([first.train_end])
    run = Run(
        forecaster=label,
        seed=seed,
        points=points,
        levels=levels,
        quantiles=quantiles,
        median=quantiles[..., levels.index(0.5)],
        mean=forecast.mean.astype("float32", copy=False),
        fit_cutoffs=fit_cutoffs,
        fit=np.zeros(len(points), dtype="int64"),
        staleness=(origins.cutoffs - first.train_end).astype("float32"),
    )
    fit = pd.DataFrame(
        {
            "forecaster": [label],
            "seed": [seed],
            "fit_cutoff": fit_cutoffs,
            "family": [forecaster.family],
            "backbone": [_name(getattr(forecaster, "backbone", ""))],
            "decoder": [_name(getattr(forecaster, "decoder", ""))],
            "parameters": [int(getattr(forecaster, "parameters_", 0))],
            "fit_seconds": [fitted - began],
            "predict_seconds": [predicted - fitted],
            "forecasts": [len(origins)],
            "context": [float(getattr(forecaster, "context_length_", np.nan))],
        }
    )
    return run, fit


def _fresh(pattern: Forecaster, seed: int) -> Forecaster:
    """Give a new forecaster with the arguments of a pattern, and the seed where it takes one."""
    fresh = type(pattern)(**pattern.get_params(deep=False))
    return fresh.set_params(seed=seed) if takes(pattern, "seed") else fresh


def _origins(panel: Panel, known: Panel, folds: Sequence[Fold]) -> tuple[np.ndarray, Origins]:
    """Give the origins of folds in a panel cut at or after the last, by series and cutoff; with positions before it."""
    series = np.concatenate([fold.series for fold in folds])
    cutoffs = np.repeat([fold.cutoff for fold in folds], [len(fold.series) for fold in folds])
    order = np.lexsort((cutoffs, series))
    series, cutoffs = series[order], cutoffs[order]
    begun = panel.first <= folds[-1].cutoff  # the others were left out when the panel was cut
    places = (np.cumsum(begun) - 1)[series]
    return series, Origins(places, known.starts[places] + cutoffs + 1 - known.first[places], cutoffs)


def _check_no_look_ahead(
    panel: Panel,
    forecaster: Forecaster,
    label: str,
    first: Fold,
    known: Panel,
    origins: Origins,
    forecast: Forecast,
) -> None:
    """Forecast the first fold of a group from the rows up to its own cutoff alone, and compare.

    Sums in another order may differ in the last digits: a hundredth of the forecast's own range is let pass.
    """
    before = panel.until(first.cutoff).detached()
    _, own = _origins(panel, before, [first])
    mine = origins.cutoffs == first.cutoff
    alone, together = forecaster.forecast(before, own).quantiles, forecast.quantiles[mine]
    size, width = np.abs(alone).max(axis=(1, 2)), np.ptp(alone, axis=(1, 2))
    apart = np.abs(alone - together).max(axis=(1, 2))
    if (wrong := apart > 1e-5 * size + 1e-2 * width).any():
        which = int(wrong.argmax())
        raise ValueError(
            f"forecaster {label!r} looks ahead: its forecast for series {known.id_of(origins.series[mine][which])!r}, "
            f"cutoff {first.stamp}, changes by {apart[which]:.6g} when the rows after this cutoff are taken away. It "
            "may read a series up to its origin only, must not use what other origins of a call show, and must give "
            "the same numbers when asked twice"
        )


def _name(part: Any) -> str:
    """Give the name of a backbone or decoder: as given, or the `name` of its config, or else made of its class.

    `ContextVector()` becomes `context_vector`; "" stands for none.
    """
    if part is None or isinstance(part, str):
        return part or ""
    return getattr(part, "name", None) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(part).__name__).lower()
