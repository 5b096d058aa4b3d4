"""Audits in an experiment: each distinct forecaster of a data set once, as stored work, which gives a badge."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from forecast.auditing.audit import MODULES, PROBES, audit
from forecast.auditing.certificate import Certificate
from forecast.experiment.arguments import canonical
from forecast.experiment.store import Store, checksum_of, code_version, key_of
from forecast.experiment.work import Work
from forecast.forecaster import Forecaster
from forecast.frame import Panel

KIND = "audit"
COLUMNS = ["dataset", "forecaster", "passed", "badge", "seconds", "file"]
_FILE = "certificate.json"
# A fresh process that imports torch takes as long as all others together; and what is saved is no part of a comparison.
LEFT_OUT = ("P16",)
_ASKED = [*(probe.id for probe in PROBES if probe.id not in LEFT_OUT), MODULES]


@dataclass(frozen=True)
class Certified:
    """A certificate as a store keeps it."""

    certificate: Certificate

    def write(self, folder: Path) -> None:
        """Write it to a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate.write(folder / _FILE)


@dataclass(frozen=True, eq=False)
class Audit(Work):
    """The work of an audit: one forecaster, on a cut of a data set; `labels` are all that it has in the experiment."""

    dataset: str
    labels: tuple[str, ...]
    forecaster: Forecaster
    panel: Panel
    config: dict[str, Any]
    key: str

    def __str__(self) -> str:
        return f"audit of {self.labels[0]} on {self.dataset}"

    @property
    def kind(self) -> object:
        """Audits of one class take about as long."""
        return KIND, type(self.forecaster)

    def facts(self) -> dict[str, Any]:
        """Give what a table says of it."""
        return {"kind": KIND, "dataset": self.dataset, "forecasters": list(self.labels), "key": self.key}

    def compute(self) -> Certified:
        """Audit it."""
        return Certified(audit(self.forecaster, self.panel, probes=_ASKED))


def audits_of(dataset: str, forecasters: Mapping[str, Forecaster], panel: Panel) -> list[Audit]:
    """Give the audits of a data set: forecasters that differ in nothing but label and seed are audited once."""
    data, alike = checksum_of(panel), dict[str, list[str]]()
    configs = {}
    for label, forecaster in forecasters.items():
        arguments = canonical(forecaster, label)
        arguments.pop("seed", None)
        config = {"kind": KIND, "data": data, "forecaster": arguments, "probes": _ASKED, "code": code_version()}
        configs[key := key_of(config)] = config
        alike.setdefault(key, []).append(label)
    return [
        Audit(dataset, tuple(labels), forecasters[labels[0]], panel, configs[key], key) for key, labels in alike.items()
    ]


def audits_in(store: Store, works: Sequence[Mapping[str, Any]], dataset: str) -> dict[str, Certificate | str]:
    """Give by label the certificate that is stored, or why there is none."""
    found: dict[str, Certificate | str] = {}
    for work in works:
        if work["kind"] != KIND or work["dataset"] != dataset:
            continue
        if store.is_done(work["key"]):
            one: Certificate | str = Certificate.read(store.folder_of(work["key"]) / _FILE)
        elif error := store.read_error(work["key"]):
            one = f"could not be audited: {error['type']}: {' '.join(error['message'].split())}"
        else:
            one = "not audited yet"
        found |= dict.fromkeys(work["forecasters"], one)
    return found


def failed_in(audits: Mapping[str, Certificate | str]) -> list[str]:
    """Give the forecasters of which a probe failed."""
    return [label for label, one in audits.items() if isinstance(one, Certificate) and one.failed]


def write_audits(store: Store, audits: Mapping[str, Mapping[str, Certificate | str]]) -> pd.DataFrame:
    """Write the certificates into the folder `audits` of the results, and give a row for each forecaster."""
    rows = []
    with store.replacing("audits") as folder:
        folder.mkdir()
        for dataset, of in audits.items():
            for (label, one), name in zip(of.items(), _names(dataset, of), strict=True):
                row: dict[str, Any] = {
                    "dataset": dataset,
                    "forecaster": label,
                    "badge": one if isinstance(one, str) else one.badge,
                }
                if isinstance(one, Certificate):
                    one.write(folder / name)
                    row |= {"passed": one.passed, "file": f"audits/{name}"}
                    row["seconds"] = sum(finding.milliseconds for finding in one.findings) / 1000
                rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS)


def _names(dataset: str, labels: Mapping[str, Any]) -> Iterator[str]:
    """Give a file name for each label, whatever stands in it; names that would come twice are numbered."""
    taken: dict[str, int] = {}
    for label in labels:
        plain = re.sub(r"[^\w.+-]+", "_", label).strip("_.")
        name = f"{dataset} {plain}"
        taken[name.lower()] = taken.get(name.lower(), 0) + 1
        yield f"{name}{'' if taken[name.lower()] == 1 else f' {taken[name.lower()]}'}.json"
