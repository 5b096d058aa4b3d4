"""Backbones crossed with decoders: the skill of every cell, and whether the families answer alike to the decoder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator

from forecast.evaluation.effects import balanced, effects
from forecast.plots.extent import extent
from forecast.plots.frames import check_ledger
from forecast.plots.style import (
    FAINT,
    INK,
    MUTED,
    family_colours,
    family_order,
    label_lines,
    legend_below,
    look,
    panels,
    room,
    shorten,
)

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger

_SHADES = LinearSegmentedColormap.from_list("skill", ["#f4f1ea", "#8fb8a8", "#1f6f5c"])
_ROW, _COLUMN = 0.27, 0.82  # inches of a cell


def plot_effects(ledger: Ledger, baseline: str = "SeasonalNaive", *, ax: Axes | Iterable[Axes] | None = None) -> Figure:
    """Draw the skill of every backbone under every decoder, and beside it how each family answers to the decoder.

    Left: a table of skill against `baseline`, backbones by family, darker for more skill; "-" where no network was run.
    Right: one thin line per backbone, from decoder to decoder, and the mean of each family. Heights are logarithms
    of the error, on which effects add: parallel lines mean that the families do not interact with the decoder. Only
    backbones that stand under all decoders of this panel are in it; without two such decoders it is left out.

    `ax` holds as many axes as panels; one takes the table alone. Raises ValueError where `baseline` or any network is
    not in the ledger, or `ax` holds more axes than there are panels.
    """
    check_ledger(ledger)
    cells = effects(ledger, baseline).cells
    rows = _rows(cells)
    decoders = sorted(cells["decoder"].unique(), key=lambda name: name != "direct")
    members, shown = _followed(cells)
    with look():
        table_width = 2.0 + _COLUMN * len(decoders)
        widths = [table_width, 4.3] if members else [table_width]
        heights = max(1.3 + _ROW * len(rows), 3.6 if members else 0, 1.7 + 0.165 * len(members))
        size = (max(sum(widths), 5.8), heights)  # room for the title
        ratios = {"width_ratios": widths} if ax is None else {}
        figure, axes = panels(ax, room(ax, len(widths)), size, columns=len(widths), **ratios)
        _table(axes[0], cells, rows, decoders)
        if len(axes) > 1:
            _lines(axes[1], cells, members, shown)
        title = f"Skill against {shorten(baseline)}: {extent(ledger)}"
        if ax is None:
            figure.suptitle(title, x=0.01, ha="left")
        else:
            axes[0].set_title(title)
            axes[0].set_aspect("auto")  # cells as large as there is room for
    return figure


def readable_on(colour: Sequence[float]) -> str:
    """Give black or white, whichever letters stand out more on a colour: a contrast of 4.5 or more (WCAG 2.1)."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "white" if (luminance + 0.05) ** 2 < 1.05 * 0.05 else "black"


def _rows(cells: pd.DataFrame) -> list[tuple[str, str | None]]:
    """Top to bottom: (family, None) for a heading, (family, backbone) for a member."""
    family_of = dict(zip(cells["backbone"], cells["family"], strict=True))
    rows: list[tuple[str, str | None]] = []
    for family in family_order(list(family_of.values())):
        rows += [(family, None), *((family, name) for name in family_of if family_of[name] == family)]
    return rows


