"""Probes of the future: what comes after a cutoff is changed, deleted or missing, and no forecast from it may move."""

from forecast.audit.changes import SIZES, changed
from forecast.audit.subject import Subject, Verdict, at, verdict_of

_PREDICT, _ONE_FIT, _REFITS = "predict", "backtest with one fit", "backtest with refits"


def nothing_moves_when_the_future_moves(subject: Subject) -> Verdict:
    """Targets, past and delayed columns after the cutoff are bumped; fitted from scratch, forecasts must stay."""
    first, second = subject.cutoffs
    columns = [*subject.late, *([subject.roles.weight] if subject.roles.weight else [])]
    bumped = changed(subject.frame, subject.after(first), columns)
    later = changed(subject.frame, subject.after(second), columns)
    found = {
        _PREDICT: subject.compare(subject.own, subject.predicted(bumped)),
        _ONE_FIT: subject.compare(at(subject.base, first), at(subject.folds(bumped), first)),
        _REFITS: subject.compare(subject.folds(refit="every"), subject.folds(later, refit="every")),
    }
    return verdict_of(found)


def nothing_moves_whatever_the_size(subject: Subject) -> Verdict:
    """As P1, with values after the cutoff times 0.1, times 100, plus 1e4, with the sign turned, and constant."""
    first, found = subject.cutoffs[0], {}
    for how in SIZES:
        frame = changed(subject.frame, subject.after(first), subject.late, how)
        found[f"{how}, {_PREDICT}"] = subject.compare(subject.own, subject.predicted(frame))
        found[f"{how}, backtest"] = subject.compare(at(subject.base, first), at(subject.folds(frame), first))
    return verdict_of(found)


def nothing_moves_when_the_future_is_deleted(subject: Subject) -> Verdict:
    """Rows after the cutoff are taken out of the table, but for what the backtest needs to be one."""
    first = subject.cutoffs[0]
    ahead = subject.ahead(first)
    alone = subject.fitted.predict(subject.until(first), future=ahead, cutoffs=[first])
    # A fold needs a step to score, and what is known ahead has to be there.
    left = subject.until(first, 1 if ahead is None else subject.horizon)
    found = {
        _PREDICT: subject.compare(subject.own, alone, summed_otherwise=True),
        "backtest": subject.compare(subject.base_of_first, subject.folds(left, cutoffs=[first])),
    }
    return verdict_of(found)


def nothing_moves_when_the_future_is_missing(subject: Subject) -> Verdict:
    """Values after the cutoff are NaN in the table: no exception, no forecast that moves or is missing."""
    first = subject.cutoffs[0]
    where = subject.after(first)
    missing = changed(subject.frame, where, subject.late, "missing")
    # The last step keeps its targets: a plan has no fold where nothing is observed.
    scored = subject.frame["ds"].eq(subject.frame.groupby("unique_id", sort=False)["ds"].transform("max")).to_numpy()
    for_ledger = changed(subject.frame, where & ~scored, subject.late, "missing")
    found = {
        _PREDICT: subject.compare(subject.own, subject.predicted(missing)),
        "backtest": subject.compare(at(subject.base, first), at(subject.folds(for_ledger), first)),
    }
    return verdict_of(found)


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
    found = {
        _PREDICT: subject.compare(subject.own, subject.predicted(frame)),
        "backtest": subject.compare(subject.base_of_first, subject.folds(frame, cutoffs=[first])),
    }
    verdict = verdict_of(found)
    if not verdict.passed:
        return verdict
    inside, told = subject.after(first) & ~subject.after(first, subject.horizon), []
    for column in roles.known:
        moved = subject.compare(subject.own, subject.predicted(changed(subject.frame, inside, [column])))
        told.append(f"`{column}` inside the horizon moves it by {moved.relative:.1e} of its size")
    return Verdict(True, "; ".join([verdict.evidence, *told]))


def nothing_moves_when_the_future_of_others_moves(subject: Subject) -> Verdict:
    """Everything after the cutoff is bumped in all series but one, then in that one alone: others must stay."""
    first, one, others = subject.cutoffs[0], subject.ids[:1], subject.ids[1:]
    if not others:
        return Verdict(None, "there is one series")
    found = {}
    for still, moving in ((one, others), (others, one)):
        where = subject.after(first) & subject.frame["unique_id"].isin(moving).to_numpy(dtype=bool)
        frame = changed(subject.frame, where, subject.late)
        told = f"{len(moving)} others moved"
        pairs = {_PREDICT: (subject.own, subject.predicted(frame)), "backtest": (subject.base, subject.folds(frame))}
        for where_, (before, now) in pairs.items():
            found[f"{told}, {where_}"] = subject.compare(at(before, first, still), at(now, first, still))
    return verdict_of(found)
