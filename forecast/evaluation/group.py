"""One group of a backtest: the folds of a forecaster and a seed that share a fit. Fitted once, forecast together.

M origins, by series and fold; H horizon, Q quantile levels.
"""

import hashlib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.folds import Fold
from forecast.evaluation.ledger.check import check_run, spelled
from forecast.evaluation.ledger.points import Points, Run
from forecast.evaluation.plan import Plan
from forecast.forecaster import Forecast, Forecaster
from forecast.frame import Panel
from forecast.origins import Origins
from forecast.params import takes


@dataclass(frozen=True, eq=False)
class Group:
    """The folds that share a fit, on a panel.

    Attributes
    ----------
    panel, plan: the whole of both.
    folds: in order of time.
    points: what they forecast.

    """

    panel: Panel
    plan: Plan
    folds: Sequence[Fold]
    points: Points

    def __post_init__(self) -> None:
        if len({fold.fit_fold for fold in self.folds}) != 1:
            raise ValueError("`folds` do not share a fit: take one of groups(plan.folds(panel))")

    @property
    def begin(self) -> int:
        """The first row of the data."""
        return int(self.panel.first.min())


@dataclass(frozen=True, eq=False)
class Told:
    """What a forecaster said of a group, without the steps of the gap; and what that cost."""

    forecast: Forecast
    parameters: int = 0
    context: float = np.nan
    fit_seconds: float = np.nan
    predict_seconds: float = np.nan


def run_of(
    group: Group, pattern: Forecaster, label: str, seed: int, fallback: Forecaster | None
) -> tuple[Run, pd.DataFrame]:
    """Give what one group says of its points, and the row of its fit. `pattern` and `fallback` stay as they are."""
    first, points = group.folds[0], group.points
    forecaster = fresh(pattern, group.plan, seed_of(seed, first.fit_fold))
    train = training_rows(group, forecaster)
    where = f"{label!r}, seed {seed}, fold {first.number}, fitted up to {group.panel.calendar.stamp(first.fit_end)}"
    failure, failed = "", np.ones(len(points), dtype=bool)
    try:
        told = _told(group, forecaster, train)
        failed = ~_finite(told.forecast)
    except Exception as error:  # whatever a forecaster raises
        if fallback is None:
            error.add_note(f"(in the backtest of {where})")
            raise
        told, failure = Told(_nothing(group, forecaster)), f"{type(error).__name__}: {error}"
    if not failure and len(group.folds) > 1 and group.plan.context is None:
        _check_no_look_ahead(group, forecaster, label, told.forecast)
    if fallback is not None and failed.any():
        failure = failure or "what it forecast is no finite number"
        warnings.warn(
            f"{label}: {int(failed.sum())} of {len(points)} forecasts are those of the fallback {fallback!r} "
            f"({failure}; in the backtest of {where})",
            stacklevel=3,
        )
        told = replace(told, forecast=_replaced(group, fallback, seed, told.forecast, failed, where))
    levels = tuple(float(level) for level in forecaster.quantile_levels)
    quantiles = told.forecast.quantiles
    fit_cutoffs = group.panel.calendar.stamps([first.fit_end - int(first.lag.max())])
    run = Run(
        forecaster=label,
        seed=seed,
        points=points,
        levels=levels,
        quantiles=quantiles,
        median=quantiles[..., levels.index(0.5)],
        mean=told.forecast.mean,
        fit_cutoffs=fit_cutoffs,
        fit=np.zeros(len(points), dtype="int64"),
        staleness=_of_cells(group, [fold.cutoff - fold.fit_end for fold in group.folds]).astype("float32"),
    )
    check_run(run)  # here, and not when all others have been fitted
    fit = {
        "forecaster": label,
        "seed": seed,
        "fit_cutoff": fit_cutoffs[0],
        "family": forecaster.family,
        "backbone": name_of(getattr(forecaster, "backbone", "")),
        "decoder": name_of(getattr(forecaster, "decoder", "")),
        "parameters": told.parameters,
        "fit_seconds": told.fit_seconds,
        "predict_seconds": told.predict_seconds,
        "forecasts": len(points),
        "context": np.fmin(told.context, group.plan.context or np.nan),
        "fallbacks": int(failed.sum()) if fallback is not None else 0,
        "fit_id": _fit_id(forecaster, train),
    }
    return run, pd.DataFrame({name: [value] for name, value in fit.items()})


