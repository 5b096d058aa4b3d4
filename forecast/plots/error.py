"""How the error grows with the step, and how it moves from cutoff to cutoff."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from forecast.evaluation.metrics import score
from forecast.evaluation.skill import skill
from forecast.plots.extent import count, extent
from forecast.plots.focus import singled_out, told
from forecast.plots.frames import check_ledger
from forecast.plots.style import (
    FAINT,
    families,
    family_colours,
    instants,
    label_lines,
    line_height,
    line_styles,
    look,
    panel,
    say_empty,
    time_axis,
)

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger

METRIC_LABELS = {
    "mae": "MAE (units of y)",
    "rmse": "RMSE (units of y)",
    "bias": "bias, actual minus mean (units of y)",
    "mase": "MASE (1: seasonal naive in the history)",
    "rmsse": "RMSSE (1: seasonal naive in the history)",
    "wape": "WAPE (share of the sum of |y|)",
    "wql": "WQL (share of the sum of |y|)",
    "interval_score": "80 % interval score (units of y)",
    "coverage": "coverage of the 80 % interval",
    "skill": "skill against seasonal naive",
}


def plot_error_by_step(ledger: Ledger, metric: str = "mase", *, ax: Axes | None = None) -> Figure:
    """Draw `metric` against the step ahead, one line per forecaster; the shade is the range over its seeds.

    Of more than a dozen forecasters the best of each family under each decoder are named, and the others are faint.
    `metric` is a column of `forecast.evaluation.metrics.score`, or "skill". Raises ValueError for any other name.
    """
    check_ledger(ledger)
    with look():
        named = singled_out(ledger)
        figure, ax = panel(ax, (7.0, line_height(len(named))))
        note = _lines(ax, ledger, named, metric, "step")
        if note is not None:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True) if extent(ledger).steps > 1 else FixedLocator([1]))
        ax.set_xlabel(f"step ahead{note or ''}")
        ax.set_title(f"{_short(metric)} by step, over {count(extent(ledger).cutoffs, 'cutoff')}")
    return figure


def plot_error_by_cutoff(ledger: Ledger, metric: str = "mase", *, ax: Axes | None = None) -> Figure:
    """Draw `metric` against the cutoff, one line per forecaster; the shade is the range over its seeds.

    Of more than a dozen forecasters the best of each family under each decoder are named, and the others are faint.
    `metric` is a column of `forecast.evaluation.metrics.score`, or "skill". Raises ValueError for any other name.
    """
    check_ledger(ledger)
    with look():
        named = singled_out(ledger)
        figure, ax = panel(ax, (7.0, line_height(len(named))))
        cutoffs = ledger.forecasts["cutoff"].drop_duplicates()
        note = _lines(ax, ledger, named, metric, "cutoff")
        if note is not None:
            time_axis(ax, cutoffs)
            ax.set_xlabel(ax.get_xlabel() + note)
            if len(cutoffs) == 1:
                ax.set_xticks([ax.convert_xunits(instants(cutoffs)[0])])
        ax.set_title(f"{_short(metric)} by cutoff, over {count(extent(ledger).steps, 'step')}")
    return figure


def _lines(ax: Axes, ledger: Ledger, named: list[str], metric: str, along: str) -> str | None:
    """Draw all lines with their names; give what is to be said below, None where no value is defined."""
    if metric not in METRIC_LABELS:
        raise ValueError(f"`metric` {metric!r} is not known; choose one of {list(METRIC_LABELS)}")
    means = _wide(_measured(ledger, metric, ["forecaster", along]), metric, along)
    seeds = _measured(ledger, metric, ["forecaster", "seed", along])
    lows, highs = (_wide(seeds, metric, along, edge).reindex_like(means) for edge in ("min", "max"))
    family_of = families(ledger.forecasters, ledger.fits)
    styles, hues = line_styles({name: family_of[name] for name in named}), family_colours(list(family_of.values()))
    x = instants(means.index)
    ax.set_ylabel(METRIC_LABELS[metric])
    if not np.isfinite(means.to_numpy(dtype=float)).any():
        say_empty(ax, f"{_short(metric)} is not defined here: no actual, or no scale")
        return None
    dot = "." if len(x) == 1 else None
    for name, family in family_of.items():
        if name not in named:
            ax.plot(x, means[name], color=hues[family], linewidth=0.7, alpha=0.35, marker=dot, zorder=1, label=name)
    ends: dict[str, float] = {}
    for name in named:
        y = means[name].to_numpy(dtype=float)
        finite = y[np.isfinite(y)]
        ends[name] = finite[-1] if len(finite) else float("nan")
        marker, size = ("o", 5 if len(x) == 1 else 3) if len(finite) <= 12 else (None, 0)
        ax.fill_between(x, lows[name], highs[name], color=styles[name]["color"], alpha=0.13, linewidth=0)
        ax.plot(x, y, **styles[name], marker=marker, markersize=size, label=name)
    if len(x) == 1:
        at = ax.convert_xunits(x[0])
        ax.set_xlim(at - 1.0, at + 0.1)
    else:
        ax.margins(x=0.01)
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    if metric in ("bias", "skill"):
        ax.axhline(0, color=FAINT, linewidth=1.2, zorder=0, label="_zero")
    beyond = _frame(ax, means, named)
    label_lines(ax, ends, styles)
    return told(ledger, named, beyond)


def _frame(ax: Axes, means: pd.DataFrame, named: list[str]) -> int:
    """Cut what lies far above or below the lines that are named; give how many faint lines leave the picture."""
    faint = means.drop(columns=named)
    if faint.empty:
        return 0
    low, high = ax.get_ylim()
    least, most = np.nanmin(means[named].to_numpy(float)), np.nanmax(means[named].to_numpy(float))
    room = 0.3 * (most - least) or high - low
    ax.set_ylim(max(low, least - room), min(high, most + room))
    return int(((faint < ax.get_ylim()[0]) | (faint > ax.get_ylim()[1])).any().sum())


def _measured(ledger: Ledger, metric: str, by: list[str]) -> pd.DataFrame:
    return skill(ledger, by=by) if metric == "skill" else score(ledger, [metric], by=by)


def _wide(table: pd.DataFrame, metric: str, along: str, reduce: str = "mean") -> pd.DataFrame:
    """One row per step or cutoff, ascending; one column per forecaster; several seeds become one by `reduce`."""
    return table.pivot_table(index=along, columns="forecaster", values=metric, aggfunc=reduce, dropna=False)


def _short(metric: str) -> str:
    return METRIC_LABELS[metric].split(" (")[0].split(",")[0].replace("bias", "Bias").replace("skill", "Skill")
