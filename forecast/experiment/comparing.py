"""From a table of one's own to a comparison: what the command `backtest` does, by an experiment.

The options are those of an experiment without its file: the same cells, verdict, tables and report.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from forecast.auditing.certificate import Certificate
from forecast.evaluation.backtest import check_follows
from forecast.evaluation.folds import Folds
from forecast.evaluation.ledger.columns import AFTER_LEVELS, BEFORE_LEVELS
from forecast.experiment.choosing import CANDIDATES, config_of, known_as, model_named
from forecast.experiment.config import Experiment
from forecast.experiment.engine import Engine
from forecast.experiment.faults import ConfigError
from forecast.experiment.own_data import Layout, check_names, named, write_table
from forecast.experiment.plan_options import PlanOptions, days, in_plan_options
from forecast.experiment.predicting import BEST, Task, door_of, horizon_of, read_task, with_own_future
from forecast.experiment.regimes.networks import networks
from forecast.experiment.results import Results
from forecast.experiment.runner import run_experiment
from forecast.experiment.store import Store
from forecast.experiment.verdict import BASELINE
from forecast.experiment.wording import Notes, as_options, in_options
from forecast.experiment.work import Progress
from forecast.forecaster import DECILES
from forecast.frame import Panel, check_frame
from forecast.params import takes

NO_BASELINE = "none"
FORECASTS = "forecasts.csv"
SCORES = ["model", "family", "skill", "low", "high", "seed_sd", "mase", "wql", "mae", "coverage"]
COSTS = ["parameters", "fit_seconds", "seeds", "fallbacks"]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How models are compared on the table of a task, whose `model` names them.

    Attributes
    ----------
    plan: where to forecast from.
    baselines: models that are compared with them, too; `none` for none.
    seeds: of networks.
    calibrate: whether quantiles of models, not of baselines, are moved by what they missed before each cutoff.
    audit: whether every model is audited.
    fallback: a model whose forecasts are scored where another one fails; None, to leave that one out.
    out: folder of the results, which a later run goes on with; None for a temporary one.

    """

    plan: PlanOptions
    baselines: Sequence[str] = (BASELINE,)
    seeds: Sequence[int] = (0,)
    calibrate: bool = False
    audit: bool = True
    fallback: str | None = None
    out: Path | None = None


@dataclass(frozen=True)
class Compared:
    """What a comparison of models found.

    Attributes
    ----------
    results: of the experiment; its folder is gone where it was a temporary one.
    scores: one row per model, best first: `SCORES`, with the interval of the skill, and `COSTS`.
    verdict: who is ahead, and how sure that is, or why there is no verdict.
    failed: model -> why not all of its folds are there.
    audits: model -> the certificate of its audit, or why there is none.
    folds, layout, notes: the plan on the data, what the columns are, what a person should know.
    files: what was written.

    """

    results: Results
    scores: pd.DataFrame
    verdict: str
    failed: Mapping[str, str]
    audits: Mapping[str, Certificate | str]
    folds: Folds
    layout: Layout
    notes: tuple[str, ...]
    files: tuple[Path, ...]


def compare_models(task: Task, terms: Terms, progress: Progress, engine: Engine) -> Compared:
    """Compare models on a table of one's own, by forecasts of its past.

    Raises
    ------
    ConfigError: something asked for cannot be had; says which, and what to do. Nothing is fitted then.
    StoreError: a folder that cannot be written to, or holds something else.
    OSError: a file that is not there, or cannot be read.

    """
    notes = Notes(task.say)
    with notes.of_warnings(), ExitStack() as stack:
        with in_options():
            experiment, folds, layout = _laid_out(task, terms, notes)
        for line in days(str(folds)).splitlines():
            task.say(line)
        out = terms.out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forecast-")))
        results = run_experiment(experiment, out, progress, page=terms.out is not None, engine=engine)
        files = _write(results, layout) if terms.out is not None else ()
    failed: dict[str, str] = {}
    for row in results.failures:
        failed.setdefault(row["forecaster"], as_options(row["error"]))
    name = experiment.name
    return Compared(
        results=results,
        scores=_scores(results, name),
        verdict=results.verdicts.get(name, "There is no verdict: no model was fitted at every cutoff."),
        failed=failed,
        audits=results.audits.get(name, {}),
        folds=folds,
        layout=layout,
        notes=tuple(notes.lines),
        files=files,
    )


def _laid_out(task: Task, terms: Terms, notes: Notes) -> tuple[Experiment, Folds, Layout]:
    """Read the table, and lay out the experiment that the options stand for, and its folds."""
    horizon, forecasters = horizon_of(task), _forecasters(task, terms)
    # What is still to come cannot be scored.
    table, _ = with_own_future(task, read_task(task, Layout(**task.names), notes), notes)
    panel = check_frame(table.frame, **door_of(task, table))
    folds = terms.plan.folds_on(panel, horizon, table.layout)
    check_names([*BEFORE_LEVELS, *map(str, DECILES), *AFTER_LEVELS], table.layout)
    experiment = _experiment(task, terms, forecasters, panel, folds, table.layout)
    _check(experiment, folds)
    return experiment, folds, table.layout


