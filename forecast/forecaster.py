"""The contract that all models share: fit on a frame, predict a tidy frame of dates, quantiles and means.

A model of one's own is a subclass with two methods on arrays, `_fit` and `_forecast`; the door, the dates, the ids, the
order of rows and the manners of scikit-learn are here, once.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from forecast import saving
from forecast.frame import Panel, as_panel

DECILES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class NotFittedError(ValueError, AttributeError):
    """A forecaster was asked for something that only a fitted one has."""


@dataclass(frozen=True)
class Origins:
    """Where forecasts start: `series[m]` is a position in the panel, `ends[m]` the flat index after its last row.

    The history of forecast m is `panel.values[panel.starts[series[m]]:ends[m]]`, never empty; `cutoffs[m]` is the
    calendar ordinal of its last row.
    """

    series: np.ndarray  # (M,)
    ends: np.ndarray  # (M,)
    cutoffs: np.ndarray  # (M,)

    def __len__(self) -> int:
        return len(self.series)

    def take(self, which: np.ndarray | slice) -> "Origins":
        """Give some of the origins, by position, mask or slice."""
        return Origins(self.series[which], self.ends[which], self.cutoffs[which])


@dataclass(frozen=True)
class Forecast:
    """What a model says of M origins: quantiles (M, H, Q), at the levels of the forecaster, and means (M, H)."""

    quantiles: np.ndarray
    mean: np.ndarray


class Forecaster(ABC):
    """A model that forecasts every series of a frame `horizon` steps ahead, at several quantile levels.

    A subclass stores its constructor arguments under their own names and does nothing else there, and implements `_fit`
    and `_forecast`. What it learns goes into attributes that end in an underscore.
    """

    family: ClassVar[str]
    horizon: int
    quantile_levels: Sequence[float]
    season_length: int | None

    def fit(self, frame: pd.DataFrame | Panel, **door) -> Self:
        """Learn from a frame; an earlier fit is forgotten.

        Parameters
        ----------
        frame: a long frame `unique_id, ds, y`, or a panel from `check_frame`.
        door: options of `check_frame` for a frame, such as `gaps="mask"`; they also hold for frames given to `predict`.

        Raises
        ------
        FrameError: the frame may not enter, or its series are too short for this model.
        ValueError: an argument of the constructor is not allowed.

        """
        check_positive(horizon=self.horizon)
        check_levels(self.quantile_levels)
        if self.season_length is not None:
            check_positive(season_length=self.season_length)
        panel = as_panel(frame, **door)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self._fit(panel)
        self.panel_ = panel
        self.door_ = door
        return self

    def predict(self, frame: pd.DataFrame | Panel | None = None, *, cutoffs: Sequence | None = None) -> pd.DataFrame:
        """Forecast the `horizon` steps after each cutoff.

        Parameters
        ----------
        frame: the history to forecast from; None for the frame of `fit`.
        cutoffs: last stamps that may be used, for all series alike; None for each series' own end. A series that has
            not begun at a cutoff, or has ended before it, is not forecast from there.

        Returns
        -------
        One row per series, cutoff and step, in this order, with the columns `unique_id, cutoff, ds, step, prediction`
        (the median), `mean` and one per quantile level (`0.1` ... `0.9`), which never cross.

        Raises
        ------
        NotFittedError: `fit` was not called.
        ValueError: a cutoff at which no series can be forecast, or given twice; a frame with another frequency than
            that of `fit`; a forecast that is not finite.

        """
        panel = self.panel_of(frame)
        origins = origins_of(panel, None if cutoffs is None else _ordinals(panel, cutoffs))
        forecast = self.forecast(panel, origins)
        wrong = ~(np.isfinite(forecast.quantiles).all(axis=2) & np.isfinite(forecast.mean))
        if wrong.any():
            origin, step = np.argwhere(wrong)[0]
            raise ValueError(
                f"{type(self).__name__} forecast no finite number for series {panel.ids[origins.series[origin]]!r}, "
                f"cutoff {panel.calendar.stamp(int(origins.cutoffs[origin]))}, step {step + 1}: mend its _forecast"
            )
        return self.tidy(panel, origins, forecast)

    def panel_of(self, frame: pd.DataFrame | Panel | None) -> Panel:
        """Give the panel to forecast from: a frame passes the door with the options of `fit`."""
        fitted = self._fitted()
        if frame is None:
            return fitted
        if not isinstance(frame, Panel):
            freq = fitted.calendar.freq if fitted.calendar.unit else int(fitted.calendar.freq)
            frame = as_panel(frame, **{**self.door_, "freq": freq, "min_length": 1})
        if frame.calendar.freq != fitted.calendar.freq:
            raise ValueError(
                f"`frame` has frequency {frame.calendar.freq!r}; this {type(self).__name__} was fitted on "
                f"{fitted.calendar.freq!r}: give data of that frequency, or fit again"
            )
        return frame

    def forecast(self, panel: Panel, origins: Origins) -> Forecast:
        """Forecast from many origins at once, as arrays; what a backtest calls. Values after an origin are not read."""
        self._fitted()
        forecast = self._forecast(panel, origins)
        shape = (len(origins), self.horizon, len(self.quantile_levels))
        if forecast.quantiles.shape != shape or forecast.mean.shape != shape[:2]:
            raise ValueError(
                f"{type(self).__name__}._forecast gave quantiles {forecast.quantiles.shape} and mean "
                f"{forecast.mean.shape}; expected {shape} and {shape[:2]}: origins, steps, quantile levels"
            )
        return forecast

    @abstractmethod
    def _fit(self, panel: Panel) -> None:
        """Learn from a panel; every value in it may be used."""

    @abstractmethod
    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        """Forecast from each origin, reading only its history."""

    def tidy(self, panel: Panel, origins: Origins, forecast: Forecast) -> pd.DataFrame:
        """Give the forecast frame; series in the order in which they came, then cutoff, then step."""
        order = np.lexsort((origins.cutoffs, origins.series))
        steps = np.arange(self.horizon + 1)
        # Many origins share few cutoffs, and stamps with a time zone are slow to make.
        cutoffs, cutoff = np.unique(origins.cutoffs[order], return_inverse=True)
        stamps = panel.calendar.stamps((cutoffs[:, None] + steps).ravel())
        places = cutoff[:, None] * len(steps) + steps  # (M, 1 + H)
        quantiles = forecast.quantiles[order].reshape(len(order) * self.horizon, -1)
        levels = {str(level): quantiles[:, q] for q, level in enumerate(self.quantile_levels)}
        columns = {
            "unique_id": panel.ids[origins.series[order].repeat(self.horizon)],
            "cutoff": stamps[places[:, 0].repeat(self.horizon)],
            "ds": stamps[places[:, 1:].ravel()],
            "step": np.tile(steps[1:], len(order)),
            "prediction": levels["0.5"],
            "mean": forecast.mean[order].reshape(-1),
        }
        return pd.DataFrame(columns | levels)

    def _fitted(self) -> Panel:
        """Give the panel of `fit`."""
        fitted = getattr(self, "panel_", None)
        if fitted is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted: call fit(frame) first")
        return fitted

    # -- saving --------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the fitted forecaster, with the history it was fitted on, as JSON and safetensors into a folder.

        Raises
        ------
        NotFittedError: `fit` was not called.
        TypeError: an argument of the constructor, or of the door, or an id is of a kind that cannot be written.

        """
        panel, arrays = saving.panel_to_json(own_rows(self._fitted()))
        state = self._state()
        learned = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        plain = {name: saving.to_json(value, name) for name, value in state.items() if name not in learned}
        note = {
            "class": saving.class_name(type(self)),
            "params": {name: saving.to_json(value, name) for name, value in self.get_params(deep=False).items()},
            "door": saving.to_json(self.door_, "door"),
            "state": plain,
            "panel": panel,
        }
        arrays = {f"panel.{name}": array for name, array in arrays.items()}
        saving.write(folder, note, arrays | {f"state.{name}": array for name, array in learned.items()})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read the forecaster that `save` wrote; `Forecaster.load` gives whichever class was saved.

        Raises
        ------
        FileNotFoundError: no forecaster was saved there.
        ValueError: a format that this version does not read, or a class of a module that is not imported.
        TypeError: a forecaster of another class than the one asked.

        """
        note, arrays = saving.read(folder)
        kind = saving.class_of(note["class"])
        if not issubclass(kind, cls):
            raise TypeError(f"`folder` {str(folder)!r} holds a {kind.__name__}; load it with Forecaster.load(folder)")
        parts: dict[str, dict] = {"panel": {}, "state": {}}
        for name, array in arrays.items():
            part, _, inner = name.partition(".")
            parts[part][inner] = array
        forecaster = kind(**saving.from_json(note["params"]))
        forecaster.panel_ = saving.panel_from_json(note["panel"], parts["panel"])
        forecaster.door_ = saving.from_json(note["door"])
        forecaster._restore(saving.from_json(note["state"]) | parts["state"])
        return forecaster

    def _state(self) -> dict[str, Any]:
        """Give what `fit` has learned: arrays, and plain values that JSON can hold. The panel is saved beside it."""
        return {
            name: value for name, value in vars(self).items() if name.endswith("_") and name not in ("panel_", "door_")
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take what `_state` gave; arguments and panel are already in place."""
        for name, value in state.items():
            setattr(self, name, value)

    # -- the manners of scikit-learn, without importing it -----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the constructor's arguments; with `deep` also those of arguments that have some: `backbone__width`."""
        params = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        if deep:
            for name, value in list(params.items()):
                if is_dataclass(value) and not isinstance(value, type):
                    params |= {f"{name}__{key}": inner for key, inner in vars(value).items()}
        return params

    def set_params(self, **params) -> Self:
        """Set arguments of the constructor, `backbone__width=64` inside one of them; the forecaster is given back."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}")
            owner, _, inner = name.partition("__")
            setattr(self, owner, replace(getattr(self, owner), **{inner: value}) if inner else value)
        return self

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters.values()
        told = [
            f"{parameter.name}={getattr(self, parameter.name)!r}"
            for parameter in parameters
            if _differs(getattr(self, parameter.name), parameter.default)
        ]
        return f"{type(self).__name__}({', '.join(told)})"


def origins_of(panel: Panel, cutoffs: Sequence[int] | None = None) -> Origins:
    """Give the origins of a panel: each series' own end, or every series that is under way at each cutoff (ordinals).

    A series is under way at a cutoff if it has a row at it; one that begins later or ended before is left out.
    """
    if cutoffs is None:
        return Origins(np.arange(len(panel)), panel.stops.copy(), panel.last)
    series, times = np.meshgrid(np.arange(len(panel)), np.asarray(cutoffs, dtype="int64"), indexing="ij")
    under_way = (panel.first[:, None] <= times) & (times <= panel.last[:, None])
    if len(idle := np.flatnonzero(~under_way.any(axis=0))):
        first, last = panel.calendar.stamp(int(panel.first.min())), panel.calendar.stamp(int(panel.last.max()))
        raise ValueError(
            f"`cutoffs`: no series is under way at {panel.calendar.stamp(int(times[0, idle[0]]))}; the data run from "
            f"{first} to {last}: give cutoffs within"
        )
    series, times = series[under_way], times[under_way]
    return Origins(series, panel.starts[series] + times - panel.first[series] + 1, times)


def own_rows(panel: Panel) -> Panel:
    """Give the panel over arrays of its own rows only: what a cutoff has cut off is then physically absent."""
    ends = np.cumsum(panel.lengths)
    rows = np.concatenate([np.arange(start, stop) for start, stop in zip(panel.starts, panel.stops, strict=True)])
    return replace(
        panel, values=panel.values[rows], observed=panel.observed[rows], starts=ends - panel.lengths, stops=ends
    )


def _ordinals(panel: Panel, cutoffs: Sequence) -> list[int]:
    if isinstance(cutoffs, str | pd.Timestamp) or np.ndim(cutoffs) != 1 or len(cutoffs) == 0:  # type: ignore[arg-type]
        raise TypeError(f"`cutoffs` is {cutoffs!r}; allowed: a list of one or more stamps, or None")
    ordinals = [panel.calendar.ordinal(cutoff) for cutoff in cutoffs]
    for position, ordinal in enumerate(ordinals):
        if ordinal in ordinals[:position]:
            raise ValueError(f"`cutoffs`: {panel.calendar.stamp(ordinal)} comes twice; allowed: each once")
    return ordinals


def check_positive(**arguments) -> None:
    """Refuse arguments that are not whole numbers of 1 or more, naming the first."""
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise TypeError(f"`{name}` is {value!r}; allowed: a whole number of 1 or more")
        if value < 1:
            raise ValueError(f"`{name}` is {value!r}; allowed: a whole number of 1 or more")


def check_levels(levels: Sequence[float]) -> None:
    """Refuse quantile levels that do not rise strictly inside (0, 1) or leave out the median."""
    found = list(levels) if isinstance(levels, Sequence | np.ndarray) else []
    numbers = all(isinstance(level, float | np.floating) for level in found)
    if not found or not numbers or 0.5 not in found or not 0 < found[0] <= found[-1] < 1 or np.any(np.diff(found) <= 0):
        raise ValueError(f"`quantile_levels` is {levels!r}; allowed: rising numbers inside (0, 1), 0.5 among them")


def mean_of(quantiles: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Give the mean of the distributions whose quantiles are given on the last axis.

    Each quantile stands for the probabilities nearer to its level than to its neighbours', the outermost for the tails
    too; the mean of a skewed distribution with long tails is drawn a little towards its centre.
    """
    middles = (np.asarray(levels[1:]) + np.asarray(levels[:-1])) / 2
    weights = np.diff(np.concatenate([[0.0], middles, [1.0]]))
    return quantiles @ weights.astype(quantiles.dtype)


def _differs(value, default) -> bool:
    return default is inspect.Parameter.empty or (value is not default and repr(value) != repr(default))
