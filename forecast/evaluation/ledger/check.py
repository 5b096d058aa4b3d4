"""Whether a ledger may be scored: no hole in a forecast, no crossing, nothing fitted on what it forecasts."""

from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

from forecast.evaluation.ledger.columns import FIT, FITS, OF_FITS, RUN
from forecast.evaluation.ledger.points import Points, Run
from forecast.frame.rows import plain


def check_run(run: Run) -> None:
    """Raise ValueError, naming the first offender, unless what a run says can be scored.

    Demanded: median, mean and all quantiles finite; quantiles that do not cross; no fit later than the cutoff.
    """
    finite = "every forecast must be a finite number; mend the forecaster or score a named fallback, none is skipped"
    for name, numbers in (("prediction", run.median), ("mean", run.mean)):
        if not (good := np.isfinite(numbers)).all():
            _refuse(run, name, numbers, ~good, finite)
    if not (good := np.isfinite(run.quantiles)).all():
        q = int((~good).any(axis=(0, 1)).argmax())
        _refuse(run, str(run.levels[q]), run.quantiles[..., q], ~good[..., q], finite)
    for q in range(1, len(run.levels)):
        low, high = run.quantiles[..., q - 1], run.quantiles[..., q]
        if (crossing := high < low).any():
            below = f"it must not be below column `{run.levels[q - 1]}`, for quantiles must not cross"
            _refuse(run, str(run.levels[q]), high, crossing, below)
    fitted = run.fit_cutoffs[run.fit]
    if (late := np.asarray(fitted > run.points.cutoffs[run.points.cutoff])).any():
        cell = int(late.argmax())
        raise ValueError(
            f"column `fit_cutoff` is {fitted[cell]} for {place(run, cell, 0)}; no fit may see past the cutoff."
        )


def check_points(points: Points) -> None:
    """Raise ValueError, naming the first offender, unless forecasts of these points can be scored."""
    if len(points) == 0:
        raise ValueError("`forecasts` has no rows.")
    if points.steps[0] < 1:
        raise ValueError(f"column `step` is {points.steps[0]}; steps count from 1.")
    H = len(points.steps)
    if (early := np.asarray(points.times <= points.cutoffs.repeat(H))).any():
        at = int(early.argmax())
        raise ValueError(
            f"column `ds` is {points.times[at]} for cutoff {points.cutoffs[at // H]}, step {points.steps[at % H]}; "
            "what is forecast must lie after the cutoff."
        )
    if (infinite := np.isinf(points.y)).any():
        cell, step = np.argwhere(infinite)[0]
        raise ValueError(
            f"column `y` is {points.y[cell, step]} for {spelled(points, cell, step)}; it must be finite, or NaN where "
            "nothing was observed."
        )
    if (folds := points.folds) is not None:
        again = pd.DataFrame({"series": points.series, "fold": folds}).duplicated().to_numpy()
        if (wrong := again | (folds < 0)).any():
            cell = int(wrong.argmax())
            raise ValueError(
                f"column `fold` of `scales` is {folds[cell]} for {spelled(points, cell)}; allowed: whole numbers of 0 "
                "or more, each once within a series."
            )
    for name in ("absolute", "squared"):
        scale = getattr(points, name)
        if (wrong := (scale < 0) | np.isinf(scale)).any():
            cell = int(wrong.argmax())
            raise ValueError(
                f"column `{name}` of `scales` is {scale[cell]} for {spelled(points, cell)}; it must be finite and not "
                "negative, or NaN where undefined."
            )


def check_fits(fits: pd.DataFrame, runs: tuple[Run, ...]) -> None:
    """Raise ValueError unless there is one row in `fits` for each fit of the runs."""
    columns = [*FITS, *OF_FITS]
    if list(fits.columns) != columns:
        raise ValueError(f"`fits` has the columns {list(fits.columns)}; it takes {columns}, in this order.")
    if fits.empty:
        raise ValueError("`fits` has no rows.")
    repeated = fits.duplicated(FIT).to_numpy()
    if repeated.any():
        row = fits.iloc[int(repeated.argmax())]
        raise ValueError(f"`fits` has more than one row for {_of_fit(*row[FIT])}; it takes one.")
    there = set(fits[FIT].itertuples(index=False, name=None))
    for run in runs:
        for stamp in run.fit_cutoffs[np.unique(run.fit)]:
            if (run.forecaster, run.seed, stamp) not in there:
                told = _of_fit(run.forecaster, run.seed, stamp)
                raise ValueError(f"`fits` lacks the row for {told}, which `forecasts` has.")


def kind_of(values: Any) -> str:
    """Say what an index or column holds: integers, timestamps, text, or its dtype."""
    if types.is_integer_dtype(values):
        return "integers"
    if types.is_datetime64_any_dtype(values):
        return f"timestamps, time zone {getattr(values.dtype, 'tz', None)}"
    return "text" if types.is_string_dtype(values) else str(values.dtype)


def place(run: Run, cell: int, step: int) -> str:
    """Name what a forecast is of: forecaster 'LSTM', seed 0, series 3, cutoff 2024-01-09 01:00:00, step 2."""
    return f"forecaster {run.forecaster!r}, seed {run.seed}, {spelled(run.points, cell, step)}"


def spelled(points: Points, cell: int, step: int | None = None) -> str:
    """Name a cell, or a step of it: series 3, cutoff 2024-01-09 01:00:00, step 2."""
    name, cutoff = plain(points.ids[points.series[cell]]), points.cutoffs[points.cutoff[cell]]
    told = f"series {name!r}" if isinstance(name, str | int) else f"series {name}"
    return f"{told}, cutoff {cutoff}" + ("" if step is None else f", step {points.steps[step]}")


def _refuse(run: Run, column: str, numbers: np.ndarray, wrong: np.ndarray, rule: str) -> None:
    cell, step = np.argwhere(wrong)[0]
    raise ValueError(f"column `{column}` is {numbers[cell, step]} for {place(run, cell, step)}; {rule}.")


def _of_fit(forecaster: str, seed: int, stamp) -> str:
    return ", ".join([f"{RUN[0]} {forecaster!r}", f"{RUN[1]} {seed}", f"fit_cutoff {stamp}"])
