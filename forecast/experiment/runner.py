"""The run of an experiment: its cells in a stated order, each computed once and stored, then the results written anew.

The order is that of the config: data set, forecaster, seed, and then time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Protocol

from forecast.evaluation.backtest import groups, run_group, runs
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.plan import Fold, Plan
from forecast.experiment.arguments import argument_named, canonical
from forecast.experiment.config import Experiment, load_experiment
from forecast.experiment.faults import Fault
from forecast.experiment.results import Results, publish, write_setting
from forecast.experiment.store import Content, Store, checksum_of, code_version, key_of
from forecast.forecaster import Forecaster
from forecast.frame import Panel

Outcome = Literal["stored", "done", "failed"]


class Work(Protocol):
    """The unit of work of any experiment; `str` of it says which one it is."""

    @property
    def config(self) -> dict[str, Any]:
        """All that its numbers depend on, as JSON can hold it."""
        ...

    @property
    def key(self) -> str:
        """Its place in the store."""
        ...

    @property
    def kind(self) -> object:
        """What cells have in common that take about as long."""
        ...

    def compute(self) -> Content:
        """Do it."""
        ...


@dataclass(frozen=True, eq=False)
class Cell:
    """The work of a backtest: one forecaster with one seed on the folds of a data set that share a fit."""

    dataset: str
    label: str
    seed: int
    folds: Sequence[Fold]
    of: int  # folds in the plan
    forecaster: Forecaster
    panel: Panel
    plan: Plan
    config: dict[str, Any]  # all that its numbers depend on
    key: str

    def __str__(self) -> str:
        first, last = self.folds[0].number + 1, self.folds[-1].number + 1
        which = f"fold {first}" if first == last else f"folds {first} to {last}"
        return f"{self.label}, seed {self.seed}, {which} of {self.of}"

    @property
    def kind(self) -> object:
        """The class of its forecaster."""
        return type(self.forecaster)

    def facts(self) -> dict[str, Any]:
        """Give what a table says of this cell."""
        return {
            "dataset": self.dataset,
            "forecaster": self.label,
            "family": str(getattr(self.forecaster, "family", "")),
            "seed": self.seed,
            "folds": [fold.number for fold in self.folds],
            "key": self.key,
        }

    def compute(self) -> Ledger:
        """Fit and forecast; a cell knows of no other."""
        return run_group(self.panel, self.forecaster, self.label, self.seed, self.plan, self.folds)


class Progress:
    """What a run tells while it is at work; the methods of this one do nothing."""

    def begin(self, cells: Sequence[Work]) -> None:
        """All cells are known, in their order."""

    def at_work(self, cell: Work) -> None:
        """A cell is being computed."""

    def finished(self, cell: Work, outcome: Outcome, seconds: float) -> None:
        """A cell was there already (stored), has been computed (done), or has failed."""

    def writing(self) -> None:
        """All cells are finished; scores, plots and report are being written."""


def run_experiment(
    config: Experiment | str | Path, out: str | Path | None = None, progress: Progress | None = None
) -> Results:
    """Run an experiment, or go on with one that was stopped, and write its results.

    A finished cell is stored at once, and taken from the store by every later run into the same folder, whatever ended
    this one. A cell that fails is stored with its traceback, the others go on, and the next run tries it again.

    Parameters
    ----------
    config: an experiment, the path of its YAML file, or the name of a shipped one.
    out: the folder of results; None for `results/<name of the experiment>`.
    progress: is told of every cell.

    Raises
    ------
    ConfigError: something in the config cannot be used, or the data do not hold what it asks for.
    StoreError: the folder cannot be written to, or holds something else.
    KeyboardInterrupt: the user wants to stop; finished cells are stored.

    """
    experiment = config if isinstance(config, Experiment) else load_experiment(config)
    progress = progress or Progress()
    cells = cells_of(experiment)
    folder = Path("results", experiment.name) if out is None else Path(out)
    with Store(folder).opened(experiment.canonical(), [cell.facts() for cell in cells]) as store:
        write_setting(store, experiment, {cell.dataset: (cell.panel, cell.plan) for cell in cells})
        run_cells(cells, store, progress)
        return publish(store)


def run_cells(cells: Sequence[Work], store: Store, progress: Progress) -> None:
    """Compute and store the cells that are not stored, in their order."""
    progress.begin(cells)
    for cell in cells:
        if store.is_done(cell.key):
            progress.finished(cell, "stored", 0.0)
            continue
        progress.at_work(cell)
        began = perf_counter()
        outcome = _run(cell, store)
        progress.finished(cell, outcome, perf_counter() - began)
    progress.writing()


def rebuild(folder: str | Path) -> Results:
    """Write the results of a folder anew from its stored cells, those that are finished; nothing is computed.

    Raises StoreError where the folder is not that of an experiment.
    """
    store = Store(folder)
    store.experiment()
    with store.locked():
        return publish(store)


def cells_of(experiment: Experiment) -> list[Cell]:
    """Give all cells of an experiment, in their order; the data are read. Raises ConfigError."""
    plan, forecasters = experiment.build_plan(), experiment.build_forecasters()
    cells = []
    for name, panel in experiment.panels().items():
        try:
            folds = plan.folds(panel)
        except (TypeError, ValueError) as error:
            raise experiment.error(
                [Fault(("plan", *argument_named(str(error), experiment.plan)), str(error))]
            ) from error
        data = checksum_of(panel)
        for label, forecaster, seed in runs(forecasters, experiment.seeds):
            for group in groups(folds):
                config = _config(name, data, label, forecaster, seed, plan, group)
                cells.append(
                    Cell(name, label, seed, group, len(folds), forecaster, panel, plan, config, key_of(config))
                )
    return cells


def _config(
    dataset: str, data: str, label: str, forecaster: Forecaster, seed: int, plan: Plan, folds: Sequence[Fold]
) -> dict[str, Any]:
    """Give all that the numbers of a cell depend on, as JSON can hold it."""
    arguments = canonical(forecaster, label)
    arguments.pop("seed", None)
    return {
        "dataset": dataset,
        "data": data,
        "label": label,
        "forecaster": arguments,
        "seed": seed,
        "horizon": plan.horizon,
        "window": plan.window,
        "min_history": plan.min_history,
        "season_length": plan.season_length,
        "cutoffs": [str(fold.stamp) for fold in folds],
        "fit_on": [folds[0].train_start, folds[0].train_end],
        "code": code_version(),
    }


def _run(cell: Work, store: Store) -> Outcome:
    try:
        content = cell.compute()
    except SystemExit as stop:
        # Some trainers end the process themselves when the user presses Ctrl-C; a library does not.
        raise KeyboardInterrupt from stop
    except Exception as error:  # whatever a cell raises is its result, and no other's
        store.write_error(cell.key, cell.config, error)
        return "failed"
    store.write(cell.key, cell.config, content)
    return "done"
