"""`check_forecaster`: the contract of a Forecaster, run on one."""

import pandas as pd

from forecast.forecaster import Forecaster
from forecast.testing.bench import Bench, Blind, before_the_end, frame_of
from forecast.testing.checks import run
from forecast.testing.forecasts import DEPENDENCE, FORM
from forecast.testing.manners import ARGUMENTS, MANNERS

# What is not the same when asked twice cannot be compared: what a forecast depends on comes last.
CHECKS = (*ARGUMENTS, *FORM, *MANNERS, *DEPENDENCE)


def check_forecaster(
    forecaster: Forecaster,
    frame: pd.DataFrame | None = None,
    *,
    alone: bool = True,
    blind: Blind | None = None,
    skip: tuple[str, ...] = (),
    **door,
) -> pd.DataFrame:
    """Run the contract on a forecaster, as scikit-learn's `check_estimator` does on an estimator.

    It is fitted some twenty times, as copies that are made by its constructor; it stays unfitted itself. Give one that
    is cheap to fit, such as a network with few steps of training.

    Parameters
    ----------
    forecaster: one to check, with the arguments to check it with.
    frame: the data to check it on, `unique_id, ds, y` and covariates, of two or more series; None for three hourly
        series of 160 values or more, which is not enough for a model that needs a longer history. Where
        columns are known ahead, the last steps of each series are kept for that and not shown.
    alone: whether each series is forecast by itself: then the others do not matter, and new ones are forecast.
    blind: what it is if a step does not move with the newest value, an "error" or a "note" in the table; None for a
        note where the `family` is "baseline", as a rule may be meant to be blind, and an error for all others.
    skip: names of checks that are not run.
    door: options of `check_frame` for the frame, such as `gaps="mask"`.

    Returns
    -------
    One row per check, in the order in which they were run: `check`, `asks` and `note`; a note tells what the check saw
    and let pass, such as input that is refused by a ValueError.

    Raises
    ------
    AssertionError: a check failed; says which, what was expected, what came and how to mend it.
    TypeError: `forecaster` is no Forecaster, but a class or another object.
    FrameError: the frame may not enter.
    ValueError: `skip` or `blind` is not one of those allowed.

    """
    if isinstance(forecaster, type):
        raise TypeError(f"`forecaster` is the class {forecaster.__name__}; give one, {forecaster.__name__}(...)")
    if not isinstance(forecaster, Forecaster):
        raise TypeError(f"`forecaster` is {forecaster!r}; allowed: a Forecaster, of a class that subclasses it")
    if blind not in (None, "error", "note"):
        raise ValueError(f"`blind` is {blind!r}; allowed: 'error', 'note', None")
    if blind is None:
        blind = "note" if getattr(forecaster, "family", None) == "baseline" else "error"
    frame, future = frame_of(forecaster.horizon) if frame is None else frame, None
    if (roles := door.get("roles")) is not None and (roles.known or roles.forecasted):
        future, frame = frame, before_the_end(frame, forecaster.horizon + 1)
    bench = Bench(forecaster, frame, door, alone, blind, future)
    return run(CHECKS, bench, repr(forecaster), skip)
