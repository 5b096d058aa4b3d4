"""What all have to do: two data sets with their rows to fit on, and the windows to forecast.

Read from the folder named by FORECAST_DATA_HOME, which holds etth1.parquet and m4_hourly.parquet. W windows, H horizon.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import scores


class Forecasts(NamedTuple):
    """Means, for squared errors, and medians, for all others; the same where a library has one forecast."""

    means: np.ndarray  # (W, H)
    medians: np.ndarray  # (W, H)


@dataclass(frozen=True)
class Task:
    """A data set, cut into rows of training, validation and test; series in the order of their ids.

    Attributes
    ----------
    name: of the data set.
    frame: `unique_id, ds, y`, every row of every series, hourly.
    horizon: steps to forecast.
    season: of the MASE.
    context: values that a network reads, for libraries that ask how many.
    validation_rows, test_rows: how many rows at the end of each series are not to be trained on, those of test last.
    metrics: what is measured.

    """

    name: str
    frame: pd.DataFrame
    horizon: int
    season: int
    context: int
    validation_rows: int
    test_rows: int
    metrics: tuple[str, str]

    def without_last(self, rows: int) -> pd.DataFrame:
        """Give the frame without the last rows of each series."""
        back = self.frame.groupby("unique_id", sort=False).cumcount(ascending=False)
        return self.frame[back >= rows].reset_index(drop=True)

    @property
    def train(self) -> pd.DataFrame:
        """The rows to be trained on."""
        return self.without_last(self.validation_rows + self.test_rows)

    @property
    def series(self) -> dict[str, np.ndarray]:
        """The values of each series, test rows included."""
        return {name: part.to_numpy("float64") for name, part in self.frame.groupby("unique_id")["y"]}

    def origins(self, every: int) -> range:
        """Give how many rows before the end of a series each of its windows begins, the first in time first."""
        return range(self.test_rows, self.horizon - 1, -every)

    def actuals(self, every: int) -> np.ndarray:
        """Give what came true in the windows, (W, H): series by series, within these by time."""
        spans = [
            values[len(values) - back :][: self.horizon]
            for values in self.series.values()
            for back in self.origins(every)
        ]
        return np.stack(spans)

    def errors(self, forecasts: Forecasts, every: int) -> dict[str, float]:
        """Measure the forecasts of all windows from every so many origins on.

        Raises
        ------
        ValueError: forecasts of another shape than the windows, or that are no finite numbers.

        """
        actuals = self.actuals(every)
        for name, values in forecasts._asdict().items():
            if values.shape != actuals.shape:
                raise ValueError(f"the {name} have the shape {values.shape}; the windows have {actuals.shape}")
            if not np.isfinite(values).all():
                raise ValueError(f"{(~np.isfinite(values)).sum()} of the {name} are no finite numbers")
        means, medians = forecasts
        known = {
            "mse": lambda: scores.mse(means, actuals),
            "mae": lambda: scores.mae(medians, actuals),
            "mase": lambda: scores.mase(medians, actuals, self._units(every)),
            "smape": lambda: scores.smape(medians, actuals),
        }
        return {metric: known[metric]() for metric in self.metrics}

    def _units(self, every: int) -> np.ndarray:
        """Give the unit of the MASE for each window, (W,)."""
        units = [scores.seasonal_step(values[: -self.test_rows], self.season) for values in self.series.values()]
        return np.repeat(units, len(self.origins(every)))


def task_of(name: str) -> Task:
    """Read one of the tasks by name.

    Raises
    ------
    FileNotFoundError: FORECAST_DATA_HOME does not hold its file, or is not set.

    """
    home = os.environ.get("FORECAST_DATA_HOME", "")
    path = Path(home) / f"{name}.parquet"
    if not home or not path.is_file():
        where = f"is {home!r}, which holds no {path.name}" if home else "is not set"
        raise FileNotFoundError(f"FORECAST_DATA_HOME {where}; name the folder that holds {path.name}")
    return TASKS[name](pd.read_parquet(path))


def _etth1(table: pd.DataFrame) -> Task:
    """Cut ETTh1 as long-horizon papers do (Zhou et al. 2021, arXiv 2012.07436): 7 channels, z-scored by train rows."""
    train, validation, test = 8640, 2880, 2880
    table = (
        table.iloc[: train + validation + test].drop(columns="unique_id").rename(columns={"y": "OT"}).set_index("ds")
    )
    table = (table - table.iloc[:train].mean()) / table.iloc[:train].std(ddof=0)
    frame = table.melt(ignore_index=False, var_name="unique_id", value_name="y").reset_index()
    return Task("etth1", _in_order(frame), 96, 24, 336, validation, test, ("mse", "mae"))


def _m4_hourly(table: pd.DataFrame) -> Task:
    """Cut the hourly series of M4 as the competition did: the last 48 values of each are to be forecast."""
    return Task("m4_hourly", _in_order(table), 48, 24, 168, 0, 48, ("mase", "smape"))


def _in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Give the three columns that all libraries read, sorted by series and time."""
    return frame[["unique_id", "ds", "y"]].sort_values(["unique_id", "ds"], ignore_index=True)


TASKS = {"etth1": _etth1, "m4_hourly": _m4_hourly}
