"""The audit of a model that a command names: what `forecast audit` does."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forecast.auditing.audit import audit
from forecast.auditing.certificate import Certificate
from forecast.experiment.choosing import model_named
from forecast.experiment.faults import ConfigError
from forecast.experiment.own_data import Layout, read_table
from forecast.experiment.predicting import Task
from forecast.experiment.wording import Notes, in_options
from forecast.forecaster import Forecaster

_HORIZON = 12  # of a model by name, where none is asked for


def audit_model(task: Task, *, cutoff: str | None = None, probes: Sequence[str] | None = None) -> Certificate:
    """Audit a model by name, or one that was saved, on a table or on data of our own.

    Raises
    ------
    ConfigError: something asked for cannot be had: a column, a value, a model, a probe; says which, and what to do.
    OSError: a file that is not there, or cannot be read.

    """
    with in_options():
        forecaster, notes = _forecaster(task), Notes(task.say)
        asked: dict[str, Any] = {"probes": probes, "progress": task.say}
        if task.data is None:
            if given := next((name for name, value in _for_data(task, cutoff).items() if value), None):
                raise ConfigError(f"error: `--{given}` is for a table, and none is given: name one with `--data`")
            return audit(forecaster, **asked)
        theirs = dict(getattr(forecaster, "door_", {}))  # of one that was saved
        table = read_table(task.data, Layout(**{**_names_of(theirs), **task.names}))
        notes.take(*table.notes)
        door: dict[str, Any] = {"columns": table.layout.columns}
        if table.layout.roles.columns():
            door["roles"] = table.layout.roles
        if task.freq is not None:
            door["freq"] = int(task.freq) if re.fullmatch(r"\d+", task.freq) else task.freq
        if gaps := task.gaps or theirs.get("gaps"):
            door["gaps"] = gaps
        whole = table.frame[table.layout.time].dtype.kind in "iu"
        return audit(forecaster, table.frame, cutoff=_stamp(cutoff, whole), **asked, **door)


def _forecaster(task: Task) -> Forecaster:
    name = task.model[0]
    if (folder := Path(name).expanduser()).is_dir():
        if task.horizon is not None or task.steps is not None:
            given = "horizon" if task.horizon is not None else "steps"
            raise ConfigError(f"error: `--{given}` is for a model by name; a saved one has its own: leave it out")
        return Forecaster.load(folder)
    if name == "best":
        raise ConfigError("error: MODEL is 'best', which stands for several; give one, such as lstm or SeasonalNaive")
    try:
        return model_named(name, task.horizon or _HORIZON, levels=task.levels, seed=task.seed, steps=task.steps)
    except ConfigError as error:
        raise ConfigError(str(error).replace("`--model`", "MODEL")) from error


def _for_data(task: Task, cutoff: str | None) -> dict[str, Any]:
    return {**task.names, "freq": task.freq, "gaps": task.gaps, "cutoff": cutoff}


def _names_of(door: dict[str, Any]) -> dict[str, Any]:
    """Give the options of a layout that a saved forecaster was fitted with."""
    columns = door.get("columns") or {}
    named = {"id": columns.get("unique_id"), "time": columns.get("ds"), "target": columns.get("y")}
    named["roles"] = door.get("roles")
    return {name: value for name, value in named.items() if value is not None}


def _stamp(cutoff: str | None, whole: bool) -> Any:
    if cutoff is None or not whole:
        return cutoff
    if not re.fullmatch(r"-?\d+", cutoff):
        raise ConfigError(f"error: `--cutoff` is {cutoff!r}; the times of the data are whole numbers")
    return int(cutoff)
