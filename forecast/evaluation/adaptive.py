"""Adaptive conformal intervals over a backtest: at every cutoff they go by what came of the forecasts before it.

F cutoffs, S series, M cells, H steps, Q quantile levels, I intervals.
"""

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.conformal import Interval, conformal_quantile, conformity, moved, two_sided
from forecast.evaluation.ledger import Ledger, Points, Run
from forecast.params import check_positive

_RUN = ["forecaster", "seed"]


@dataclass(frozen=True, eq=False)
class Adapted:
    """A ledger of adapted forecasts, and how often an interval of them was none.

    Attributes
    ----------
    ledger: each forecaster as in the ledger that came, under its name and "adaptive".
    counts: one row per forecaster, seed and interval: `lower, upper`, its levels (NaN where it is open), how many
        `intervals` were made, and how many of these were `infinite` or `empty`.

    """

    ledger: Ledger
    counts: pd.DataFrame

    def __str__(self) -> str:
        made, infinite, empty = self.counts[["intervals", "infinite", "empty"]].to_numpy().sum(axis=0).tolist()
        return (
            f"adaptive intervals of {', '.join(self.ledger.forecasters)}: of {made:,}, {infinite:,} were infinite and "
            f"are written as wide as the largest error so far, {empty:,} were empty and are written as the median"
        )


def adapt(ledger: Ledger, *, gamma: float = 0.05, delay: Any = None, window: int = 200) -> Adapted:
    """Give the forecasts of a backtest with intervals that learn from cutoff to cutoff.

    Adaptive conformal inference (Gibbs and Candès 2021, arXiv 2106.00170): an interval with levels q and 1 - q is to
    miss a share a = 2 q of the actuals. It is widened, or drawn in, by the conformal quantile of its scores so far (see
    `forecast.evaluation.conformal`) at a share a_t that follows what it missed: a_(t+1) = a_t + gamma (a - err_t),
    where err_t is 1 for a miss, else 0. In the long run it misses a share of a, whatever the data do. Each series, step
    and interval has an a_t and scores of its own. A level without a partner bounds an interval that is open on the
    other side. Median and mean stay.

    Nothing is learned before it is known: the actual of a step counts from the first cutoff on that lies at or after
    its stamp, and `delay`. Until then the intervals go by older ones.

    An a_t of 0 or less, or too few scores for it, ask for an infinite interval, one of 1 or more for an empty one, and
    so err_t is 0 or 1. A ledger holds finite numbers: in place of an infinite one stands the forecast widened by the
    largest score so far, or as it was; in place of an empty one the median. Both are counted, and told by
    `str(adapted)`.

    Parameters
    ----------
    ledger: as `backtest` gives it, of many cutoffs.
    gamma: how fast it learns; larger ones follow a change sooner, and sway more.
    delay: how long after its stamp an actual becomes known, such as `"2h"` or `pd.Timedelta(days=1)`; a number where
        stamps are numbers. None: at once.
    window: latest scores that count.

    Raises
    ------
    TypeError, ValueError: an argument that is not allowed; a ledger without the level 0.5, or without any other.

    """
    if not isinstance(ledger, Ledger):
        raise TypeError(f"`ledger` is a {type(ledger).__name__}; give the Ledger that `backtest` gives")
    if isinstance(gamma, bool) or not isinstance(gamma, Real) or not 0 < gamma < np.inf:
        raise ValueError(f"`gamma` is {gamma!r}; allowed: a number over 0, such as 0.05")
    check_positive(window=window)
    levels = ledger.quantile_levels
    if 0.5 not in levels or len(levels) < 2:
        raise ValueError(
            f"`ledger` has the levels {list(levels)}; needed are 0.5, around which intervals lie, and others"
        )
    intervals = two_sided(levels)
    released = _released(ledger.points, delay)
    runs, rows = [], []
    for run in ledger.runs:
        corrections, infinite, empty = _corrections(run, intervals, released, float(gamma), window)
        quantiles = moved(run.quantiles, corrections, intervals, levels).astype(run.quantiles.dtype)
        name = f"{run.forecaster} adaptive"
        runs.append(replace(run, forecaster=name, quantiles=quantiles))
        for place, interval in enumerate(intervals):
            lower, upper = (np.nan if end is None else levels[end] for end in (interval.low, interval.high))
            made = run.median.size
            rows.append((name, run.seed, lower, upper, made, int(infinite[place]), int(empty[place])))
    fits = ledger.fits.assign(forecaster=ledger.fits["forecaster"] + " adaptive")
    counts = pd.DataFrame(rows, columns=[*_RUN, "lower", "upper", "intervals", "infinite", "empty"])
    return Adapted(Ledger(tuple(runs), fits, ledger.season_length), counts)


