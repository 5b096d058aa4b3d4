"""The design of a comparison as it is in a ledger: errors by series and fold, how folds overlap, when fits are made."""

from dataclasses import dataclass

import numpy as np

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.cells import cell_means, cube
from forecast.evaluation.ledger import Ledger, Points, check
from forecast.evaluation.metrics import error_of
from forecast.evaluation.statistics.errors import Errors
from forecast.params import is_probability


def errors_of(
    ledger: Ledger, baseline: str, metric: str | Averaged | Pooled, floor: float = 0.01, step: int = 0
) -> Errors:
    """Give the errors of all runs by series and fold, those of one forecaster's seeds beside each other.

    At one step or, for 0, averaged over all. Raises TypeError for what is no ledger; ValueError for a baseline that is
    not in it, a metric that is no error, a `floor` outside (0, 1), and a step that is not forecast.
    """
    check(ledger)
    if baseline not in ledger.forecasters:
        raise ValueError(
            f"`baseline` {baseline!r} is not in the ledger; it has {list(ledger.forecasters)}. Name one of these, or "
            "backtest the baseline too."
        )
    if not is_probability(floor):
        raise ValueError(f"`floor` must lie between 0 and 1; got {floor!r}.")
    _check_step(ledger, step)
    chosen = error_of(metric)
    names, points = ledger.forecasters, ledger.points
    series = np.unique(points.series)  # not those that take part in no fold
    runs = [place for name in names for place, run in enumerate(ledger.runs) if run.forecaster == name]
    return Errors(
        values=cube(points, cell_means(ledger, chosen, step))[runs][:, series],
        names=names,
        seeds=tuple(len(ledger.of_forecaster(name)) for name in names),
        ids=tuple(points.ids[series]),
        baseline=names.index(baseline),
        root=chosen.root,
        floor=floor,
    )


def _check_step(ledger: Ledger, step: int) -> None:
    """Raise ValueError for a step that is not forecast, 0 standing for all."""
    steps = ledger.points.steps
    whole = isinstance(step, int | np.integer) and not isinstance(step, bool)
    if not whole or (step != 0 and step not in steps):
        raise ValueError(f"`step` is {step!r}; allowed: 0 for all, or one of {steps[0]} to {steps[-1]}")


@dataclass(frozen=True, eq=False)
class FoldLosses:
    """The mean of a loss, called `quantity`, over series at each fold: `values` (M, T), a row for each of `names`."""

    quantity: str
    names: tuple[str, ...]
    values: np.ndarray
    series: int
    notes: tuple[str, ...]

    def of(self, name: str) -> np.ndarray:
        """Give the losses of one forecaster, (T,)."""
        return self.values[self.names.index(name)]


def fold_losses(ledger: Ledger, metric: str | Averaged | Pooled, step: int = 0) -> FoldLosses:
    """Give the losses of all forecasters at each fold, at one step or, for 0, averaged over all.

    Averaged over the series that have a value there for every run, and over seeds; no root is taken. A fold where no
    series has one is left out. Raises what `errors_of` raises, and ValueError for a step that is not forecast.
    """
    check(ledger)
    chosen = error_of(metric)
    _check_step(ledger, step)
    values = cube(ledger.points, cell_means(ledger, chosen, step))  # (R, S, F)
    present = np.asarray(np.isfinite(values).all(axis=0))  # (S, F)
    filled = np.flatnonzero(present.any(axis=0))
    values, present = values[..., filled], present[:, filled]
    means = np.where(present, values, 0.0).sum(axis=1) / present.sum(axis=0)  # (R, T)
    forecaster = np.array([ledger.forecasters.index(run.forecaster) for run in ledger.runs])
    series = int(present.any(axis=1).sum())
    notes = []
    if not len(filled):
        notes.append(f"{name_of(metric)} is defined at no cutoff, of no series")
    if series > 1 and chosen.unit and chosen.scale is None:
        notes.append(f"{name_of(metric)} is in the units of the series: those of large values decide")
    return FoldLosses(
        quantity=f"squared {name_of(metric)}" if chosen.root else name_of(metric),
        names=ledger.forecasters,
        values=np.stack([means[forecaster == place].mean(axis=0) for place in range(len(ledger.forecasters))]),
        series=series,
        notes=tuple(notes),
    )


def name_of(metric: str | Averaged | Pooled) -> str:
    """Give what a metric is called."""
    return metric if isinstance(metric, str) else "a metric of your own"


def overlap(points: Points, step: int = 0) -> int:
    """Give how many consecutive folds a forecast reaches over, up to `step` (0: the last): 1 where none overlap.

    That is ceil((h + gap) / stride) of evenly spaced cutoffs; of any others the most.
    """
    H = len(points.steps)
    last = H - 1 if step == 0 else int(np.flatnonzero(points.steps == step)[0])
    end = points.times[points.cutoff * H + last]
    start = points.cutoffs[points.cutoff]
    reached, ahead = 1, 1
    while ahead < len(points):
        same = points.series[ahead:] == points.series[:-ahead]
        over = same & np.asarray(start[ahead:] < end[:-ahead])
        if not over.any():
            break
        reached = max(reached, int((points.fold[ahead:] - points.fold[:-ahead])[over].max()) + 1)
        ahead += 1
    return reached


def refit(ledger: Ledger) -> str:
    """Say when forecasters were fitted: at every fold, never again, or at how many; told apart where they differ."""
    folds = len(np.unique(ledger.points.fold))
    policies: dict[str, list[str]] = {}
    for run in ledger.runs:
        fits = len(np.unique(run.fit))
        policy = "at every cutoff" if fits >= folds else "never" if fits == 1 else f"at {fits} of them"
        policies.setdefault(policy, []).append(run.forecaster)
    if len(policies) == 1:
        return next(iter(policies))
    return ", ".join(f"{policy} ({', '.join(dict.fromkeys(names))})" for policy, names in policies.items())
