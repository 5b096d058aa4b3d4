"""The comparison at one look: skill against seasonal naive, forecaster by forecaster, in families."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from forecast.evaluation.skill import skill
from forecast.plots.extent import extent
from forecast.plots.frames import check_ledger
from forecast.plots.style import (
    FAINT,
    INK,
    MUTED,
    families,
    family_colours,
    family_order,
    legend_below,
    look,
    panel,
    percent,
    shorten,
)

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger
    from forecast.evaluation.statistics import Standings


def plot_skill(
    ledger: Ledger, baseline: str = "SeasonalNaive", *, found: Standings | None = None, ax: Axes | None = None
) -> Figure:
    """Draw the skill of each forecaster against `baseline`, grouped by family, best first; each seed is a dot.

    Skill is 1 - the geometric mean over series of the ratio of mean absolute errors: 20 % means a fifth less error than
    the baseline, 0 the same. The large mark is the skill of the error averaged over seeds. What is far worse than
    the baseline is drawn as an arrow at the edge; the number on the right is always exact.

    `found` is what `standings(ledger, baseline)` gives: its intervals are drawn as bars.

    Raises ValueError where `baseline` is not in the ledger, and where `found` is of another ledger, baseline or metric;
    TypeError for what is no Standings.
    """
    check_ledger(ledger)
    table = skill(ledger, baseline)
    bars = {} if found is None else _bars(found, table)
    means = dict(zip(table["forecaster"], table["skill"].to_numpy(float), strict=True))
    seeds = skill(ledger, baseline, by=("forecaster", "seed"))
    family_of = families(list(means), ledger.fits)
    colours = family_colours(list(family_of.values()))
    rows = _rows(means, family_of)
    with look():
        figure, ax = panel(ax, (7.0, 1.25 + 0.235 * len(rows)))
        edges = np.array([edge for interval in bars.values() for edge in interval], dtype=float)
        low, high = _limits(np.concatenate([list(means.values()), seeds["skill"].to_numpy(float), edges]))
        ax.axvline(0, color=MUTED, linewidth=1.0, zorder=1)
        for at, (family, name) in enumerate(rows):
            if name is not None:
                dots = seeds.loc[seeds["forecaster"] == name, "skill"].to_numpy(float)
                _row(ax, at, name, means[name], dots, (low, high), colours[family])
                _interval(ax, at, bars.get(name, (np.nan, np.nan)), (low, high))
        ax.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_yticks(range(len(rows)), [family if name is None else shorten(name, 30) for family, name in rows])
        for label, (family, name) in zip(ax.get_yticklabels(), rows, strict=True):
            label.set_color(colours[family] if name is None else INK)
            label.set_fontweight("bold" if name is None else "normal")
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(percent(None))
        ax.set_xlabel(f"skill: less absolute error than {shorten(baseline)} (right is better)")
        ax.set_title(f"Skill against {shorten(baseline)}: {extent(ledger)}")
        some = seeds["forecaster"].duplicated().any()
        if keys := _keys(some, bool(np.isfinite(list(bars.values())).any()), found):
            legend_below(ax, keys)
    return figure


def _row(
    ax: Axes, at: int, name: str, mean: float, seeds: np.ndarray, limits: tuple[float, float], colour: str
) -> None:
    low, high = limits
    ax.axhline(at, color=FAINT, linewidth=0.5, zorder=0)
    if len(seeds) > 1:
        # Below the large mark, which would hide them.
        height = np.full(len(seeds), at + 0.33)
        ax.plot(np.clip(seeds, low, high), height, "o", color=colour, markersize=3, label="_seed")
    text = "not defined"
    if np.isfinite(mean):
        end, mark = max(mean, low), "<" if mean < low else "o"
        ax.plot([0, end], [at, at], color=colour, linewidth=2.2, alpha=0.45, zorder=2, label="_stem")
        ax.plot([end], [at], mark, color=colour, markersize=7.5, zorder=3, label=name)
        text = f"{100 * mean:+.1f} %".replace("-", "−") if abs(mean) >= 0.0005 else "0.0 %"
    ax.text(1.015, at, text, transform=ax.get_yaxis_transform(), va="center", ha="left", fontsize=8)


def _rows(means: dict[str, float], family_of: dict[str, str]) -> list[tuple[str, str | None]]:
    """Top to bottom: (family, None) for a heading, (family, forecaster) for a member; undefined skill comes last."""
    rows: list[tuple[str, str | None]] = []
    for family in family_order(list(family_of.values())):
        members = [name for name in means if family_of[name] == family]
        rows.append((family, None))
        rows += [(family, name) for name in sorted(members, key=lambda name: -np.nan_to_num(means[name], nan=-np.inf))]
    return rows


def _limits(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    high = max(finite.max(initial=0.0), 0.0)
    # A hopeless baseline must not squeeze the forecasters that the comparison is about.
    low = max(min(finite.min(initial=0.0), 0.0), -max(high, 0.5))
    return (low, high) if high - low > 1e-6 else (-0.05, 0.05)


def _bars(found: Standings, table: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Give the intervals of forecasters, once they are known to be those of the skill that is drawn."""
    if not isinstance(getattr(found, "skill", None), pd.DataFrame):
        raise TypeError(f"`found` is a {type(found).__name__}; give the Standings that `standings` gives")
    own = found.skill.set_index("forecaster")["skill"].reindex(table["forecaster"]).to_numpy(float)
    if len(found.skill) != len(table) or not np.allclose(own, table["skill"], rtol=1e-4, atol=1e-6, equal_nan=True):
        raise ValueError(
            "`found` tells other skills than are drawn, of another ledger, baseline or metric: give "
            "standings(ledger, baseline)"
        )
    rows = zip(found.skill["forecaster"], found.skill["low"], found.skill["high"], strict=True)
    return {name: (low, high) for name, low, high in rows}


def _interval(ax: Axes, at: int, interval: tuple[float, float], limits: tuple[float, float]) -> None:
    """Draw an interval as a thin bar with ends, as far as the picture goes."""
    low, high = np.clip(interval, *limits)
    if not np.isfinite(low) or interval[1] < limits[0] or low == high:
        return
    ax.plot([low, high], [at, at], color=INK, linewidth=0.9, zorder=4, label="_interval")
    ends = [end for end, whole in zip((low, high), interval, strict=True) if end == whole]
    ax.plot(ends, [at] * len(ends), "|", color=INK, markersize=6, markeredgewidth=0.9, zorder=4, label="_interval")


def _keys(seeds: bool, bars: bool, found: Standings | None) -> list[Line2D]:
    keys = []
    if seeds:
        keys = [
            Line2D(
                [], [], linestyle="none", marker="o", color=MUTED, markersize=7.5, label="error averaged over seeds"
            ),
            Line2D([], [], linestyle="none", marker="o", color=MUTED, markersize=3.4, label="one seed"),
        ]
    if bars and found is not None:
        over = f"{100 * found.confidence:.3g} % interval over {found.over}"
        keys.append(Line2D([], [], color=INK, linewidth=0.9, label=over))
    return keys
