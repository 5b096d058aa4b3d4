"""What networks cost as the history grows: training, and one new prediction, recomputed or streamed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from forecast.plots.frames import check_columns
from forecast.plots.style import FAINT, MUTED, label_lines, line_height, line_styles, look, panels, room, say_empty

_NEEDED = (
    *("backbone", "family", "patch_length", "length", "mode", "seconds", "bytes"),
    *("seconds_expected", "bytes_expected", "left_out"),
)
_ROWS = {
    "training step": (["train"], "held for the backward pass"),
    "new prediction, recomputed": (["recompute"], "most that is held at once"),
    "new prediction, streamed": (["stream", "stream_all"], "state that is carried"),
}
_POWERS = {1: "T", 2: "T²"}


def plot_cost(costs: pd.DataFrame, *, ax: Axes | Iterable[Axes] | None = None) -> Figure:
    """Draw time (left) and memory (right) against the length of the history, a line for each backbone and patch length.

    The two rows of predictions share their scales: what is recomputed above stands beside what is streamed below. A
    line that ends early in a cross would have passed a limit of time or memory at the next length. Grey lines rise with
    the powers of the length that are expected. `costs` is a frame of `cost_curves`, or those of its rows that are to be
    drawn: a dozen lines to a panel can be told apart. `ax` holds six axes, row by row; fewer take the first. Raises
    ValueError where a column is missing, there is no row, or `ax` holds more than six.
    """
    check_columns(costs, "costs", _NEEDED)
    patches, lengths = (sorted(set(costs[column].tolist())) for column in ("patch_length", "length"))
    lines = [_line(*one, patches) for one in zip(costs["backbone"], costs["patch_length"], strict=True)]
    costs = costs.assign(line=lines)
    styles = _styles(costs, patches)
    with look():
        unbounded = costs.loc[costs["mode"] == "stream_all", "line"]
        height = max(3.1, line_height(len(styles) + len(set(unbounded))) - 0.8)
        figure, axes = panels(ax, room(ax, 6), (10.4, 3 * height + 0.6), columns=2, sharex=True)
        named = []
        kinds = product(_ROWS.items(), (("seconds", "s"), ("bytes", "B")))
        for panel, ((title, (modes, held)), (cost, unit)) in zip(axes, kinds, strict=False):
            panel.set_title(f"{title}: {held if cost == 'bytes' else 'processor time'}")
            rows = pd.DataFrame(costs[costs["mode"].isin(modes)])
            named.append((panel, rows, cost, *_lines(panel, rows, cost, unit, styles)))
        for recomputed, streamed in zip(axes[2:4], axes[4:], strict=False):
            _share(recomputed, streamed)
        for panel in axes if ax is not None else axes[4:]:
            panel.set_xlabel("history T (values)")
        for panel, rows, cost, ends, _ in named:
            if ends:
                _lengths(panel, lengths)
                _guides(panel, lengths, set(rows[f"{cost}_expected"]))
        if ax is None:
            of = f", patches of {patches[0]} {'value' if patches[0] == 1 else 'values'}" if len(patches) == 1 else ""
            figure.suptitle(f"Costs by length of the history{of}", x=0.01, ha="left")
            figure.draw_without_rendering()  # names are spread over the heights that the panels really get
        for panel, _, _, ends, told in named:
            if ends:
                label_lines(panel, ends, told)
    return figure


def _line(backbone: str, patch_length: int, patches: list[int]) -> str:
    return backbone if len(patches) == 1 else f"{backbone}, P = {patch_length}"


def _styles(costs: pd.DataFrame, patches: list[int]) -> dict[str, dict]:
    """Give colour and dash of each line: a colour to a backbone, and a dash to a patch length if there are several."""
    colours = line_styles(dict(zip(costs["backbone"], costs["family"], strict=True)))
    dashes = line_styles({str(patch): "" for patch in patches})
    styles = {}
    for line, backbone, patch in zip(costs["line"], costs["backbone"], costs["patch_length"], strict=True):
        dash = dashes[str(patch)] if len(patches) > 1 else colours[backbone]
        styles[line] = {"color": colours[backbone]["color"], "linestyle": dash["linestyle"]}
    return styles


def _lines(ax: Axes, rows: pd.DataFrame, cost: str, unit: str, styles: dict[str, dict]) -> tuple[dict, dict]:
    """Draw the lines of a panel; give where each ends and how it looks, by the name it is to have."""
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ends: dict[str, float] = {}
    told: dict[str, dict] = {}
    last = rows["length"].max()
    for _, curve in rows.groupby(["line", "mode"], sort=False):
        there = (curve["left_out"] == "") & (curve[cost] > 0)
        measured = pd.DataFrame(curve[there]).sort_values(by=["length"])
        if measured.empty:
            continue
        line, everything = str(curve["line"].iloc[0]), curve["mode"].iloc[0] == "stream_all"
        name = f"{line}, all T" if everything else line
        x, y = (measured[one].to_numpy(dtype=float) for one in ("length", cost))
        look_of = {**styles[line], "markerfacecolor": "white" if everything else styles[line]["color"]}
        ax.plot(x, y, **look_of, marker="o", markersize=3.5, label=name)
        if x[-1] < last:
            colour = styles[line]["color"]
            ax.plot(x[-1:], y[-1:], "x", color=colour, markersize=7, markeredgewidth=1.6, label="_left_out")
            ax.plot([x[-1], last], [y[-1], y[-1]], ":", color=colour, linewidth=0.6, label="_leader")
        ends[name], told[name] = y[-1], styles[line]
    if not ends:
        say_empty(ax, "nothing was measured")
        return ends, told
    ax.margins(x=0.02, y=0.08)
    ax.yaxis.set_major_locator(LogLocator(numticks=12))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(EngFormatter(unit))
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    return ends, told


def _share(one: Axes, other: Axes) -> None:
    """Give two panels the same scale, where both hold lines."""
    if one.has_data() and other.has_data():
        limits = [*one.get_ylim(), *other.get_ylim()]
        for ax in (one, other):
            ax.set_ylim(min(limits), max(limits))


def _lengths(ax: Axes, lengths: list[int]) -> None:
    apart = -(-len(lengths) // 5)
    ax.xaxis.set_major_locator(FixedLocator(lengths[::-apart]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _guides(ax: Axes, lengths: list[int], powers: set[int]) -> None:
    """Draw how a cost rises with powers of the length, from the lower edge on, behind the lines."""
    low, high = ax.get_ylim()
    begin, end = np.sqrt(lengths[0] * lengths[-1]), lengths[-1]
    for power, name in _POWERS.items():
        if power not in powers or begin == end:
            continue
        bottom = low * (high / low) ** 0.04
        top = min(bottom * (end / begin) ** power, high)
        right = begin * (top / bottom) ** (1 / power)
        ax.plot([begin, right], [bottom, top], color=MUTED, linewidth=0.8, alpha=0.6, zorder=0, label="_guide")
        white = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        at = (begin * (right / begin) ** 0.85, bottom * (top / bottom) ** 0.85)
        ax.text(*at, name, color=MUTED, fontsize=8, ha="center", va="center", bbox=white, zorder=1)
    ax.set_ylim(low, high)
