"""Probes of the future: what comes after a cutoff is changed, deleted or missing, and no forecast from it may move.

What a fitted forecaster says comes first: a backtest may refuse one that looks ahead, and then tells no figure.
"""

from collections.abc import Iterator

import pandas as pd

from forecast.auditing.changes import SIZES, changed
from forecast.auditing.comparison import Difference
from forecast.auditing.subject import Subject, Verdict, at, verdict_of

Found = Iterator[tuple[str, Difference]]


def nothing_moves_when_the_future_moves(subject: Subject) -> Verdict:
    """Targets, past and delayed columns after the cutoff are bumped; fitted from scratch, forecasts must stay."""
    columns = [*subject.late, *([subject.roles.weight] if subject.roles.weight else [])]

    def found() -> Found:
        first, second = subject.cutoffs
        bumped = changed(subject.frame, subject.after(first), columns)
        yield "predict", _predicted(subject, bumped)
        yield "backtest with one fit", _backtested(subject, bumped)
        before, now = (subject.folds(frame, refit="every") for frame in (subject.frame, bumped))
        yield "backtest with refits, first cutoff", subject.compare(at(before, first), at(now, first))
        now = subject.folds(changed(subject.frame, subject.after(second), columns), refit="every")
        yield "backtest with refits", subject.compare(before, now)

    return verdict_of(found())


def nothing_moves_whatever_the_size(subject: Subject) -> Verdict:
    """As P1, with values after the cutoff times 0.1, times 100, plus 1e4, with the sign turned, and constant."""

    def found() -> Found:
        for how in SIZES:
            frame = changed(subject.frame, subject.after(subject.cutoffs[0]), subject.late, how)
            yield f"{how}, predict", _predicted(subject, frame)
            yield f"{how}, backtest", _backtested_first(subject, frame)  # the second cutoff would have to bear it

    return verdict_of(found())


def nothing_moves_when_the_future_is_deleted(subject: Subject) -> Verdict:
    """Rows after the cutoff are taken out of the table, but for what the backtest needs to be one."""

    def found() -> Found:
        first = subject.cutoffs[0]
        ahead = subject.ahead(first)
        alone = subject.fitted.predict(subject.until(first), future=ahead, cutoffs=[first])
        yield "predict", subject.compare(subject.own, alone, summed_otherwise=True)
        # A fold needs a step to score, and what is known ahead has to be there.
        left = subject.until(first, 1 if ahead is None else subject.horizon)
        yield "backtest", _backtested_first(subject, left)

    return verdict_of(found())


def nothing_moves_when_the_future_is_missing(subject: Subject) -> Verdict:
    """Values after the cutoff are NaN in the table: no exception, no forecast that moves or is missing."""

    def found() -> Found:
        first = subject.cutoffs[0]
        where = subject.after(first)
        yield "predict", _predicted(subject, changed(subject.frame, where, subject.late, "missing"))
        # One target stays: a plan has no fold where nothing is observed.
        scored = where & ~subject.after(first, subject.horizon) & subject.frame["y"].notna().to_numpy(dtype=bool)
        kept = subject.frame.index == subject.frame.index[scored][-1]
        yield "backtest", _backtested_first(subject, changed(subject.frame, where & ~kept, subject.late, "missing"))

    return verdict_of(found())


def covariates_are_read_when_they_are_known(subject: Subject) -> Verdict:
    """Known columns after the horizon, and delayed and forecasted ones that are not yet known, are changed."""
    roles, first = subject.roles, subject.cutoffs[0]
    if not subject.pattern.reads_covariates:
        return Verdict(None, "it reads no covariates")
    if not (roles.known or roles.delayed or roles.forecasted):
        return Verdict(None, "the data have no known, delayed or forecasted columns")
    frame = changed(subject.frame, subject.after(first, subject.horizon), roles.known)
    for column, delay in roles.delayed.items():
        frame = changed(frame, subject.after(first, -delay), [column])
    for column in roles.forecasted:
        frame = changed(frame, subject.issued_after(column, first), [column])

    def found() -> Found:
        yield "predict", _predicted(subject, frame)
        yield "backtest", _backtested_first(subject, frame)

    verdict = verdict_of(found())
    if not verdict.passed:
        return verdict
    inside, told = subject.after(first) & ~subject.after(first, subject.horizon), []
    for column in (*roles.known, *roles.forecasted):
        moved = _predicted(subject, changed(subject.frame, inside, [column]))
        told.append(f"`{column}` inside the horizon moves it by {moved.relative:.1e} of its size")
    return Verdict(True, "; ".join([verdict.evidence, *told]))


def nothing_moves_when_the_future_of_others_moves(subject: Subject) -> Verdict:
    """Everything after the cutoff is bumped in all series but one, then in that one alone: others must stay."""
    one, others = subject.ids[:1], subject.ids[1:]
    if not others:
        return Verdict(None, "there is one series")

    def found() -> Found:
        for still, moving in ((one, others), (others, one)):
            where = subject.after(subject.cutoffs[0]) & subject.frame["unique_id"].isin(moving).to_numpy(dtype=bool)
            frame = changed(subject.frame, where, subject.late)
            yield f"{len(moving)} others moved, predict", _predicted(subject, frame, still)
            yield f"{len(moving)} others moved, backtest", _backtested(subject, frame, still)

    return verdict_of(found())


def _predicted(subject: Subject, frame: pd.DataFrame, ids: list | None = None) -> Difference:
    """Say how a changed frame moves what the fitted forecaster says at the first cutoff."""
    first = subject.cutoffs[0]
    return subject.compare(at(subject.own, first, ids), at(subject.predicted(frame), first, ids))


def _backtested(subject: Subject, frame: pd.DataFrame, ids: list | None = None) -> Difference:
    """Say how a changed frame moves what the backtest of both cutoffs, with one fit, says at the first."""
    first = subject.cutoffs[0]
    return subject.compare(at(subject.base, first, ids), at(subject.folds(frame), first, ids))


def _backtested_first(subject: Subject, frame: pd.DataFrame) -> Difference:
    """Say how a changed frame moves what the backtest of the first cutoff alone says."""
    return subject.compare(subject.base_of_first, subject.folds(frame, cutoffs=subject.cutoffs[:1]))