def seed_of(seed: int, fit_fold: int) -> int:
    """Give the seed of a fit: at the first fold that of the run, then others that follow from it and the fold alone."""
    if fit_fold == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {fit_fold}".encode()).digest()[:4], "little")


def fresh(pattern: Forecaster, plan: Plan, seed: int) -> Forecaster:
    """Give a new forecaster with the arguments of a pattern, a seed where it takes one, and what the plan asks."""
    forecaster = type(pattern)(**pattern.get_params(deep=False))
    if takes(pattern, "seed"):
        forecaster.set_params(seed=seed)
    if plan.gap:
        forecaster.set_params(horizon=plan.gap + plan.horizon)
    if forecaster.validates and (plan.held_back is not None or plan.embargo):
        return forecaster.holding_back(plan.held_back, plan.embargo)
    return forecaster


def training_rows(group: Group, forecaster: Forecaster) -> Panel:
    """Give the rows that a fit is given: to the cutoff, or without those that the forecaster would not hold back."""
    first = group.folds[0]
    return first.rows(group.panel, first.train_start, first.fit_end if forecaster.validates else first.train_end)


def name_of(part: Any) -> str:
    """Give the name of a backbone or decoder: as given, or the `name` of its config, or else made of its class.

    `ContextVector()` becomes `context_vector`; "" stands for none.
    """
    if part is None or isinstance(part, str):
        return part or ""
    return getattr(part, "name", None) or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(part).__name__).lower()


def _told(group: Group, forecaster: Forecaster, train: Panel) -> Told:
    """Fit a forecaster and forecast all folds, together or, where a context is set, each from its own rows."""
    began = perf_counter()
    forecaster.fit(train)
    fitted = perf_counter()
    folds = group.folds
    if group.plan.context is None:
        forecast = _forecast(group, forecaster, group.begin, folds)
    else:
        parts = [_forecast(group, forecaster, fold.context_start, [fold]) for fold in folds]
        forecast = Forecast(
            _in_order(group, [part.quantiles for part in parts]), _in_order(group, [part.mean for part in parts])
        )
    return Told(
        forecast,
        parameters=int(getattr(forecaster, "parameters_", 0)),
        context=float(getattr(forecaster, "context_length_", np.nan)),
        fit_seconds=fitted - began,
        predict_seconds=perf_counter() - fitted,
    )


def _forecast(group: Group, forecaster: Forecaster, begin: int, folds: Sequence[Fold]) -> Forecast:
    """Forecast folds from the rows up to the last of their cutoffs, by series and fold; the gap is left out."""
    known = folds[-1].rows(group.panel, begin, folds[-1].cutoff)
    forecast = forecaster.forecast(known, _origins(group.panel, known, folds))
    gap = group.plan.gap
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite, and told as that
        return Forecast(
            forecast.quantiles[:, gap:].astype("float32", copy=False),
            forecast.mean[:, gap:].astype("float32", copy=False),
        )


def _origins(panel: Panel, known: Panel, folds: Sequence[Fold]) -> Origins:
    """Give the origins of folds in rows that were cut from the panel, by series and fold."""
    series = np.concatenate([fold.series for fold in folds])
    cutoffs = np.concatenate([fold.cutoffs for fold in folds])
    order = np.lexsort((cutoffs, series))
    series, cutoffs = series[order], cutoffs[order]
    places = known.ids.get_indexer(panel.ids)[series]
    return Origins(places, known.starts[places] + cutoffs + 1 - known.first[places], cutoffs)


def _in_order(group: Group, parts: Sequence[np.ndarray]) -> np.ndarray:
    """Join arrays of the folds, (n, ...) each, by series and fold."""
    series = np.concatenate([fold.series for fold in group.folds])
    return np.concatenate(parts)[np.argsort(series, kind="stable")]


