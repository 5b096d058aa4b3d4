"""Data to audit on: a panel of our own, or a few short series of the user's; a forecaster that is quickly trained."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from forecast.forecaster import Forecaster
from forecast.frame import Panel, Roles, as_panel
from forecast.params import takes
from forecast.testing.bench import frame_of

MOST_SERIES = 3
_LEAST_ROWS = 160
# Of arguments that say how long a model is trained, by the last part of their names: the most that an audit takes.
_LENGTHS = ("steps", "max_steps", "epochs", "max_epochs", "n_epochs", "iterations", "max_iter", "n_estimators")
_MOST = {**dict.fromkeys(_LENGTHS, 10), "validations": 2, "batch_size": 16}

Prepared = tuple[pd.DataFrame, dict[str, Any], tuple[Any, Any], str]  # frame, door, cutoffs, what it is


def shortened(forecaster: Forecaster) -> tuple[Forecaster, dict[str, int]]:
    """Give a new forecaster that is trained for few steps and silently, and what was cut: argument -> value."""
    short = type(forecaster)(**forecaster.get_params(deep=False))
    cut = {}
    for name, value in forecaster.get_params(deep=True).items():
        last = name.rpartition("__")[2]
        most, by_rule = _MOST.get(last), value is None and last in _LENGTHS
        if most is not None and (by_rule or (type(value) is int and value > most)):
            cut[name] = most
    short.set_params(**cut, **({"verbose": 0} if takes(forecaster, "verbose") else {}))
    return short, cut


def own_data(forecaster: Forecaster, *, gaps: bool) -> Prepared:
    """Give three hourly series, with covariates where they are read; with rows and values missing, if asked."""
    frame, horizon = frame_of(forecaster.horizon), forecaster.horizon
    told, roles = "3 hourly series of our own", None
    if forecaster.reads_covariates:
        frame, roles = _with_covariates(frame, horizon)
        told += ", with a static, a known, a forecasted, a past and a delayed column"
    frame, door = _cut(as_panel(frame, **({} if roles is None else {"roles": roles})), horizon, None)[:2]
    door["gaps"] = "mask"
    cutoffs = _cutoffs(as_panel(frame, **door), horizon, None)
    if gaps:
        row = frame.groupby("unique_id", sort=False).cumcount().to_numpy()
        series = frame["unique_id"].factorize()[0]
        # Missing at the cutoff: what is filled from both sides is filled from the future there.
        at_cutoff = (frame["ds"] == cutoffs[0]).to_numpy()
        y = frame["y"].mask((row >= 40) & (row < 43) & (series == 0)).mask((row % 31 == 7) & (series == 1))
        y = y.mask(at_cutoff & (series == 1))
        frame = frame.assign(y=y).loc[~((row >= 50) & (row < 53) & (series == 2))].reset_index(drop=True)
        told += ", values and rows missing"
    return frame, door, cutoffs, told


def cut_data(frame: Any, forecaster: Forecaster, door: Mapping[str, Any], cutoff: Any, rows: int | None) -> Prepared:
    """Give a few series of a frame, of so many rows up to the cutoff (None: all), and the steps after it."""
    panel = as_panel(frame, **door)
    few = panel.take(_few(panel, cutoff))
    new, options = _cut(few, forecaster.horizon, cutoff, rows)[:2]
    if "gaps" in door and door["gaps"] != "error":
        options["gaps"] = door["gaps"]
    cutoffs = _cutoffs(as_panel(new, **options), forecaster.horizon, cutoff)
    told = f"{len(few)} of {len(panel)} series, up to {new.groupby('unique_id').size().max()} rows of each"
    return new, options, cutoffs, told


def least_rows(horizon: int) -> int:
    """Give how many rows up to the cutoff are tried first."""
    return max(_LEAST_ROWS, 8 * horizon + 40)


def _few(panel: Panel, cutoff: Any) -> np.ndarray:
    """Give the places of the series that begin first among those that go on longest."""
    under_way = np.ones(len(panel), dtype=bool)
    if cutoff is not None:
        ordinal = _ordinal(panel, cutoff)
        under_way = (panel.first <= ordinal) & (ordinal < panel.last)
        if not under_way.any():
            raise ValueError(f"`cutoff` is {cutoff}, at which no series is under way: give a stamp within the data")
    places = np.flatnonzero(under_way)
    order = np.lexsort((panel.first[places], -panel.last[places]))
    return np.sort(places[order[:MOST_SERIES]])


def _ordinal(panel: Panel, cutoff: Any) -> int:
    try:
        return panel.calendar.ordinal(cutoff)
    except (ValueError, TypeError) as error:
        raise type(error)(f"`cutoff` is {cutoff!r}: {error}") from error


def _cut(panel: Panel, horizon: int, cutoff: Any, rows: int | None = None) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Give the rows around the cutoff as a frame, and the options of the door for it."""
    calendar = panel.calendar
    last = calendar.ordinal(_cutoffs(panel, horizon, cutoff)[0])
    if rows is not None:
        panel = panel.since(last + 1 - rows)
    panel = panel.until(last + 3 * horizon + 2)
    freq: Any = calendar.freq if calendar.unit else int(calendar.freq) if calendar.freq.isdigit() else calendar.freq
    roles = _roles_of(panel)
    return panel.to_frame(), {"freq": freq, **({"roles": roles} if roles.columns() else {})}


