"""A trial: one forecaster with one draw of its parameters, backtested within the rows before the first cutoff."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from forecast.evaluation.backtest import backtest
from forecast.evaluation.metrics import score
from forecast.evaluation.plan import Plan
from forecast.experiment.arguments import canonical
from forecast.experiment.regimes.contract import Case
from forecast.experiment.regimes.networks import changed
from forecast.experiment.regimes.samplers import Tried, learns, propose
from forecast.experiment.store import Store, checksum_of, key_of
from forecast.experiment.work import Work

if TYPE_CHECKING:
    from forecast.experiment.regimes.tuned import Tuned

_RESULT = "trial.json"


@dataclass(frozen=True)
class Outcome:
    """What a trial has found.

    Attributes
    ----------
    values: parameters by full name, as `set_params` takes them.
    error: by the metric of the regime; the less the better.
    seconds: of all fits and forecasts.
    last: the last stamp of the rows that it was given, as text.

    """

    values: dict[str, Any]
    error: float
    seconds: float
    last: str

    def write(self, folder: Path) -> None:
        """Write it to a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _RESULT).write_text(json.dumps(vars(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Outcome:
        """Read what was written."""
        return cls(**json.loads((folder / _RESULT).read_text(encoding="utf-8")))


@dataclass(frozen=True, eq=False)
class Trial(Work):
    """The work of a trial; what earlier ones of the same forecaster have shown it takes from the store."""

    case: Case
    label: str
    number: int
    regime: Tuned
    plan: Plan  # within the rows of the case
    earlier: Sequence[Trial]
    config: dict[str, Any]
    key: str
    tried: tuple[Tried, ...] = ()

    @classmethod
    def all_of(cls, case: Case, label: str, regime: Tuned) -> list[Trial]:
        """Give all trials of a forecaster, in their order."""
        plan, trials = search_plan(case.plan, regime.folds), []
        alike = {
            "kind": "trial",
            "dataset": case.dataset,
            "data": checksum_of(case.panel),
            "label": label,
            "forecaster": canonical(case.forecasters[label], label),
            "plan": canonical(plan),
            "search": {name: one for name, one in canonical(regime).items() if name != "trials"},
            "code": case.code,
        }
        for number in range(regime.trials):
            config = {**alike, "number": number}
            trials.append(cls(case, label, number, regime, plan, tuple(trials), config, key_of(config)))
        return trials

    def __str__(self) -> str:
        return f"{self.label}, trial {self.number + 1} of {self.regime.trials} on {self.case.dataset}"

    @property
    def after(self) -> Sequence[Trial]:
        """Those that its parameters depend on."""
        return self.earlier if learns(self.regime.sampler, self.number) else ()

    @property
    def kind(self) -> object:
        """The label of its forecaster."""
        return "trial", self.label

    def facts(self) -> dict[str, Any]:
        """Give what a table says of it."""
        return {
            "kind": "trial",
            "dataset": self.case.dataset,
            "forecaster": self.label,
            "number": self.number,
            "key": self.key,
        }

    def outcome(self, store: Store) -> Outcome | None:
        """Give what it has found, from the store; None where it is not done, or has failed."""
        return Outcome.read(store.folder_of(self.key)) if store.is_done(self.key) else None

    def ready(self, store: Store) -> Trial:
        """Give it with what the trials have shown that its parameters depend on."""
        outcomes = [found for one in self.after if (found := one.outcome(store)) is not None]
        return replace(self, earlier=(), tried=tuple(Tried(found.values, found.error) for found in outcomes))

    def compute(self) -> Outcome:
        """Choose the parameters, backtest with them, and give the error."""
        case, regime = self.case, self.regime
        last = int(case.panel.last.max())
        if last > case.cutoff:  # nothing makes such a case; if something ever does, no number may come of it
            raise RuntimeError(
                f"a search was given rows after {case.panel.calendar.stamp(case.cutoff)}, the first cutoff"
            )
        pattern = case.forecasters[self.label]
        values = propose(regime.sampler, regime.dimensions, pattern, regime.seed, self.number, self.tried)
        began = perf_counter()
        ledger = backtest(case.panel, {self.label: changed(pattern, values)}, self.plan, seeds=[regime.seed])
        error = float(score(ledger, [regime.metric])[regime.metric].iloc[0])
        if not math.isfinite(error):
            raise ValueError(
                f"`metric` {regime.metric!r} is undefined on the rows that are searched on: nothing is observed there, "
                "or the scale is zero; take another, such as 'mae'"
            )
        return Outcome(values, error, perf_counter() - began, str(case.panel.calendar.stamp(last)))


def search_plan(plan: Plan, folds: int) -> Plan:
    """Give the plan of a search: as that of the experiment, but one fit, and cutoffs a horizon apart up to the end."""
    where = {"cutoffs": None, "start": None, "end": None, "split": None, "stride": None}
    return replace(plan, **where, n_folds=folds, refit="never", validation=plan.held_back)
