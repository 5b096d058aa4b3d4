"""Probes of what must not matter: asking again, order of rows, series and folds, size of batches, the year it is."""

from collections.abc import Mapping
from math import lcm
from typing import Any

import numpy as np
import pandas as pd

from forecast.auditing.comparison import KEYS, compare
from forecast.auditing.subject import Subject, Verdict, at, verdict_of
from forecast.forecaster import Forecast
from forecast.frame import Panel
from forecast.origins import Origins, origins_of
from forecast.testing.bench import series_of, together

_CYCLE = 28  # years
_DRAWS = 3.0  # how much further than another seed another order may move a fit


def the_same_seed_gives_the_same_numbers(subject: Subject) -> Verdict:
    """It is fitted three times with one seed, the backtest run twice; where it wavers, other probes allow for that."""
    if subject.noise:
        told = f"forecasts differ by {subject.noise:.2g} of their size from fit to fit, which other probes allow for"
        return Verdict(False, told)
    again = compare(subject.base, subject.folds(), subject.numbers)
    return Verdict(again.relative == 0, f"from fit to fit moved by 0; from backtest to backtest {again.told}")


def order_and_names_do_not_matter(subject: Subject) -> Verdict:
    """Rows of the table shuffled, series renamed, series in another order: the same forecasts, but for their order."""
    frame, rng = subject.frame, np.random.default_rng(0)
    # The first row of each series stays where it is: series come in the order in which they are met.
    rest = rng.permutation(np.flatnonzero(frame.duplicated("unique_id")))
    shuffled = frame.iloc[[*np.flatnonzero(~frame.duplicated("unique_id")), *rest]]
    names = {name: f"renamed {place}" for place, name in enumerate(subject.ids)}
    back = {new: name for name, new in names.items()}
    renamed = subject.folds(_mapped(frame, "unique_id", names))
    turned = together(series_of(frame)[::-1])
    found = {
        "rows shuffled": subject.compare(
            subject.base, subject.folds(shuffled, door={**subject.door, "unsorted": "sort"})
        ),
        "series renamed": subject.compare(subject.base, _mapped(renamed, "unique_id", back)),
        "series in another order, predict": subject.compare(
            subject.own, subject.predicted(turned), summed_otherwise=True
        ),
    }
    refitted = subject.compare(subject.base, subject.folds(turned), summed_otherwise=True)
    if not subject.seeded or refitted.within:
        return verdict_of([*found.items(), ("series in another order, fit", refitted)])
    verdict = verdict_of(found.items())
    if not verdict.passed:
        return verdict
    # Which windows are drawn is by chance, and goes by place: a fit on another order is another draw, no more.
    away, between = _draws(subject, turned)
    told = f"fitted on series in another order it moves by {away:.2g}, with another seed by {between:.2g}"
    if away > _DRAWS * between:
        return Verdict(False, f"{told}: more than another draw does")
    return Verdict(True, f"{verdict.evidence}; {told}")


def _draws(subject: Subject, turned: pd.DataFrame) -> tuple[float, float]:
    """Say how far forecasts lie apart: of fits on two orders of series, on average, and of two seeds, at most."""
    seeds, orders = (subject.seed, subject.seed + 1), (subject.frame, turned)
    ours, theirs = ([_numbers(subject, subject.folds(frame, seed=seed)) for seed in seeds] for frame in orders)
    away = np.mean([np.abs(one - other).mean() for one in ours for other in theirs])
    return float(away), max(float(np.abs(one - other).mean()) for one, other in (ours, theirs))


def _numbers(subject: Subject, table: pd.DataFrame) -> np.ndarray:
    """Give the forecasts of a table in one order, whatever that of its rows."""
    return table.set_index(KEYS).sort_index()[subject.numbers].to_numpy("float64")


