"""Controls: on data that cannot be forecast no skill may come, neither by itself nor by a canary among the covariates.

Errors are added up by run (a shuffle or a seed) and series: within one they hang together.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from forecast.auditing.changes import ahead, shuffled
from forecast.auditing.subject import Subject, Verdict
from forecast.frame import FrameError

_SHUFFLES = 3
_SEEDS = 3
_LEAST_SKILL = 0.05  # less is not told from none
_SURE = 3.5  # standard errors
_CUTOFFS = 4


def shuffled_targets_cannot_be_forecast(subject: Subject) -> Verdict:
    """Targets are shuffled in time, and the forecaster fitted on them: no skill against the median of the past."""
    frames = [shuffled(subject.regular, seed) for seed in range(_SHUFFLES)]
    if frames[0]["y"].equals(frames[1]["y"]):
        return Verdict(None, "the targets of the data never change: a shuffle leaves them as they are")
    tables = [subject.folds(frame, cutoffs=_cutoffs(subject)) for frame in frames]
    if tables[0][subject.numbers].equals(tables[1][subject.numbers]):
        return Verdict(False, "two shuffles of the targets are forecast the same to the last bit: they are not read")
    own = [_errors(table) for table in tables]
    median = [_errors(_by_median(table, frame)) for table, frame in zip(tables, frames, strict=True)]
    skill, sure, count = _skill(own, median)
    told = f"skill {skill:+.3f} against the median of the past, in {count} runs of a series"
    if skill > _LEAST_SKILL and sure > _SURE:
        return Verdict(False, f"{told}, {sure:.1f} standard errors above 0: it knows what it cannot know")
    return Verdict(True, f"{told}, {sure:+.1f} standard errors from 0 (allowed: {_LEAST_SKILL}, or {_SURE})")


def canaries_are_worth_nothing(subject: Subject) -> Verdict:
    """A past column that is the target, and a delayed one that is the target ahead of it: no better than without."""
    if not subject.pattern.reads_covariates:
        return Verdict(None, "it reads no covariates")
    frame, delay = shuffled(subject.regular, _SHUFFLES), subject.horizon
    with_canaries = frame.assign(canary_past=frame["y"], canary_delayed=ahead(frame, delay))
    roles = subject.roles
    door = {
        **subject.door,
        "roles": replace(roles, past=(*roles.past, "canary_past"), delayed={**roles.delayed, "canary_delayed": delay}),
    }
    seeds = [subject.seed + number for number in range(_SEEDS if subject.seeded else 1)]
    asked: dict[str, Any] = {"cutoffs": _cutoffs(subject)}
    try:
        own = [_errors(subject.folds(with_canaries, seed=seed, door=door, **asked)) for seed in seeds]
    except FrameError as error:
        return Verdict(None, f"data with canaries do not enter: {error}")
    without = [_errors(subject.folds(frame, seed=seed, **asked)) for seed in seeds]
    by_seed = [1 - float(one.sum() / other.sum()) for one, other in zip(own, without, strict=True)]
    skill, sure, count = _skill(own, without)
    spread = float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else 0.0
    told = f"skill {skill:+.3f} against the same without them, in {count} runs of a series, {spread:.3f} between seeds"
    if skill > max(_LEAST_SKILL, 2 * spread) and sure > _SURE:
        return Verdict(False, f"{told}, {sure:.1f} standard errors above 0: it reads values that are not yet known")
    return Verdict(True, f"{told}, {sure:+.1f} standard errors from 0")


def _cutoffs(subject: Subject) -> list:
    """Give stamps a horizon apart, the last of them the second of the audit, in its newer half."""
    calendar, panel = subject.panel.calendar, subject.panel
    last = calendar.ordinal(subject.cutoffs[1])
    earliest = (int(panel.first.max()) + last) // 2
    ordinals = [last - number * subject.horizon for number in range(_CUTOFFS)]
    return [calendar.stamp(ordinal) for ordinal in sorted(ordinals) if ordinal > earliest or ordinal == last]


def _errors(table: pd.DataFrame) -> np.ndarray:
    """Give the sums of absolute errors by series, in the order of the table."""
    errors = np.abs(table["y"].to_numpy("float64") - table["prediction"].to_numpy("float64"))
    series = table["unique_id"].factorize()[0]
    return np.bincount(series, np.nan_to_num(errors))  # what was not observed counts for nobody


def _by_median(table: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Give the table with the median of each series up to the cutoff as prediction."""
    medians = {
        (name, cutoff): rows.loc[rows["ds"] <= cutoff, "y"].median()
        for name, rows in frame.groupby("unique_id", sort=False)
        for cutoff in table["cutoff"].unique()
    }
    return table.assign(prediction=[medians[key] for key in zip(table["unique_id"], table["cutoff"], strict=True)])


def _skill(own: list[np.ndarray], others: list[np.ndarray]) -> tuple[float, float, int]:
    """Give the skill of errors against others, how many standard errors it lies above 0, and of how many sums."""
    one, other = np.concatenate(own), np.concatenate(others)
    gain = other - one
    spread = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    sure = float(gain.mean() / spread) if spread > 0 else float(np.sign(gain.mean())) * np.inf
    return 1 - float(one.sum() / max(other.sum(), np.finfo("float64").tiny)), sure, len(gain)
