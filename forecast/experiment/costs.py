"""An experiment on costs: how time and memory grow with the history, each point of each curve a cell of its own.

Its config has the key `cost`, with the arguments of `forecast.insight.cost.CostPlan`. Cells run in the order of
backbone, patch length and length, so that those of shorter histories tell which longer ones would take too much.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
from pydantic import ValidationError

from forecast.experiment.arguments import canonical, construct
from forecast.experiment.config import FromFile, fault_of
from forecast.experiment.engine import Engine, Local, run_cells
from forecast.experiment.faults import Fault, Source
from forecast.experiment.protocol import protocol
from forecast.experiment.shipped import find_config
from forecast.experiment.store import Store, code_version, key_of
from forecast.experiment.work import Progress, Work

if TYPE_CHECKING:
    from forecast.experiment.cost_results import CostResults
    from forecast.insight.cost import CostPlan

KIND = {"kind": "cost"}  # marks a folder in which such an experiment is stored
_TABLE = "cost.csv"


class CostExperiment(FromFile):
    """Whose costs are measured, and how; `load_costs` reads one from a file.

    Attributes
    ----------
    cost: arguments of `CostPlan`. `backbones`: label -> a name, or `type` and hyper-parameters; a label that is a name
        needs nothing else.

    """

    cost: dict[str, Any]

    def build_plan(self) -> "CostPlan":
        """Give the plan. Raises ConfigError."""
        faults: list[Fault] = []
        return self.sound(_plan(self.cost, faults), faults)

    def canonical(self) -> dict[str, Any]:
        """Give all that results depend on, every default spelled out, as JSON can hold it. Raises ConfigError."""
        plan = {name: value for name, value in canonical(self.build_plan()).items() if name != "type"}
        return {"name": self.name, **KIND, **plan}


def is_on_costs(path: str | Path) -> bool:
    """Tell whether a config file, or a shipped one by its name, is an experiment on costs. Raises ConfigError."""
    content = Source.read(find_config(path)).content
    return isinstance(content, Mapping) and "cost" in content


def holds_costs(folder: str | Path) -> bool:
    """Tell whether a folder holds the results of an experiment on costs. Raises StoreError where it holds none."""
    return Store(folder).experiment()["config"].items() >= KIND.items()


def load_costs(path: str | Path) -> CostExperiment:
    """Read an experiment on costs from a YAML file, or a shipped one by its name, as in `load_costs("cost")`.

    Raises ConfigError, with one line `file:line:col: field: message` for each fault.
    """
    source = Source.read(find_config(path))
    faults = list(source.faults)
    if not isinstance(source.content, Mapping):
        raise source.error(
            [Fault((), f"an experiment on costs is a mapping with the key cost; got {source.content!r}")]
        )
    content = {"name": source.path.stem, **source.content}
    experiment = None
    try:
        experiment = CostExperiment.model_validate(content)
    except ValidationError as error:
        faults += [fault_of(one, CostExperiment) for one in error.errors()]
    if isinstance(content.get("cost"), Mapping):
        _plan(content["cost"], faults)
    if faults or experiment is None:
        raise source.error(faults)
    experiment._source = source
    return experiment


def _plan(given: Mapping[str, Any], faults: list[Fault]) -> Any:
    # Here, since it imports torch.
    from forecast.insight.cost import CostPlan

    return construct(CostPlan, given, ("cost",), faults, {})


@dataclass(frozen=True)
class Point:
    """What a cell has measured: one backbone at one patch length and one length, a row for each mode."""

    table: pd.DataFrame

    def write(self, folder: Path) -> None:
        """Write the table to a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self.table.to_csv(folder / _TABLE, index=False, lineterminator="\n")

    @classmethod
    def read(cls, folder: Path) -> "Point":
        """Read what was written."""
        missing = {"seconds": [""], "bytes": [""]}
        return cls(pd.read_csv(folder / _TABLE, keep_default_na=False, na_values=missing))


