"""The regime of matched parameters: widths, and only widths, solved so that all networks train as many numbers.

A network's parameters are counted on the device that holds no numbers, so that nothing is trained to find them. They
rise with the width, in steps as coarse as its heads ask for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import ClassVar, NamedTuple

from forecast.experiment.faults import Fault
from forecast.experiment.numerals import percent
from forecast.experiment.regimes.contract import Case, Regime, Settled
from forecast.experiment.regimes.networks import Network, changed, networks
from forecast.experiment.regimes.options import check_of, check_within, spread
from forecast.experiment.store import Store
from forecast.experiment.work import Work
from forecast.forecaster import Forecaster
from forecast.frame import Panel

_AROUND = (1.3, 2.0, 4.0)  # sizes are looked for within these factors of the one aimed at, the next if need be
_WIDEST, _COARSEST = 1 << 14, 256  # no width above; no steps of allowed widths longer than this


class Size(NamedTuple):
    """A width and the parameters of the network that has it."""

    width: int
    parameters: int


@dataclass(frozen=True, kw_only=True)
class MatchedParameters(Regime):
    """Every network as large as the others, by its width alone.

    Attributes
    ----------
    of: label of the network that keeps its width and that the others come up to; None for the median of all sizes, from
        which as little is departed as the agreement asks for.
    within: by how much the largest network may exceed the smallest; 0.05 is 5 %.

    """

    name: ClassVar[str] = "matched_parameters"

    of: str | None = None
    within: float = 0.05

    def __post_init__(self) -> None:
        check_within(self.within)

    def check(self, forecasters: Mapping[str, Forecaster]) -> None:
        """Refuse fewer than two networks, and an `of` that is none of them. Raises ValueError."""
        check_of(self.of, forecasters)

    def work(self, case: Case) -> Sequence[Work]:
        """Give none: nothing is measured."""
        del case
        return ()

    def settle(self, case: Case, store: Store, faults: list[Fault]) -> Settled | None:
        """Give the forecasters with the widths that were found; or add what speaks against it, and give None."""
        del store
        held, given = networks(case.forecasters), {}
        for label, one in held.items():
            try:
                size = one.network.outline(case.panel)
            except (ValueError, TypeError, ModuleNotFoundError) as error:
                faults.append(Fault(("forecasters", label), str(error)))
                continue
            given[label] = Size(size.width, size.parameters)
        if faults:
            return None
        target = given[self.of].parameters if self.of else median(size.parameters for size in given.values())
        sizes, found = {}, {}
        for around in _AROUND[:1] if self.of else _AROUND:
            sizes = {
                label: [given[label]] if label == self.of else list(sizes_of(one, case.panel, target, around))
                for label, one in held.items()
            }
            found = agreeing(sizes, target, self.within) if all(sizes.values()) else {}
            if found and _apart(found) <= self.within:
                break
        if empty := [label for label in sizes if not sizes[label]]:
            faults += [Fault(("forecasters", label), _none_near(held[label], case.panel, target)) for label in empty]
            return None
        if _apart(found) > self.within:
            # The one in whose steps the target lies worst.
            label = max(sizes, key=lambda label: min(abs(math.log(one.parameters / target)) for one in sizes[label]))
            faults.append(Fault(("forecasters", label), self._unmet(label, sizes[label], found, target)))
            return None
        settled = {label: changed(case.forecasters[label], _width(held[label], size)) for label, size in found.items()}
        facts = {"matched": {"column": "parameters", "within": self.within}}
        return Settled({**case.forecasters, **settled}, _told(found), ("parameters", "width"), facts=facts)

    def _unmet(self, label: str, sizes: Sequence[Size], found: Mapping[str, Size], target: float) -> str:
        below = [size for size in sizes if size.parameters <= target][-1:]
        above = [size for size in sizes if size.parameters > target][:1]
        near = " and ".join(f"{size.parameters:,} at width {size.width}" for size in below + above)
        takes = _apart(found)
        aim = f"the {target:,.0f} of {self.of!r}" if self.of else f"the median of {target:,.0f}"
        free = "Leave `of` out, so that no network has to keep its width, or ask" if self.of else "Ask"
        return (
            f"parameters cannot be matched within {percent(self.within, '')} by widths alone: next to {aim} this "
            f"network has {near}. {free} for `within: {math.ceil(1000 * takes) / 1000:g}` of the regime, or give it "
            "other heads or another depth, or match wider networks, whose sizes lie closer together"
        )


def sizes_of(held: Network, panel: Panel, target: float, around: float) -> Iterator[Size]:
    """Give all sizes within a factor of a number of parameters that a network can have by its width, rising."""
    fresh, least, most = deepcopy(held.network), target / around, target * around

    @cache
    def size_from(width: int) -> Size | None:
        """Give the size at the first width from this one on that is allowed."""
        for wider in range(width, width + _COARSEST):
            try:
                fresh.set_params(backbone__width=wider)
                return Size(wider, fresh.outline(panel).parameters)
            except ValueError:  # heads that do not divide it
                continue
        return None

    def reaches(width: int) -> bool:
        size = size_from(width)
        return size is None or size.parameters >= least

    short, enough = 0, 1
    while enough < _WIDEST and not reaches(enough):
        short, enough = enough, 2 * enough
    while enough - short > 1:  # `short` never reaches, `enough` does
        middle = (short + enough) // 2
        short, enough = (short, middle) if reaches(middle) else (middle, enough)
    while (size := size_from(enough)) is not None and size.parameters <= most and size.width <= _WIDEST:
        yield size
        enough = size.width + 1


def agreeing(sizes: Mapping[str, Sequence[Size]], target: float, within: float) -> dict[str, Size]:
    """Give one size of each network, so that they agree within a share, as near to a target as that allows.

    Where they agree nowhere, those that agree best. `sizes` rise; each has one at least.
    """

    def away(choice: Mapping[str, Size]) -> float:
        return abs(median(math.log(size.parameters / target) for size in choice.values()))

    choices: list[dict[str, Size]] = []
    for lowest in sorted({size.parameters for some in sizes.values() for size in some}):
        # The closest company of a smallest one: of each network the smallest that is no smaller.
        company = {label: next((s for s in some if s.parameters >= lowest), None) for label, some in sizes.items()}
        choices.append({label: size for label, size in company.items() if size is not None})
    choices = [choice for choice in choices if len(choice) == len(sizes)]
    agreed = [choice for choice in choices if _apart(choice) <= within]
    return min(agreed, key=away) if agreed else min(choices, key=_apart)


def _apart(choice: Mapping[str, Size]) -> float:
    return spread(size.parameters for size in choice.values())


def _width(held: Network, size: Size) -> dict[str, int]:
    return {f"{held.prefix}backbone__width": size.width}


def _none_near(held: Network, panel: Panel, target: float) -> str:
    smallest = next(sizes_of(held, panel, 1, math.inf), None)  # of all
    least = f"; its smallest has {smallest.parameters:,} at width {smallest.width}" if smallest else ""
    return (
        f"no width gives this network about {target:,.0f} parameters, as the others have{least}. Give it another "
        "depth, or name a network of about its size as `of` of the regime"
    )


def _told(found: Mapping[str, Size]) -> str:
    counts = sorted(size.parameters for size in found.values())
    each = ", ".join(f"{label} width {size.width}" for label, size in found.items())
    return f"Matched parameters: {counts[0]:,} to {counts[-1]:,}, {percent(spread(counts), '')} apart ({each})."