def _followed(cells: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Give the backbones whose lines are drawn and the decoders between which they run; two empty lists for none."""
    for families in (list(dict.fromkeys(cells["family"])), []):
        members, decoders = balanced(cells, families)
        if len(decoders) > 1:
            return members, decoders
    return [], []


def _table(ax: Axes, cells: pd.DataFrame, rows: Sequence[tuple[str, str | None]], decoders: Sequence[str]) -> None:
    colours = family_colours([family for family, _ in rows])
    skill = {(b, d): s for b, d, s in cells[["backbone", "decoder", "skill"]].itertuples(index=False, name=None)}
    low, high = _limits(cells["skill"].to_numpy(float))
    image = np.full((len(rows), len(decoders)), np.nan)
    for i, (_, backbone) in enumerate(rows):
        for k, decoder in enumerate(decoders):
            if backbone is None:
                continue
            value = skill.get((backbone, decoder), np.nan)
            image[i, k] = np.clip((value - low) / (high - low), 0, 1)
            text = "-" if (backbone, decoder) not in skill else _percent(value)
            colour = readable_on(_SHADES(image[i, k])[:3]) if np.isfinite(value) else MUTED
            ax.text(k, i, text, ha="center", va="center", fontsize=8, color=colour)
    # Drawn as a mesh, since an image would stand as pixels in a report of lines and letters.
    edges = np.arange(len(decoders) + 1) - 0.5, np.arange(len(rows) + 1) - 0.5
    ax.pcolormesh(*edges, np.ma.masked_invalid(image), cmap=_SHADES, vmin=0, vmax=1, edgecolors="white", linewidth=1.0)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_aspect(_ROW / _COLUMN, anchor="NW")
    ax.set_yticks(range(len(rows)), [family if name is None else shorten(name, 28) for family, name in rows])
    for label, (family, name) in zip(ax.get_yticklabels(), rows, strict=True):
        label.set_color(colours[family] if name is None else INK)
        label.set_fontweight("bold" if name is None else "normal")
    ax.set_xticks(range(len(decoders)), [_stacked(decoder) for decoder in decoders])
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.spines[:].set_visible(False)


def _lines(ax: Axes, cells: pd.DataFrame, members: list[str], decoders: list[str]) -> None:
    family_of = dict(zip(cells["backbone"], cells["family"], strict=True))
    colours = family_colours([family_of[name] for name in members])
    # Upwards is better, as in the table: the height is minus the log of the error ratio.
    heights = -cells.pivot(index="backbone", columns="decoder", values="log").loc[members, decoders]
    x = np.arange(len(decoders))
    for name in members:
        y = heights.loc[name].to_numpy(float)
        ax.plot(x, y, color=colours[family_of[name]], linewidth=0.8, alpha=0.5, marker="o", markersize=2.5, label=name)
    keys = []
    for family, colour in colours.items():
        own = [name for name in members if family_of[name] == family]
        mean = heights.loc[own].to_numpy(float).mean(axis=0)
        ax.plot(x, mean, color=colour, linewidth=2.6, marker="o", markersize=6, zorder=3, label=family)
        several = f" (mean of {len(own)})" if len(own) > 1 else ""
        keys.append(Line2D([], [], color=colour, linewidth=2.6, label=f"{family}{several}"))
    ax.set_xticks(x, [_stacked(decoder) for decoder in decoders])
    ax.set_xlim(-0.08, len(decoders) - 1 + 0.08)
    _skill_ticks(ax)
    ax.set_ylabel("skill, on the log scale of the error")
    ax.set_title("Parallel lines: no interaction" if len(keys) > 1 else "From decoder to decoder")
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    ends = {name: float(heights.loc[name].iloc[-1]) for name in members}
    label_lines(ax, ends, {name: {"color": colours[family_of[name]], "linestyle": "-"} for name in members})
    legend_below(ax, keys, points=18.0 + 11.0 * max(_stacked(decoder).count("\n") + 1 for decoder in decoders))


def _skill_ticks(ax: Axes) -> None:
    """Label heights, minus the log of an error ratio, by the skill that they stand for."""
    low, high = ax.get_ylim()
    nice = MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]).tick_values(-np.expm1(-low), -np.expm1(-high))
    ticks = [-np.log1p(-skill) for skill in nice if skill < 1]
    ax.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda height, _: _percent(-np.expm1(-height), "g")))


def _limits(values: np.ndarray) -> tuple[float, float]:
    """Give the skill of the lightest and the darkest shade; one hopeless cell must not make all others alike."""
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.max() - finite.min() < 1e-6:
        return (0.0, 1.0) if not len(finite) else (finite.max() - 0.5, finite.max() + 0.5)
    high, middle = float(finite.max()), float(np.median(finite))
    return max(float(finite.min()), middle - 2 * max(high - middle, 0.01)), high


def _percent(value: float, form: str = ".1f") -> str:
    if not np.isfinite(value):
        return "n/a"
    return f"{100 * value:{form}} %".replace("-", "−") if abs(value) >= 0.0005 else "0 %"


def _stacked(decoder: str) -> str:
    """Break the name of a decoder into lines, so that columns may be narrow."""
    return "\n".join(wrap(shorten(decoder.replace("_", " "), 30), 12))
