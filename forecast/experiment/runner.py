"""The run of an experiment: its cells in a stated order, each computed once and stored, then the results written anew.

What the regime has to measure or try comes first; then the order is that of the config: data set, forecaster, seed, and
then time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forecast.evaluation.backtest import check_follows, groups, run_group, runs
from forecast.evaluation.folds import Fold, Folds
from forecast.evaluation.plan import Plan
from forecast.experiment.ablations import ablated
from forecast.experiment.arguments import argument_named, canonical
from forecast.experiment.audits import audits_of
from forecast.experiment.config import Experiment, load_experiment
from forecast.experiment.engine import Engine, Local, run_cells
from forecast.experiment.faults import Fault
from forecast.experiment.regimes import Case, Regime, Settled
from forecast.experiment.regimes.account import note_of
from forecast.experiment.results import Results, publish
from forecast.experiment.setting import write_setting
from forecast.experiment.store import Forecasts, Store, checksum_of, code_version, key_of
from forecast.experiment.sweeps import COST, at_context, cost_cells
from forecast.experiment.work import Progress, Work
from forecast.forecaster import Forecaster
from forecast.frame import Panel


@dataclass(frozen=True, eq=False)
class Cell(Work):
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
    context_length: int | None = None  # of a sweep; None in the comparison
    fallback: Forecaster | None = None

    def __str__(self) -> str:
        first, last = self.folds[0].number + 1, self.folds[-1].number + 1
        which = f"fold {first}" if first == last else f"folds {first} to {last}"
        context = "" if self.context_length is None else f" with a context of {self.context_length}"
        return f"{self.label}{context}, seed {self.seed}, {which} of {self.of}"

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
            **({} if self.context_length is None else {"context_length": self.context_length}),
        }

    def compute(self) -> Forecasts:
        """Fit and forecast; a cell knows of no other."""
        of = (self.panel, self.forecaster, self.label, self.seed, self.plan, self.folds, self.fallback)
        return Forecasts(run_group(*of))


@dataclass(frozen=True, eq=False)
class Ground:
    """A data set of an experiment, the folds of the plan on it, what a regime may know of both, and the fallback."""

    panel: Panel
    folds: Folds
    case: Case
    fallback: Forecaster | None = None


def run_experiment(
    config: Experiment | str | Path,
    out: str | Path | None = None,
    progress: Progress | None = None,
    *,
    page: bool = True,
    engine: Engine = Local(workers=1),  # noqa: B008 (frozen)
) -> Results:
    """Run an experiment, or go on with one that was stopped, and write its results.

    A finished cell is stored at once, and taken from the store by every later run into the same folder, whatever ended
    this one. A cell that fails is stored with its traceback, the others go on, and the next run tries it again.

    Parameters
    ----------
    config: an experiment, the path of its YAML file, or the name of a shipped one.
    out: the folder of results; None for `results/<name of the experiment>`.
    progress: is told of every cell.
    page: whether pictures and the report are made.
    engine: where cells are computed: in this process, one after the other; `Local()` for a worker process on each
        processor core. Of no effect on any number.

    Raises
    ------
    ConfigError: something in the config cannot be used, or the data do not hold what it asks for.
    StoreError: the folder cannot be written to, or holds something else.
    KeyboardInterrupt: the user wants to stop; finished cells are stored.

    """
    experiment = config if isinstance(config, Experiment) else load_experiment(config)
    progress = progress or Progress()
    store = Store(Path("results", experiment.name) if out is None else out)
    grounds, regime, before, settled = _prepared(experiment, store)
    cells, beside = cells_of(experiment, grounds, settled), beside_of(experiment, grounds, settled)
    note = {"before": [work.facts() for work in before], "beside": list(beside.values())}
    with store.opened(
        experiment.canonical(), _facts(cells), **note, settled=_told(experiment, regime, settled, grounds)
    ):
        data = {ground.case.dataset: ground.folds for ground in grounds}
        write_setting(store, experiment.text, data, deviations=experiment.standardised)
        if before:
            run_cells(before, store, progress, engine)
            settled = _settle(experiment, regime, grounds, store)
            cells, beside = cells_of(experiment, grounds, settled), beside_of(experiment, grounds, settled)
            note["beside"] = list(beside.values())
            store.record(
                experiment.canonical(), _facts(cells), **note, settled=_told(experiment, regime, settled, grounds)
            )
        run_cells([*cells, *beside], store, progress, engine)
        progress.writing()
        return publish(store, page=page)


def rebuild(folder: str | Path) -> Results:
    """Write the results of a folder anew from its stored cells, those that are finished; nothing is computed.

    Raises StoreError where the folder is not that of an experiment.
    """
    store = Store(folder)
    store.experiment()
    with store.locked():
        return publish(store)


def check_can_be_had(experiment: Experiment, folder: str | Path) -> None:
    """Refuse an experiment of which something cannot be had, as far as that is known before anything is computed.

    Raises ConfigError.
    """
    _prepared(experiment, Store(folder))


def grounds_of(experiment: Experiment) -> list[Ground]:
    """Read all data of an experiment, and lay out the plan on each. Raises ConfigError."""
    plan, forecasters, grounds = experiment.build_plan(), experiment.build_forecasters(), []
    fallback = experiment.build_fallback()
    for name, panel in experiment.panels().items():
        try:
            folds = plan.folds(panel)
            for label, forecaster in forecasters.items():
                check_follows(forecaster, label, plan, folds)
        except (TypeError, ValueError) as error:
            field = ("plan", *argument_named(str(error), experiment.plan))
            raise experiment.error([Fault(field, str(error))]) from error
        first = folds[0]
        seen = first.rows(panel, first.train_start, first.cutoff)
        case = Case(name, seen, first.cutoff, plan, forecasters, code_version())
        grounds.append(Ground(panel, folds, case, fallback))
    return grounds


def cells_of(experiment: Experiment, grounds: Sequence[Ground], settled: Mapping[str, Settled]) -> list[Cell]:
    """Give all cells of the data sets whose forecasters are settled, in their order; then those of other contexts."""
    there = [(ground, settled[ground.case.dataset].forecasters) for ground in grounds if ground.case.dataset in settled]
    cells = [cell for ground, forecasters in there for cell in _cells(ground, forecasters, experiment.seeds)]
    for ground, forecasters in there:
        for length in experiment.context_lengths:
            cells += _cells(ground, at_context(forecasters, length), experiment.seeds, length)
    return cells


def beside_of(
    experiment: Experiment, grounds: Sequence[Ground], settled: Mapping[str, Settled]
) -> dict[Work, dict[str, Any]]:
    """Give the audits and the costs that are measured beside the cells, each with what is kept of it."""
    found: dict[Work, dict[str, Any]] = {}
    for ground in grounds:
        case = ground.case
        if case.dataset not in settled:
            continue
        forecasters = settled[case.dataset].forecasters
        if experiment.audit:
            found |= {work: work.facts() for work in audits_of(case.dataset, forecasters, ground.panel)}
        for work in cost_cells(forecasters, case.panel, experiment.horizon, experiment.history_lengths):
            found[work] = {"kind": COST, "dataset": case.dataset, **work.facts()}
    return found


def _cells(
    ground: Ground, forecasters: Mapping[str, Forecaster], seeds: Sequence[int], context_length: int | None = None
) -> list[Cell]:
    """Give the cells of some forecasters on a data set."""
    name, panel, plan, folds = ground.case.dataset, ground.panel, ground.case.plan, ground.folds
    data, cells = checksum_of(panel), []
    for label, forecaster, seed in runs(forecasters, seeds) if forecasters else []:
        for group in groups(folds):
            config = _config(name, data, label, forecaster, seed, plan, group)
            config["fallback"] = canonical(ground.fallback, "fallback")
            of = (name, label, seed, group, len(folds), forecaster, panel, plan, config, key_of(config))
            cells.append(Cell(*of, context_length, ground.fallback))
    return cells


def _prepared(experiment: Experiment, store: Store) -> tuple[list[Ground], Regime, Sequence[Work], dict[str, Settled]]:
    """Give the grounds, the regime, what it has to measure or try first, and where that is nothing what it comes to."""
    grounds, regime = grounds_of(experiment), experiment.build_regime()
    before = _before(experiment, regime, grounds)
    return grounds, regime, before, {} if before else _settle(experiment, regime, grounds, store)


def _before(experiment: Experiment, regime: Regime, grounds: Sequence[Ground]) -> list[Work]:
    """Give all that a regime has to measure or try before the first cell. Raises ConfigError."""
    try:
        return [work for ground in grounds for work in regime.work(ground.case)]
    except ValueError as error:
        field = ("regime", *argument_named(str(error), experiment.regime))
        raise experiment.error([Fault(field, str(error))]) from error


def _settle(experiment: Experiment, regime: Regime, grounds: Sequence[Ground], store: Store) -> dict[str, Settled]:
    """Give what the regime comes to, by data set. Raises ConfigError."""
    faults: list[Fault] = []
    found = {ground.case.dataset: regime.settle(ground.case, store, faults) for ground in grounds}
    return experiment.sound({name: one for name, one in found.items() if one is not None}, faults)


def _facts(cells: Sequence[Work]) -> list[dict[str, Any]]:
    return [cell.facts() for cell in cells]


def _told(
    experiment: Experiment, regime: Regime, settled: Mapping[str, Settled], grounds: Sequence[Ground]
) -> dict[str, Any]:
    """Give by data set what tables and report say of the regime, as JSON can hold it."""
    panels = {ground.case.dataset: ground.case.panel for ground in grounds}
    beside = {name: ablated(one.forecasters, list(experiment.ablations)) for name, one in settled.items()}
    return {name: note_of(regime, one, panels[name], beside[name]) for name, one in settled.items()}


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
        "gap": plan.gap,
        "held_back": [plan.held_back, plan.embargo],
        "context": plan.context,
        "align": plan.align,
        "cutoffs": [str(fold.stamp) for fold in folds],
        "fit_on": [folds[0].train_start, folds[0].train_end],
        "fit_fold": folds[0].fit_fold,
        "code": code_version(),
    }
