"""One quiet look for every plot: colours per family and forecaster, fonts, spines, panels, time axes.

The hues are those of Okabe and Ito (2008), told apart with any kind of colour vision. A family owns a hue; its members
differ in lightness and in dash, so that no line is known by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.dates import DAILY, HOURLY, MINUTELY, MONTHLY, SECONDLY, AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from matplotlib.transforms import ScaledTranslation

INK = "#222222"
MUTED = "#6b6b6b"
FAINT = "#d9d9d9"
FAMILY_COLOURS = {
    "baseline": "#6b6b6b",
    "linear": "#009e73",
    "control": "#a3507f",
    "latent-state": "#0072b2",
    "direct-prediction": "#d55e00",
}
_OTHER_COLOURS = ("#8a7000", "#3f8fc0", "#7a4fa3")
_DASHES = ("-", (0, (5, 1.6)), (0, (1.2, 1.2)), (0, (6, 1.4, 1.2, 1.4)), (0, (8, 2.5)))
_LONGER_STEPS = {MONTHLY: [12], DAILY: [31], HOURLY: [24], MINUTELY: [60], SECONDLY: [60]}
_LOOK: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": "white",
    "axes.grid": False,
    "figure.facecolor": "white",
    "figure.titlesize": 11.0,
    "figure.titleweight": "bold",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "text.color": INK,
    # A forecaster may be called "a$b$": a name is text, never mathematics.
    "text.parse_math": False,
    "text.usetex": False,
    "lines.linewidth": 1.5,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "savefig.dpi": 150,
}


def look() -> AbstractContextManager[None]:
    """Open a context in which the look holds; the caller's own matplotlib settings come back afterwards."""
    return matplotlib.rc_context(_LOOK)


def panel(ax: Axes | None, size: tuple[float, float]) -> tuple[Figure, Axes]:
    """Give back `ax` with its figure, or one new axes in a new figure of `size` (inches)."""
    if ax is None:
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.add_subplot()
    return root(ax), ax


def panels(
    ax: Axes | Iterable[Axes] | None, count: int, size: tuple[float, float], *, columns: int = 1, **shared
) -> tuple[Figure, list[Axes]]:
    """Give `count` panels: those in `ax`, one axes or as many as panels, or a new figure of `size` in `columns`.

    Raises ValueError where `ax` holds another number of axes, or one that belongs to no figure.
    """
    if ax is None:
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(-(-count // columns), columns, squeeze=False, **shared).ravel().tolist()
        for unused in axes[count:]:
            unused.set_visible(False)
        return figure, axes[:count]
    axes = flat(ax)
    if len(axes) != count:
        raise ValueError(f"`ax` holds {len(axes)} axes, and {count} panels are drawn; give as many, or ask for as many")
    return root(axes[0]), axes


def room(ax: Axes | Iterable[Axes] | None, count: int) -> int:
    """Give how many of `count` panels there is room for: all, or as many as `ax` holds axes."""
    return count if ax is None else min(count, len(flat(ax)))


def flat(ax: Axes | Iterable[Axes]) -> list[Axes]:
    """Give one axes, or those of a list or an array of any shape, as a list."""
    return [ax] if isinstance(ax, Axes) else list(np.ravel(np.asarray(ax, dtype=object)))


def root(ax: Axes) -> Figure:
    """Give back the whole figure that holds `ax`, also where a subfigure stands between. ValueError where none does."""
    if ax.figure is None:
        raise ValueError("`ax` belongs to no figure; pass axes made by `figure.add_subplot()`")
    # `get_figure(root=True)` says the same, but only since matplotlib 3.10.
    figure = ax.figure.figure
    assert isinstance(figure, Figure)
    return figure


def families(forecasters: Sequence[str], fits: pd.DataFrame) -> dict[str, str]:
    """Map each forecaster to its family; "other" where the ledger's fits do not tell."""
    known = dict(zip(fits["forecaster"], fits["family"], strict=True))
    return {name: known.get(name) or "other" for name in forecasters}


def family_order(names: Sequence[str]) -> list[str]:
    """Sort family names: baselines, linear, controls, latent-state, direct-prediction, then all others by name."""
    known = list(FAMILY_COLOURS)
    return sorted(set(names), key=lambda name: (known.index(name) if name in known else len(known), name))


def family_colours(names: Sequence[str]) -> dict[str, str]:
    """Map family names to colours; families that the library does not know share three further hues."""
    others = [name for name in family_order(names) if name not in FAMILY_COLOURS]
    extra = {name: _OTHER_COLOURS[i % len(_OTHER_COLOURS)] for i, name in enumerate(others)}
    return {name: FAMILY_COLOURS.get(name, extra.get(name, MUTED)) for name in family_order(names)}


def line_styles(family_of: dict[str, str]) -> dict[str, dict]:
    """Map each forecaster to `color` and `linestyle`: the hue of its family, its own lightness and dash."""
    hues = family_colours(list(family_of.values()))
    styles: dict[str, dict] = {}
    for family, hue in hues.items():
        members = [name for name in family_of if family_of[name] == family]
        for i, name in enumerate(members):
            towards_white = 0.45 * i / max(len(members) - 1, 2)
            rgb = np.asarray(to_rgb(hue)) * (1 - towards_white) + towards_white
            styles[name] = {"color": tuple(rgb), "linestyle": _DASHES[i % len(_DASHES)]}
    return styles


def shorten(name: object, longest: int = 30) -> str:
    """Cut the middle out of a long name, where names of one experiment differ least."""
    text = " ".join(str(name).split())
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def instants(stamps) -> np.ndarray:
    """What an axis can hold: naive UTC datetime64 for timestamps of any unit and time zone, floats for numbers."""
    index = pd.Index(stamps)
    if not isinstance(index, pd.DatetimeIndex):
        if pd.api.types.is_numeric_dtype(index.dtype):
            return index.to_numpy(dtype=float, copy=True)
        index = pd.DatetimeIndex(index)
    if index.tz is not None:
        index = index.tz_convert("UTC").tz_localize(None)
    return index.to_numpy(dtype="datetime64[us]", copy=True)


def time_axis(ax: Axes, stamps, *, ticks: int = 6, label: bool = True, upright: bool = False) -> None:
    """Give `ax` few, short, never overlapping dates (or integers), told in the time zone of `stamps`.

    `upright` for the y axis, beside an x axis of the same time, which says what all dates have in common.
    """
    index, axis = pd.Index(stamps), ax.yaxis if upright else ax.xaxis
    if isinstance(index, pd.DatetimeIndex):
        zone = index.tz
        locator = AutoDateLocator(minticks=min(3, ticks), maxticks=ticks, tz=zone)
        # The steps that matplotlib knows are too short for so few ticks: it would warn and crowd the axis.
        for unit, steps in _LONGER_STEPS.items():
            locator.intervald[unit] = [*locator.intervald[unit], *steps]
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator, tz=zone, show_offset=not upright))
        name = "time" if zone is None else f"time ({zone})"
    else:
        axis.set_major_locator(MaxNLocator(nbins=ticks, integer=True))
        name = "time (integer index)"
    if label:
        axis.set_label_text(name)


