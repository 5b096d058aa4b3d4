"""What can be told of data in closed form and in seconds, before a network is trained on them.

By ridge regression how far back it pays to read, whether by logarithms, and whether there is anything to learn; and
whether weeks repeat themselves, by what they have in common. Errors are those in blocks of time that were left out; in
which order the series of a panel come is of no effect. W windows.
"""

from dataclasses import replace
from math import log

import numpy as np

from forecast.frame import Panel
from forecast.origins import Origins, scattered
from forecast.ridge import ALPHAS, Pairs, Ridge, pairs_of, window_ends
from forecast.time_blocks import BLOCKS

_LEAST_SEASONS = 2  # of context
_LEAST_VALUES = 8
_MOST_VALUES = 720  # that are read to tell whether there is something to learn; twice as many to tell how far to read
_PARTS = (1 / 8, 1 / 4, 1 / 2, 1, 2)  # of the context by rule: those that are compared
_WINDOWS = 8000  # most that it learns from
_NEARLY = 1.01  # as good as the best: the rule stands where no other is better beyond chance
_CLEARLY = 0.99  # logarithms are less robust than values: what they gain should be no chance
_SURELY = 0.98  # of the errors of the rules: a ridge regression that is not better has found nothing
_REPEATED = 0.1  # of the change from a day to the next: clearly more than the twentieth where there is no week
_RELATIVE = 1e-12  # to the variance
_SERIES = 1000  # most by which that is told
_LEAST_STEP = 0.05  # of the standard deviation, as a unit: a series that hardly ever moves may yet jump
_LARGEST_EXPONENT = 80.0  # of what float32 can hold


