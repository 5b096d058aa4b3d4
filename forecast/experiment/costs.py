"""An experiment on costs: how time and memory grow with the history, each point of each curve a cell of its own.

Its config has the key `cost`, with the arguments of `forecast.insight.cost.CostPlan`. Cells run in the order of
backbone, patch length and length, so that those of shorter histories tell which longer ones would take too much.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from forecast.experiment.arguments import canonical
from forecast.experiment.curves import CurveCell, CurveExperiment, load_curves, rebuild_curves, run_curves
from forecast.experiment.engine import Engine, Local
from forecast.experiment.protocol import protocol
from forecast.experiment.store import code_version, key_of
from forecast.experiment.work import Progress

if TYPE_CHECKING:
    from forecast.experiment.cost_results import CostResults
    from forecast.insight.cost import CostPlan


class CostExperiment(CurveExperiment):
    """Whose costs are measured, and how; `load_costs` reads one from a file.

    Attributes
    ----------
    cost: arguments of `CostPlan`. `backbones`: label -> a name, or `type` and hyper-parameters; a label that is a name
        needs nothing else.

    """

    kind: ClassVar[str] = "cost"
    subject: ClassVar[str] = "costs"
    cost: dict[str, Any]

    @classmethod
    def plan_class(cls) -> type:
        """Give `CostPlan`."""
        from forecast.insight.cost import CostPlan

        return CostPlan

    def cells(self) -> list["CostCell"]:
        """Give all cells, curve by curve. Raises ConfigError."""
        return cells_of_plan(self.build_plan())


@dataclass(frozen=True, eq=False, kw_only=True)
class CostCell(CurveCell):
    """The work of an experiment on costs: one backbone at one patch length and one length."""

    patch_length: int
    alone: ClassVar[bool] = True

    def __str__(self) -> str:
        return f"{self.label}, patches of {self.patch_length}, {self.length:,} values"

    @property
    def kind(self) -> object:
        """The length, on which the time depends most."""
        return self.length

    def facts(self) -> dict[str, Any]:
        """Give what a table says of this cell."""
        return {"backbone": self.label, "patch_length": self.patch_length, "length": self.length, "key": self.key}

    def measured(self) -> pd.DataFrame:
        """Give the costs in every mode."""
        from forecast.insight.cost import cost_at

        return cost_at(self.plan, self.label, self.patch_length, self.length, self.known)


def load_costs(path: str | Path, *, quick: bool = False) -> CostExperiment:
    """Read an experiment on costs from a YAML file, or a shipped one by its name, as in `load_costs("cost")`.

    With `quick` the keys that the file has under `quick` replace those of the file.

    Raises ConfigError, with one line `file:line:col: field: message` for each fault.
    """
    return load_curves(CostExperiment, path, quick=quick)


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
    from forecast.experiment.cost_results import publish

    experiment = config if isinstance(config, CostExperiment) else load_costs(config)
    return run_curves(experiment, publish, out, progress, engine)


def rebuild_costs(folder: str | Path) -> "CostResults":
    """Write the results of a folder anew from its stored cells, those that are finished; nothing is measured.

    Raises StoreError where the folder is not that of an experiment.
    """
    from forecast.experiment.cost_results import publish

    return rebuild_curves(folder, publish)


def cells_of_plan(plan: "CostPlan") -> list[CostCell]:
    """Give all cells of a plan, in their order."""
    cells = []
    spelled = canonical(plan)
    same = {name: spelled[name] for name in spelled if name not in ("type", "backbones", "patch_lengths", "lengths")}
    for label in plan.backbones:
        for patch_length in plan.patch_lengths:
            curve: list[CostCell] = []
            for length in plan.lengths:
                point = {"label": label, "patch_length": patch_length, "length": length}
                # Times belong to the machine: one that goes on with the work of another measures anew.
                config = {
                    "kind": CostExperiment.kind,
                    **point,
                    "backbone": spelled["backbones"][label],
                    **same,
                    "code": code_version(),
                    **protocol(),
                }
                curve.append(CostCell(**point, plan=plan, shorter=tuple(curve), config=config, key=key_of(config)))
            cells += curve
    return cells