def label_lines(ax: Axes, ends: dict[str, float], styles: dict[str, dict]) -> None:
    """Name lines at their right ends, spread so that no two names touch; a thin line leads to each end.

    `ends` maps a name to the height (data units) at which its line leaves; names with NaN come last, at the bottom.
    The names stand outside the axes: they never cover data. Call it last: later changes of the y limits move the ends.
    """
    inches = ax.get_window_extent().height / root(ax).dpi
    gap = 11.0 / 72.0 / max(inches, 0.5)
    # Logarithmic axes too: scaled first, then placed between the limits.
    place, left = ax.transScale + ax.transLimits, ax.get_xlim()[0]
    drawn = {name: float(place.transform((left, value))[1]) for name, value in ends.items() if np.isfinite(value)}
    names = sorted(drawn, key=lambda name: drawn[name])
    heights = spread(np.array([drawn[name] for name in names]), gap)
    # Names stay beside the axes as long as there is room: clear of the title and of what lies below.
    heights = np.minimum(heights, 1.0 - gap * np.arange(len(names))[::-1])
    heights = np.maximum(heights, gap * np.arange(len(names)))
    for name, height in zip(names, heights, strict=True):
        ax.plot(
            [1.0, 1.025, 1.045],
            [drawn[name], height, height],
            transform=ax.transAxes,
            clip_on=False,
            **styles[name],
            linewidth=1.1,
            label="_leader",
        )
        ax.text(1.055, height, shorten(name), transform=ax.transAxes, va="center", ha="left", fontsize=8)
    for i, name in enumerate(name for name in ends if name not in drawn):
        text = f"{shorten(name)}: no value"
        ax.text(1.055, -gap * (i + 1), text, transform=ax.transAxes, va="center", ha="left", fontsize=8, color=MUTED)


def line_height(lines: int) -> float:
    """Height in inches of a figure whose lines are named at the right: room for every name."""
    return max(3.9, 0.9 + 0.165 * lines)


def spread(heights: np.ndarray, gap: float) -> np.ndarray:
    """Move ascending `heights` apart to at least `gap`; those that touch stay centred on where they wanted to be."""
    groups: list[list[float]] = []  # [sum of wanted centres, members]
    for height in heights:
        groups.append([float(height), 1.0])
        while len(groups) > 1:
            below, above = groups[-2], groups[-1]
            distance = above[0] / above[1] - below[0] / below[1]
            if distance >= gap * (below[1] + above[1]) / 2:
                break
            groups[-2:] = [[below[0] + above[0], below[1] + above[1]]]
    return np.array([total / n + gap * (i - (n - 1) / 2) for total, n in groups for i in range(int(n))])


def percent(decimals: int | None = None) -> PercentFormatter:
    """Tick labels for a share: 0.25 becomes "25 %"; None for as many decimals as tell the ticks apart."""
    return PercentFormatter(1.0, decimals=decimals, symbol="\N{NO-BREAK SPACE}%")


def say_empty(ax: Axes, text: str) -> None:
    """Write into an axes without data why it is empty, and take its ticks away."""
    ax.set_xticks([])
    ax.set_yticks([])
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=MUTED)


def legend_below(ax: Axes, handles: Sequence[Artist], *, points: float = 34.0, columns: int | None = None) -> None:
    """Put keys under the axes, in one row or in `columns`, `points` below its lower edge: under the axis label."""
    below = ax.transAxes + ScaledTranslation(0, -points / 72, root(ax).dpi_scale_trans)
    ax.legend(
        handles=list(handles),
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=below,
        ncols=columns or len(handles),
        handlelength=1.3,
        columnspacing=1.4,
        borderaxespad=0.0,
    )


def legend(figure: Figure, axes: Sequence[Axes], handles: Sequence[Artist], *, given: bool) -> None:
    """Put the keys of several panels below the figure, or below the last panel where the axes were given."""
    columns = -(-len(handles) // -(-len(handles) // 7))  # as even as they get
    if given:
        legend_below(axes[-1], handles, columns=min(columns, 3))
    else:
        where = "outside lower center"
        figure.legend(handles=list(handles), loc=where, ncols=columns, handlelength=1.4, columnspacing=1.2)
