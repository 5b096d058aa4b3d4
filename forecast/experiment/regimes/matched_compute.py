"""The regime of matched compute: steps of training, and only steps, solved so that all fits take as long.

What is made equal are seconds, not floating-point operations. Operations are counted alike for a matrix product that
fills the processor and for the thousand small ones that a recurrence does one after another, some kernels of recurrent
layers are not counted at all, and looking at validation windows is part of the price; seconds hold all of it, as the
person pays who waits. They are measured: short fits and longer ones of all networks in turn, so that a slow minute of
the machine meets all alike, and medians are taken. A fit takes a fixed time and so much for each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from forecast.experiment.arguments import canonical
from forecast.experiment.faults import Fault
from forecast.experiment.regimes.contract import Case, Regime, Settled
from forecast.experiment.regimes.networks import Network, changed, networks
from forecast.experiment.regimes.options import check_of, check_within
from forecast.experiment.store import Store, checksum_of, key_of
from forecast.experiment.work import Work
from forecast.forecaster import Forecaster
from forecast.params import check_positive

_SHORT, _LONGER = 20, 5  # steps of a short fit; how many times as many has a longer one
_TABLE = "seconds.csv"


class Price(NamedTuple):
    """What a fit costs: seconds at once, and seconds for each step."""

    fixed: float
    step: float

    def of(self, steps: int) -> float:
        """Give the seconds of a fit of so many steps."""
        return self.fixed + self.step * steps


@dataclass(frozen=True, kw_only=True)
class MatchedCompute(Regime):
    """Every network trained for as many seconds as the others; early stopping is off, so that it is.

    Attributes
    ----------
    of: label of the network that keeps its steps and whose time the others take; None for the median of all times.
    within: by how much the longest fit may exceed the shortest, as solved; what was then measured is told beside it.
    rounds: how often each network is timed, after once that does not count.

    """

    name: ClassVar[str] = "matched_compute"

    of: str | None = None
    within: float = 0.10
    rounds: int = 5

    def __post_init__(self) -> None:
        check_within(self.within)
        check_positive(rounds=self.rounds)

    def check(self, forecasters: Mapping[str, Forecaster]) -> None:
        """Refuse fewer than two networks, and an `of` that is none of them. Raises ValueError."""
        check_of(self.of, forecasters)

    def work(self, case: Case) -> Sequence[Work]:
        """Give the one measurement."""
        return [Measurement.of(self, case)]

    def settle(self, case: Case, store: Store, faults: list[Fault]) -> Settled | None:
        """Give the forecasters with the steps that were found; or add what speaks against it, and give None."""
        key = Measurement.of(self, case).key
        if error := store.read_error(key):
            faults.append(Fault(("regime",), f"training could not be timed: {error['type']}: {error['message']}"))
            return None
        prices = prices_of(Seconds.read(store.folder_of(key)).table)
        held = networks(case.forecasters)
        given = {label: one.network.outline(case.panel).steps for label, one in held.items()}
        seconds = {label: prices[label].of(steps) for label, steps in given.items()}
        target = seconds[self.of] if self.of else median(seconds.values())
        steps = {label: round((target - price.fixed) / price.step) for label, price in prices.items()}
        if self.of:
            steps[self.of] = given[self.of]
        for label, number in steps.items():
            fewest, price = looks_of(held[label]), prices[label]
            if number < fewest or abs(price.of(number) / target - 1) > self.within / 2:
                faults.append(Fault(("forecasters", label), _too_few(number, fewest, price, target)))
        if faults:
            return None
        settled = {
            label: changed(case.forecasters[label], _steps(one.prefix, steps[label])) for label, one in held.items()
        }
        each = ", ".join(f"{label} {number:,} steps" for label, number in steps.items())
        sentence = (
            f"Matched compute: {target:.3g} s for a fit, as measured before the first cell ({each}; early stopping is "
            "off)."
        )
        facts = {
            "matched": {"column": "fit_seconds", "within": self.within},
            "seconds": {label: price._asdict() for label, price in prices.items()},
        }
        return Settled({**case.forecasters, **settled}, sentence, ("steps",), facts=facts)


@dataclass(frozen=True)
class Seconds:
    """What a measurement holds: `round, forecaster, steps, seconds`, a row for each fit."""

    table: pd.DataFrame

    def write(self, folder: Path) -> None:
        """Write the table to a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self.table.to_csv(folder / _TABLE, index=False, lineterminator="\n")

    @classmethod
    def read(cls, folder: Path) -> Seconds:
        """Read what was written."""
        return cls(pd.read_csv(folder / _TABLE, dtype={"forecaster": "str"}, keep_default_na=False))


