"""The plan of a backtest, drawn: one row per fold, who fits and who reuses an earlier fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from forecast.evaluation.folds import Folds
from forecast.plots.extent import count
from forecast.plots.style import FAINT, INK, MUTED, instants, legend_below, look, panel, time_axis

TRAINING, VALIDATION, TEST = "#56789c", "#e0a33a", "#d55e00"
_PALE = {TRAINING: "#c5d1dd", VALIDATION: "#f3dfb9"}
_MOST = 240  # folds that are drawn
_COLUMNS = ("fold", "cutoff", "train_start", "train_end", "validation_start", "test_start", "test_end", "fit_fold")


def plot_folds(plan: pd.DataFrame | Folds, *, ax: Axes | None = None) -> Figure:
    """Draw the folds of a backtest over time: training rows, validation rows, the cutoff, the steps that are scored.

    `plan` is what `plan.folds(panel)` gives, or its table: one row per fold with the columns `fold, cutoff,
    train_start, train_end, validation_start` (NaT or NaN where there is no validation), `test_start, test_end,
    fit_fold` (the fold whose fit is used) and, where steps are skipped after the cutoff, `gap`. A fold that fits is
    dark; one that reuses an earlier fit is pale, and its label says whose fit it is. Rows under an embargo stay white.
    Where training goes back far beyond the tests, only its last part is drawn, and the axis says when it begins. Of
    very many folds some are drawn, evenly spaced, and the title says so.

    Raises TypeError for what is neither; ValueError where a column is missing or no fold is given.
    """
    if not isinstance(plan, pd.DataFrame | Folds):
        raise TypeError(f"`plan` is a {type(plan).__name__}; give plan.folds(panel), or plan.table(panel)")
    own_ends = isinstance(plan, Folds) and plan.plan.align == "ends"
    plan = plan.table() if isinstance(plan, Folds) else plan
    missing = [name for name in _COLUMNS if name not in plan.columns]
    if missing:
        raise ValueError(f"`plan` lacks the columns {missing}; it needs {list(_COLUMNS)}")
    if plan.empty:
        raise ValueError("`plan` holds no fold; there is nothing to draw")
    fits = (plan["fold"] == plan["fit_fold"]).to_numpy()
    validated = plan["validation_start"].notna().to_numpy()
    gaps = (plan["gap"] > 0).to_numpy() if "gap" in plan else np.zeros(len(plan), dtype=bool)
    cutoff = instants(plan["cutoff"])
    train_start, train_end = instants(plan["train_start"]), instants(plan["train_end"])
    test_start, test_end = instants(plan["test_start"]), instants(plan["test_end"])
    validation_start, validation_end = _validation(plan, validated)
    with look():
        figure, ax = panel(ax, (7.0, min(1.3 + 0.2 * len(plan), 9.0)))
        rows = np.arange(len(plan))
        every = -(-len(plan) // _MOST)
        drawn = rows % every == 0
        train_end = np.where(validated, np.minimum(train_end, validation_start), train_end)
        # A horizon of one step has no length: its bar begins at the cutoff, so that it can be seen.
        seen = np.where(test_end > test_start, test_start, cutoff + (test_start - cutoff) / 2 * gaps)
        spans = [
            (train_start, train_end, TRAINING, fits, drawn),
            (validation_start, validation_end, VALIDATION, fits, drawn & validated),
            (cutoff, test_start, FAINT, np.ones_like(fits), drawn & gaps),
            (seen, test_end, TEST, np.ones_like(fits), drawn),
        ]
        for start, end, colour, dark, which in spans:
            height = every * (0.3 if colour == FAINT else 0.62)
            colours = [colour if own else _PALE[colour] for own in dark[which]]
            ax.barh(rows[which], (end - start)[which], left=start[which], height=height, color=colours)
        ax.plot(
            cutoff[drawn],
            rows[drawn],
            linestyle="none",
            marker="|",
            markersize=7,
            markeredgewidth=1.2,
            color=INK,
            label="cutoff",
        )
        ax.set_ylim(len(plan) - 0.4, -0.6)
        pairs = zip(plan["fold"], plan["fit_fold"], fits, strict=True)
        labels = [f"{fold}" if fit else f"{fold} (fit of {source})" for fold, source, fit in pairs]
        shown = rows if len(rows) <= 38 else rows[fits]
        shown = shown[:: -(-len(shown) // 38)]
        ax.set_yticks(shown, [labels[row] for row in shown])
        ax.tick_params(axis="y", length=0)
        ax.set_ylabel("fold")
        time_axis(ax, plan["cutoff"])
        if own_ends:
            ax.set_xlabel(f"{ax.get_xlabel()}, of the series that ends last")
        lines = 2 if _cut_long_past(ax, train_start, cutoff, test_end, plan) else 1
        reused = f", {int((~fits).sum()):,} reusing an earlier fit" if not fits.all() else ""
        some = f" (one of {every} is drawn)" if every > 1 else ""
        ax.set_title(f"{count(len(plan), 'fold')}: {count(int(fits.sum()), 'fit')}{reused}{some}")
        legend_below(ax, _keys(fits, validated, gaps), points=22.0 + 12.0 * lines)
    return figure


def _validation(plan: pd.DataFrame, validated: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Validation rows end where the fit that is used ended: at the cutoff of the fold that fitted."""
    at = dict(zip(plan["fold"], plan["cutoff"], strict=True))
    fit_cutoff = [at.get(fit, own) for fit, own in zip(plan["fit_fold"], plan["cutoff"], strict=True)]
    own, used = instants(plan["cutoff"]), instants(fit_cutoff)
    start = own.copy()
    if validated.any():
        start[validated] = instants(plan["validation_start"][validated])
    return start, np.where(start < used, used, own)


def _cut_long_past(ax: Axes, begin: np.ndarray, cutoff: np.ndarray, test_end: np.ndarray, plan: pd.DataFrame) -> bool:
    """Years of training before days of test would leave no room for the folds: show the last part and say so."""
    tested = test_end.max() - cutoff.min()
    if begin.min() >= cutoff.min() - 4 * tested:
        return False
    ax.set_xlim(cutoff.min() - 2 * tested, test_end.max() + tested / 16)
    begins = f"training begins at {plan['train_start'].min()}, left of the picture"
    ax.set_xlabel(f"{ax.get_xlabel()}\n{begins}", color=MUTED)
    return True


def _keys(fits: np.ndarray, validated: np.ndarray, gaps: np.ndarray) -> list[Patch | Line2D]:
    keys: list[Patch | Line2D] = [Patch(color=TRAINING, label="training")]
    if validated.any():
        keys.append(Patch(color=VALIDATION, label="validation"))
    if not fits.all():
        keys.append(Patch(color=_PALE[TRAINING], label="pale: fit reused"))
    keys.append(Line2D([], [], linestyle="none", marker="|", markeredgewidth=1.2, color=INK, label="cutoff"))
    if gaps.any():
        keys.append(Patch(color=FAINT, label="gap"))
    keys.append(Patch(color=TEST, label="forecast and scored"))
    return keys
