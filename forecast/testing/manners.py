"""Checks of manners: arguments, fits, copies, saving, and what a fit borrows and has to give back."""

import copy
import os
import pickle
import random
import sys
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from forecast import saving
from forecast.forecaster import Forecaster, NotFittedError
from forecast.testing.bench import Bench, same, series_of, together
from forecast.testing.checks import Check, demand


def constructor_stores_its_arguments_and_does_nothing_else(bench: Bench) -> None:
    """Every argument is an attribute of its own name, as it was given; there are no other attributes."""
    params = bench.pattern.get_params(deep=False)
    made = vars(bench.fresh())
    demand(
        set(made) == set(params) and all(made[name] is value for name, value in params.items()),
        expected=f"the attributes {list(params)}, each the very object that was given",
        came=f"attributes {list(made)}" if set(made) != set(params) else _changed(made, params),
        mend="in __init__ write self.<argument> = <argument> and nothing else; check and convert in _fit",
    )


def arguments_can_be_read_and_set(bench: Bench) -> None:
    """`get_params`, `set_params` and a repr that tells them, the same before and after a fit."""
    forecaster, params = bench.fresh(), bench.pattern.get_params(deep=False)
    given = forecaster.set_params(**params)
    demand(given is forecaster, expected="set_params to give the forecaster", came=given, mend="return self")
    try:
        forecaster.set_params(no_such_argument=1)
    except ValueError:
        pass
    else:
        demand(
            False,
            expected="a ValueError for an argument that the constructor does not have",
            came="none",
            mend="leave set_params to the class Forecaster",
        )
    after = bench.fitted.get_params(deep=False)
    demand(
        all(after[name] is value for name, value in params.items()),
        expected="arguments that a fit leaves as they were given",
        came=_changed(after, params),
        mend="keep what _fit works out in an attribute of another name, which ends in an underscore",
    )
    demand(
        repr(bench.fitted) == repr(bench.fresh()),
        expected=f"the repr {bench.fresh()!r} after a fit too",
        came=repr(bench.fitted),
        mend="tell the arguments in __repr__ and nothing of the fit, or leave it to the class Forecaster",
    )


def without_a_fit_it_says_so(bench: Bench) -> None:
    """`predict` and `save` before a fit raise NotFittedError, which names the class."""
    with TemporaryDirectory() as folder:
        asks: list[tuple[str, Callable[[Forecaster], object]]] = [
            ("predict()", lambda one: one.predict()),
            ("predict(frame)", lambda one: one.predict(bench.frame.copy())),
            ("save(folder)", lambda one: one.save(folder)),
        ]
        for spelled, ask in asks:
            kind = type(bench.pattern).__name__
            try:
                came = ask(bench.fresh())
            except NotFittedError as error:
                came = error
            except Exception as error:
                came = f"{type(error).__name__}: {error}"
            demand(
                isinstance(came, NotFittedError) and kind in str(came),
                expected=f"{spelled} without a fit to raise NotFittedError, naming {kind}",
                came=came if isinstance(came, str | Exception) else "a result",
                mend="leave predict and save to the class Forecaster, which asks for the panel of a fit first",
            )


def fit_gives_the_forecaster(bench: Bench) -> None:
    """`fit` gives the forecaster itself."""
    forecaster = bench.fresh()
    given = forecaster.fit(bench.frame.copy(), **bench.door)
    demand(given is forecaster, expected="fit to give the forecaster itself", came=repr(given), mend="return self")


def the_frame_is_left_as_it_is(bench: Bench) -> None:
    """Neither `fit` nor `predict` changes the frame or the panel that it is given."""
    frame, panel = bench.frame.copy(), bench.panel
    arrays = ("values", "observed", "starts", "stops", "first")
    before = {name: getattr(panel, name).copy() for name in arrays}
    bench.fresh().fit(frame, **bench.door).predict(frame, future=bench.future)
    demand(
        frame.equals(bench.frame),
        expected="the frame as it was",
        came="another",
        mend="work on a copy of what you change",
    )
    bench.fresh().fit(panel).predict(panel)
    changed = [name for name in arrays if not np.array_equal(getattr(panel, name), before[name], equal_nan=True)]
    demand(not changed, expected="the panel as it was", came=f"others: {changed}", mend="copy what you change")


