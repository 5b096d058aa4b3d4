"""How skill changes with the step ahead, and how sure that is at each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from forecast.evaluation.effects import FAMILIES
from forecast.plots.extent import count, extent
from forecast.plots.focus import best_of_each, singled_out, told
from forecast.plots.frames import check_ledger
from forecast.plots.style import (
    FAINT,
    families,
    family_colours,
    label_lines,
    line_height,
    line_styles,
    look,
    panel,
    percent,
    say_empty,
    shorten,
)

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger

_MOST = 24  # steps at which intervals are made; of more, some that lie evenly
_RESAMPLES = 500


def plot_skill_by_step(ledger: Ledger, baseline: str = "SeasonalNaive", *, ax: Axes | None = None) -> Figure:
    """Draw skill against the step ahead, a line per forecaster; two lie over their 95 % intervals.

    The two are the best latent-state and the best direct-prediction network, or where these are not there the most
    accurate. Intervals are those of `standings` at each step alone. Of more than a dozen forecasters the best of each
    family under each decoder are named, and the others are faint; of more than 24 steps some are drawn. What is far
    worse than the baseline leaves the picture. Raises TypeError for what is no ledger, ValueError where `baseline` is
    not in it.
    """
    check_ledger(ledger)
    others = [name for name in ledger.forecasters if name != baseline]
    named = singled_out(ledger.take(others)) if others else []
    banded = _banded(ledger.take(others)) if others else []
    table = by_step(ledger, baseline)
    skills = table.pivot(index="step", columns="forecaster", values="skill")
    with look():
        figure, ax = panel(ax, (7.0, line_height(len(named))))
        ax.set_title(f"Skill by step, over {count(extent(ledger).cutoffs, 'cutoff')}")
        ax.set_ylabel(f"less absolute error than {shorten(baseline)}")
        if not named or not np.isfinite(np.asarray(skills[named], dtype=float)).any():
            say_empty(ax, "skill is not defined here: no actual, no error of the baseline, or nobody else")
            return figure
        family_of = families(ledger.forecasters, ledger.fits)
        styles, hues = line_styles({name: family_of[name] for name in named}), family_colours(list(family_of.values()))
        steps, ends = skills.index.to_numpy(dtype=float), {}
        for name, family in family_of.items():
            if name == baseline:
                continue
            y = np.asarray(skills[name], dtype=float)
            if name not in named:
                ax.plot(steps, y, color=hues[family], linewidth=0.7, alpha=0.35, zorder=1, label=name)
                continue
            if name in banded:
                rows = pd.DataFrame(table[table["forecaster"] == name])
                low, high = (rows[edge].to_numpy(dtype=float) for edge in ("low", "high"))
                shade = {"color": styles[name]["color"], "alpha": 0.14, "linewidth": 0, "label": "_interval"}
                if len(steps) == 1:
                    ax.vlines(steps, low, high, color=styles[name]["color"], alpha=0.4, linewidth=5, label="_interval")
                else:
                    ax.fill_between(steps, low, high, **shade)
            ends[name] = y[-1]
            ax.plot(steps, y, **styles[name], marker="o", markersize=3 if len(steps) <= 12 else 0, label=name)
        ax.axhline(0, color=FAINT, linewidth=1.2, zorder=0, label="_zero")
        _frame(ax, skills[named].to_numpy(dtype=float))
        if len(steps) == 1:
            ax.set_xlim(steps[0] - 1.0, steps[0] + 0.1)
        else:
            ax.margins(x=0.01)
        shade = (
            f"\nshade: 95 % interval of {' and '.join(map(shorten, banded))}" if np.isfinite(table["low"]).any() else ""
        )
        ax.set_xlabel(f"step ahead{shade}{told(ledger, [*named, baseline])}")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True) if len(steps) > 1 else FixedLocator([steps[0]]))
        ax.yaxis.set_major_formatter(percent())
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        label_lines(ax, {name: max(end, ax.get_ylim()[0]) for name, end in ends.items()}, styles)
    return figure


def by_step(ledger: Ledger, baseline: str) -> pd.DataFrame:
    """Give `step, forecaster, skill, low, high` at the steps that are drawn."""
    from forecast.evaluation.statistics import standings

    steps = ledger.points.steps
    chosen = steps[np.unique(np.linspace(0, len(steps) - 1, min(len(steps), _MOST)).round().astype(int))]
    tables = []
    for step in chosen.tolist():
        found = standings(ledger, baseline, step=step, resamples=_RESAMPLES).skill
        tables.append(found[["forecaster", "skill", "low", "high"]].assign(step=step))
    return pd.concat(tables, ignore_index=True)


def _banded(ledger: Ledger) -> list[str]:
    """Give the two forecasters whose intervals are drawn: more could not be told apart."""
    best = best_of_each(ledger)
    family_of = families(ledger.forecasters, ledger.fits)
    return [name for name in best if family_of[name] in FAMILIES] or best[-2:]


def _frame(ax: Axes, values: np.ndarray) -> None:
    """Cut what lies far below the baseline: it must not flatten the lines that the comparison is about."""
    high = max(float(np.nanmax(values)), 0.0)
    low = max(min(float(np.nanmin(values)), 0.0), -max(high, 0.3))
    room = 0.15 * max(high - low, 0.05)
    bottom, top = ax.get_ylim()
    ax.set_ylim(max(bottom, low - 2 * room), min(top, high + 4 * room))
