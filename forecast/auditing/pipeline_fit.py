"""Probes of fits: which rows a fit is handed, and whether anything that it learns or chooses depends on later ones."""

import sys

import numpy as np
import pandas as pd

from forecast.auditing.changes import changed
from forecast.auditing.recording import FitRecord, Recorder
from forecast.auditing.subject import Subject, Verdict, at, verdict_of

_GAP = 2  # steps, or one less where the data end before


def what_is_learned_does_not_depend_on_the_future(subject: Subject) -> Verdict:
    """Values after the cutoff, and covariates held back for validation, are bumped: scales, encodings, weights stay."""
    if subject.noise:
        return Verdict(None, "its fits cannot be repeated, so that they cannot be compared")
    first = subject.cutoffs[0]
    bumped = changed(subject.frame, subject.after(first), subject.late)
    before, _ = _recorded(subject, subject.frame, cutoffs=[first])
    now, _ = _recorded(subject, bumped, cutoffs=[first])
    if not before:
        return Verdict(None, "the backtest fitted nothing that keeps a record")
    if other := _otherwise(before, now):
        return Verdict(False, f"{other} when values after {first} are bumped")
    count = sum(len(fit.learned) for fit in before)
    told = f"{count} things that {_fits(before)} learned are the same to the last bit"
    if _is_ours(subject):
        from forecast.auditing.pipeline_windows import units_of

        units = units_of(subject)
        return Verdict(units.passed is not False, "; ".join(filter(None, (told, units.evidence))))
    return Verdict(True, told)


def no_fit_is_handed_a_later_row(subject: Subject) -> Verdict:
    """The last row of each fit, and label of a window, lie at its cutoff or before it; in a gap nothing is read."""
    calendar = subject.panel.calendar
    first, second = (calendar.ordinal(cutoff) for cutoff in subject.cutoffs)
    one, two = (_recorded(subject, subject.frame, refit=refit)[0] for refit in ("never", "every"))
    if not one:
        return Verdict(None, "the backtest fitted nothing that keeps a record")
    fits = []
    for records, most in ((one, first), (two, second)):
        # A fit for each fold, in any order; of several it is not known which they are for.
        bounds = [first, second] if len(records) == 2 else [most] * len(records)
        fits += zip(sorted(records, key=lambda record: max(record.last.values())), bounds, strict=True)
    for record, cutoff in fits:
        for name, last in record.last.items():
            if last > cutoff:
                return Verdict(
                    False,
                    f"a fit of the backtest is handed series {name!r} up to {calendar.stamp(last)}, {last - cutoff} "
                    f"steps after its cutoff {calendar.stamp(cutoff)}",
                )
    if fault := _gap_fault(subject):
        return Verdict(False, fault)
    told = f"{_fits([*one, *two])}: the last row is at the cutoff or before it, with a gap, too"
    if _is_ours(subject):
        from forecast.auditing.pipeline_windows import labels_of

        windows = labels_of(subject)
        return Verdict(windows.passed, f"{told}; {windows.evidence}")
    return Verdict(True, f"{told}; windows are not looked at, as it has none that are known")


def _is_ours(subject: Subject) -> bool:
    """Whether it is a network of ours, of which it is known how it reads windows."""
    neural = sys.modules.get("forecast.neural")  # who has not imported it has none
    return neural is not None and isinstance(subject.pattern, neural.NeuralForecaster)


def nothing_is_chosen_by_the_test_span(subject: Subject) -> Verdict:
    """Only the steps that are scored are changed: fits, their choice of step or weights, and forecasts must stay."""
    if subject.noise:
        return Verdict(None, "its fits cannot be repeated, so that they cannot be compared")
    first, found = subject.cutoffs[0], {}
    before, base = _recorded(subject, subject.frame, cutoffs=[first])
    for how, frame in {"turned round in time": _reversed(subject), "plus 1e4": _raised(subject)}.items():
        now, table = _recorded(subject, frame, cutoffs=[first])
        if other := _otherwise(before, now):
            return Verdict(False, f"{other} when the test span is {how}")
        found[f"test span {how}"] = subject.compare(at(base, first), at(table, first))
    verdict = verdict_of(found.items())
    curve = getattr(subject.fitted, "losses_", None)
    if verdict.passed and curve is not None and np.ndim(curve) == 2 and np.isfinite(np.asarray(curve)[:, -1]).any():
        step = int(np.asarray(curve)[np.nanargmin(np.asarray(curve)[:, -1]), 0])
        return Verdict(
            True, f"{verdict.evidence}; step {step}, of the lowest validation loss, and weights are the same"
        )
    return verdict


def _recorded(subject: Subject, frame: pd.DataFrame, **asked) -> tuple[list[FitRecord], pd.DataFrame]:
    """Run the backtest with a recorder, and give the fits and the forecasts."""
    recorder = Recorder(subject.pattern, [])
    table = subject.folds(frame, pattern=recorder, **asked)
    return recorder.log, table


def _gap_fault(subject: Subject) -> str:
    """Say what a plan with a gap gives that it should not: what reads in it, or steps that are counted in rows."""
    calendar, (first, _) = subject.panel.calendar, subject.cutoffs
    gap = min(_GAP, int(subject.panel.last.min()) - calendar.ordinal(first) - 1)
    fits, table = _recorded(subject, subject.frame, cutoffs=[first], gap=gap)
    for name, last in (row for fit in fits for row in fit.last.items()):
        if (late := last - calendar.ordinal(first)) > 0:
            return f"with a gap of {gap} steps a fit is handed series {name!r} {late} steps after its cutoff {first}"
    for name, stamp, step in zip(table["unique_id"], table["ds"], table["step"], strict=True):
        if stamp != (expected := subject.stamp(first, gap + int(step))):
            return f"with a gap of {gap} steps, step {step} of series {name!r} is at {stamp}, not {expected}"
    bumped = changed(subject.frame, subject.after(first), subject.late)
    moved = subject.compare(table, subject.folds(bumped, cutoffs=[first], gap=gap))
    return "" if moved.within else f"with a gap of {gap} steps, values in it are read: {moved.told}"


def _otherwise(before: list[FitRecord], now: list[FitRecord]) -> str:
    """Say what fits have learned otherwise; "" for nothing."""
    if len(before) != len(now):
        return f"there are {len(now)} fits instead of {len(before)}"
    for number, (one, other) in enumerate(zip(before, now, strict=True)):
        if changed_ := [name for name in one.learned if one.learned[name] != other.learned.get(name)]:
            more = f" and {len(changed_) - 1} more" if len(changed_) > 1 else ""
            return f"fit {number} learns another `{changed_[0]}`{more}"
    return ""


def _fits(records: list[FitRecord]) -> str:
    return f"{len(records)} fit{'s' if len(records) > 1 else ''}"


def _test_span(subject: Subject) -> np.ndarray:
    first = subject.cutoffs[0]
    return subject.after(first) & ~subject.after(first, subject.horizon)


def _raised(subject: Subject) -> pd.DataFrame:
    return changed(subject.frame, _test_span(subject), ["y"], "plus 1e4")


def _reversed(subject: Subject) -> pd.DataFrame:
    """Give the frame with the targets of the test span in the other order, moved so that a constant one moves too."""
    values = subject.frame["y"].to_numpy("float64", na_value=np.nan).copy()
    span = _test_span(subject)
    for rows in subject.frame.groupby("unique_id", sort=False).indices.values():
        inside = rows[span[rows]]
        values[inside] = -values[inside[::-1]]
    return subject.frame.assign(y=values)
