"""The regime of a config that asks for none: every forecaster as it is written, and what is unequal said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from forecast.experiment.faults import Fault
from forecast.experiment.regimes.contract import Case, Regime, Settled
from forecast.experiment.store import Store
from forecast.experiment.work import Work
from forecast.forecaster import Forecaster


@dataclass(frozen=True, kw_only=True)
class AsGiven(Regime):
    """Nothing is made equal."""

    name: ClassVar[str] = "as_given"

    def check(self, forecasters: Mapping[str, Forecaster]) -> None:
        """Refuse nothing."""

    def work(self, case: Case) -> Sequence[Work]:
        """Give none."""
        del case
        return ()

    def settle(self, case: Case, store: Store, faults: list[Fault]) -> Settled:
        """Give the forecasters as they came."""
        del store, faults
        return Settled(case.forecasters, "Widths and budgets as given, not matched.")