def _forecasters(task: Task, terms: Terms) -> dict[str, dict[str, Any]]:
    """Give the models by label, as a config has them: baselines first."""
    found: dict[str, dict[str, Any]] = {}
    for one in terms.baselines:
        if one != NO_BASELINE:
            name = _known(one, "--baseline")
            found[name] = _config(task, terms, name)
    for one in task.model:
        for name in CANDIDATES if one == BEST else (_known(one, "--model"),):
            config = _config(task, terms, name)
            if terms.calibrate:
                # A level that too few windows can tell is moved by the largest error of those that there are.
                found[f"{name} calibrated"] = {"type": "Calibrated", "forecaster": config, "few": "widest"}
            else:
                found[name] = config
    if terms.fallback is not None:
        _known(terms.fallback, "--fallback")
    return found


def _known(name: str, option: str) -> str:
    if Path(name).expanduser().is_dir():
        raise ConfigError(
            f"error: `{option}` {name!r} is a folder: a saved forecaster is fitted already, and a backtest fits "
            "anew at each cutoff; give a model by name, or a class of your own as package.module:Class"
        )
    try:
        return known_as(name)
    except ConfigError as error:
        message = (
            str(error).replace("`--model`", f"`{option}`").replace(" is no folder of a saved forecaster, and", ":")
        )
        raise ConfigError(message if option == "--model" else message.replace("known: best, ", "known: ")) from error


def _config(task: Task, terms: Terms, name: str) -> dict[str, Any]:
    """Give what a config says of a model; a class of the user's own that has no season is left without."""
    season = terms.plan.season
    config = config_of(name, steps=task.steps, season=season)
    if ":" in name:
        model = model_named(name, task.horizon or 1)  # one that cannot be had is told before any data are read
        if season is not None and takes(model, "season_length"):
            config["season_length"] = season
    return config


def _experiment(
    task: Task, terms: Terms, forecasters: dict[str, Any], panel: Panel, folds: Folds, layout: Layout
) -> Experiment:
    """Give the experiment that the options stand for."""
    file = Path(str(task.data)).name
    name = re.sub(r"[^\w .+-]+", "_", file.split(".")[0]).lstrip(" .+-")[:100] or "data"
    roles = layout.roles if layout.roles.columns() else None
    dataset = {"name": name, "file": file, "columns": layout.columns, "freq": panel.calendar.freq, "roles": roles}
    cutoffs = ("cutoffs", "n_folds", "stride", "start", "end")
    spans = ("gap", "window", "refit", "validation", "embargo", "context", "align", "lookahead_across_series")
    plan = {key: getattr(folds.plan, key) for key in (*cutoffs, *spans, "season_length")}
    fallback = None if terms.fallback is None else _config(task, terms, known_as(terms.fallback))
    return Experiment.on(
        {name: panel},
        name=name,
        datasets=[dataset],
        horizon=folds.plan.horizon,
        gaps=task.gaps or "error",
        plan=plan,
        seeds=list(terms.seeds),
        forecasters=forecasters,
        fallback=fallback,
        audit=terms.audit,
    )


def _check(experiment: Experiment, folds: Folds) -> None:
    """Refuse models that cannot follow the plan, before the folder is touched."""
    forecasters, plan, fold = experiment.build_forecasters(), folds.plan, folds[0]
    with in_plan_options():
        for label, forecaster in forecasters.items():
            check_follows(forecaster, label, plan, folds)
        rows, needed = fold.train_end - fold.train_start + 1, plan.gap + plan.horizon + 1
        if rows < needed and (held := networks(forecasters)):
            label, until = next(iter(held)), f"up to {folds.panel.calendar.stamp(fold.train_end)}"
            needs = f"{label} needs {needed} to learn from, one more than it forecasts"
            if plan.window != "expanding" and rows == plan.window - (plan.held_back or 0) - plan.embargo:
                raise ValueError(
                    f"`window` of {plan.window} leaves {rows} steps {until}, and {needs}: give a longer one"
                )
            raise ValueError(
                f"the first fit has {rows} steps {until}, and {needs}: begin later, or ask for fewer folds"
            )


def _scores(results: Results, name: str) -> pd.DataFrame:
    """Give one row per model, by skill where it is defined, else by MAE."""
    if name not in results.ledgers:
        return pd.DataFrame(columns=[*SCORES, *COSTS])
    ledger, standings = results.ledgers[name], results.standings[name].skill
    table = results.summary.set_index("forecaster").loc[list(ledger.forecasters)]
    if BASELINE in ledger.forecasters:  # else an interval would be that of a skill against another
        table = table.join(standings.set_index("forecaster")[["low", "high", "seed_sd"]])
    table = table.join(ledger.fits.groupby("forecaster")["fallbacks"].sum()).assign(lead=-table["skill"])
    table = table.sort_values(by=["lead", "mae"], kind="stable", na_position="last").rename_axis("model")
    return table.reset_index().reindex(columns=[*SCORES, *COSTS])


def _write(results: Results, layout: Layout) -> tuple[Path, ...]:
    """Write all forecasts in the names and spelling of the table, beside the results, and give the files to look at."""
    folder = results.folder
    for ledger in results.ledgers.values():
        with Store(folder).replacing(FORECASTS) as path:
            write_table(named(ledger.forecasts, layout), path)
    there = [folder / name for name in ("report.html", "summary.csv", "comparison.csv", "pairs.csv", FORECASTS)]
    return tuple(
        path for path in (*there, folder / "cells.csv", *sorted(folder.glob("plots/*/*.png"))) if path.is_file()
    )
