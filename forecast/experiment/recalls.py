"""An experiment on memory: over how many tokens each backbone learns to remember, each length a cell of its own.

Its config has the key `recall`, with the arguments of `forecast.insight.recall.RecallPlan`. Cells go from short to
long, so that lengths which were not solved tell which longer ones are left out.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import pandas as pd
from pydantic import Field

from forecast.experiment.arguments import canonical
from forecast.experiment.curves import CurveCell, CurveExperiment, load_curves, rebuild_curves, run_curves
from forecast.experiment.datasets import Strict, Whole
from forecast.experiment.engine import Engine, Local
from forecast.experiment.faults import Fault, unknown_key
from forecast.experiment.store import code_version, key_of
from forecast.experiment.work import Progress

if TYPE_CHECKING:
    from forecast.experiment.recall_results import RecallResults

Text = Annotated[str, Field(min_length=1)]


class Quoted(Strict):
    """A figure of somebody else's table.

    Attributes
    ----------
    name: of the network.
    source: the paper, and where the figure was read.
    task, length: as in `RecallPlan`; both may be others than those that are tried here.
    loss: as printed; of the copy task the mean over all tokens, blanks included.
    parameters: about how many it has.

    """

    name: Text
    source: Text
    task: Literal["adding", "copy"]
    length: Whole
    loss: Annotated[float, Field(ge=0)]
    parameters: Whole | None = None


class RecallExperiment(CurveExperiment):
    """Whose memory is tried, and how; `load_recalls` reads one from a file.

    Attributes
    ----------
    recall: arguments of `RecallPlan`. `backbones`: label -> a name, or `type` and hyper-parameters; a label that is a
        name needs nothing else.
    published: figures of others, told beside ours.

    """

    kind: ClassVar[str] = "recall"
    subject: ClassVar[str] = "memory"
    recall: dict[str, Any]
    published: list[Quoted] = Field([])

    @classmethod
    def plan_class(cls) -> type:
        """Give `RecallPlan`."""
        from forecast.insight.recall import RecallPlan

        return RecallPlan

    @classmethod
    def fault(cls, error: Any) -> Fault:
        """Give what an error of pydantic says of a config, figures of others among it."""
        if error["type"] == "extra_forbidden" and error["loc"][0] == "published":
            return unknown_key(error["loc"], list(Quoted.model_fields))
        return super().fault(error)

    def cells(self) -> list["RecallCell"]:
        """Give all cells: from short to long, so that none waits for a long one. Raises ConfigError."""
        plan = self.build_plan()
        spelled = canonical(plan)
        varied = ("type", "backbones", "tasks", "lengths", "seeds")
        same = {name: value for name, value in spelled.items() if name not in varied}
        curves: dict[tuple[str, str, int], list[RecallCell]] = {}
        cells = []
        for length in plan.lengths:
            for task in plan.tasks:
                for label in plan.backbones:
                    for seed in plan.seeds:
                        curve = curves.setdefault((task, label, seed), [])
                        point = {"task": task, "label": label, "seed": seed, "length": length}
                        config = {
                            "kind": self.kind,
                            **point,
                            "backbone": spelled["backbones"][label],
                            "shorter": [cell.length for cell in curve],  # which decide whether this one is left out
                            **same,
                            "code": code_version(),
                        }
                        of = {"plan": plan, "shorter": tuple(curve), "config": config, "key": key_of(config)}
                        curve.append(RecallCell(**point, **of))
                        cells.append(curve[-1])
        return cells


@dataclass(frozen=True, eq=False, kw_only=True)
class RecallCell(CurveCell):
    """The work of an experiment on memory: one backbone with one seed on one task of one length."""

    task: str
    seed: int

    def __str__(self) -> str:
        return f"{self.label}, {self.task}, seed {self.seed}, length {self.length:,}"

    @property
    def kind(self) -> object:
        """Backbone and length, on which the time depends most."""
        return self.label, self.length

    def facts(self) -> dict[str, Any]:
        """Give what a table says of this cell."""
        return {"task": self.task, "backbone": self.label, "seed": self.seed, "length": self.length, "key": self.key}

    def measured(self) -> pd.DataFrame:
        """Give what was learned of the task."""
        from forecast.insight.recall import recall_at

        return recall_at(self.plan, self.task, self.label, self.seed, self.length, self.known)


def load_recalls(path: str | Path, *, quick: bool = False) -> RecallExperiment:
    """Read an experiment on memory from a YAML file, or a shipped one by its name, as in `load_recalls("memory")`.

    With `quick` the keys that the file has under `quick` replace those of the file.

    Raises ConfigError, with one line `file:line:col: field: message` for each fault.
    """
    return load_curves(RecallExperiment, path, quick=quick)


def run_recalls(
    config: RecallExperiment | str | Path,
    out: str | Path | None = None,
    progress: Progress | None = None,
    *,
    engine: Engine = Local(workers=1),  # noqa: B008 (frozen)
) -> "RecallResults":
    """Run an experiment on memory, or go on with one that was stopped, and write its results.

    Parameters
    ----------
    config: an experiment, the path of its YAML file, or the name of a shipped one.
    out: the folder of results; None for `results/<name of the experiment>`.
    progress: is told of every cell.
    engine: where cells are computed: in this process, one after the other; `Local()` for a worker process on each
        processor core. Of no effect on any number but seconds.

    Raises
    ------
    ConfigError: something in the config cannot be used.
    StoreError: the folder cannot be written to, or holds something else.
    KeyboardInterrupt: the user wants to stop; finished cells are stored.

    """
    from forecast.experiment.recall_results import publish

    experiment = config if isinstance(config, RecallExperiment) else load_recalls(config)
    return run_curves(experiment, publish, out, progress, engine)


def rebuild_recalls(folder: str | Path) -> "RecallResults":
    """Write the results of a folder anew from its stored cells, those that are finished; nothing is trained.

    Raises StoreError where the folder is not that of an experiment.
    """
    from forecast.experiment.recall_results import publish

    return rebuild_curves(folder, publish)
