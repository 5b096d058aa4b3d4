"""From a table of one's own to forecasts: what the command `predict` does."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forecast.ahead import check_known, with_future
from forecast.experiment.choosing import CANDIDATES, Comparison, compare, comparison_plan, model_named
from forecast.experiment.faults import ConfigError
from forecast.experiment.own_data import Layout, OwnTable, read_table
from forecast.experiment.wording import Notes, in_options
from forecast.forecaster import Forecaster
from forecast.frame import Panel, Roles, check_frame
from forecast.origins import origins_of
from forecast.plots.extent import count

BEST, _RULE = "best", "SeasonalNaive"


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
    model: Sequence[str] = (BEST,)
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
    with in_options():
        folder = Path(task.model[0]).expanduser()
        if len(task.model) > 1:
            raise ConfigError(f"error: `model` names {len(task.model)}; to predict give one, or `best` to compare some")
        notes = Notes(task.say)
        with notes.of_warnings():
            found = _with_saved(task, folder, notes) if folder.is_dir() else _with_new(task, notes)
        return replace(found, notes=tuple(notes.lines))


def _with_new(task: Task, notes: Notes) -> Predicted:
    """Fit a model by name, or the best of some, and forecast."""
    horizon, name = horizon_of(task), task.model[0]
    model = None if name == BEST else _model(task, name, horizon)  # a wrong name is told before any data are read
    table, future = with_own_future(task, read_task(task, Layout(**task.names), notes), notes)
    door = door_of(task, table)
    panel, comparison = check_frame(table.frame, **door), None
    longest = int(panel.lengths.max())
    if horizon >= longest and (model is None or hasattr(model, "backbone")):
        raise ConfigError(
            f"error: `--horizon` is {horizon}, and the longest series has {longest} values: ask for fewer steps, give "
            f"more history, or name a rule, such as `--model {_RULE}`"
        )
    if model is None or model.reads_covariates:
        # Fitting may take long: what a forecast will need has to be there before.
        check_known(panel if future is None else with_future(panel, future, door), origins_of(panel, None), horizon)
    if model is None:
        name, comparison = _choose(task, panel, horizon, notes)
        model = _model(task, name, horizon)
    if panel.covariates is not None and not model.reads_covariates:
        notes.take(f"{name} reads no covariates: columns with a role beside the target are not used")
    task.say(f"fitting {name} on all data")
    model.fit(table.frame, **door)
    forecasts = model.predict(future=future, quantile_levels=task.levels or None)
    return Predicted(pd.DataFrame(forecasts), name, model, model.panel_of(None), table.layout, (), comparison)


def _choose(task: Task, panel: Panel, horizon: int, notes: Notes) -> tuple[str, Comparison | None]:
    plan = comparison_plan(panel, horizon)
    cutoffs = 0 if plan is None else len(plan.folds(panel))
    if plan is None:
        notes.take(f"the data are too short to compare models {horizon} steps ahead: {_RULE} is used")
        return _RULE, None
    models = {name: _model(task, name, horizon) for name in CANDIDATES}
    task.say(f"comparing {', '.join(CANDIDATES)} at {count(cutoffs, 'cutoff')} of the data")
    found = compare(panel, models, plan, task.say, seed=task.seed)
    notes.take(found.verdict)
    notes.take(*(f"{name} could not be compared: {why}" for name, why in found.failed.items()))
    return str(found.scores["model"].iloc[0]), found


def _with_saved(task: Task, folder: Path, notes: Notes) -> Predicted:
    """Forecast with a saved forecaster, from its own history or a table."""
    forecaster = Forecaster.load(folder)
    fitted, door = forecaster.panel_of(None), dict(forecaster.door_)
    _check_nothing_new(task, str(fitted.calendar.freq), door.get("roles") or Roles())
    theirs = {"unique_id": "unique_id", "ds": "ds", "y": "y", **(door.get("columns") or {})}
    # A table that calls its series as we do may have been one without such a column.
    own_id = theirs["unique_id"] if theirs["unique_id"] != "unique_id" else None
    named = {"id": own_id, "time": theirs["ds"], "target": theirs["y"]}
    layout = Layout(**{"roles": door.get("roles") or Layout().roles, **named, **task.names})
    panel, future = fitted, None
    if task.data is not None:
        table, future = with_own_future(task, read_task(task, layout, notes), notes)
        layout = table.layout
        ours = {layout.columns[name]: theirs[name] for name in theirs}
        door |= {"freq": fitted.calendar.freq if fitted.calendar.unit else int(fitted.calendar.freq), "min_length": 1}
        door |= {"gaps": task.gaps} if task.gaps else {}
        panel = check_frame(table.frame.rename(columns=ours), **door)
        future = None if future is None else future.rename(columns=ours)
    elif task.future is not None:
        read = read_table(task.future, layout, target=False)
        notes.take(*read.notes)
        future = read.frame.rename(columns={read.layout.columns[name]: theirs[name] for name in theirs})
    forecasts = forecaster.predict(panel, future=future, horizon=task.horizon, quantile_levels=task.levels or None)
    return Predicted(pd.DataFrame(forecasts), str(folder), forecaster, panel, layout, ())


def _check_nothing_new(task: Task, freq: str, roles: Roles) -> None:
    """Refuse options that only a fit could follow, unless they say what the fit of a saved forecaster followed."""
    if task.steps is not None:
        raise ConfigError("error: `--steps` is for a network that is trained, which a saved one is not: leave it out")
    if task.freq not in (None, freq):
        raise ConfigError(f"error: `--freq` is {task.freq!r}, that of the saved forecaster {freq!r}: leave it out")
    if task.gaps is not None and task.data is None:
        raise ConfigError("error: `--gaps` is for a table, and none is given: leave it out, or name one with `--data`")
    asked = task.names.get("roles", roles)
    same = asked.delayed == roles.delayed and asked.forecasted == roles.forecasted
    if sorted(asked.uses()) != sorted(roles.uses()) or not same:
        told = ", ".join(f"{column} ({role})" for column, role in roles.uses()) or "none"
        raise ConfigError(
            f"error: the columns that a saved forecaster reads are those of its fit, here {told}: leave other "
            "`--known`, `--past`, `--static`, `--delayed`, `--forecasted` and `--weight` out"
        )


def _model(task: Task, name: str, horizon: int) -> Forecaster:
    return model_named(name, horizon, levels=task.levels, seed=task.seed, steps=task.steps)


def horizon_of(task: Task) -> int:
    """Give the horizon. Raises ConfigError where there is none."""
    if task.horizon is None:
        raise ConfigError("error: `--horizon` is missing: how many steps ahead?")
    return task.horizon


def read_task(task: Task, layout: Layout, notes: Notes) -> OwnTable:
    """Read the table of a task. Raises ConfigError, OSError."""
    if task.data is None:
        raise ConfigError("error: `--data` is missing: which table? (only a saved forecaster has data of its own)")
    table = read_table(task.data, layout)
    notes.take(*table.notes)
    return table


def door_of(task: Task, table: OwnTable) -> dict[str, Any]:
    """Give the options of the door, as few as are needed."""
    layout = table.layout
    freq = int(task.freq) if task.freq is not None and re.fullmatch(r"\d+", task.freq) else task.freq
    given = {"freq": freq, "gaps": task.gaps, "roles": layout.roles if layout.roles.columns() else None}
    return {"columns": layout.columns} | {name: value for name, value in given.items() if value is not None}


def with_own_future(task: Task, table: OwnTable, notes: Notes) -> tuple[OwnTable, pd.DataFrame | None]:
    """Part what is to come from the history: a table of its own, or rows without a value at the ends of series."""
    if not table.layout.roles.known and not table.layout.roles.forecasted:
        if task.future is not None:
            raise ConfigError("error: `--future` is given, but no column is known ahead: name some with `--known`")
        return table, None
    if task.future is not None:
        read = read_table(task.future, replace(table.layout, time_format=task.names.get("time_format")), target=False)
        notes.take(*read.notes)
        return table, read.frame
    frame, columns = table.frame, table.layout.columns
    series = frame[columns["unique_id"]].factorize()[0]
    places = np.arange(len(frame))
    seen = pd.Series(np.where(frame[columns["y"]].notna(), places, -1)).groupby(series).transform("max").to_numpy()
    ahead = (seen >= 0) & (places > seen)  # a series without any value has no end after which anything could come
    if not ahead.any():
        return table, None
    notes.take(f"{int(ahead.sum()):,} rows without a value at the ends of series are taken as the future")
    return replace(table, frame=frame.loc[~ahead]), frame.loc[ahead].drop(columns=columns["y"])