def the_global_random_states_are_left_as_they_are(bench: Bench) -> None:
    """A fit and a forecast draw no number from Python's, numpy's or torch's global random state, nor seed it."""
    places = _random_places()
    kept = {name: get() for name, (_, get, _) in places.items()}
    for draw, _, _ in places.values():  # who seeded it before has to be seen when it does so again
        draw()
    before = {name: _plain(get()) for name, (_, get, _) in places.items()}
    bench.predict(bench.fit())
    moved = [name for name, (_, get, _) in places.items() if _plain(get()) != before[name]]
    for name, (_, _, put) in places.items():
        put(kept[name])
    demand(
        not moved,
        expected="the global random states as they were",
        came=f"moved: {', '.join(moved)}",
        mend="draw from np.random.default_rng(self.seed), or give the state back as it was",
    )


def nothing_is_written(bench: Bench) -> None:
    """A fit and a forecast leave no file behind."""
    with TemporaryDirectory() as folder:
        with chdir(folder):
            bench.predict(bench.fit())
        left = [os.fspath(path.relative_to(folder)) for path in Path(folder).rglob("*")]
    demand(not left, expected="no files", came=left[:5], mend="write only where an argument names a place")


def the_same_arguments_give_the_same_numbers(bench: Bench) -> None:
    """A second forecaster, and a second `predict`, say the same to the last bit."""
    demand(
        same(bench.predict(bench.fitted), bench.predict(bench.fitted)),
        expected="the same forecasts from a second predict()",
        came="others",
        mend="keep nothing from a call of _forecast to the next, and seed what is drawn there",
    )
    demand(
        same(bench.predict(bench.fit()), bench.table),
        expected="the same forecasts from a second forecaster with the same arguments, fitted on the same frame",
        came="others",
        mend="take a seed as an argument and draw everything from np.random.default_rng(self.seed)",
    )


def a_second_fit_forgets_the_first(bench: Bench) -> None:
    """Fitted on other data and then on the frame, it says what it says when fitted on the frame alone."""
    series = series_of(bench.frame)
    other = [rows.assign(y=rows["y"] * 3 + 50) for rows in (series[1:] + series[:1])]
    forecaster = bench.teach(bench.fit(together(other)))
    demand(
        same(bench.predict(forecaster), bench.table),
        expected="the forecasts of a forecaster that was fitted once",
        came="others",
        mend="begin anew in _fit, and let what is learned end in an underscore: fit clears such attributes",
    )


def copies_say_the_same(bench: Bench) -> None:
    """`copy.deepcopy` and `pickle` give forecasters that say the same, fitted or not."""
    for spelled, copied in (("copy.deepcopy", copy.deepcopy), ("pickle", lambda one: pickle.loads(pickle.dumps(one)))):
        try:
            unfitted, fitted = copied(bench.fresh()), copied(bench.fitted)
        except Exception as error:  # what a class of the user's own raises
            demand(
                False,
                expected=f"{spelled} to copy it",
                came=f"{type(error).__name__}: {error}",
                mend="define the class at the top of a module; keep no lambda, file or lock in an attribute",
            )
            raise
        demand(
            repr(unfitted) == repr(bench.fresh()) and same(bench.predict(fitted), bench.table),
            expected=f"the same from a copy by {spelled}",
            came="other arguments or forecasts",
            mend="keep all that the forecasts need in attributes of the forecaster",
        )


def a_loaded_forecaster_says_the_same(bench: Bench) -> str | None:
    """`save` and `Forecaster.load` give a forecaster that says the same to the last bit."""
    try:
        for name, value in bench.pattern.get_params(deep=False).items():
            saving.to_json(value, name)
    except TypeError as error:
        return f"cannot be saved: {error}"
    with TemporaryDirectory() as folder:
        bench.fitted.save(folder)
        try:
            loaded = Forecaster.load(folder)
        except ValueError as error:
            demand(
                False,
                expected="the class to be found by its name",
                came=error,
                mend="define the class at the top of a module",
            )
            raise
    newer = together([rows.iloc[: -1 - place] for place, rows in enumerate(series_of(bench.frame))])
    for frame in (None, newer):
        demand(
            same(bench.predict(loaded, frame), bench.predict(bench.fitted, frame)),
            expected="the forecasts of the forecaster that was saved",
            came="others",
            mend="let what is learned end in an underscore, as arrays or plain values, or give it in _state and take "
            "it in _restore",
        )
    return None


