"""Forecasters of several experiments on one data set, brought together: labels that tell them apart, one ledger.

A forecaster that several have, with the same forecasts, is there once. Those of one name with other forecasts are told
apart by the experiment, but for the first seasonal naive one, by which skill is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from forecast.auditing.certificate import Certificate
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import Standings
from forecast.experiment.ablations import ablated
from forecast.experiment.agreement import Side
from forecast.experiment.audits import audits_in, failed_in
from forecast.experiment.cells import Row, joined_ledger
from forecast.experiment.store import StoreError
from forecast.experiment.summary import BASELINE, SUMMARY, metrics_of, summary_of
from forecast.experiment.verdict import judged, verdict

COMPARED = [*SUMMARY[:3], "folder", *SUMMARY[3:], "low", "high"]


@dataclass(frozen=True)
class Own:
    """What one experiment brings to the comparison on a data set; labels are those that are shown."""

    side: Side
    cells: Sequence[Row]
    ledger: Ledger | None
    audits: Mapping[str, Certificate | str]
    budgets: Mapping[str, Row]

    def renamed(self, names: Mapping[str, str]) -> "Own":
        """Give it with other labels, without those that have none."""
        ledger = self.ledger
        kept = [] if ledger is None else [label for label in ledger.forecasters if label in names]
        here = [cell for cell in self.cells if cell["forecaster"] in names]
        return replace(
            self,
            cells=[{**cell, "forecaster": names[cell["forecaster"]]} for cell in here],
            ledger=None if ledger is None or not kept else _renamed(ledger.take(kept), names),
            audits={names[label]: one for label, one in self.audits.items() if label in names},
            budgets={names[label]: one for label, one in self.budgets.items() if label in names},
        )


@dataclass(frozen=True)
class Whole:
    """A data set of the comparison, all experiments together."""

    name: str
    owns: Sequence[Own]
    ledger: Ledger
    summary: pd.DataFrame
    found: Standings
    verdict: str
    regime: str


def own_of(side: Side, cells: Sequence[Row], dataset: str, notes: list[str]) -> Own:
    """Read what an experiment brings, without its ablations and its sweep."""
    here = [cell for cell in cells if cell["dataset"] == dataset and cell["context_length"] is None]
    beside = ablated(dict.fromkeys(cell["forecaster"] for cell in here), list(side.config.get("ablations", ())))
    if beside:
        notes.append(f"ablations of {side.name} are left out; its own report tells of them")
    here = [cell for cell in here if cell["forecaster"] not in beside]
    budgets = side.note.get("settled", {}).get(dataset, {}).get("budgets", {})
    audits = audits_in(side.store, side.note.get("beside", ()), dataset)
    return Own(side, here, joined_ledger(side.store, here), audits, budgets)


def brought_together(dataset: str, owns: Sequence[Own], notes: list[str]) -> Whole:
    """Join what all experiments bring. Raises StoreError where nothing can be compared, or levels differ."""
    _check_levels(owns)
    owns = [own.renamed(names) for own, names in zip(owns, _labels(owns, dataset, notes), strict=True)]
    there = [own.ledger for own in owns if own.ledger is not None]
    if not there:
        raise StoreError(f"no forecaster got through all folds of {dataset}; go on with the runs first")
    ledger, first = Ledger.concat(there), owns[0].side
    configs = [own.side.config for own in owns]
    config = {
        "metrics": [name for one in configs for name in one.get("metrics", ())],
        "standardised": all(one.get("standardised") for one in configs),
    }
    cells = [cell for own in owns for cell in own.cells]
    found = judged(ledger, failed_in({label: one for own in owns for label, one in own.audits.items()}))
    summary = summary_of(cells, ledger, metrics_of(first.store, config, dataset, ledger))
    of = {cell["forecaster"]: own.side.name for own in reversed(owns) for cell in own.cells}
    intervals = found.skill.set_index("forecaster").reindex(summary["forecaster"])
    known = BASELINE in ledger.forecasters  # else an interval would be that of a skill against another
    ends = {end: intervals[end].to_numpy() if known else np.nan for end in ("low", "high")}
    summary = summary.assign(folder=[of[name] for name in summary["forecaster"]], **ends)
    summary = summary.loc[:, [*COMPARED, *(name for name in summary.columns if name not in COMPARED)]]
    regimes = {str(one.get("regime", {}).get("type", "")) for one in configs}
    regime = regimes.pop() if len(regimes) == 1 else ""
    return Whole(dataset, owns, ledger, summary, found, verdict(found, ledger, dataset, regime), regime)


def _check_levels(owns: Sequence[Own]) -> None:
    levels = {own.side.name: list(own.ledger.quantile_levels) for own in owns if own.ledger is not None}
    if len({tuple(one) for one in levels.values()}) > 1:
        told = ", ".join(f"{one} in {name}" for name, one in levels.items())
        raise StoreError(f"they differ in `quantile_levels` ({told}), by which forecasts are scored; give all the same")


def _labels(owns: Sequence[Own], dataset: str, notes: list[str]) -> list[dict[str, str]]:
    """Give for each experiment its labels, each with that under which it is shown; what is shown elsewhere has none."""
    labels = [list(dict.fromkeys(cell["forecaster"] for cell in own.cells)) for own in owns]
    taken = {label for of in labels for label in of}
    found: list[dict[str, str]] = [{} for _ in owns]
    for label in dict.fromkeys(label for of in labels for label in of):
        places = [place for place, of in enumerate(labels) if label in of]
        distinct: list[int] = []
        for place in places:
            same = next((one for one in distinct if _alike(owns[one].ledger, owns[place].ledger, label)), None)
            if same is None:
                distinct.append(place)
            else:
                both = f"{owns[same].side.name} and {owns[place].side.name}"
                notes.append(f"{label} has the same forecasts of {dataset} in {both}, and is shown once")
        for rank, place in enumerate(distinct):
            plain = len(distinct) == 1 or (label == BASELINE and not rank)
            found[place][label] = label if plain else _beside(label, owns[place].side.name, taken)
    return found


def _beside(label: str, folder: str, taken: set[str]) -> str:
    """Give a label of its own to a forecaster of a folder."""
    name, number = f"{label} ({folder})", 2
    while name in taken:
        name, number = f"{label} ({folder}, {number})", number + 1
    taken.add(name)
    return name


def _alike(one: Ledger | None, other: Ledger | None, label: str) -> bool:
    """Tell whether two ledgers hold the same forecasts of a forecaster, to the last bit."""
    if one is None or other is None:
        return False
    runs = [sorted(ledger.of_forecaster(label), key=lambda run: run.seed) for ledger in (one, other)]
    if not runs[0] or [run.seed for run in runs[0]] != [run.seed for run in runs[1]]:
        return False
    numbers = ("quantiles", "median", "mean")
    pairs = zip(*runs, strict=True)
    return all(np.array_equal(getattr(mine, name), getattr(theirs, name)) for mine, theirs in pairs for name in numbers)


def _renamed(ledger: Ledger, names: Mapping[str, str]) -> Ledger:
    runs = tuple(replace(run, forecaster=names[run.forecaster]) for run in ledger.runs)
    fits = ledger.fits.assign(forecaster=[names[name] for name in ledger.fits["forecaster"]])
    return replace(ledger, runs=runs, fits=fits)