def _of_cells(group: Group, of_folds: Sequence[int]) -> np.ndarray:
    """Give to each cell what its fold has, (M,)."""
    parts = [np.full(len(fold.series), value) for fold, value in zip(group.folds, of_folds, strict=True)]
    return _in_order(group, parts)


def _finite(forecast: Forecast) -> np.ndarray:
    """Whether all that is forecast from an origin are finite numbers, (M,)."""
    return np.logical_and(np.isfinite(forecast.quantiles).all(axis=(1, 2)), np.isfinite(forecast.mean).all(axis=1))


def _nothing(group: Group, forecaster: Forecaster) -> Forecast:
    M, H, Q = len(group.points), group.plan.horizon, len(forecaster.quantile_levels)
    return Forecast(np.full((M, H, Q), np.nan, dtype="float32"), np.full((M, H), np.nan, dtype="float32"))


def _replaced(
    group: Group, fallback: Forecaster, seed: int, forecast: Forecast, failed: np.ndarray, where: str
) -> Forecast:
    """Give a forecast with that of the fallback, fitted on the same rows, where a series and fold failed."""
    other = fresh(fallback, group.plan, seed_of(seed, group.folds[0].fit_fold))
    try:
        told = _told(group, other, training_rows(group, other)).forecast
        if len(group.folds) > 1 and group.plan.context is None:
            _check_no_look_ahead(group, other, "fallback", told)
    except Exception as error:  # whatever a forecaster raises
        error.add_note(f"(in the `fallback` {fallback!r}, in the backtest of {where})")
        raise
    if (lost := failed & ~_finite(told)).any():
        cell = spelled(group.points, int(lost.argmax()))
        raise ValueError(
            f"`fallback` {fallback!r} forecasts what is no finite number for {cell}, where it stands in for {where}: "
            "give one that never fails, such as Naive"
        )
    quantiles = np.where(failed[:, None, None], told.quantiles, forecast.quantiles)
    return Forecast(quantiles, np.where(failed[:, None], told.mean, forecast.mean))


def _check_no_look_ahead(group: Group, forecaster: Forecaster, label: str, forecast: Forecast) -> None:
    """Forecast the first fold of a group from the rows up to its own cutoff alone, and compare.

    Sums in another order may differ in the last digits: a hundredth of the forecast's own range is let pass. What is
    no number is told elsewhere.
    """
    first = group.folds[0]
    numbers = _of_cells(group, [fold.number for fold in group.folds])
    together = forecast.quantiles[numbers == first.number]
    alone = _forecast(group, forecaster, group.begin, [first]).quantiles
    with np.errstate(invalid="ignore"):
        size, width = np.abs(alone).max(axis=(1, 2)), np.ptp(alone, axis=(1, 2))
        apart = np.abs(alone - together).max(axis=(1, 2))
    if (wrong := apart > 1e-5 * size + 1e-2 * width).any():
        which = int(wrong.argmax())
        stamp = group.panel.calendar.stamp(int(first.cutoffs[which]))
        raise ValueError(
            f"forecaster {label!r} looks ahead: its forecast for series "
            f"{group.panel.id_of(int(first.series[which]))!r}, cutoff {stamp}, changes by {apart[which]:.6g} when the "
            "rows after this cutoff are taken away. It may read a series up to its origin only, must not use what "
            "other origins of a call show, and must give the same numbers when asked twice"
        )


def _fit_id(forecaster: Forecaster, train: Panel) -> str:
    """Give a hash of what a fit depends on: class, arguments, and the rows that it is given."""
    kind = type(forecaster)
    digest = hashlib.sha256(f"{kind.__module__}:{kind.__qualname__} {forecaster!r} {list(train.ids)!r}".encode())
    arrays = [train.first, train.starts, train.observed, train.values]
    if (beside := train.covariates) is not None:
        arrays += [beside.static.numbers, beside.past.numbers, beside.known.numbers]
        arrays += [] if beside.late is None else [beside.late]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]