def _cutoffs(panel: Panel, horizon: int, cutoff: Any) -> tuple[Any, Any]:
    """Give the first and the second cutoff: as asked, or with a horizon after the second in all series."""
    calendar, apart, end = panel.calendar, max(1, horizon // 2), int(panel.last.min())
    first = end - horizon - apart if cutoff is None else _ordinal(panel, cutoff)
    apart = min(apart, end - 1 - first)
    begin = int(panel.first.max())
    if apart < 1 or first < begin:
        asked = "" if cutoff is None else f"`cutoff` is {cutoff}; "
        raise ValueError(
            f"{asked}the series to audit on are all there from {calendar.stamp(begin)} to {calendar.stamp(end)}, which "
            f"leaves no room for two cutoffs and what comes after, best a horizon of {horizon}: give longer series"
            f"{', or another cutoff' if cutoff is not None else ''}"
        )
    return calendar.stamp(first), calendar.stamp(first + apart)


def _roles_of(panel: Panel) -> Roles:
    """Give the roles that the columns of a panel have."""
    weight = panel.weight if panel.weights is not None else None
    covariates = panel.covariates
    if covariates is None:
        return Roles(weight=weight)
    known, past = covariates.known.columns, covariates.past.columns
    return Roles(
        static=tuple(column.name for column in covariates.static.columns),
        known=tuple(column.name for column in known if column.issued is None),
        forecasted={column.name: column.issued for column in known if column.issued is not None},
        past=tuple(column.name for column in past if not column.delay),
        delayed={column.name: column.delay for column in past if column.delay},
        weight=weight,
    )


def _with_covariates(frame: pd.DataFrame, horizon: int) -> tuple[pd.DataFrame, Roles]:
    """Give a frame with a column of each role: the known one moves the target, and the forecasted one tells of it.

    Of what is forecast a third was issued in time for every step, a third for some, a third only afterwards.
    """
    rng = np.random.default_rng(1)
    price = rng.choice([1.0, 1.5, 2.0], len(frame))
    y = frame["y"] - 2 * price
    row, place = frame.groupby("unique_id", sort=False).cumcount().to_numpy(), frame["unique_id"].factorize()[0]
    early = np.choose((row + place) % 3, [np.full(len(row), horizon + 12), 1 + row % horizon, np.full(len(row), -2)])
    new = frame.assign(
        y=y,
        region=np.where(frame["unique_id"] == "a", "south", "north"),
        price=price,
        outlook=np.random.default_rng(3).normal(y, 1.0),
        issued=frame["ds"] - pd.to_timedelta(early, unit="h"),
        visitors=y + rng.normal(0, 1.0, len(frame)),
        returns=0.1 * y + rng.normal(0, 0.3, len(frame)),
    )
    forecasted = {"outlook": "issued"}
    roles = Roles(
        static=("region",), known=("price",), forecasted=forecasted, past=("visitors",), delayed={"returns": 2}
    )
    return new, roles
