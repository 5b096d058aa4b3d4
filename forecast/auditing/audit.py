"""`audit`: every probe on one forecaster and one pipeline, and the certificate of what they found."""

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import pandas as pd

from forecast import __version__
from forecast.auditing.certificate import Certificate, Finding
from forecast.auditing.frames import cut_data, least_rows, own_data, shortened
from forecast.auditing.pipeline_fit import (
    no_fit_is_handed_a_later_row,
    nothing_is_chosen_by_the_test_span,
    what_is_learned_does_not_depend_on_the_future,
)
from forecast.auditing.pipeline_future import (
    covariates_are_read_when_they_are_known,
    nothing_moves_whatever_the_size,
    nothing_moves_when_the_future_is_deleted,
    nothing_moves_when_the_future_is_missing,
    nothing_moves_when_the_future_moves,
    nothing_moves_when_the_future_of_others_moves,
)
from forecast.auditing.pipeline_order import (
    order_and_names_do_not_matter,
    the_same_seed_gives_the_same_numbers,
    the_year_does_not_matter,
    what_else_is_asked_does_not_matter,
)
from forecast.auditing.pipeline_rows import every_point_is_forecast_and_scored, units_and_fits_come_back
from forecast.auditing.pipeline_worth import canaries_are_worth_nothing, shuffled_targets_cannot_be_forecast
from forecast.auditing.subject import Subject, Verdict
from forecast.evaluation import backtest as own_backtest
from forecast.evaluation import score as own_score
from forecast.forecaster import Forecaster
from forecast.frame import FrameError
from forecast.params import spelled


@dataclass(frozen=True)
class Probe:
    """A probe of a pipeline: its id, what has to hold, and how that is found out."""

    id: str
    name: str
    ask: Callable[[Subject], Verdict]

    @property
    def asks(self) -> str:
        """What is done to find out."""
        return (self.ask.__doc__ or "").strip()


# What cannot be repeated cannot be compared: that is asked first.
PROBES = (
    Probe("P0", "The same seed gives the same numbers", the_same_seed_gives_the_same_numbers),
    Probe("P1", "Nothing moves when the future moves", nothing_moves_when_the_future_moves),
    Probe("P2", "Nothing moves, whatever the size of the change", nothing_moves_whatever_the_size),
    Probe("P3", "Nothing moves when the future is deleted", nothing_moves_when_the_future_is_deleted),
    Probe("P4", "Nothing moves when the future is missing", nothing_moves_when_the_future_is_missing),
    Probe("P5", "Covariates are read when they are known", covariates_are_read_when_they_are_known),
    Probe("P6", "What is learned does not depend on the future", what_is_learned_does_not_depend_on_the_future),
    Probe("P7", "No fit is handed a later row or label", no_fit_is_handed_a_later_row),
    Probe("P8", "Nothing is chosen by the test span", nothing_is_chosen_by_the_test_span),
    Probe("P9", "The future of other series moves nothing", nothing_moves_when_the_future_of_others_moves),
    Probe("P10", "Order and names do not matter", order_and_names_do_not_matter),
    Probe("P11", "What else is asked does not matter", what_else_is_asked_does_not_matter),
    Probe("P12", "The year does not matter", the_year_does_not_matter),
    Probe("P13", "Shuffled targets cannot be forecast", shuffled_targets_cannot_be_forecast),
    Probe("P14", "Canaries are worth nothing", canaries_are_worth_nothing),
    Probe("P15", "Every point is forecast, finite and scored", every_point_is_forecast_and_scored),
    Probe("P16", "Units and fits come back", units_and_fits_come_back),
)
MODULES = "M"  # stands for all probes of the networks inside