def _released(points: Points, delay: Any) -> np.ndarray:
    """Give for each cutoff and step the first cutoff at which its actual is known, (F, H); F for none."""
    known = points.times
    if delay is not None:
        dates = isinstance(known, pd.DatetimeIndex)
        kind = "a length of time such as '2h'" if dates else "a number"
        try:
            if dates and isinstance(delay, Real):
                raise TypeError("a number of which unit?")
            wait = pd.Timedelta(delay) if dates else delay
            known, allowed = known + wait, bool(wait >= 0 * wait)
        except (TypeError, ValueError) as error:
            raise TypeError(f"`delay` is {delay!r}; allowed: None, or {kind}") from error
        if not allowed:  # below 0, or neither that nor anything else
            raise ValueError(f"`delay` is {delay!r}; allowed: None, or {kind} from 0 on")
    return points.cutoffs.searchsorted(known, side="left").reshape(len(points.cutoffs), -1)  # type: ignore[arg-type]


def _corrections(
    run: Run, intervals: list[Interval], released: np.ndarray, gamma: float, window: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give by how much to widen every interval, (M, H, I); and how many are infinite, and empty, (I,)."""
    points = run.points
    F, S, H = len(points.cutoffs), len(points.ids), run.median.shape[1]
    there = (points.cutoff, points.series)
    scores = np.full((F, S, H, len(intervals)), np.nan)
    scores[there] = conformity(run.y, run.quantiles, intervals)
    target = np.array([interval.miss for interval in intervals])
    share = np.broadcast_to(target, scores.shape[1:]).copy()  # a_t
    chosen = np.empty_like(scores)
    written = np.empty_like(scores)
    learned = np.zeros(H, dtype="int64")  # cutoffs whose actual is known, of each step
    for cutoff in range(F):
        for step in range(H):
            known = int(np.searchsorted(released[:, step], cutoff, side="right"))
            for before in range(learned[step], known):
                came = scores[before, :, step]
                missed = np.where(np.isnan(came), target, came > chosen[before, :, step])  # unknown: nothing learned
                share[:, step] += gamma * (target - missed)
            learned[step] = known
            past = scores[max(0, known - window) : known, :, step]
            chosen[cutoff, :, step] = conformal_quantile(past, share[:, step])
            written[cutoff, :, step] = _finite(chosen[cutoff, :, step], past)
    chosen, written = chosen[there], written[there]  # (M, H, I)
    widths = np.stack([_width(run.quantiles, interval) for interval in intervals], axis=-1)
    axes = (0, 1)
    empty = np.isneginf(chosen) | (chosen < -widths / 2)
    return written, np.isposinf(chosen).sum(axis=axes), empty.sum(axis=axes)


def _finite(chosen: np.ndarray, past: np.ndarray) -> np.ndarray:
    """Give corrections of which those that are infinite are the largest score so far, but 0 or more."""
    largest = np.fmax.reduce(past, axis=0, initial=0.0)
    return np.where(np.isposinf(chosen), largest, chosen)


def _width(quantiles: np.ndarray, interval: Interval) -> np.ndarray:
    """Give the width of an interval, infinite if it is open."""
    if interval.low is None or interval.high is None:
        return np.full(quantiles.shape[:-1], np.inf)
    return quantiles[..., interval.high].astype("float64") - quantiles[..., interval.low]
