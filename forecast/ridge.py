"""Ridge regression in closed form on the windows of a panel, judged on blocks of time that it has not seen.

W windows, L values of an input, H horizon.
"""

from dataclasses import dataclass

import numpy as np

from forecast.frame import Panel
from forecast.history import carried_forward, history
from forecast.origins import Origins
from forecast.time_blocks import blocks_of_time

ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # candidates for the strength of the ridge


@dataclass(frozen=True)
class Pairs:
    """Windows with complete labels; inputs (W, L) and targets (W, H) are relative to the last value (W, 1).

    All are float32; `scale` (W,) is the root mean square of the inputs of the window's series, or 1 where they do not
    move; `origins` are where the windows end.
    """

    inputs: np.ndarray
    targets: np.ndarray
    last: np.ndarray
    scale: np.ndarray
    origins: Origins

    def __len__(self) -> int:
        return len(self.inputs)


def window_ends(panel: Panel, length: int, horizon: int) -> Origins:
    """Give the ends of all windows of `length` rows with `horizon` more after them, in order of time."""
    counts = np.maximum(panel.lengths - length - horizon + 1, 0)
    series = np.repeat(np.arange(len(panel)), counts)
    offsets = np.arange(len(series)) - np.repeat(np.cumsum(counts) - counts, counts)
    cutoffs = panel.first[series] + offsets + length - 1
    order = np.argsort(cutoffs, kind="stable")
    series, cutoffs = series[order], cutoffs[order]
    return Origins(series, panel.starts[series] + cutoffs - panel.first[series] + 1, cutoffs)


def pairs_of(panel: Panel, origins: Origins, length: int, horizon: int) -> Pairs:
    """Give the windows that end at origins and have all their labels observed; none where there is no such window.

    A missing value, also one before a series began, is the one before it, or the first one of the window.
    """
    windows = history(panel, origins, length)
    labels = panel.at(origins.series[:, None], origins.cutoffs[:, None] + np.arange(1, horizon + 1))
    usable = np.flatnonzero(np.isfinite(labels).all(axis=1) & np.isfinite(windows).any(axis=1))
    origins, series = origins.take(usable), origins.series[usable]
    inputs = carried_forward(windows[usable])
    last = inputs[:, -1:]
    inputs, targets = inputs - last, labels[usable] - last
    powers = np.bincount(series, np.square(inputs, dtype="float64").mean(axis=1), len(panel))
    scales = np.sqrt(powers / np.maximum(np.bincount(series, minlength=len(panel)), 1))
    scale = np.where(scales > 0, scales, 1.0)[series].astype("float32")
    return Pairs(inputs, targets, last, scale, origins)


class Ridge:
    """A ridge regression without intercept of scaled targets on scaled inputs, which may leave out blocks of time.

    All that it has to know of a block are its moments; those of shorter inputs are rows and columns of them. The pairs
    come in order of time; divided by the scale, all series count alike.
    """

    def __init__(self, pairs: Pairs):
        self.inputs, self.targets = (x / pairs.scale[:, None] for x in (pairs.inputs, pairs.targets))
        self.parts = blocks_of_time(pairs.origins.cutoffs)
        self.moments = [_moments(self.inputs[part], self.targets[part]) for part in self.parts]
        self.gram, self.cross = (np.sum(moment, axis=0) for moment in zip(*self.moments, strict=True))

    def weights(self, alpha: float) -> np.ndarray:
        """Give the map from inputs to targets, (L, H); `alpha` is relative to the mean square of the inputs."""
        return _solved(self.gram, self.cross, alpha)

    def left_out(self, alpha: float, length: int | None = None) -> np.ndarray:
        """Give the errors, (W, H), of each window by the map of the last `length` values that has not seen its block.

        They are targets less forecasts, in the order of the pairs; all values are read where no length is given.
        """
        last = slice(None if length is None else -length, None)
        errors = []
        for part, (gram, cross) in zip(self.parts, self.moments, strict=True):
            others = (self.gram - gram)[last, last], (self.cross - cross)[last]
            errors.append(self.targets[part] - self.inputs[part][:, last] @ _solved(*others, alpha))
        return np.concatenate(errors)


def _moments(inputs: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give X'X (L, L) and X'Y (L, H): all that a ridge regression needs to know of a block of windows."""
    inputs = inputs.astype("float64")
    return inputs.T @ inputs, inputs.T @ targets


def _solved(gram: np.ndarray, cross: np.ndarray, alpha: float) -> np.ndarray:
    """Give the weights (L, H) of a ridge regression, float32."""
    strength = max(alpha * float(np.trace(gram)) / len(gram), 1e-9)
    return np.linalg.solve(gram + strength * np.eye(len(gram)), cross).astype("float32")
