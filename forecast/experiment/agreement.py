"""Whether experiments ask the same: the same series, forecast from the same times, with the same to learn from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from forecast.experiment.setting import read_setting
from forecast.experiment.store import Store, StoreError, differing
from forecast.experiment.stored import datasets_of, subject_of
from forecast.experiment.suite import holds_suite, suite_note

_DIGITS = 12  # of a hash, for people
# Others than those of data and plan may differ: what comes of that is what is compared.
_SAME = ("data", "plan")


@dataclass(frozen=True, eq=False)
class Side:
    """One of the experiments that are compared: what it is called, and its folder."""

    name: str
    store: Store

    @cached_property
    def note(self) -> dict[str, Any]:
        """What `experiment.json` holds. Raises StoreError where there is none that can be read."""
        return self.store.experiment()

    @property
    def config(self) -> dict[str, Any]:
        """The config with all defaults."""
        return self.note["config"]

    @property
    def datasets(self) -> list[str]:
        """The names of the data sets."""
        return datasets_of(self.note)

    def setting(self, dataset: str) -> dict[str, Any]:
        """Give the facts of a data set, with hashes of data and plan. Raises StoreError where they are not there."""
        try:
            return read_setting(self.store, dataset)
        except (OSError, ValueError, KeyError) as error:
            raise StoreError(
                f"{self.store.folder}: setting.json does not tell the hashes of data and plan on {dataset}; run the "
                "experiment again: forecast run CONFIG --out FOLDER"
            ) from error


def sides_of(folders: Sequence[str | Path]) -> list[Side]:
    """Give the experiments in two or more folders, each called by so much of its path as tells it from the others.

    Raises StoreError for a folder that comes twice, and one that does not hold an experiment with forecasts.
    """
    paths = [Path(folder) for folder in folders]
    if len(paths) < 2:
        raise StoreError(f"one folder is no comparison; give two or more, beside {paths[0] if paths else 'it'}")
    whole = [path.resolve() for path in paths]
    if twice := [path for path, one in zip(paths, whole, strict=True) if whole.count(one) > 1]:
        raise StoreError(f"{twice[0]} comes twice; give each folder once")
    sides = [Side(name, Store(path)) for name, path in zip(_names(whole), paths, strict=True)]
    for side in sides:
        _check_has_forecasts(side)
    return sides


def shared_datasets(sides: Sequence[Side]) -> list[str]:
    """Give the data sets that all of the experiments are on, once it is known that they ask the same of them.

    Raises StoreError for experiments that have no data set in common, and for those whose data or plan differ; says in
    what, and how it is on both sides.
    """
    first, *others = sides
    shared = [name for name in first.datasets if all(name in side.datasets for side in others)]
    if not shared:
        told = "; ".join(f"{side.name} has {', '.join(side.datasets)}" for side in sides)
        raise StoreError(f"they have no data set in common, by which they could be compared: {told}")
    for other in others:
        if hashes := _differing_hashes(first, other, shared):
            found = [*sorted(_of_question(first.config, other.config)), *hashes]
            names = (first.name, other.name)
            told = "; ".join(f"`{key}` ({one!r} in {names[0]}, {two!r} in {names[1]})" for key, one, two in found)
            raise StoreError(
                f"{first.name} and {other.name} do not ask the same, so that their forecasts cannot be compared. They "
                f"differ in {told}. Give folders of one plan on the same data"
            )
    return shared


def unlike(sides: Sequence[Side], shared: Sequence[str]) -> list[str]:
    """Say what is not the same in experiments that may be compared: data sets left out, regimes, versions of code."""
    said = []
    for side in sides:
        if alone := [name for name in side.datasets if name not in shared]:
            said.append(f"left out, since not all have them: {', '.join(alone)} of {side.name}")
    facts = {
        "regime": {side.name: str(side.config.get("regime", {}).get("type", "")) for side in sides},
        "code": {side.name: str(side.setting(shared[0]).get("code", "")) for side in sides},
        "standardised": {side.name: str(bool(side.config.get("standardised"))).lower() for side in sides},
    }
    for name, of in facts.items():
        if len(set(of.values())) > 1:
            said.append(f"not the same: {name} ({', '.join(f'{value} in {side}' for side, value in of.items())})")
    return said


def _check_has_forecasts(side: Side) -> None:
    folder = side.store.folder
    if holds_suite(folder):
        one = folder / suite_note(folder)["experiments"][0]
        raise StoreError(f"{folder} holds several experiments; give the folder of one of them, such as {one}")
    if subject := subject_of(side.note):
        raise StoreError(f"{folder} holds an experiment on {subject}, which has no forecasts to compare")


def _names(paths: Sequence[Path]) -> list[str]:
    """Give the shortest ends of paths that tell them apart."""
    for length in range(1, max(len(path.parts) for path in paths) + 1):
        names = [Path(*path.parts[-length:]).as_posix() for path in paths]
        if len(set(names)) == len(names):
            return names
    return [path.as_posix() for path in paths]


def _differing_hashes(one: Side, other: Side, datasets: Sequence[str]) -> list[tuple[str, str, str]]:
    found = []
    for name in datasets:
        here, there = one.setting(name), other.setting(name)
        for kind in _SAME:
            if here[kind] != there[kind]:
                found.append((f"hash of the {kind} of {name}", here[kind][:_DIGITS], there[kind][:_DIGITS]))
    return found


def _of_question(*configs: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Give the keys in which two configs differ, those that may have made data and plan differ."""
    one, other = ({**config, "datasets": {of["name"]: of for of in config["datasets"]}} for config in configs)
    return [row for row in differing(one, other) if not row[0].startswith("regime")]
