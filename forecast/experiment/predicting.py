"""From a table of one's own to forecasts: what the commands `predict` and `backtest` do."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from forecast.evaluation import Plan
from forecast.experiment.choosing import CANDIDATES, Comparison, compare, comparison_plan, model_named
from forecast.experiment.faults import ConfigError
from forecast.experiment.own_data import Layout, OwnTable, read_table
from forecast.forecaster import Forecaster
from forecast.frame import Panel, check_frame

_BEST, _RULE = "best", "SeasonalNaive"
_MOST_CUTOFFS = 200


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is asked of a table of one's own.

    Attributes
    ----------
    data: the table; None for the history in a saved forecaster.
    names: options of `Layout`, as far as they are given.
    model: names of models, of which a forecast takes one, or the folder of a saved forecaster.
    horizon: steps ahead; None for that of a saved forecaster.
    future: a table of known covariates after the ends of series.
    freq, gaps: as `check_frame` takes them.
    levels: quantile levels of the forecasts; () for the deciles, or those of a saved forecaster.
    seed, steps: of networks; `steps` of training, None for the usual number.
    say: takes a line of progress.

    """

    data: Path | None
    names: Mapping[str, Any] = field(default_factory=dict)
    model: Sequence[str] = (_BEST,)
    horizon: int | None = None
    future: Path | None = None
    freq: str | None = None
    gaps: str | None = None
    levels: tuple[float, ...] = ()
    seed: int = 0
    steps: int | None = None
    say: Callable[[str], object] = print


@dataclass(frozen=True)
class Predicted:
    """Forecasts of a table, and how they came about: the model by name and as fitted, what it read, what was told."""

    forecasts: pd.DataFrame
    model: str
    forecaster: Forecaster
    panel: Panel
    layout: Layout
    notes: tuple[str, ...]
    comparison: Comparison | None = None


def predict(task: Task) -> Predicted:
    """Forecast the steps after the end of each series of a table.

    Raises
    ------
    ConfigError: something asked for cannot be had: a column, a value, a model, a length; says which, and what to do.
    OSError: a file that is not there, or cannot be read.

    """
    with _answering():
        folder = Path(task.model[0]).expanduser()
        if len(task.model) > 1:
            raise ConfigError(f"error: `model` names {len(task.model)}; to predict give one, or `best` to compare some")
        notes: list[str] = []
        with _warnings_in(notes):
            found = _with_saved(task, folder, notes) if folder.is_dir() else _with_new(task, notes)
        return replace(found, notes=tuple(notes))


def backtest_models(task: Task, *, folds: int = 5, stride: int | None = None, cutoffs: Sequence[str] = ()) -> tuple:
    """Compare models on a table; gives the comparison, the panel, the plan, the layout and notes.

    Every fold fits anew. Raises what `predict` raises.
    """
    with _answering():
        notes: list[str] = []
        with _warnings_in(notes):
            horizon = _horizon(task)
            table = _read(task, Layout(**task.names), notes)
            panel = check_frame(table.frame, **_door(task, table))
            plan = Plan(
                horizon=horizon, stride=stride, **({"cutoffs": list(cutoffs)} if cutoffs else {"n_folds": folds})
            )
            names = [name for one in task.model for name in (CANDIDATES if one == _BEST else (one,))]
            models = {name: _model(task, name, horizon) for name in dict.fromkeys(names)}
            for line in told_plan(plan, panel):
                task.say(line)
            return compare(panel, models, plan, task.say, seed=task.seed), panel, plan, table.layout, tuple(notes)


def told_plan(plan: Plan, panel: Panel) -> list[str]:
    """Say, before anything runs, what each fold learns from and what it is scored on."""
    table = plan.table(panel)
    rule = "given" if plan.n_folds is None else f"counted back from the end, {plan.stride or plan.horizon} steps apart"
    lines = [f"{len(table)} cutoffs, {rule}; a model reads targets up to the cutoff only, and is scored after it:"]
    for row in table.head(_MOST_CUTOFFS).itertuples():
        lines.append(
            f"  fold {row.fold}: fit on {row.train_start} to {row.train_end}, "
            f"scored on {row.test_start} to {row.test_end} ({row.series} series, {row.points:,} values)"
        )
    return lines


def _with_new(task: Task, notes: list[str]) -> Predicted:
    """Fit a model by name, or the best of some, and forecast."""
    horizon, name = _horizon(task), task.model[0]
    model = None if name == _BEST else _model(task, name, horizon)  # a wrong name is told before any data are read
    table, future = _with_future(task, _read(task, Layout(**task.names), notes), notes)
    door = _door(task, table)
    panel, comparison = check_frame(table.frame, **door), None
    longest = int(panel.lengths.max())
    if horizon >= longest and (model is None or hasattr(model, "backbone")):
        raise ConfigError(
            f"error: `--horizon` is {horizon}, and the longest series has {longest} values: ask for fewer steps, give "
            f"more history, or name a rule, such as `--model {_RULE}`"
        )
    if model is None:
        name, comparison = _choose(task, panel, horizon, notes)
        model = _model(task, name, horizon)
    task.say(f"fitting {name} on all data")
    model.fit(table.frame, **door)
    forecasts = model.predict(future=future, quantile_levels=task.levels or None)
    return Predicted(pd.DataFrame(forecasts), name, model, model.panel_of(None), table.layout, (), comparison)


