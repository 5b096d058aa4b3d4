"""The regime of equal tuning: as many trials for every forecaster, on the same rows, all before the first cutoff.

A trial is a backtest within those rows, with a draw of parameters from a space that is the same for all. The best of
each forecaster is then frozen, for all folds and seeds. What was given is no trial: defaults that others have tuned
would be a head start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from forecast.experiment.faults import Fault
from forecast.experiment.regimes.contract import Case, Regime, Settled
from forecast.experiment.regimes.networks import changed
from forecast.experiment.regimes.samplers import Sampler, check_sampler
from forecast.experiment.regimes.space import Space, check_space, names_in, read_space
from forecast.experiment.regimes.trials import Outcome, Trial, search_plan
from forecast.experiment.store import Store
from forecast.forecaster import Forecaster
from forecast.params import check_positive

Metric = Literal["mase", "rmsse", "mae", "rmse", "wape", "wql"]
SPACE: dict[str, Any] = {
    "learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
    "width": [32, 64, 128],
    "dropout": [0.0, 0.1, 0.3],
}


@dataclass(frozen=True, kw_only=True)
class Tuned(Regime):
    """Every forecaster that has a parameter of the space at its best of so many trials.

    Attributes
    ----------
    trials: of each forecaster; one that fails is spent.
    space: the values that parameters may have: a list, or `{low: 0.0001, high: 0.01, log: true}`. See `space.py`.
    metric: by which trials are judged; the lowest is chosen, the first of several.
    folds: cutoffs of a trial's backtest, a horizon apart, the last a horizon before the first cutoff of the experiment.
    sampler: `random`, or `tpe`, which learns from earlier trials, with the extra `tuning`.
    seed: of the draws, and of every trial.

    """

    name: ClassVar[str] = "tuned"

    trials: int = 20
    space: Mapping[str, Any] = field(default_factory=lambda: dict(SPACE))
    metric: Metric = "mase"
    folds: int = 3
    sampler: Sampler = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive(trials=self.trials, folds=self.folds)
        if self.metric not in Metric.__args__:
            raise ValueError(f"`metric` is {self.metric!r}; allowed: {', '.join(map(repr, Metric.__args__))}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"`seed` is {self.seed!r}; allowed: a whole number, not below 0")
        check_sampler(self.sampler)
        read_space(self.space)

    @property
    def dimensions(self) -> Space:
        """The space, read."""
        return read_space(self.space)

    def check(self, forecasters: Mapping[str, Forecaster]) -> None:
        """Refuse a space that does not go with the forecasters. Raises ValueError."""
        check_space(self.dimensions, forecasters)

    def work(self, case: Case) -> Sequence[Trial]:
        """Give all trials of all forecasters, in their order. Raises ValueError where the rows hold no such search."""
        try:
            search_plan(case.plan, self.folds).folds(case.panel)
        except ValueError as error:
            end = case.panel.calendar.stamp(case.cutoff)
            raise ValueError(f"`folds` is {self.folds}, in a search on the rows up to {end}: {error}") from error
        return [trial for label in self._tuned(case) for trial in Trial.all_of(case, label, self)]

    def settle(self, case: Case, store: Store, faults: list[Fault]) -> Settled | None:
        """Give each forecaster as it was in its best trial; or add which has none, and give None."""
        chosen: dict[str, Outcome] = {}
        for label in self._tuned(case):
            trials = Trial.all_of(case, label, self)
            if found := [one for trial in trials if (one := trial.outcome(store)) is not None]:
                chosen[label] = min(found, key=lambda one: one.error)
                continue
            error = store.read_error(trials[0].key) or {"type": "trial", "message": "is not there"}
            told = " ".join(error["message"].split())
            faults.append(
                Fault(("forecasters", label), f"all {len(trials)} trials failed; the first: {error['type']}: {told}")
            )
        if faults:
            return None
        best = {label: changed(case.forecasters[label], one.values) for label, one in chosen.items()}
        return Settled(
            {**case.forecasters, **best},
            self._told(case, chosen),
            frees=("parameters", *(name.rpartition("__")[2] for name in self.space)),
            trials=dict.fromkeys(chosen, self.trials),
            facts={
                "searched up to": {"last": str(self._end(case)), "first cutoff": str(self._cutoff(case))},
                "sampler": self.sampler,
                "metric": self.metric,
                "space": {name: one.plain() for name, one in self.dimensions.items()},
                "chosen": {label: one.values for label, one in chosen.items()},
            },
        )

    def _tuned(self, case: Case) -> list[str]:
        """Give the forecasters that have a parameter of the space."""
        return [label for label, one in case.forecasters.items() if names_in(self.dimensions, one)]

    def _end(self, case: Case) -> Any:
        return case.panel.calendar.stamp(int(case.panel.last.max()))

    def _cutoff(self, case: Case) -> Any:
        return case.panel.calendar.stamp(case.cutoff)

    def _told(self, case: Case, chosen: Mapping[str, Outcome]) -> str:
        how = {"random": "drawn at random", "tpe": "chosen by TPE"}[self.sampler]
        cutoffs = "1 cutoff" if self.folds == 1 else f"{self.folds} cutoffs"
        names = ", ".join(name.rpartition("__")[2].replace("_", " ") for name in self.space)
        each = "; ".join(f"{label} {_listed(one.values)}" for label, one in chosen.items())
        return (
            f"Tuned: {self.trials} trials each, {how} from one space of {names}, by {self.metric} at "
            f"{cutoffs} of the rows up to {self._end(case)} ({each})."
        )


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name.rpartition('__')[2].replace('_', ' ')} {value}" for name, value in values.items())
