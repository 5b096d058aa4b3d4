"""An experiment on memory: over how many tokens each backbone learns to remember, each length a cell of its own.

Its config has the key `recall`, with the arguments of `forecast.insight.recall.RecallPlan`. Cells go from short to
long, so that lengths which were not solved tell which longer ones are left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pandas as pd
from pydantic import Field, ValidationError

from forecast.experiment.arguments import canonical, construct
from forecast.experiment.config import FromFile, fault_of
from forecast.experiment.datasets import Strict, Whole
from forecast.experiment.engine import Engine, Local, run_cells
from forecast.experiment.faults import Fault, Source, unknown_key
from forecast.experiment.shipped import find_config
from forecast.experiment.store import Store, code_version, key_of
from forecast.experiment.variants import variants_of
from forecast.experiment.work import Progress, Work

if TYPE_CHECKING:
    from forecast.experiment.recall_results import RecallResults
    from forecast.insight.recall import RecallPlan

KIND = {"kind": "recall"}  # marks a folder in which such an experiment is stored
_KEY, _TABLE = "recall", "recall.csv"
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


class RecallExperiment(FromFile):
    """Whose memory is tried, and how; `load_recalls` reads one from a file.

    Attributes
    ----------
    recall: arguments of `RecallPlan`. `backbones`: label -> a name, or `type` and hyper-parameters; a label that is a
        name needs nothing else.
    published: figures of others, told beside ours.

    """

    recall: dict[str, Any]
    published: list[Quoted] = Field([])

    def build_plan(self) -> "RecallPlan":
        """Give the plan. Raises ConfigError."""
        faults: list[Fault] = []
        return self.sound(_plan(self.recall, faults), faults)

    def canonical(self) -> dict[str, Any]:
        """Give all that results depend on, every default spelled out, as JSON can hold it. Raises ConfigError."""
        plan = {name: value for name, value in canonical(self.build_plan()).items() if name != "type"}
        return {"name": self.name, **KIND, **plan, "published": [one.model_dump() for one in self.published]}


def is_on_recall(path: str | Path) -> bool:
    """Tell whether a config file, or a shipped one by its name, is an experiment on memory. Raises ConfigError."""
    content = Source.read(find_config(path)).content
    return isinstance(content, Mapping) and _KEY in content


def holds_recalls(folder: str | Path) -> bool:
    """Tell whether a folder holds the results of an experiment on memory. Raises StoreError where it holds none."""
    return Store(folder).experiment()["config"].items() >= KIND.items()


def load_recalls(path: str | Path, *, quick: bool = False) -> RecallExperiment:
    """Read an experiment on memory from a YAML file, or a shipped one by its name, as in `load_recalls("memory")`.

    With `quick` the keys that the file has under `quick` replace those of the file.

    Raises ConfigError, with one line `file:line:col: field: message` for each fault.
    """
    source = Source.read(find_config(path))
    if not isinstance(source.content, Mapping):
        raise source.error(
            [Fault((), f"an experiment on memory is a mapping with the key {_KEY}; got {source.content!r}")]
        )
    variant = variants_of(source, quick=quick)[0]
    own: list[Fault] = []
    experiment = None
    try:
        experiment = RecallExperiment.model_validate(variant.content)
    except ValidationError as error:
        own += [_fault(one) for one in error.errors()]
    if isinstance(given := variant.content.get(_KEY), Mapping):
        _plan(given, own)
    faults = [*source.faults, *map(variant.placed, own)]
    if faults or experiment is None:
        raise source.error(faults)
    experiment._source, experiment._variant = source, variant
    return experiment


def _fault(error: Any) -> Fault:
    if error["type"] == "extra_forbidden" and error["loc"][0] == "published":
        return unknown_key(error["loc"], list(Quoted.model_fields))
    return fault_of(error, RecallExperiment)


def _plan(given: Mapping[str, Any], faults: list[Fault]) -> Any:
    # Here, since it imports torch.
    from forecast.insight.recall import RecallPlan

    return construct(RecallPlan, given, (_KEY,), faults, {})


@dataclass(frozen=True)
class Trained:
    """What a cell has found: a row of `recall_curves`."""

    table: pd.DataFrame

    def write(self, folder: Path) -> None:
        """Write the row to a folder, which is made."""
        folder.mkdir(parents=True, exist_ok=True)
        self.table.to_csv(folder / _TABLE, index=False, lineterminator="\n")

    @classmethod
    def read(cls, folder: Path) -> "Trained":
        """Read what was written."""
        missing = {name: [""] for name in ("loss", "error", "steps", "seconds", "reach")}
        return cls(pd.read_csv(folder / _TABLE, keep_default_na=False, na_values=missing))


@dataclass(frozen=True, eq=False)
class RecallCell(Work):
    """The work of an experiment on memory: one backbone with one seed on one task of one length."""

    plan: "RecallPlan"
    task: str
    label: str
    seed: int
    length: int
    shorter: Sequence["RecallCell"]  # of the same curve
    config: dict[str, Any]
    key: str
    found: pd.DataFrame | None = None  # what is stored of the shorter lengths

    @property
    def after(self) -> Sequence["RecallCell"]:
        """Those that may say that this one is left out."""
        return self.shorter

    def __str__(self) -> str:
        return f"{self.label}, {self.task}, seed {self.seed}, length {self.length:,}"

    @property
    def kind(self) -> object:
        """Backbone and length, on which the time depends most."""
        return self.label, self.length

    def facts(self) -> dict[str, Any]:
        """Give what a table says of this cell."""
        return {"task": self.task, "backbone": self.label, "seed": self.seed, "length": self.length, "key": self.key}

    def ready(self, store: Store) -> "RecallCell":
        """Give it with what is stored of the shorter lengths."""
        stored = [Trained.read(store.folder_of(cell.key)).table for cell in self.shorter if store.is_done(cell.key)]
        return replace(self, shorter=(), found=pd.concat(stored) if stored else None)

    def compute(self) -> Trained:
        """Train, unless what is stored of the shorter lengths says that this one is left out."""
        from forecast.insight.recall import recall_at

        return Trained(recall_at(self.plan, self.task, self.label, self.seed, self.length, self.found))


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
    from forecast.experiment.cost_results import write_setting
    from forecast.experiment.recall_results import publish

    experiment = config if isinstance(config, RecallExperiment) else load_recalls(config)
    store = Store(Path("results", experiment.name) if out is None else out)
    cells = recall_cells(experiment)
    with store.opened(experiment.canonical(), [cell.facts() for cell in cells]):
        write_setting(store, experiment.text)
        progress = progress or Progress()
        run_cells(cells, store, progress, engine)
        progress.writing()
        return publish(store)


def rebuild_recalls(folder: str | Path) -> "RecallResults":
    """Write the results of a folder anew from its stored cells, those that are finished; nothing is trained.

    Raises StoreError where the folder is not that of an experiment.
    """
    from forecast.experiment.recall_results import publish

    store = Store(folder)
    store.experiment()
    with store.locked():
        return publish(store)


def recall_cells(experiment: RecallExperiment) -> list[RecallCell]:
    """Give all cells of an experiment: from short to long, so that none waits for a long one. Raises ConfigError."""
    plan = experiment.build_plan()
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
                    config = {
                        **KIND,
                        "task": task,
                        "label": label,
                        "backbone": spelled["backbones"][label],
                        "seed": seed,
                        "length": length,
                        "shorter": [cell.length for cell in curve],  # which decide whether this one is left out
                        **same,
                        "code": code_version(),
                    }
                    curve.append(RecallCell(plan, task, label, seed, length, tuple(curve), config, key_of(config)))
                    cells.append(curve[-1])
    return cells