def _choose(task: Task, panel: Panel, horizon: int, notes: list[str]) -> tuple[str, Comparison | None]:
    plan = comparison_plan(panel, horizon)
    if plan is None:
        notes.append(f"the data are too short to compare models {horizon} steps ahead: {_RULE} is used")
        return _RULE, None
    models = {name: _model(task, name, horizon) for name in CANDIDATES}
    cutoffs = len(plan.folds(panel))
    task.say(f"comparing {', '.join(CANDIDATES)} at {cutoffs} cutoff{'s' if cutoffs > 1 else ''} of the data")
    found = compare(panel, models, plan, task.say, seed=task.seed)
    notes.append(found.verdict)
    notes += [f"{name} could not be compared: {why}" for name, why in found.failed.items()]
    return str(found.scores["model"].iloc[0]), found


def _with_saved(task: Task, folder: Path, notes: list[str]) -> Predicted:
    """Forecast with a saved forecaster, from its own history or a table."""
    if task.steps is not None:
        raise ConfigError("error: `--steps` is for a network that is trained, which a saved one is not: leave it out")
    forecaster = Forecaster.load(folder)
    fitted, door = forecaster.panel_of(None), dict(forecaster.door_)
    theirs = {"unique_id": "unique_id", "ds": "ds", "y": "y", **(door.get("columns") or {})}
    # A table that calls its series as we do may have been one without such a column.
    own_id = theirs["unique_id"] if theirs["unique_id"] != "unique_id" else None
    named = {"id": own_id, "time": theirs["ds"], "target": theirs["y"]}
    layout = Layout(**{"roles": door.get("roles") or Layout().roles, **named, **task.names})
    panel, future = fitted, None
    if task.data is not None:
        table, future = _with_future(task, _read(task, layout, notes), notes)
        layout = table.layout
        ours = {layout.columns[name]: theirs[name] for name in theirs}
        door |= {"freq": fitted.calendar.freq if fitted.calendar.unit else int(fitted.calendar.freq), "min_length": 1}
        door |= {"gaps": task.gaps} if task.gaps else {}
        panel = check_frame(table.frame.rename(columns=ours), **door)
        future = None if future is None else future.rename(columns=ours)
    elif task.future is not None:
        read = read_table(task.future, layout, target=False)
        notes += read.notes
        future = read.frame.rename(columns={read.layout.columns[name]: theirs[name] for name in theirs})
    forecasts = forecaster.predict(panel, future=future, horizon=task.horizon, quantile_levels=task.levels or None)
    return Predicted(pd.DataFrame(forecasts), str(folder), forecaster, panel, layout, ())


def _model(task: Task, name: str, horizon: int) -> Forecaster:
    return model_named(name, horizon, levels=task.levels, seed=task.seed, steps=task.steps)


def _horizon(task: Task) -> int:
    if task.horizon is None:
        raise ConfigError("error: `--horizon` is missing: how many steps ahead?")
    return task.horizon


def _read(task: Task, layout: Layout, notes: list[str]) -> OwnTable:
    if task.data is None:
        raise ConfigError("error: `--data` is missing: which table? (only a saved forecaster has data of its own)")
    table = read_table(task.data, layout)
    notes += table.notes
    return table


def _door(task: Task, table: OwnTable) -> dict[str, Any]:
    """Give the options of the door, as few as are needed."""
    layout = table.layout
    freq = int(task.freq) if task.freq is not None and re.fullmatch(r"\d+", task.freq) else task.freq
    given = {"freq": freq, "gaps": task.gaps, "roles": layout.roles if layout.roles.columns() else None}
    return {"columns": layout.columns} | {name: value for name, value in given.items() if value is not None}


def _with_future(task: Task, table: OwnTable, notes: list[str]) -> tuple[OwnTable, pd.DataFrame | None]:
    """Part what is to come from the history: a table of its own, or rows without a value at the ends of series."""
    if not table.layout.roles.known:
        if task.future is not None:
            raise ConfigError("error: `--future` is given, but no column is known ahead: name some with `--known`")
        return table, None
    if task.future is not None:
        read = read_table(task.future, table.layout, target=False)
        notes += read.notes
        return table, read.frame
    frame, columns = table.frame, table.layout.columns
    observed = frame[columns["y"]].notna()
    last = observed[::-1].groupby(frame[columns["unique_id"]][::-1], sort=False).cummax()[::-1]
    begun = observed.groupby(frame[columns["unique_id"]], sort=False).transform("any")
    ahead = begun & ~last.reindex(frame.index)
    if not ahead.any():
        return table, None
    notes.append(f"{int(ahead.sum()):,} rows without a value at the ends of series are taken as the future")
    return replace(table, frame=frame[~ahead]), frame[ahead].drop(columns=columns["y"])


@contextmanager
def _warnings_in(notes: list[str]) -> Iterator[None]:
    """Take what is warned of among the notes, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for warning in caught:
        text = " ".join(str(warning.message).split())
        if issubclass(warning.category, UserWarning) and text not in notes:
            notes.append(text)


@contextmanager
def _answering() -> Iterator[None]:
    """Tell what the library refuses in the words of the command."""
    try:
        yield
    except ConfigError:
        raise
    except (ValueError, TypeError) as error:
        raise ConfigError(f"error: {as_options(str(error))}") from error


def as_options(message: str) -> str:
    """Give a message with remedies spelled as options of the command, on one line."""
    message = re.sub(r"\b(gaps|freq)=[\"'](\w+)[\"']", r"--\1 \2", " ".join(message.split()))
    message = re.sub(r"`(freq|gaps|horizon|future|levels)`", r"`--\1`", message)
    return message.replace("`quantile_levels`", "`--levels`")
