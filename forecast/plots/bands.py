"""Median and bands of a forecast, as every plot of forecasts draws them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from forecast.evaluation.ledger.columns import level_columns
from forecast.plots.style import INK, MUTED, instants

Band = tuple[float, float]  # lower and upper quantile level

_USUAL: tuple[Band, ...] = ((0.1, 0.9), (0.25, 0.75))
_DOTTED = (0, (2, 2))


def bands_of(rows: pd.DataFrame, levels: Sequence[float] | None) -> list[Band]:
    """Pair quantile levels from the outside in: 0.1, 0.25, 0.75, 0.9 make the bands 0.1 to 0.9 and 0.25 to 0.75.

    None stands for these two, as far as the levels of the forecasts reach; else for the widest band that they hold.
    Raises ValueError for levels that do not rise inside (0, 1), or reach beyond those of the forecasts.
    """
    there = sorted(level_columns(rows))
    if levels is None:
        usual = [band for band in _USUAL if there and there[0] - 1e-9 <= band[0] and band[1] <= there[-1] + 1e-9]
        return usual or ([(there[0], there[-1])] if len(there) > 1 else [])
    edges = [float(level) for level in levels if float(level) != 0.5]
    if len(edges) % 2 or any(not 0 < level < 1 for level in edges) or any(np.diff(edges) <= 0):
        raise ValueError(
            f"`levels` is {list(levels)}; allowed: rising quantile levels inside (0, 1), as many low as high ones, "
            "such as (0.1, 0.25, 0.75, 0.9)"
        )
    if edges and (not there or edges[0] < there[0] - 1e-9 or edges[-1] > there[-1] + 1e-9):
        reach = f"from {there[0]} to {there[-1]}" if there else "no quantile level"
        raise ValueError(f"`levels` is {list(levels)}; the forecasts hold {reach}: ask for levels inside")
    half = len(edges) // 2
    return list(zip(edges[:half], edges[: half - 1 : -1], strict=True))


def between_levels(rows: pd.DataFrame, band: Band) -> tuple[np.ndarray, np.ndarray] | None:
    """Lower and upper edges (rows,) of a band; None beyond the outermost levels.

    Levels between those of the forecasts are interpolated linearly in the quantile level.
    """
    columns = level_columns(rows)
    levels = np.array(sorted(columns))
    # A hair of slack: 0.5 - 0.8 / 2 is not exactly the 0.1 that names a column.
    if len(levels) == 0 or band[0] < levels[0] - 1e-9 or band[1] > levels[-1] + 1e-9:
        return None
    values = rows[[columns[level] for level in levels]].to_numpy(dtype=float)
    edges = np.array([np.interp(band, levels, row) for row in values]).reshape(-1, 2)
    return edges[:, 0], edges[:, 1]


def central_interval(rows: pd.DataFrame, coverage: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Lower and upper edges (rows,) of the central interval of nominal `coverage`; None beyond the outermost levels."""
    return between_levels(rows, (0.5 - coverage / 2, 0.5 + coverage / 2))


def draw_forecast(
    ax: Axes, rows: pd.DataFrame, bands: Sequence[Band], colour, *, label: str = "median", linestyle="-"
) -> None:
    """Draw the medians of forecasts over their bands, fold by fold; rows without a value leave a hole."""
    # One line for all folds: at the end of each it is interrupted.
    breaks = np.flatnonzero(np.diff(rows["cutoff"].factorize()[0])) + 1
    ahead = np.insert(instants(rows["ds"]), breaks, instants(rows["ds"].iloc[:1])[0])
    lone = len(rows) == len(breaks) + 1
    for band, strength in zip(bands, _strengths(len(bands)), strict=True):
        edges = between_levels(rows, band)
        if edges is not None:
            # One step has no width to fill: its band becomes a bar.
            low, high = (np.insert(finite(edge), breaks, np.nan) for edge in edges)
            ax.fill_between(ahead, low, high, color=colour, alpha=strength, linewidth=6 if lone else 0)
    dot = "o" if lone else None
    median = np.insert(finite(rows["prediction"]), breaks, np.nan)
    size = 6 if len(rows) == 1 else 3.5
    ax.plot(ahead, median, color=colour, ls=linestyle, linewidth=1.8, marker=dot, markersize=size, label=label)


def draw_values(ax: Axes, rows: pd.DataFrame, *, past: bool) -> None:
    """Draw what was observed: history thin and grey, actuals dark."""
    # A lone value between two gaps has no line: small dots keep it visible.
    look = {"color": MUTED, "linewidth": 1.0} if past else {"color": INK, "linewidth": 1.1, "markersize": 2.5}
    marker = ("." if len(rows) == 1 else None) if past else "."
    label = "history" if past else "actual"
    ax.plot(instants(rows["ds"]), finite(rows["y"]), marker=marker, label=label, **look)


def draw_cutoff(ax: Axes, cutoff) -> None:
    """Draw the last moment that the forecast knows of."""
    ax.axvline(instants([cutoff])[0], color=MUTED, linewidth=0.7, linestyle=_DOTTED, label="_cutoff")


def finite(values) -> np.ndarray:
    """Give numbers as floats, NaN where they are none that can be drawn."""
    numbers = pd.Series(values).to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def band_name(band: Band) -> str:
    """Name a band: "80 % interval" if it is central, else by its levels."""
    low, high = band
    if abs(low + high - 1) > 1e-9:
        return f"{low:g} to {high:g}"
    return f"{100 * (high - low):.4g} % interval"


def keys(
    bands: Sequence[Band], *, actual: bool, medians: Sequence[Line2D] = (), cutoff: bool = True
) -> list[Line2D | Patch]:
    """Give the keys of a legend: what was observed, medians, bands from the inside out, cutoff."""
    found: list[Line2D | Patch] = [Line2D([], [], color=MUTED, linewidth=1.0, label="history")]
    if actual:
        found.append(Line2D([], [], color=INK, linewidth=1.1, marker=".", markersize=3, label="actual"))
    found += medians or [Line2D([], [], color=MUTED, linewidth=1.8, label="median forecast")]
    # Bands lie on one another: an inner one looks as strong as it and all around it together.
    seen = 1 - np.cumprod([1 - strength for strength in _strengths(len(bands))])
    for band, strength in reversed(list(zip(bands, seen, strict=True))):
        found.append(Patch(color=MUTED, alpha=float(strength), linewidth=0, label=band_name(band)))
    if cutoff:
        found.append(Line2D([], [], color=MUTED, linewidth=0.7, linestyle=_DOTTED, label="cutoff"))
    return found


def _strengths(bands: int) -> list[float]:
    if bands == 1:
        return [0.28]
    return list(np.linspace(0.22, 0.42, bands) if bands < 4 else np.full(bands, 0.7 / bands))
