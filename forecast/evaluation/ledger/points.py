"""What a ledger is made of: the points that are forecast, and runs, which forecast them. All of it as arrays.

S series, F cutoffs, M cells (one for each series and cutoff that are forecast), H steps, Q quantile levels.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

STATUS = ("observed", "missing", "filled", "ended")
OBSERVED, MISSING, FILLED, ENDED = range(4)


@dataclass(frozen=True, eq=False)
class Points:
    """What is forecast and what came true, the same for all runs.

    Attributes
    ----------
    ids: (S,) the series; one that takes part in no fold has no cell.
    cutoffs: (F,) stamps, rising, each once.
    steps: (H,) rising.
    times: (F * H,) the stamp `ds` of cutoff f and step h, at f * H + h.
    series, cutoff: (M,) int64; each cell's positions in `ids` and `cutoffs`, by series, then cutoff.
    y: (M, H) what came true, NaN where nothing was observed.
    status: (M, H) uint8, place in `STATUS`: observed; missing in the data; filled in, which does not count; after the
        end of the series.
    absolute, squared: (M,) float64; mean of |y_t - y_{t-m}| and of its square over the history observed up to the
        cutoff, m being the season; NaN where undefined.
    folds: (M,) int64, number of the fold of each cell where cutoffs are each series' own; None where they are shared.

    """

    ids: pd.Index
    cutoffs: pd.Index
    steps: np.ndarray
    times: pd.Index
    series: np.ndarray
    cutoff: np.ndarray
    y: np.ndarray
    status: np.ndarray
    absolute: np.ndarray
    squared: np.ndarray
    folds: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.series)

    @property
    def fold(self) -> np.ndarray:
        """The time of each cell, (M,): cells of one fold are forecast at the same moment of a backtest."""
        return self.cutoff if self.folds is None else self.folds

    def stamps(self, cells: np.ndarray | slice = slice(None)) -> pd.Index:
        """Give the stamps of all steps of cells, one cell after another."""
        H = len(self.steps)
        return self.times[(self.cutoff[cells][:, None] * H + np.arange(H)).ravel()]

    def scale(self, name: str) -> np.ndarray:
        """Give `absolute` or `squared`, (M, 1), NaN where nothing can be measured in it."""
        scale = {"absolute": self.absolute, "squared": self.squared}[name]
        return np.where(scale > 0, scale, np.nan)[:, None]


@dataclass(frozen=True, eq=False)
class Run:
    """What one forecaster with one seed said of all points.

    Attributes
    ----------
    levels: (Q,) quantile levels, rising.
    quantiles: (M, H, Q), not crossing.
    median, mean: (M, H).
    fit_cutoffs: stamps of its fits; `fit`: (M,) int64, position in it of the fit that each cell is forecast by.
    staleness: (M,) float32, steps from that fit to the cutoff; NaN where unknown.

    """

    forecaster: str
    seed: int
    points: Points
    levels: tuple[float, ...]
    quantiles: np.ndarray
    median: np.ndarray
    mean: np.ndarray
    fit_cutoffs: pd.Index
    fit: np.ndarray
    staleness: np.ndarray

    @property
    def y(self) -> np.ndarray:
        """What came true, (M, H); NaN where nothing was observed."""
        return self.points.y

    def quantile(self, level: float) -> np.ndarray:
        """Give the quantiles of a level, (M, H). Raises ValueError where the ledger does not have it."""
        if level not in self.levels:
            raise ValueError(
                f"this metric reads quantile level {level}, but the ledger has the levels {list(self.levels)}: choose "
                "other `metrics`, or give levels that are there."
            )
        return self.quantiles[..., self.levels.index(level)]