def context_by_ridge(panel: Panel, season: int, horizon: int, rule: int) -> int:
    """Give the context nearest to the rule of those by which ridge regression forecasts about as well as by the best.

    Asked are an eighth to twice the rule, in whole seasons, and at most half of the longest series. A shorter series is
    filled up with its first value. The errors are mean absolute ones, in units of each series, in blocks of time that
    were left out. The rule is kept where series are too short to say anything else. `panel` holds what may be learned
    from; in which order its series come is of no effect.
    """
    candidates = _candidates(season, rule, most=(int(panel.lengths.max(initial=0)) - horizon) // 2)
    if len(candidates) < 2:
        return rule
    panel = _sorted(panel)
    ends = _some(window_ends(panel, candidates[0], horizon))
    pairs = pairs_of(panel, ends, candidates[-1], horizon)
    if not _judged(pairs):
        return rule
    ridge = Ridge(pairs)
    errors = [min(float(np.abs(ridge.left_out(alpha, length)).mean()) for alpha in ALPHAS) for length in candidates]
    near = [length for length, error in zip(candidates, errors, strict=True) if error <= _NEARLY * min(errors)]
    return min(near, key=lambda length: abs(log(length / rule)))


def logarithms_help(panel: Panel, season: int, horizon: int, context: int) -> bool:
    """Whether ridge regression forecasts clearly better by logarithms: by 1 % over all, and in most blocks of time.

    Taken back to values, in units of each series' mean absolute step from season to season; in blocks of time that were
    left out. Never where a value is not above 0. It reads two seasons, which say it as well as a long context does.
    `panel` as for `context_by_ridge`.
    """
    if not len(panel) or not all((values[observed] > 0).all() for values, observed in panel):
        return False
    panel = _sorted(panel)
    length = min(context, max(_LEAST_SEASONS * season, _LEAST_VALUES), _MOST_VALUES)
    ends = _some(window_ends(panel, length, horizon))
    pairs = pairs_of(panel, ends, length, horizon)
    if not _judged(pairs):
        return False
    ridge = Ridge(pairs)
    units = _seasonal_steps(panel, pairs.origins, season)
    as_they_are = _errors(pairs, ridge, units)
    floor = panel.values[panel.values > 0].min()
    pairs = pairs_of(replace(panel, values=np.log(np.maximum(panel.values, floor))), ends, length, horizon)
    by_logarithms = _errors(pairs, Ridge(pairs), units, logarithm=True)
    better = [by_logarithms[part].mean() < as_they_are[part].mean() for part in ridge.parts]
    return bool(by_logarithms.mean() < _CLEARLY * as_they_are.mean() and sum(better) >= BLOCKS - 1)


def something_to_learn(panel: Panel, season: int, horizon: int, context: int) -> bool:
    """Whether ridge regression forecasts better, by 2 %, than the last value and the last season do.

    In blocks of time that were left out; a walk at random gives it nothing. `panel` as for `context_by_ridge`.
    """
    panel = _sorted(panel)
    length = max(min(context, _MOST_VALUES), min(season, context))
    ends = _some(window_ends(panel, length, horizon))
    pairs = pairs_of(panel, ends, length, horizon)
    if not _judged(pairs):
        return False
    ridge = Ridge(pairs)
    by_ridge = min(float(np.abs(ridge.left_out(alpha)).mean()) for alpha in ALPHAS)
    before = ridge.inputs[:, -season:][:, np.arange(horizon) % season] if season <= length else ridge.targets * np.nan
    by_rules = [float(np.abs(ridge.targets - shift).mean()) for shift in (0.0, before)]
    return by_ridge < _SURELY * np.nanmin(by_rules)


def week_of(panel: Panel, season: int, context: int) -> int:
    """Give the steps of a week where it counts as a second season, else 1.

    It does where several values make a day, the context holds a week, and a tenth of how values change from one day to
    the next comes back a week later: on average over series, 1 being all of it. Levels that move do not matter to that,
    and a walk at random has 0. `panel` as for `context_by_ridge`.
    """
    week = panel.calendar.week_length
    if week is None or not season < week <= context:
        return 1
    some = _sorted(panel).take(scattered(len(panel), _SERIES))
    found = [_repeated(np.where(observed, values, np.nan), week) for values, observed in some]
    known = [one for one in found if np.isfinite(one)]
    return week if known and np.mean(known) >= _REPEATED else 1


def _repeated(values: np.ndarray, week: int) -> float:
    """Give how much of its changes from day to day a series (T,) repeats after a week; NaN where too short to say."""
    day = week // 7
    changes = values[day:] - values[:-day]
    if len(changes) < 2 * week:
        return np.nan
    now, before = changes[week:], changes[:-week]
    both = np.isfinite(now) & np.isfinite(before)
    power = np.square(now[both]).sum() + np.square(before[both]).sum()
    least = _RELATIVE * both.sum() * np.nanvar(values) if both.any() else 0.0  # what rounding makes of equal days
    return float(2 * (now[both] * before[both]).sum() / power) if power > least else np.nan


def _candidates(season: int, rule: int, most: int) -> list[int]:
    """Give whole seasons, of at least two seasons and eight values; rising."""
    least = max(_LEAST_SEASONS, -(-_LEAST_VALUES // season))
    most = min(most, 2 * _MOST_VALUES)  # two seasons may be more: bounds memory
    seasons = {max(least, min(round(part * rule / season), most // season)) for part in _PARTS}
    return sorted(count * season for count in seasons if count * season <= most)


def _sorted(panel: Panel) -> Panel:
    """Give the series in an order that does not hang on that in which they came."""
    return panel.take(np.argsort(panel.ids.astype(str), kind="stable"))


def _some(ends: Origins) -> Origins:
    return ends.take(scattered(len(ends), _WINDOWS))


def _judged(pairs: Pairs) -> bool:
    """Whether there are blocks of time to leave out."""
    return len(np.unique(pairs.origins.cutoffs)) >= BLOCKS


def _errors(pairs: Pairs, ridge: Ridge, units: np.ndarray, logarithm: bool = False) -> np.ndarray:
    """Give the mean absolute error of each window in `units` (W,), by the strength of the least of them, (W,)."""
    truth = (pairs.targets + pairs.last).astype("float64")
    errors = []
    for alpha in ALPHAS:
        forecasts = truth - ridge.left_out(alpha) * pairs.scale[:, None]
        if logarithm:
            missed = np.exp(truth) - np.exp(np.minimum(forecasts, _LARGEST_EXPONENT))
        else:
            missed = truth - forecasts
        errors.append(np.abs(missed).mean(axis=1) / units)
    return min(errors, key=lambda error: float(error.mean()))


def _seasonal_steps(panel: Panel, origins: Origins, season: int) -> np.ndarray:
    """Give the mean absolute difference of two values a season apart in the series of each origin, (W,) float64.

    It is at least a twentieth of the standard deviation; infinite where the series does not move.
    """
    steps = np.full(len(panel), np.inf)
    for series in np.unique(origins.series):
        rows = slice(panel.starts[series], panel.stops[series])
        values = np.where(panel.observed[rows], panel.values[rows], np.nan).astype("float64")
        apart = np.abs(values[season:] - values[:-season])
        known = apart[np.isfinite(apart)]
        step = max(known.mean() if len(known) else 0.0, _LEAST_STEP * float(np.nanstd(values)))
        steps[series] = step or np.inf
    return steps[origins.series]
