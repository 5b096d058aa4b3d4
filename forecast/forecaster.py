"""The contract that all models share: fit on a frame, predict a tidy frame of dates, quantiles and means.

A model of one's own is a subclass with two methods on arrays, `_fit` and `_forecast`; the door, the dates, the ids, the
order of rows and the manners of scikit-learn are here, once.
"""

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from forecast import params, saving
from forecast.folders import folder_panel
from forecast.forecasts import Forecast
from forecast.frame import Panel, as_panel, check_frame
from forecast.origins import Origins
from forecast.page import page_of
from forecast.params import check_positive
from forecast.predictor import Predictor
from forecast.quantiles import DECILES, check_levels, mean_of, plain_levels

# All that a model of one's own needs.
__all__ = ["DECILES", "Forecast", "Forecaster", "NotFittedError", "Origins", "check_positive", "mean_of"]

_DOOR = tuple(signature(check_frame).parameters)[1:]  # the options of the door
_KEPT_BESIDE = ("panel_", "door_", "shape_")  # attributes of a fit that are no part of what a subclass has learned


class NotFittedError(ValueError, AttributeError):
    """A forecaster was asked for something that only a fitted one has."""


class Forecaster(Predictor):
    """A model that forecasts every series of a frame `horizon` steps ahead, at several quantile levels.

    A subclass stores its constructor arguments under their own names and does nothing else there, and implements `_fit`
    and `_forecast`. What it learns goes into attributes that end in an underscore. What it can then be asked is
    inherited: `predict`, `future_frame`, `fitted_values`, `sample_paths`.
    """

    family: ClassVar[str]
    # Whether what is learned of one series may come from others: a backtest then has to cut all at the same time.
    across_series: ClassVar[bool] = True
    # Whether `fit` keeps rows for validation itself, as many as `holding_back` says.
    validates: ClassVar[bool] = False
    # Of arguments that may be given by a name: which class of config each name stands for.
    configs: ClassVar[Mapping[str, Mapping[str, type]]] = {}
    # The argument that is another forecaster, whose arguments can be set as one's own: `set_params(horizon=12)`.
    wraps: ClassVar[str | None] = None
    season_length: int | None

    def fit(self, frame: Any, **options) -> Self:
        """Learn from a frame; an earlier fit is forgotten.

        Parameters
        ----------
        frame: a long frame `unique_id, ds, y`, or a panel from `check_frame`; or the path of a folder of Parquet files
            with more series than fit into memory (see docs/scale.md).
        options: those of `check_frame` for a frame, such as `gaps="mask"`, which also hold for frames given to
            `predict`; and those that only some forecasters have, such as `checkpoint` of a `NeuralForecaster`. For a
            folder `most_values` too: of one that has more, series are drawn at random by the forecaster's `seed`.

        Raises
        ------
        FrameError: the frame may not enter, or its series are too short for this model.
        TypeError, ValueError: an argument of the constructor, or of the door, is not allowed.

        """
        check_positive(horizon=self.horizon)
        check_levels(self.quantile_levels)
        params.plain_numbers(self)
        if not all(isinstance(level, float) for level in self.quantile_levels):
            self.quantile_levels = plain_levels(self.quantile_levels)
        if self.season_length is not None:
            check_positive(season_length=self.season_length)
        own = {one.name for one in signature(self._fit).parameters.values() if one.kind is Parameter.KEYWORD_ONLY}
        of_folder = isinstance(frame, str | Path)
        known = [*_DOOR, *(["most_values"] if of_folder else [])]
        if unknown := [name for name in options if name not in own and name not in known]:
            allowed = ", ".join([*known, *sorted(own)])
            raise TypeError(f"`{unknown[0]}` is no option of `fit` of {type(self).__name__}; allowed: {allowed}")
        # A copy of itself, since it is emptied now.
        learning = {name: copy(x) if (x := options.pop(name)) is self else x for name in own & options.keys()}
        if of_folder:
            panel = folder_panel(frame, seed=getattr(self, "seed", 0), **options)
            options.pop("most_values", None)
        else:
            panel = as_panel(frame, **options)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self._fit(panel, **learning)
        self.panel_ = panel
        self.door_ = options
        self.shape_ = self._shape()
        return self

    def panel_of(self, frame: Any) -> Panel:
        """Give the panel to forecast from: a frame passes the door with the options of `fit`. Raises as `predict`."""
        fitted = self._fitted()
        if frame is None:
            return fitted
        if not isinstance(frame, Panel):
            freq = fitted.calendar.freq
            options = {**self.door_, "freq": freq, "min_length": 1}
            if options.get("roles") is not None:  # weights are for a fit
                options["roles"] = replace(options["roles"], weight=None)
            try:
                frame = as_panel(frame, **options)
            except ValueError as error:
                error.add_note(f"(a frame to predict from has to have the frequency {freq!r} of the one of `fit`)")
                raise
        if frame.calendar.freq != fitted.calendar.freq:
            raise ValueError(
                f"`frame` has frequency {frame.calendar.freq!r}; this {type(self).__name__} was fitted on "
                f"{fitted.calendar.freq!r}: give data of that frequency, or fit again"
            )
        return frame

    def holding_back(self, validation: int | None, embargo: int) -> Self:
        """Give one with the same arguments, not fitted, whose `fit` keeps the last rows for validation.

        Parameters
        ----------
        validation: steps up to the last value that no label of training lies in; None for its own rule.
        embargo: steps before these in which none lies either.

        Raises
        ------
        TypeError: a forecaster that keeps no rows itself, `validates` being False.
        ValueError: what its training does not allow.

        """
        del validation, embargo
        raise TypeError(
            f"{type(self).__name__} keeps no rows for validation: fit it on those before them alone, or implement "
            "`holding_back` and set `validates = True`"
        )

    @abstractmethod
    def _fit(self, panel: Panel) -> None:
        """Learn from a panel; every value in it may be used. Keyword-only arguments beside it are options of `fit`."""

    def _shape(self) -> tuple[int, tuple[float, ...]]:
        """Give what all forecasts of a fit have in common: how many steps, and which levels."""
        return self.horizon, tuple(self.quantile_levels)

    def _fitted(self) -> Panel:
        """Give the panel of `fit`."""
        fitted = getattr(self, "panel_", None)
        if fitted is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted: call fit(frame) first")
        if self._shape() != self.shape_:
            horizon, levels = self.shape_
            raise ValueError(
                f"this {type(self).__name__} was fitted with `horizon` {horizon} and `quantile_levels` {levels}, and "
                f"now has {self.horizon} and {tuple(self.quantile_levels)}: call fit(frame) again"
            )
        return fitted

    # -- saving --------------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the fitted forecaster, with the history it was fitted on, as JSON and safetensors into a folder.

        Raises
        ------
        NotFittedError: `fit` was not called.
        TypeError: an argument of the constructor, or of the door, or an id is of a kind that cannot be written.

        """
        panel, arrays = saving.panel_to_json(self._fitted().detached())
        state = self._state()
        learned = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        rest = {name: value for name, value in state.items() if name not in learned}
        plain = {name: saving.to_json(value, name, learned=True) for name, value in rest.items()}
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
        ValueError: files that are damaged or of a format that this version does not read; a class that is not there,
            or of a module that is not imported.
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
        forecaster.shape_ = forecaster._shape()
        forecaster._restore(saving.from_json(note["state"]) | parts["state"])
        return forecaster

    def _state(self) -> dict[str, Any]:
        """Give what `fit` has learned: arrays, and plain values that JSON can hold. The panel is saved beside it."""
        return {name: value for name, value in vars(self).items() if name.endswith("_") and name not in _KEPT_BESIDE}

    def _restore(self, state: Mapping[str, Any]) -> None:
        """Take what `_state` gave; arguments and panel are already in place."""
        for name, value in state.items():
            setattr(self, name, value)

    # -- the manners of scikit-learn, without importing it -----------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the constructor's arguments; with `deep` also those of arguments that have some: `backbone__width`."""
        return params.read(self, deep)

    def set_params(self, **values) -> Self:
        """Set arguments of the constructor, `backbone__width=64` inside one of them; the forecaster is given back.

        Raises
        ------
        ValueError: an argument that the constructor does not have.

        """
        params.set_values(self, values)
        return self

    def __repr__(self) -> str:
        return params.spelled(self)

    def _repr_html_(self) -> str:
        return page_of(self)