@dataclass(frozen=True, eq=False)
class CostCell(Work):
    """The work of an experiment on costs: one backbone at one patch length and one length."""

    plan: "CostPlan"
    label: str
    patch_length: int
    length: int
    shorter: Sequence["CostCell"]  # of the same curve
    config: dict[str, Any]
    key: str
    measured: pd.DataFrame | None = None  # what is stored of the shorter lengths
    alone: ClassVar[bool] = True

    @property
    def after(self) -> Sequence["CostCell"]:
        """Those that may say that this one would take too much."""
        return self.shorter

    def __str__(self) -> str:
        return f"{self.label}, patches of {self.patch_length}, {self.length:,} values"

    @property
    def kind(self) -> object:
        """The length, on which the time depends most."""
        return self.length

    def facts(self) -> dict[str, Any]:
        """Give what a table says of this cell."""
        return {"backbone": self.label, "patch_length": self.patch_length, "length": self.length, "key": self.key}

    def ready(self, store: Store) -> "CostCell":
        """Give it with what is stored of the shorter lengths."""
        stored = [Point.read(store.folder_of(cell.key)).table for cell in self.shorter if store.is_done(cell.key)]
        return replace(self, shorter=(), measured=pd.concat(stored) if stored else None)

    def compute(self) -> Point:
        """Measure, unless what is stored of the shorter lengths says that it would take too much."""
        from forecast.insight.cost import cost_at

        return Point(cost_at(self.plan, self.label, self.patch_length, self.length, self.measured))


def run_costs(
    config: CostExperiment | str | Path,
    out: str | Path | None = None,
    progress: Progress | None = None,
    *,
    engine: Engine = Local(workers=1),  # noqa: B008 (frozen)
) -> "CostResults":
    """Run an experiment on costs, or go on with one that was stopped, and write its results.

    Parameters
    ----------
    config: an experiment, the path of its YAML file, or the name of a shipped one.
    out: the folder of results; None for `results/<name of the experiment>`.
    progress: is told of every cell.
    engine: where cells are computed, one at a time: each measures the machine.

    Raises
    ------
    ConfigError: something in the config cannot be used.
    StoreError: the folder cannot be written to, or holds something else.
    KeyboardInterrupt: the user wants to stop; finished cells are stored.

    """
    from forecast.experiment.cost_results import publish, write_setting

    experiment = config if isinstance(config, CostExperiment) else load_costs(config)
    store = Store(Path("results", experiment.name) if out is None else out)
    cells = cost_cells(experiment)
    with store.opened(experiment.canonical(), [cell.facts() for cell in cells]):
        write_setting(store, experiment.text)
        progress = progress or Progress()
        run_cells(cells, store, progress, engine)
        progress.writing()
        return publish(store)


def rebuild_costs(folder: str | Path) -> "CostResults":
    """Write the results of a folder anew from its stored cells, those that are finished; nothing is measured.

    Raises StoreError where the folder is not that of an experiment.
    """
    from forecast.experiment.cost_results import publish

    store = Store(folder)
    store.experiment()
    with store.locked():
        return publish(store)


def cost_cells(experiment: CostExperiment) -> list[CostCell]:
    """Give all cells of an experiment, in their order. Raises ConfigError."""
    return cells_of_plan(experiment.build_plan())


def cells_of_plan(plan: "CostPlan") -> list[CostCell]:
    """Give all cells of a plan, in their order."""
    cells = []
    spelled = canonical(plan)
    same = {name: spelled[name] for name in spelled if name not in ("type", "backbones", "patch_lengths", "lengths")}
    for label in plan.backbones:
        for patch_length in plan.patch_lengths:
            curve: list[CostCell] = []
            for length in plan.lengths:
                # Times belong to the machine: one that goes on with the work of another measures anew.
                config = {
                    **KIND,
                    "label": label,
                    "backbone": spelled["backbones"][label],
                    "patch_length": patch_length,
                    "length": length,
                    **same,
                    "code": code_version(),
                    **protocol(),
                }
                curve.append(CostCell(plan, label, patch_length, length, tuple(curve), config, key_of(config)))
            cells += curve
    return cells