def horizon_and_levels_are_obeyed(bench: Bench) -> None:
    """Set to another horizon and other quantile levels, it gives as many steps and those columns."""
    horizon = bench.horizon - 1 or 2
    levels = [0.05, 0.5, 0.9]
    forecaster = bench.fresh().set_params(horizon=horizon, quantile_levels=levels)
    table = bench.predict(bench.teach(forecaster))
    demand(
        len(table) == horizon * len(bench.ids)
        and list(table.columns[4:]) == ["prediction", "mean", "0.05", "0.5", "0.9"],
        expected=f"{horizon} steps of each series and the levels {levels}",
        came=f"{len(table)} rows of {len(bench.ids)} series and the columns {list(table.columns)}",
        mend="use self.horizon and self.quantile_levels wherever they are meant",
    )


def every_calendar_is_taken(bench: Bench) -> str | None:
    """Days in a time zone, months and whole numbers: stamps go on where the data end, and come back as they came."""
    if bench.future is not None:
        return "not asked: what is known ahead has stamps of its own"
    for freq, zone in (("D", "Europe/Paris"), ("MS", None), (None, None)):
        series = [
            rows.assign(
                ds=range(len(rows))
                if freq is None
                else pd.date_range("2001-03-01", periods=len(rows), freq=freq, tz=zone)
            )
            for rows in series_of(bench.frame)
        ]
        known = together([rows.iloc[: -bench.horizon] for rows in series])
        ahead = together([rows.iloc[-bench.horizon :] for rows in series])
        door = {name: value for name, value in bench.door.items() if name != "freq"}
        table = bench.predict(bench.fresh().fit(known, **door))
        demand(
            table["ds"].dtype == ahead["ds"].dtype and table["ds"].tolist() == ahead["ds"].tolist(),
            expected=f"the stamps that follow the data, from {ahead['ds'].iloc[0]} on, as {ahead['ds'].dtype}",
            came=f"{table['ds'].iloc[0]} ..., as {table['ds'].dtype}",
            mend="leave the stamps to the class Forecaster, or make them with panel.calendar.stamps(ordinals)",
        )
    return None


def _changed(found: dict, params: dict) -> str:
    name = next((name for name, value in params.items() if found[name] is not value), "")
    return f"`{name}` is another object" if name else ""


def _random_places() -> dict[str, tuple[Callable, Callable, Callable]]:
    """Give of each global random state how to draw from it, read it and put it back."""
    places: dict[str, tuple[Callable, Callable, Callable]] = {
        "random": (random.random, random.getstate, random.setstate),
        "numpy.random": (np.random.random, np.random.get_state, np.random.set_state),
    }
    if torch := sys.modules.get("torch"):  # who has not imported it draws nothing from it
        places["torch"] = (lambda: torch.rand(1), torch.get_rng_state, torch.set_rng_state)
    return places


def _plain(state) -> list:
    """Give a random state as lists, which can be compared."""
    return [np.asarray(part).tolist() for part in state]


ARGUMENTS: tuple[Check, ...] = (
    constructor_stores_its_arguments_and_does_nothing_else,
    without_a_fit_it_says_so,
    fit_gives_the_forecaster,
    arguments_can_be_read_and_set,
)
MANNERS: tuple[Check, ...] = (
    the_frame_is_left_as_it_is,
    the_global_random_states_are_left_as_they_are,
    nothing_is_written,
    the_same_arguments_give_the_same_numbers,
    a_second_fit_forgets_the_first,
    copies_say_the_same,
    a_loaded_forecaster_says_the_same,
    horizon_and_levels_are_obeyed,
    every_calendar_is_taken,
)
