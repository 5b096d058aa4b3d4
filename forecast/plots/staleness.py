"""Who degrades without a new fit: skill against the age of the fit that a forecast is made by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from forecast.evaluation.cells import cell_means
from forecast.evaluation.metrics import error_of
from forecast.plots.focus import singled_out, told
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

_MOST = 12  # ages; of more, neighbours are averaged
_FLOOR = 0.01  # of a ratio to the baseline, as in skill


def ages(ledger: Ledger) -> np.ndarray:
    """Give the ages of fits, in steps from a fit to a cutoff, that the ledger has: rising, each once."""
    values = np.concatenate([run.staleness for run in ledger.runs])
    return np.unique(values[np.isfinite(values)])


def plot_skill_by_staleness(ledger: Ledger, baseline: str = "SeasonalNaive", *, ax: Axes | None = None) -> Figure:
    """Draw skill against the steps since the fit, one line per forecaster.

    As every cutoff has one age of the fit, time and age go together; the baseline, which is measured at the same
    cutoffs, takes out what makes a time hard for all. Of more than a dozen ages neighbours are averaged. Raises
    TypeError for what is no ledger, ValueError where `baseline` is not in it.
    """
    check_ledger(ledger)
    if baseline not in ledger.forecasters:
        raise ValueError(f"`baseline` {baseline!r} is not in the ledger; it has {list(ledger.forecasters)}")
    named = singled_out(ledger)
    table = _skills(ledger, baseline)
    with look():
        figure, ax = panel(ax, (7.0, line_height(len(named))))
        ax.set_title("Skill by age of the fit")
        ax.set_ylabel(f"less absolute error than {shorten(baseline)}")
        ax.set_xlabel(f"steps from the fit to the cutoff{told(ledger, named)}")
        if table.empty or not np.isfinite(table.to_numpy()).any():
            say_empty(ax, "the age of no fit is known")
            return figure
        family_of = families(ledger.forecasters, ledger.fits)
        styles, hues = line_styles({name: family_of[name] for name in named}), family_colours(list(family_of.values()))
        ends = {}
        for name, family in family_of.items():
            y = table[name].to_numpy(dtype=float)
            if name in named:
                ends[name] = y[-1]
                ax.plot(table.index, y, **styles[name], marker="o", markersize=3, label=name)
            else:
                ax.plot(table.index, y, color=hues[family], linewidth=0.7, alpha=0.35, zorder=1, label=name)
        ax.margins(x=0.01)
        ax.yaxis.set_major_formatter(percent())
        ax.grid(axis="y", color=FAINT, linewidth=0.5)
        label_lines(ax, ends, styles)
    return figure


def _skills(ledger: Ledger, baseline: str) -> pd.DataFrame:
    """Give the skill of each forecaster (columns) at each age of the fit (index), averaged over neighbours if many."""
    losses, distinct = cell_means(ledger, error_of("mae")), ages(ledger)
    known = np.asarray(np.isfinite(losses).all(axis=0))
    names = list(ledger.forecasters)
    groups = np.array_split(distinct, min(len(distinct), _MOST)) if len(distinct) else []
    rows = {}
    for group in groups:
        errors = np.stack([_by_series(ledger, name, losses, known, group) for name in names])  # (M, S)
        base = errors[names.index(baseline)]
        ratios = errors / np.where(base > 0, base, np.nan)
        shared = np.isfinite(ratios).all(axis=0)
        logs = (
            np.log(np.maximum(ratios[:, shared], _FLOOR)).mean(axis=1) if shared.any() else np.full(len(names), np.nan)
        )
        rows[float(group.mean())] = -np.expm1(logs)
    return pd.DataFrame.from_dict(rows, orient="index", columns=names)


def _by_series(ledger: Ledger, name: str, losses: np.ndarray, known: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Give the mean error of a forecaster at some ages, (S,): over cutoffs, then seeds; NaN where there is none."""
    series, number, seeds = ledger.points.series, len(ledger.points.ids), []
    for loss, run in zip(losses, ledger.runs, strict=True):
        if run.forecaster == name:
            there = known & np.isin(run.staleness, group)
            counts = np.bincount(series[there], minlength=number)
            sums = np.bincount(series[there], weights=loss[there], minlength=number)
            seeds.append(sums / np.where(counts > 0, counts, np.nan))
    return np.mean(seeds, axis=0)
