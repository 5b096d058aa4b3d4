"""What a forecaster is checked on: frames, one fit that is shared by the checks that only read it, and comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from forecast.ahead import with_future
from forecast.forecaster import Forecaster
from forecast.frame import Panel, Roles, check_frame

Blind = Literal["error", "note"]


def frame_of(horizon: int, freq: str = "h") -> pd.DataFrame:
    """Give three series with a daily wave around three levels, of three lengths, their ids in no order."""
    rng = np.random.default_rng(0)
    length = max(160, 8 * horizon + 40)
    rows = []
    for place, name in enumerate(("b", "a", "c")):
        t = np.arange(length - 10 * place)
        y = 5 + 10 * place + 2 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.5, len(t))
        ds = pd.date_range("2024-03-25", periods=len(t), freq=freq)
        rows.append(pd.DataFrame({"unique_id": name, "ds": ds, "y": y}))
    return pd.concat(rows, ignore_index=True)


@dataclass(frozen=True)
class Bench:
    """A forecaster to check, as a pattern that stays unfitted, and the data to check it on.

    Attributes
    ----------
    pattern: the forecaster.
    frame: a long frame `unique_id, ds, y`, and covariates.
    door: options of `check_frame` for it.
    alone: whether each series is forecast by itself.
    blind: what it is if a step does not move with the newest value.
    future: a frame that holds the known covariates of the steps after the frame too; None where there are none.

    """

    pattern: Forecaster
    frame: pd.DataFrame
    door: Mapping[str, Any]
    alone: bool
    blind: Blind
    future: pd.DataFrame | None = None

    def fresh(self) -> Forecaster:
        """Give a new forecaster with the arguments of the pattern."""
        return type(self.pattern)(**self.pattern.get_params(deep=False))

    def teach(self, forecaster: Forecaster, frame: pd.DataFrame | None = None) -> Forecaster:
        """Fit a forecaster on a copy of a frame, None for that of the bench, and give it."""
        forecaster.fit((self.frame if frame is None else frame).copy(), **self.door)
        return forecaster

    def fit(self, frame: pd.DataFrame | None = None) -> Forecaster:
        """Give a new forecaster, fitted on a copy of a frame."""
        return self.teach(self.fresh(), frame)

    def predict(
        self, forecaster: Forecaster, frame: pd.DataFrame | None = None, cutoffs: Sequence | None = None
    ) -> pd.DataFrame:
        """Give what a forecaster says of a copy of a frame."""
        return forecaster.predict(None if frame is None else frame.copy(), future=self.ahead(frame), cutoffs=cutoffs)

    def ahead(self, frame: pd.DataFrame | None) -> pd.DataFrame | None:
        """Give what is known ahead of the series of a frame, None for that of the bench."""
        if self.future is None:
            return None
        ids = (self.frame if frame is None else frame)["unique_id"]
        return self.future.loc[self.future["unique_id"].isin(ids)]

    def panel_of(self, frame: pd.DataFrame) -> Panel:
        """Give a frame as a panel to forecast from, with what is known ahead."""
        panel = self.fitted.panel_of(frame)
        return panel if self.future is None else with_future(panel, self.ahead(frame), self.door)

    @cached_property
    def fitted(self) -> Forecaster:
        """The forecaster fitted on the frame, for checks that only read it."""
        return self.fit()

    @cached_property
    def table(self) -> pd.DataFrame:
        """What it forecasts."""
        return self.predict(self.fitted)

    @property
    def panel(self) -> Panel:
        """The frame as a panel, over arrays of its own, with what is known ahead."""
        panel = check_frame(self.frame, **self.door)
        return panel if self.future is None else with_future(panel, self.future, self.door)

    @cached_property
    def ids(self) -> list:
        """The series, as they came."""
        return list(self.panel.ids)

    @property
    def past(self) -> list[str]:
        """The covariates that are known up to a cutoff."""
        roles = self.door.get("roles") or Roles()
        return [*roles.past, *roles.delayed]

    @property
    def delays(self) -> Mapping[str, int]:
        """The covariates that become known late, and by how many steps."""
        return (self.door.get("roles") or Roles()).delayed

    def stamp(self, cutoff: Any, steps: int) -> Any:
        """Give the stamp so many steps after a cutoff."""
        calendar = self.panel.calendar
        return calendar.stamp(calendar.ordinal(cutoff) + steps)

    @property
    def issues(self) -> Mapping[str, str]:
        """The covariates that are forecasts themselves, and the columns of their issue times."""
        return (self.door.get("roles") or Roles()).forecasted

    @property
    def horizon(self) -> int:
        """Steps that are forecast."""
        return self.pattern.horizon

    @property
    def numbers(self) -> list[str]:
        """The columns of forecasts: all but keys."""
        return ["prediction", "mean", *map(str, self.pattern.quantile_levels)]

    @cached_property
    def cutoffs(self) -> list:
        """Three stamps after which all series go on for a horizon or more."""
        last = int(self.panel.last.min()) - self.horizon
        return list(self.panel.calendar.stamps(np.array([last - 5, last - 1, last])))

    def of(self, table: pd.DataFrame, name: Any) -> pd.DataFrame:
        """Give the rows of one series."""
        return table.loc[table["unique_id"] == name].reset_index(drop=True)


def series_of(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """Give the rows of each series, in the order in which they come."""
    return [rows for _, rows in frame.groupby("unique_id", sort=False)]


def before_the_end(frame: pd.DataFrame, steps: int) -> pd.DataFrame:
    """Give a frame without the last rows of each series."""
    return together([rows.iloc[:-steps] for rows in series_of(frame)])


def together(series: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Give the rows of several series as one frame."""
    return pd.concat(series, ignore_index=True)


def same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two forecast frames agree to the last bit."""
    return one.reset_index(drop=True).equals(other.reset_index(drop=True))


def apart(one: pd.DataFrame, other: pd.DataFrame, numbers: list[str], *, exact: bool = False) -> str:
    """Say where two forecast frames differ by more than sums in another order do; "" for nowhere.

    `exact` is for forecasts that have no reason to be summed in another order.
    """
    one, other = one.reset_index(drop=True), other.reset_index(drop=True)
    keys = ["unique_id", "cutoff", "ds", "step"]
    if not one[keys].equals(other[keys]):
        return f"other rows: {len(one)} of {_series(one)}, and {len(other)} of {_series(other)}"
    a, b = one[numbers].to_numpy("float64"), other[numbers].to_numpy("float64")
    low, high = (np.stack([a, b]).min(axis=(0, 2)), np.stack([a, b]).max(axis=(0, 2)))
    allowed = 1e-6 * np.maximum(np.abs(low), np.abs(high)) * (1 if exact else 10) + (0 if exact else 1e-3) * (
        high - low
    )
    wrong = ~(np.abs(a - b) <= allowed[:, None])
    if not wrong.any():
        return ""
    row, column = np.argwhere(wrong)[0]
    key = one.loc[row]
    return (
        f"column `{numbers[column]}` is {a[row, column]:.7g} and {b[row, column]:.7g} for series {key['unique_id']!r}, "
        f"cutoff {key['cutoff']}, step {key['step']}"
    )


def _series(table: pd.DataFrame) -> str:
    return ", ".join(repr(name) for name in table["unique_id"].unique()[:5])
