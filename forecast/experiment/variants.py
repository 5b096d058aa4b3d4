"""What one config file says of several experiments, and in which of them it is run.

- `horizon` as a list: one experiment for each
- `experiments`: label -> keys that replace those of the file, one experiment for each
- `quick`: keys that replace those of the file where a quick run is asked for
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from forecast.experiment.faults import ConfigError, Fault, Field, Source

EXPERIMENTS, QUICK = "experiments", "quick"
_LABEL = re.compile(r"\w[\w.+-]*")  # becomes a folder


@dataclass(frozen=True)
class Variant:
    """One experiment of a file.

    Attributes
    ----------
    label: which of them; "" where the file is one experiment.
    content: its keys.
    places: key -> where in the file its value stands, of those that stand somewhere else than the key says.

    """

    label: str
    content: dict[str, Any]
    places: Mapping[str, Field] = field(default_factory=dict)

    def placed(self, fault: Fault) -> Fault:
        """Give a fault of this experiment with the place that it has in the file."""
        first, rest = fault.field[:1], fault.field[1:]
        return replace(fault, field=(*self.places[str(first[0])], *rest)) if {*first} & {*self.places} else fault

    def replacing(self, keys: Mapping[str, Any], place: Field, label: str) -> "Variant":
        """Give it with other values of some keys, which stand at a place of the file."""
        places = {**self.places, **{str(key): (*place, str(key)) for key in keys}}
        return Variant(label, {**self.content, **keys}, places)


def variants_of(source: Source, *, quick: bool = False) -> list[Variant]:
    """Give the experiments of a file. Raises ConfigError where its parts do not say what they are."""
    faults: list[Fault] = []
    whole = _whole(source, quick, faults)
    found = [one for part in _parts(whole, faults) for one in _horizons(part, faults)]
    if faults:
        raise source.error(faults)
    return [
        replace(one, content={**one.content, "name": f"{one.content['name']} {one.label}"}) if one.label else one
        for one in found
    ]


def is_suite(source: Source, *, quick: bool = False) -> bool:
    """Tell whether a file holds several experiments, or one that is to have a folder beside others."""
    content = source.content if isinstance(source.content, Mapping) else {}
    extra = content.get(QUICK)
    content = {**content, **extra} if quick and isinstance(extra, Mapping) else content
    return EXPERIMENTS in content or isinstance(content.get("horizon"), list)


def _whole(source: Source, quick: bool, faults: list[Fault]) -> Variant:
    """Give the keys of the file, or those of a quick run."""
    content = {"name": source.path.stem, **source.content}
    extra = content.pop(QUICK, None)
    if QUICK in source.content and not isinstance(extra, Mapping):
        faults.append(Fault((QUICK,), f"should be a mapping of keys that replace those of the file; got {extra!r}"))
    if not quick:
        return Variant("", content)
    if QUICK not in source.content:
        raise ConfigError(
            f"{source.path}:1:1: {QUICK}: this key is missing, and `--quick` takes it: a mapping of keys that replace "
            "those of the file, such as {seeds: [0]}"
        )
    content["name"] = f"{content['name']}-quick"
    return Variant("", content).replacing(extra if isinstance(extra, Mapping) else {}, (QUICK,), "")


def _parts(whole: Variant, faults: list[Fault]) -> list[Variant]:
    if EXPERIMENTS not in whole.content:
        return [whole]
    given = whole.content[EXPERIMENTS]
    place = whole.places.get(EXPERIMENTS, (EXPERIMENTS,))
    if not isinstance(given, Mapping) or not given:
        told = f"should be a mapping of labels to keys that replace those of the file; got {given!r}"
        faults.append(Fault(place, told))
        return []
    rest = replace(whole, content={key: value for key, value in whole.content.items() if key != EXPERIMENTS})
    found = []
    for label, keys in given.items():
        here = (*place, label)
        keys = {} if keys is None else keys
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            faults.append(Fault(here, f"should be letters, digits and any of _ . + -; got {label!r}", at_key=True))
        elif not isinstance(keys, Mapping):
            faults.append(Fault(here, f"should be a mapping of keys that replace those of the file; got {keys!r}"))
        elif taken := {"name", QUICK, EXPERIMENTS} & set(keys):
            key = sorted(taken)[0]
            faults.append(Fault((*here, key), "is a key of the file as a whole; leave it out here", at_key=True))
        else:
            found.append(rest.replacing(keys, here, label))
    return found


def _horizons(part: Variant, faults: list[Fault]) -> list[Variant]:
    given, place = part.content.get("horizon"), part.places.get("horizon", ("horizon",))
    if not isinstance(given, list):
        return [part]
    if not given or len(set(map(repr, given))) < len(given):
        faults.append(Fault(place, f"should be one or more whole numbers, each once; got {given!r}"))
        return []
    found = []
    for number, horizon in enumerate(given):
        label = f"{part.label}-{horizon}" if part.label else f"horizon-{horizon}"
        places = {**part.places, "horizon": (*place, number)}
        found.append(Variant(label, {**part.content, "horizon": horizon}, places))
    return found