def audit(
    forecaster: Forecaster,
    frame: Any = None,
    *,
    cutoff: Any = None,
    probes: Sequence[str] | None = None,
    backtest: Callable[..., Any] | None = None,
    score: Callable[..., pd.DataFrame] | None = None,
    progress: Callable[[str], object] | None = None,
    **door,
) -> Certificate:
    """Probe a forecaster, and the pipeline that fits and scores it, for leaks of the future and other pretence.

    It is fitted some forty times on small data, as copies that its constructor makes, and stays as it is. Arguments
    that say how long a model is trained are cut short, which the certificate tells: what leaks does so after ten steps,
    too. A network is probed by itself as well.

    Parameters
    ----------
    forecaster: one to audit, of any class that subclasses `Forecaster`; fitted or not.
    frame: the data to audit it on, in any form that `fit` takes: three of its series, of as few rows as the forecaster
        bears. None for three hourly series of our own, which have values and rows missing and, where the forecaster
        reads covariates, a column of each role.
    cutoff: the last stamp that is known; None for one a little more than a horizon before the end.
    probes: the ids of those to run, `"M"` for all of networks; None for all.
    backtest, score: what is called as `forecast.backtest` and `forecast.score` are, to audit a pipeline of one's own;
        None for these. A backtest gives something whose `forecasts` are a table as that of a ledger.
    progress: called before each probe with its id and name.
    door: options of `check_frame` for the frame, such as `gaps="mask"`.

    Returns
    -------
    The certificate: per probe whether it passed, and the evidence. A probe that raises has failed.

    Raises
    ------
    FrameError: the frame may not enter, or is too short for the forecaster.
    TypeError: `forecaster` is no Forecaster, but a class or another object; `backtest`, `score` or `progress` is no
        function.
    ValueError: `probes` names one that there is not; `cutoff` is not within the data.

    """
    _check(forecaster, probes, {"backtest": backtest, "score": score, "progress": progress})
    asked = [probe for probe in PROBES if probes is None or probe.id in probes]
    tell = progress or (lambda text: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # changed data are odd data
        subject = _subject(forecaster, frame, cutoff, backtest or own_backtest, score or own_score, door)
        findings = []
        for probe in asked:
            tell(f"{probe.id}: {probe.name}")
            findings.append(_finding(probe, subject))
        if probes is None or MODULES in probes:
            tell(f"{MODULES}: the networks inside")
            findings += _of_modules(forecaster, subject, asked=probes is not None)
    return Certificate(spelled(forecaster), __version__, subject.facts, tuple(findings))


def _check(forecaster: Any, probes: Sequence[str] | None, called: Mapping[str, Any]) -> None:
    if isinstance(forecaster, type):
        raise TypeError(f"`forecaster` is the class {forecaster.__name__}; give one, {forecaster.__name__}(...)")
    if not isinstance(forecaster, Forecaster):
        raise TypeError(f"`forecaster` is {forecaster!r}; allowed: a Forecaster, of a class that subclasses it")
    known = [*(probe.id for probe in PROBES), MODULES]
    listed = probes is None or (isinstance(probes, Sequence) and not isinstance(probes, str))
    if not listed or not all(probe in known for probe in probes or ()) or (probes is not None and not len(probes)):
        raise ValueError(f"`probes` is {probes!r}; allowed: a list of some of {', '.join(known)}")
    for name, value in called.items():
        if value is not None and not callable(value):
            raise TypeError(f"`{name}` is {value!r}; allowed: None, or a function")


def _subject(
    forecaster: Forecaster,
    frame: Any,
    cutoff: Any,
    backtest: Callable[..., Any],
    score: Callable[..., pd.DataFrame],
    door: Mapping[str, Any],
) -> Subject:
    """Give the forecaster made quick, and the smallest data that it can be fitted on."""
    if frame is None and (door or cutoff is not None):
        name = next(iter(door), "cutoff")
        raise TypeError(f"`{name}` is for a `frame`, and none is given")
    pattern, cut = shortened(forecaster)
    tries: list[Callable[[], Any]]
    if frame is None:
        tries = [lambda gaps=gaps: own_data(pattern, gaps=gaps) for gaps in (True, False)]
    else:
        rows = [least_rows(pattern.horizon) * factor for factor in (1, 4, 16)]
        tries = [lambda rows=rows: cut_data(frame, pattern, door, cutoff, rows) for rows in (*rows, None)]
    for number, prepare in enumerate(tries):
        data, options, cutoffs, told = prepare()
        facts = {"data": told, "cutoffs": [str(stamp) for stamp in cutoffs]}
        facts |= {"cut short": ", ".join(f"{name}={value}" for name, value in cut.items())} if cut else {}
        subject = Subject(pattern, data, options, cutoffs, backtest, score, facts)
        try:
            _ = subject.fitted
        except (FrameError, ValueError):
            if number == len(tries) - 1:
                raise
            continue
        if number == len(tries) - 1 or _bears(subject):
            return subject
    raise AssertionError("there is always something to try")


def _bears(subject: Subject) -> bool:
    """Whether the forecaster says anything of the data: one that fits them may still not bear a missing value."""
    try:
        _ = subject.own
    except Exception:  # whatever a forecaster of the user's own raises; probes tell of it
        return False
    return True


def _finding(probe: Probe, subject: Subject) -> Finding:
    began = perf_counter()
    try:
        verdict = probe.ask(subject)
    except Exception as error:  # whatever a forecaster or a pipeline of the user's own raises
        told = "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        verdict = Verdict(False, f"raised {told}")
    took = 1000 * (perf_counter() - began)
    return Finding(probe.id, probe.name, probe.asks, verdict.passed, verdict.evidence, took)


def _of_modules(forecaster: Forecaster, subject: Subject, asked: bool) -> list[Finding]:
    """Give what the probes of networks find: of the network that is fitted already, else of that of the audit.

    Where there is none they are left out, unless they were asked for.
    """
    fitted = forecaster if hasattr(forecaster, "panel_") else subject.fitted
    while fitted.wraps and isinstance(inside := getattr(fitted, f"{fitted.wraps}_", None), Forecaster):
        fitted = inside
    torch = sys.modules.get("torch")  # without it there is no network
    inside = torch is not None and any(isinstance(value, torch.nn.Module) for value in vars(fitted).values())
    if not (inside or asked):
        return []
    from forecast.auditing.modules import module_findings

    return module_findings(fitted)
