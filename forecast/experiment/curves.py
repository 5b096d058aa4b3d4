"""Experiments on curves: points of growing length, each a cell of its own, whose longer ones hang on shorter ones.

Such an experiment has no data and no forecasts. Its config has one key of its own, with the arguments of a plan: what
costs grow to with the history, or over how many tokens is remembered.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import pandas as pd
from pydantic import ValidationError

from forecast.experiment.arguments import canonical, construct
from forecast.experiment.config import FromFile, fault_of
from forecast.experiment.engine import Engine, run_cells
from forecast.experiment.faults import Fault, Source
from forecast.experiment.setting import write_origin
from forecast.experiment.shipped import find_config
from forecast.experiment.store import Store
from forecast.experiment.variants import variants_of
from forecast.experiment.work import Progress, Work

_TABLE = "point.csv"
_NUMBERS = ("seconds", "bytes", "loss", "error", "steps", "reach")  # that may be missing; other columns are text


class CurveExperiment(FromFile):
    """Whose curves are measured, and how; each kind is a subclass.

    Attributes
    ----------
    kind: the key of its plan in a config, an attribute too; it marks a folder of results.
    subject: what it is on, as people are told.

    """

    kind: ClassVar[str]
    subject: ClassVar[str]

    @classmethod
    @abstractmethod
    def plan_class(cls) -> type:
        """Give the class of the plan; imported here, since it imports torch."""

    @classmethod
    def plan_of(cls, given: Mapping[str, Any], faults: list[Fault]) -> Any:
        """Give the plan of these arguments, or add to `faults` what speaks against it."""
        return construct(cls.plan_class(), given, (cls.kind,), faults, {})

    @classmethod
    def fault(cls, error: Any) -> Fault:
        """Give what an error of pydantic says of a config."""
        return fault_of(error, cls)

    def build_plan(self) -> Any:
        """Give the plan. Raises ConfigError."""
        faults: list[Fault] = []
        return self.sound(self.plan_of(getattr(self, self.kind), faults), faults)

    def canonical(self) -> dict[str, Any]:
        """Give all that results depend on, every default spelled out, as JSON can hold it. Raises ConfigError."""
        plan = {name: value for name, value in canonical(self.build_plan()).items() if name != "type"}
        beside = self.model_dump(mode="json", exclude={"name", self.kind})
        return {"name": self.name, "kind": self.kind, **plan, **beside}

    @abstractmethod
    def cells(self) -> Sequence["CurveCell"]:
        """Give all cells, in the order in which they are computed. Raises ConfigError."""


Kind = TypeVar("Kind", bound=CurveExperiment)
Results = TypeVar("Results")


def is_of_kind(kind: type[CurveExperiment], path: str | Path) -> bool:
    """Tell whether a config file, or a shipped one by its name, is an experiment of a kind. Raises ConfigError."""
    content = Source.read(find_config(path)).content
    return isinstance(content, Mapping) and kind.kind in content


def holds_kind(kind: type[CurveExperiment], folder: str | Path) -> bool:
    """Tell whether a folder holds results of an experiment of a kind. Raises StoreError where it holds none."""
    return Store(folder).experiment()["config"].get("kind") == kind.kind


def load_curves(kind: type[Kind], path: str | Path, *, quick: bool = False) -> Kind:
    """Read an experiment of a kind from a YAML file, or a shipped one by its name.

    With `quick` the keys that the file has under `quick` replace those of the file.

    Raises ConfigError, with one line `file:line:col: field: message` for each fault.
    """
    source = Source.read(find_config(path))
    if not isinstance(source.content, Mapping):
        told = f"an experiment on {kind.subject} is a mapping with the key {kind.kind}; got {source.content!r}"
        raise source.error([Fault((), told)])
    variant = variants_of(source, quick=quick)[0]
    own: list[Fault] = []
    experiment = None
    try:
        experiment = kind.model_validate(variant.content)
    except ValidationError as error:
        own += [kind.fault(one) for one in error.errors()]
    if isinstance(given := variant.content.get(kind.kind), Mapping):
        kind.plan_of(given, own)
    faults = [*source.faults, *map(variant.placed, own)]
    if faults or experiment is None:
        raise source.error(faults)
    experiment._source, experiment._variant = source, variant
    return experiment


@dataclass(frozen=True)
class Point:
    """What a cell has found: the rows of one point of a curve."""

    table: pd.DataFrame

    def write(self, folder: Path) -> None:
        """Write the rows to a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self.table.to_csv(folder / _TABLE, index=False, lineterminator="\n")

    @classmethod
    def read(cls, folder: Path) -> "Point":
        """Read what was written."""
        missing = {name: [""] for name in _NUMBERS}
        return cls(pd.read_csv(folder / _TABLE, keep_default_na=False, na_values=missing))


@dataclass(frozen=True, eq=False, kw_only=True)
class CurveCell(Work):
    """The work of such an experiment: one point of a curve; each kind is a subclass.

    Attributes
    ----------
    plan: that of the experiment.
    label: the backbone.
    length: of the point.
    shorter: the cells of the same curve at shorter lengths.
    known: what is stored of them, once it is ready; None for nothing.

    """

    plan: Any
    label: str
    length: int
    shorter: Sequence["CurveCell"]
    config: dict[str, Any]
    key: str
    known: pd.DataFrame | None = None

    @property
    def after(self) -> Sequence["CurveCell"]:
        """Those that may say that this one is left out."""
        return self.shorter

    def ready(self, store: Store) -> Self:
        """Give it with what is stored of the shorter lengths."""
        known = points_of(store, [cell.key for cell in self.shorter])
        return replace(self, shorter=(), known=known)

    def compute(self) -> Point:
        """Measure, unless what is stored of the shorter lengths says that this one is left out."""
        return Point(self.measured())

    @abstractmethod
    def measured(self) -> pd.DataFrame:
        """Give the rows of the point."""


def points_of(store: Store, keys: Sequence[str]) -> pd.DataFrame | None:
    """Give the rows of all cells that are finished; None where none is."""
    tables = [Point.read(store.folder_of(key)).table for key in keys if store.is_done(key)]
    return pd.concat(tables, ignore_index=True) if tables else None


def run_curves(
    experiment: CurveExperiment,
    publish: Callable[[Store], Results],
    out: str | Path | None,
    progress: Progress | None,
    engine: Engine,
) -> Results:
    """Run an experiment, or go on with one that was stopped, and write its results to `out`, or below `results`.

    Raises ConfigError, StoreError, and KeyboardInterrupt where the user wants to stop; finished cells are stored.
    """
    store = Store(Path("results", experiment.name) if out is None else out)
    cells = experiment.cells()
    with store.opened(experiment.canonical(), [cell.facts() for cell in cells]):
        write_origin(store, experiment.text)
        progress = progress or Progress()
        run_cells(cells, store, progress, engine)
        progress.writing()
        return publish(store)


def rebuild_curves(folder: str | Path, publish: Callable[[Store], Results]) -> Results:
    """Write the results of a folder anew from its stored cells, those that are finished; nothing is measured.

    Raises StoreError where the folder is not that of an experiment.
    """
    store = Store(folder)
    store.experiment()
    with store.locked():
        return publish(store)