@dataclass(frozen=True, eq=False)
class Measurement(Work):
    """The work of timing the fits of all networks on a data set, one after another."""

    case: Case
    rounds: int
    config: dict[str, Any]
    key: str
    alone: ClassVar[bool] = True

    @classmethod
    def of(cls, regime: MatchedCompute, case: Case) -> Measurement:
        """Give that of a case; it is kept for its networks and data, whichever the machine, so that steps stay."""
        held = networks(case.forecasters)
        config = {
            "kind": "seconds of training",
            "dataset": case.dataset,
            "data": checksum_of(case.panel),
            # What a step costs does not depend on how many there are to be.
            "forecasters": {
                label: canonical(changed(case.forecasters[label], _steps(one.prefix, _short(one))), label)
                for label, one in held.items()
            },
            "rounds": regime.rounds,
            "code": case.code,
        }
        return cls(case, regime.rounds, config, key_of(config))

    def __str__(self) -> str:
        return f"seconds of training on {self.case.dataset}"

    @property
    def kind(self) -> object:
        """A kind of its own."""
        return type(self)

    def facts(self) -> dict[str, Any]:
        """Give what a table says of it."""
        return {"kind": "measurement", "dataset": self.case.dataset, "key": self.key}

    def compute(self) -> Seconds:
        """Time short and longer fits of all networks in turn, after a round that warms up."""
        rows = []
        for number in range(self.rounds + 1):
            for label, one in networks(self.case.forecasters).items():
                for steps in (_short(one), _LONGER * _short(one)):
                    fresh = changed(self.case.forecasters[label], _steps(one.prefix, steps))
                    rows.append((number, label, steps, _seconds(fresh, self.case)))
        table = pd.DataFrame(rows, columns=["round", "forecaster", "steps", "seconds"])
        return Seconds(pd.DataFrame(table[table["round"] > 0]))


def looks_of(held: Network) -> int:
    """Give how often a network looks at its validation windows, in a fit of as many steps or more; at least 1."""
    options = held.network.training
    return 1 if options.validation_length == 0 else options.validations


def prices_of(table: pd.DataFrame) -> dict[str, Price]:
    """Give the price of each forecaster's fits: the line through the medians of short and longer ones."""
    prices = {}
    for label, rows in table.groupby("forecaster", sort=False):
        medians = rows.groupby("steps")["seconds"].median()
        (short, longer), (first, second) = medians.index, medians
        # On a machine that is busy with other things a longer fit may come out shorter: no step is for nothing.
        step = max((second - first) / (longer - short), 1e-3 * second / longer)
        prices[str(label)] = Price(max(0.0, float(first - step * short)), float(step))
    return prices


def _too_few(number: int, fewest: int, price: Price, target: float) -> str:
    return (
        f"in the {target:.3g} s of a fit that are to be matched, this network makes {max(number, 0):,} steps, at "
        f"{price.fixed:.3g} s before the first and {price.step:.3g} s for each: too few, at least for its {fewest:,} "
        "looks at the validation windows. Give all networks more `steps`, or fewer `validations`, or name a slower "
        "network as `of` of the regime"
    )


def _short(held: Network) -> int:
    """Give the steps of a short fit, which looks at its validation windows as often as any."""
    return max(_SHORT, looks_of(held))


def _steps(prefix: str, steps: int) -> dict[str, Any]:
    return {f"{prefix}training__steps": steps, f"{prefix}training__patience": None}


def _seconds(forecaster: Forecaster, case: Case) -> float:
    """Time one fit: on a processor its own time alone, so that what else the machine is at does not count."""
    import torch

    clock = perf_counter if torch.accelerator.is_available() else process_time
    began = clock()
    forecaster.fit(case.panel)
    return clock() - began
