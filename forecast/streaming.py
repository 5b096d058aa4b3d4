"""Stream: a fitted NeuralForecaster is carried along with its series, and each new value costs one token.

S series of the stream, R of them in an update, H horizon, Q quantile level.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from forecast import saving
from forecast.ahead import check_known, with_future
from forecast.borrowed import computing
from forecast.continuation import carry_into, check_issued, check_kinds, check_stamps, since, together
from forecast.encoding import Encoded
from forecast.forecaster import Forecast, Forecaster, mean_of
from forecast.frame import TIME, Calendar, FrameError, Panel, Roles, check_rows
from forecast.frame.covariates import NEVER, Covariates, Table
from forecast.frame.form import Form
from forecast.history import GATHERED, last_rows, last_values
from forecast.nn.covariates import Covariates as Beside
from forecast.nn.streaming import Streams
from forecast.origins import origins_of

if TYPE_CHECKING:
    from forecast.neural import NeuralForecaster

_FORECASTER = "forecaster"  # the folder of the forecaster, inside that of the stream
_DOOR = ("columns", "roles", "gaps", "unsorted")  # options of `fit` that hold for rows too


class Stream:
    """Forecasts that go along with their series; made by `NeuralForecaster.stream`.

    What is carried from update to update is of constant size, and so is the cost of an update, however long the series
    become: the backbone's states (hidden state, buffer, or keys and values of a window), the last values that scale
    and anchor a forecast, the last stamps. The forecasts are those of the network over all values since a series began,
    up to rounding; one shorter than a context begins with missing values, as it does for `predict`. Where a whole
    context is missing, the last value before it goes on, as it does there.

    Parameters
    ----------
    forecaster: as it was when the stream began.
    ends: the last row of each series; its value is the last one that was not missing.
    streams: the network's states, in the same order.

    """

    def __init__(self, forecaster: "NeuralForecaster", ends: Panel, streams: Streams):
        self.forecaster = forecaster
        self.ends = ends
        self.streams = streams

    def __repr__(self) -> str:
        calendar, last = self.ends.calendar, self.ends.first
        stamps = " to ".join(str(calendar.stamp(end)) for end in sorted({int(last.min()), int(last.max())}))
        kind, size = type(self.forecaster.backbone_).__name__, f"{self.streams.nbytes:,} bytes"
        return f"Stream({kind}, {len(self.ends)} series, freq {calendar.freq}, up to {stamps}, {size})"

    @classmethod
    def begin(cls, forecaster: "NeuralForecaster", panel: Panel) -> Self:
        """Begin after the history of all series of a panel.

        Raises
        ------
        FrameError: a series without any value; a forecasted covariate that was issued after the step that it is for;
            for a backbone that reads across series, others than those of the fit, or series that do not end together.
        ValueError: delayed covariates.

        """
        encoding = forecaster.encoding_
        if encoding is not None and any(encoding.past.delays):
            late = next(name for name, delay in zip(encoding.past.names, encoding.past.delays, strict=True) if delay)
            raise ValueError(
                f"column `{late}` is delayed, and a stream takes each row once, with what is known by then: shift the "
                "column to the stamps at which its values become known, and fit with the role past"
            )
        if encoding is not None:
            check_issued(panel)
        across = forecaster.backbone_.across_series
        if across:
            panel = together(panel, forecaster.panel_.ids, type(forecaster.backbone_).__name__)
        values = last_values(panel, origins_of(panel))
        ends = _ends(panel.ids, panel.last, values, panel.calendar, panel.form)
        stream = cls(forecaster, ends, Streams(forecaster.network_, len(panel)))
        begin = np.minimum(panel.first, panel.last + 1 - forecaster.context_length_)
        steps = since(panel, np.full_like(begin, begin.min()) if across else begin)
        with computing(forecaster.training.threads):
            rows = torch.arange(len(panel))
            encoded = encoding and Encoded(panel, encoding)
            stream.streams.place(rows, torch.from_numpy(steps.first), encoded and encoded.static)
            stream._advance(rows, steps, steps.lengths, encoded)
        return stream

    def update(self, rows: Any, *, future: Any = None) -> Any:
        """Take the next values of one or many series, one or many steps of each, and forecast from where they end.

        Parameters
        ----------
        rows: a long frame, with columns named as in `fit`; NaN is a missing value. A series that was not there before
            begins. Rows may be left out if `gaps="mask"` or `"fill"` was given to `fit`. Static covariates are read of
            series that begin; they may be left out, as may weights.
        future: known covariates of the horizon after the rows, as for `predict`; may hold more.

        Returns
        -------
        Forecasts of the series in `rows`, as `predict` of the forecaster gives them, in the kind of frame that the
        stream began with; series in the order in which they came to the stream.

        Raises
        ------
        FrameError: a row that is not after the end of its series, or leaves a gap; what may not enter `fit` either;
            known covariates that are missing ahead; a forecasted one that was issued after the step that it is for; a
            new series without any value, or with an id of another kind than all others; for a backbone that reads
            across series, others than those of the fit, or not the same steps of all of them.
        ValueError: a forecast that is not finite.
        An update that raises changes nothing.

        """
        ends, places, new, steps = self._read(rows, future)
        which = torch.from_numpy(places)
        encoding = self.forecaster.encoding_
        encoded = encoding and Encoded(new, encoding)
        with computing(self.forecaster.training.threads), self.streams.all_or_nothing():
            if (more := len(ends) - len(self.ends)) > 0:
                self.streams.grow(more)
                begun = np.flatnonzero(places >= len(self.ends))
                static = encoded and encoded.static[torch.from_numpy(begun)]
                self.streams.place(which[begun], torch.from_numpy(steps.first[begun]), static)
            self._advance(which, steps, steps.lengths - 1, encoded)
            last = torch.from_numpy(steps.values[steps.stops - 1])
            beside = self._beside(encoded, new, steps=1)
            forecast = self._tidy(ends, places, self.streams.step(which, last, beside))
        self.ends = ends
        return forecast

    def predict(self, *, future: Any = None) -> Any:
        """Forecast all series from where they end, as `predict` of the forecaster does.

        Parameters
        ----------
        future: known covariates of the horizon after the ends, as for `predict` of the forecaster.

        Raises
        ------
        FrameError: known covariates that are missing, or may not enter.

        """
        places, encoding = np.arange(len(self.ends)), self.forecaster.encoding_
        ends = self._with_known(self.ends, future)
        beside = self._beside(encoding and Encoded(ends, encoding), ends, steps=0)
        beside = beside and beside.at_end()
        with computing(self.forecaster.training.threads):
            return self._tidy(
                self.ends, places, self.streams.forecast(torch.from_numpy(places), beside and beside.known)
            )

    def save(self, folder: str | Path) -> None:
        """Write the stream, and its forecaster, as JSON and safetensors into a folder.

        Raises
        ------
        TypeError: as `save` of the forecaster.

        """
        panel, arrays = saving.panel_to_json(self.ends)
        self.forecaster.save(Path(folder) / _FORECASTER)
        arrays = {f"panel.{name}": array for name, array in arrays.items()}
        states = {f"state.{name}": tensor.numpy() for name, tensor in self.streams.tensors().items()}
        note = {"panel": panel, "forecaster": saving.mark(Path(folder) / _FORECASTER)}
        saving.write(folder, note, arrays | states, "stream")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read the stream that `save` wrote; it goes on as if it had never stopped.

        Raises
        ------
        FileNotFoundError: no stream was saved there.
        ValueError, TypeError: as `load` of a forecaster; a forecaster that is not the one of the stream, as a save
            that was stopped leaves it.

        """
        note, arrays = saving.read(folder, "stream")
        parts: dict[str, dict[str, Any]] = {"panel": {}, "state": {}}
        for name, array in arrays.items():
            part, _, inner = name.partition(".")
            parts[part][inner] = array
        ends = saving.panel_from_json(note["panel"], parts["panel"])
        forecaster = cast("NeuralForecaster", Forecaster.load(Path(folder) / _FORECASTER))
        if saving.mark(Path(folder) / _FORECASTER) != note["forecaster"]:
            raise ValueError(
                f"`folder` {str(folder)!r} holds a stream of another forecaster than the one in its {_FORECASTER!r}: "
                "save the stream again"
            )
        streams = Streams(forecaster.network_, len(ends))
        streams.restore({name: torch.from_numpy(array) for name, array in parts["state"].items()})
        return cls(forecaster, ends, streams)

    def _beside(self, encoded: Encoded | None, panel: Panel, steps: int) -> Beside | None:
        """Give the covariates of the last steps of a panel's series, and of the horizon after them."""
        if encoded is None:
            return None
        last = torch.from_numpy(panel.last)
        return encoded.gather(torch.arange(len(panel)), last, steps, self.forecaster.horizon)

    def _with_known(self, panel: Panel, future: Any) -> Panel:
        """Give the panel with its known covariates ahead, from a frame if there is one."""
        own = self.forecaster.panel_.covariates
        if own is None or self.forecaster.encoding_ is None:
            if future is not None:
                raise ValueError("`future` was given, but no column has the role known or forecasted: leave it out")
            return panel
        nothing = _no_covariates(own, panel)
        given = panel.covariates or nothing
        panel = replace(panel, covariates=replace(given, static=_filled_up(given.static, nothing.static)))
        if future is not None:
            panel = with_future(panel, future, self.forecaster.door_, others=self.ends.ids)
        check_known(panel, origins_of(panel), self.forecaster.horizon)
        return panel

    def _read(self, rows: Any, future: Any) -> tuple[Panel, np.ndarray, Panel, Panel]:
        """Give the ends after the update, the places in them of its R series, the rows, and the steps from the ends."""
        door = {name: value for name, value in self.forecaster.door_.items() if name in _DOOR}
        if (roles := door.get("roles")) is not None:
            door["roles"] = _needed(roles, rows)
        try:
            new = check_rows(rows, self.ends.calendar, **door)
        except FrameError as error:
            error.add_note("(rows of a stream enter with the options of `fit`)")
            raise
        if self.forecaster.encoding_ is not None:
            check_issued(new)
        new = self._with_known(new, future)
        ends = self._with_new(new)
        places = ends.ids.get_indexer(new.ids)
        order = np.argsort(places)
        places, new = places[order], new.take(order)
        before = ends.first[places]
        check_stamps(new, before, str((door.get("columns") or {}).get(TIME, TIME)), door.get("gaps", "error"))
        if self.forecaster.backbone_.across_series:
            new = together(new, self.forecaster.panel_.ids, type(self.forecaster.backbone_).__name__)
        # A series that begins has missing values before it, up to a context.
        padded = np.minimum(before + 1, new.last + 1 - self.forecaster.context_length_)
        steps = since(new, np.where(places < len(self.ends), before + 1, padded))
        if door.get("gaps") == "fill":
            carry_into(steps, ends.values[places])
        found = last_rows(steps, origins_of(steps))
        last = np.where(found < 0, ends.values[places], steps.values[found])
        if np.isnan(last).any():
            which = int(np.isnan(last).argmax())
            raise FrameError(
                f"series {new.id_of(which)!r} is new and has no value in its rows up to "
                f"{new.calendar.stamp(int(new.last[which]))}: let it begin with its first value"
            )
        values, ordinals = ends.values.copy(), ends.first.copy()
        values[places], ordinals[places] = last, new.last
        return _ends(ends.ids, ordinals, values, new.calendar, ends.form), places, new, steps

    def _with_new(self, new: Panel) -> Panel:
        """Give the ends with those series after them that begin in an update, as if they had ended right before it."""
        ends = self.ends
        begins = ends.ids.get_indexer(new.ids) < 0
        if not begins.any():
            return ends
        begun = new.take(begins)
        check_kinds(begun, ends.ids)
        ids = ends.ids.append(begun.ids)
        if pd.api.types.is_string_dtype(ends.ids.dtype):
            ids = ids.astype(ends.ids.dtype)
        values = np.concatenate([ends.values, np.full(len(begun), np.nan, dtype="float32")])
        return _ends(ids, np.concatenate([ends.first, begun.first - 1]), values, new.calendar, ends.form)

    def _advance(self, which: Tensor, steps: Panel, lengths: np.ndarray, encoded: Encoded | None) -> None:
        """Take so many values of each of the series `which`.

        First all that every series has, then in strides of ..., 4, 2, 1 values, each taken by all series that have it:
        few calls, however lengths differ.
        """
        shared, done = int(lengths.min()), np.zeros_like(lengths)
        rest = lengths - shared
        bits = [1 << bit for bit in reversed(range(int(rest.max()).bit_length()))]
        for stride, having in [(shared, np.arange(len(rest))), *((bit, np.flatnonzero(rest & bit)) for bit in bits)]:
            if not stride or not len(having):
                continue
            most = len(having) if self.forecaster.backbone_.across_series else max(1, GATHERED // stride)
            for some in np.split(having, range(most, len(having), most)):
                values = steps.values[(steps.starts[some] + done[some])[:, None] + np.arange(stride)]
                last = torch.from_numpy(steps.first[some] + done[some] + stride - 1)
                beside = encoded and encoded.gather(torch.from_numpy(some), last, stride, 0)
                self.streams.advance(which[some], torch.from_numpy(values), beside)
            done[having] += stride

    def _tidy(self, ends: Panel, places: np.ndarray, quantiles: Tensor) -> Any:
        """Give the forecast frame of the series at `places` from quantiles (R, H, Q)."""
        context = self.streams.state["values"][torch.from_numpy(places), -self.forecaster.context_length_ :]
        array = quantiles.numpy()
        silent = ~context.isfinite().any(dim=1).numpy()
        if silent.any():
            array[silent] = ends.values[places[silent], None, None]
        origins = origins_of(ends).take(places)
        forecast = Forecast(array, mean_of(array, self.forecaster.quantile_levels))
        self.forecaster.check_finite(ends, origins, forecast)
        return ends.form.give(self.forecaster.tidy(ends, origins, forecast))


def _ends(ids: pd.Index, ordinals: np.ndarray, values: np.ndarray, calendar: Calendar, form: Form) -> Panel:
    """Give the panel of one row of each series."""
    starts = np.arange(len(ids))
    return Panel(values, np.isfinite(values), starts, starts + 1, ordinals, ids, calendar, form=form)


def _no_covariates(like: Covariates, panel: Panel) -> Covariates:
    """Give covariates with the columns of others, of which nothing is known."""
    rows = {"static": len(panel), "past": len(panel.values), "known": 1}
    tables = {}
    for role, count in rows.items():
        columns = getattr(like, role).columns
        tables[role] = Table(columns, np.full((count, len(columns)), np.nan, dtype="float32"))
    none, late = np.zeros(len(panel), dtype="int64"), None
    if like.late is not None:
        late = np.full((1, like.late.shape[1]), NEVER, dtype="int32")
    return Covariates(**tables, starts=none, stops=none, first=panel.last + 1, late=late)


def _filled_up(given: Table, whole: Table) -> Table:
    """Give a table with the columns of another that it lacks beside its own."""
    names = [column.name for column in given.columns]
    lacking = [place for place, column in enumerate(whole.columns) if column.name not in names]
    columns = (*given.columns, *(whole.columns[place] for place in lacking))
    return Table(columns, np.hstack([given.numbers, whole.numbers[:, lacking]]))


def _needed(roles: Roles, rows: Any) -> Roles:
    """Give the roles without what rows that go on may leave out: weights, static covariates."""
    here = set(getattr(rows, "columns", ()))
    return replace(roles, weight=None, static=tuple(name for name in roles.static if name in here))
