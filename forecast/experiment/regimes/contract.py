"""What every regime keeps: a way to make the networks of an experiment comparable, found before the first cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from forecast.evaluation.plan import Plan
from forecast.experiment.faults import Fault
from forecast.experiment.store import Store
from forecast.experiment.work import Work
from forecast.forecaster import Forecaster
from forecast.frame import Panel


@dataclass(frozen=True, eq=False)
class Case:
    """All that a regime may know of an experiment on one data set; of the rows that are tested on it holds none.

    Attributes
    ----------
    dataset: its name.
    panel: the rows up to the first cutoff, over arrays of their own.
    cutoff: the first cutoff, as calendar ordinal.
    plan: of the experiment.
    forecasters: by label, as the config gives them.
    code: the version of the code.

    """

    dataset: str
    panel: Panel
    cutoff: int
    plan: Plan
    forecasters: Mapping[str, Forecaster]
    code: str


@dataclass(frozen=True)
class Settled:
    """What a regime has come to on one data set.

    Attributes
    ----------
    forecasters: by label, with the arguments that were found.
    sentence: what was found, for a report.
    frees: names of budgets that the regime has set, or lets go; any other that differs between networks is flagged.
    trials: how many each forecaster was given.
    facts: more of it, as JSON can hold it; `matched`: which `column` of the fits was made equal, `within` what share.

    """

    forecasters: Mapping[str, Forecaster]
    sentence: str
    frees: tuple[str, ...] = ()
    trials: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)


class Regime(ABC):
    """A frozen keyword-only dataclass of its options, which raises ValueError for those that are not allowed."""

    name: ClassVar[str]  # in a config

    @abstractmethod
    def check(self, forecasters: Mapping[str, Forecaster]) -> None:
        """Refuse forecasters that it cannot make comparable; nothing is computed.

        Raises ValueError, which begins with the option that is at fault, in backticks, where one is.
        """

    @abstractmethod
    def work(self, case: Case) -> Sequence[Work]:
        """Give what has to be measured or tried on a data set before its first cell; may be nothing.

        Raises ValueError as `check` does, where the rows do not allow it.
        """

    @abstractmethod
    def settle(self, case: Case, store: Store, faults: list[Fault]) -> Settled | None:
        """Give what comes of it, once all of its work is stored; or add to `faults` why nothing does, and give None."""
