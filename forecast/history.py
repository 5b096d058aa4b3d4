"""What lies before many origins, as arrays: windows, last values, mean steps. M origins, T rows of a window."""

from collections.abc import Iterator

import numpy as np

from forecast.frame import FrameError, Panel
from forecast.origins import Origins, origins_of

GATHERED = 1 << 22  # values gathered by index at a time: bounds memory
_BLOCK = 4096  # origins forecast together


def blocks(origins: Origins) -> Iterator[Origins]:
    """Give the origins some at a time, in order."""
    for low in range(0, len(origins), _BLOCK):
        yield origins.take(slice(low, low + _BLOCK))


def history(panel: Panel, origins: Origins, length: int) -> np.ndarray:
    """Give the last `length` values before each origin, (M, length); NaN where missing or before the series began."""
    windows = np.empty((len(origins), length), dtype="float32")
    size = max(1, GATHERED // length)
    for low in range(0, len(origins), size):
        part = origins.take(slice(low, low + size))
        rows = part.ends[:, None] + np.arange(-length, 0)
        inside = rows >= panel.starts[part.series][:, None]
        windows[low : low + size] = np.where(inside, panel.values[np.where(inside, rows, 0)], np.float32(np.nan))
    return windows


def carried_forward(windows: np.ndarray) -> np.ndarray:
    """Give windows (M, T) with each NaN replaced by the value before it, or by the first value of the window."""
    finite = np.isfinite(windows)
    source = np.maximum.accumulate(np.where(finite, np.arange(windows.shape[1]), -1), axis=1)
    source = np.where(source < 0, finite.argmax(axis=1)[:, None], source)
    return np.take_along_axis(windows, source, axis=1)


def last_rows(panel: Panel, origins: Origins) -> np.ndarray:
    """Give the flat index of the last value before each origin, (M,); -1 where a series has none yet."""
    rows = origins.ends - 1
    missing = np.flatnonzero(~np.isfinite(panel.values[rows]))
    for places in _by_series(origins, missing):  # mostly few: nothing as long as the panel is made
        start, ends = panel.starts[origins.series[places[0]]], rows[places]
        given = start + np.flatnonzero(np.isfinite(panel.values[start : ends.max()]))
        rows[places] = np.append(-1, given)[np.searchsorted(given, ends)]
    return rows


def last_to_train(panel: Panel, validation_length: int) -> int:
    """Give the last ordinal before the labels of validation, which end with the last value of a panel."""
    # Rows at the end that hold no value yet would be no validation.
    last = panel.first + last_rows(panel, origins_of(panel)) - panel.starts
    return int(last.max()) - validation_length


def first_rows(panel: Panel, origins: Origins) -> np.ndarray:
    """Give the flat index of the first value of each origin's series, (M,); `ends` or more where it has none yet."""
    low, high = int(panel.starts[origins.series].min()), int(origins.ends.max())
    rows = np.where(np.isfinite(panel.values[low:high]), np.arange(low, high), high)
    return np.minimum.accumulate(rows[::-1])[::-1][panel.starts[origins.series] - low]


def last_values(panel: Panel, origins: Origins) -> np.ndarray:
    """Give the last value before each origin, (M,).

    Raises
    ------
    FrameError: an origin before which the series has no value at all.

    """
    rows = last_rows(panel, origins)
    if (rows < 0).any():
        which = int((rows < 0).argmax())
        raise FrameError(
            f"series {panel.id_of(origins.series[which])!r} has no observed value up to "
            f"{panel.calendar.stamp(int(origins.cutoffs[which]))}: give a later cutoff, or leave the series out"
        )
    return panel.values[rows]


def _by_series(origins: Origins, places: np.ndarray) -> list[np.ndarray]:
    """Give places of origins, those of one series together."""
    order = places[np.argsort(origins.series[places], kind="stable")]
    return np.split(order, np.flatnonzero(np.diff(origins.series[order])) + 1) if len(order) else []


def mean_steps(panel: Panel, origins: Origins) -> np.ndarray:
    """Give the mean absolute difference of neighbouring values up to each origin, (M,) float64; 0 for none."""
    means = np.zeros(len(origins))
    for places in _by_series(origins, np.arange(len(origins))):
        start, ends = panel.starts[origins.series[places[0]]], origins.ends[places]
        steps = np.abs(np.diff(panel.values[start : ends.max()].astype("float64"), prepend=np.nan))
        known = np.isfinite(steps)
        sums, counts = np.cumsum(np.where(known, steps, 0.0)), np.cumsum(known)
        means[places] = sums[ends - start - 1] / np.maximum(counts[ends - start - 1], 1)
    return means