def what_else_is_asked_does_not_matter(subject: Subject) -> Verdict:
    """Predict twice, after other data, in batches of 1, 3 and all, folds in reverse order, and each fold alone."""
    panel = subject.fitted.panel_of(subject.frame)
    first, second = (panel.calendar.ordinal(cutoff) for cutoff in subject.cutoffs)
    origins = origins_of(panel, sorted({first - 2, first - 1, first, second}))
    everything = _table(subject, panel, origins, np.arange(len(origins)), len(origins))
    ways = {
        "again": _table(subject, panel, origins, np.arange(len(origins)), len(origins)),
        "in reverse": _table(subject, panel, origins, np.arange(len(origins))[::-1], len(origins)),
        "one at a time": _table(subject, panel, origins, np.arange(len(origins)), 1),
        "in threes": _table(subject, panel, origins, np.arange(len(origins)), 3),
    }
    other = 7 + 3 * subject.frame["y"]  # what is above 0 stays so: some forecasters refuse else
    subject.fitted.predict(subject.frame.assign(y=other), cutoffs=[subject.cutoffs[0]])
    ways["after other data"] = _table(subject, panel, origins, np.arange(len(origins)), len(origins))
    exact = ("again", "after other data")
    found = {way: subject.compare(everything, table, summed_otherwise=way not in exact) for way, table in ways.items()}
    found["fold alone"] = subject.compare(
        at(subject.base, subject.cutoffs[0]), subject.base_of_first, summed_otherwise=True
    )
    return verdict_of(found.items())


def the_year_does_not_matter(subject: Subject) -> Verdict:
    """All stamps are moved by 28 years, after which every date has its weekday again, or by whole seasons."""
    calendar = subject.panel.calendar
    params = subject.pattern.get_params(deep=False)
    if params.get("calendar") is not None:
        return Verdict(None, f"it reads the calendar: `calendar` is {params['calendar']!r}")
    if calendar.freq == "steps":
        return Verdict(None, "the stamps of the data follow no rule by which they could be moved")
    steps = _whole_seasons(subject)
    moved = subject.frame.copy()
    for column in ("ds", *subject.roles.issues()):
        there = moved[column].notna().to_numpy()
        moved.loc[there, column] = calendar.stamps(_ordinals(calendar, pd.Series(moved.loc[there, column])) + steps)
    cutoffs = [subject.stamp(cutoff, steps) for cutoff in subject.cutoffs]
    table = subject.folds(moved, cutoffs=cutoffs)
    back = dict(zip(cutoffs, subject.cutoffs, strict=True))
    found = subject.compare(subject.base, _mapped(table, "cutoff", back))
    return verdict_of([(f"{abs(steps)} steps {'later' if steps > 0 else 'earlier'}", found)])


def _whole_seasons(subject: Subject) -> int:
    """Give by how many steps all stamps can be moved so that it is the same hour, weekday and day of the year again.

    Where the data, or an odd season, leave no room for that, it is a number of seasons.
    """
    calendar, season = subject.panel.calendar, subject.pattern.season_length or 1
    stamps = pd.Index(subject.frame["ds"].unique())
    for years in (_CYCLE, -_CYCLE) if isinstance(stamps, pd.DatetimeIndex) else ():
        try:
            there = pd.DatetimeIndex(stamps + pd.DateOffset(years=years))
            steps = calendar.ordinal(there[0]) - calendar.ordinal(stamps[0])
            again = calendar.stamps(_ordinals(calendar, pd.Series(stamps)) + steps)
        except (ValueError, OverflowError):  # beyond what stamps can hold; where the clocks changed otherwise
            continue
        alike = (again == there) & (there.weekday == pd.DatetimeIndex(stamps).weekday)
        if steps % season == 0 and alike.all():
            return steps
    return lcm(season, calendar.season_length)


def _mapped(table: pd.DataFrame, column: str, names: Mapping[Any, Any]) -> pd.DataFrame:
    """Give a table with other values in a column."""
    return table.assign(**{column: [names[value] for value in table[column]]})


def _ordinals(calendar: Any, stamps: pd.Series) -> np.ndarray:
    codes, unique = pd.factorize(stamps)
    return np.array([calendar.ordinal(stamp) for stamp in unique])[codes]


def _table(subject: Subject, panel: Panel, origins: Origins, order: np.ndarray, size: int) -> pd.DataFrame:
    """Give the forecasts of origins, asked in an order and so many at a time, as a table."""
    parts = [
        subject.fitted.forecast(panel, origins.take(order[low : low + size])) for low in range(0, len(order), size)
    ]
    quantiles, mean = (np.concatenate([getattr(part, name) for part in parts]) for name in ("quantiles", "mean"))
    return subject.fitted.tidy(panel, origins.take(order), Forecast(quantiles, mean))
