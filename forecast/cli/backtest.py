"""The command `backtest`: models compared on a table of one's own, as in an experiment."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forecast.cli.answers import FAILED, GOES_ON, answers, print_table, say, tell_json
from forecast.cli.engines import Address, EngineName, Timeout, Workers, engine_from
from forecast.cli.options import (
    Data,
    Decimal,
    Delayed,
    Forecasted,
    Freq,
    Gaps,
    Id,
    Json,
    Known,
    Past,
    Quiet,
    Separator,
    Static,
    Steps,
    Target,
    Time,
    TimeFormat,
    Weight,
    model_option,
    output_option,
    plan_option,
)
from forecast.cli.own_data import listed, names_of, sayer, tidy_mistakes
from forecast.cli.progress import shown_progress

if TYPE_CHECKING:
    from forecast.experiment.comparing import Compared

_KEPT_NOTHING = "stopped; nothing was kept: with `--out FOLDER` finished cells are, and the same command goes on"


def backtest(
    data: Data = None,
    horizon: Annotated[int | None, model_option("Steps to forecast from each cutoff.", "--horizon", min=1)] = None,
    model: Annotated[
        list[str] | None, model_option("Models to compare, such as lstm,tcn,NLinear; those of best if not given.")
    ] = None,
    baseline: Annotated[
        list[str] | None,
        model_option("Models to compare them with: SeasonalNaive, by which skill is measured, if not given; or none."),
    ] = None,
    seeds: Annotated[str, model_option("Of networks, each fitted with all of them, such as 0,1,2.")] = "0",
    steps: Steps = None,
    calibrate: Annotated[
        bool, model_option("Move quantiles of models by what they missed before each cutoff.", "--calibrate")
    ] = False,
    fallback: Annotated[
        str | None, model_option("A model that is scored, and counted, where another fails, such as SeasonalNaive.")
    ] = None,
    audit: Annotated[bool, model_option("Probe every model for leaks of the future, too.")] = True,
    folds: Annotated[
        int | None, plan_option("Cutoffs, counted back from the end; up to 5 if not given.", min=1)
    ] = None,
    stride: Annotated[
        str | None, plan_option("Between cutoffs, in steps or time (7D); the horizon if not given.")
    ] = None,
    cutoffs: Annotated[str | None, plan_option("The cutoffs themselves, such as 2024-01-31,2024-02-29.")] = None,
    start: Annotated[str | None, plan_option("The first cutoff; others follow, a stride apart.")] = None,
    end: Annotated[str | None, plan_option("The last cutoff.")] = None,
    gap: Annotated[int, plan_option("Steps between a cutoff and the first that is scored.", min=0)] = 0,
    window: Annotated[
        str | None, plan_option("Last steps to learn from; all before the cutoff (expanding) if not given.")
    ] = None,
    refit: Annotated[
        str | None, plan_option("Fit at every cutoff (if not given), never but at the first, or at every so many.")
    ] = None,
    validation: Annotated[
        int | None,
        plan_option("Last steps before a cutoff to validate on; each model's own affair if not given.", min=0),
    ] = None,
    embargo: Annotated[int, plan_option("Steps before those in which no label of training lies.", min=0)] = 0,
    context: Annotated[
        int | None, plan_option("Last steps before a cutoff that a forecast may read; all if not given.", min=1)
    ] = None,
    align: Annotated[
        str, plan_option("Cutoffs that all series share (calendar), or counted from the end of each (ends).")
    ] = "calendar",
    lookahead: Annotated[
        bool,
        plan_option("With --align ends, allow models to learn of dates after other series' cutoffs.", "--lookahead"),
    ] = False,
    season: Annotated[
        int | None, plan_option("Steps of a season, for scores and models; that of the frequency if not given.", min=1)
    ] = None,
    id: Id = None,
    time: Time = None,
    target: Target = None,
    freq: Freq = None,
    gaps: Gaps = None,
    known: Known = None,
    past: Past = None,
    static: Static = None,
    delayed: Delayed = None,
    forecasted: Forecasted = None,
    weight: Weight = None,
    separator: Separator = None,
    decimal: Decimal = None,
    time_format: TimeFormat = None,
    out: Annotated[
        Path | None, output_option("Folder to write: report, scores, forecasts, plots; nothing is kept if not given.")
    ] = None,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    timeout: Timeout = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare models on a table of your own, by forecasts of its past.

    At each cutoff every model is fitted on what lies before, and scored on the steps after it. What each fold learns
    from and is scored on is told before anything runs. Every finished fit is kept in --out: after Ctrl-C, or anything
    else that ends a run, the same command goes on where it was.

    Example: forecast backtest --data sales.csv --id store --time date --target sales --horizon 28 --out comparison
    """
    with answers(GOES_ON if out is not None else _KEPT_NOTHING, as_json=as_json):
        from forecast.experiment.comparing import Terms, compare_models
        from forecast.experiment.plan_options import PlanOptions
        from forecast.experiment.predicting import Task
        from forecast.experiment.work import Progress

        with tidy_mistakes(), contextlib.ExitStack() as stack:
            names = names_of(
                id, time, target, known, past, static, delayed, forecasted, weight, separator, decimal, time_format
            )
            task = Task(
                data=data,
                names=names,
                model=listed(model) or ["best"],
                horizon=horizon,
                freq=freq,
                gaps=gaps,
                steps=steps,
                say=sayer(quiet or as_json),
            )
            plan = PlanOptions(
                folds=folds,
                stride=stride,
                cutoffs=listed([cutoffs] if cutoffs else None),
                start=start,
                end=end,
                gap=gap,
                window=window,
                refit=refit,
                validation=validation,
                embargo=embargo,
                context=context,
                align=align,
                lookahead=lookahead,
                season=season,
            )
            terms = Terms(
                plan=plan,
                baselines=listed(baseline) or Terms.baselines,
                seeds=_seeds(seeds),
                calibrate=calibrate,
                audit=audit,
                fallback=fallback,
                out=out,
            )
            progress = Progress() if quiet or as_json else stack.enter_context(shown_progress())
            found = compare_models(task, terms, progress, engine_from(engine, address, workers, timeout))
        status = FAILED if found.failed else 0
        if as_json:
            tell_json({**_summary(found), "status": status})
        else:
            _tell(found)
        if status:
            raise typer.Exit(status)


def _tell(found: "Compared") -> None:
    """Print verdict and scores for people, and say what went wrong."""
    from forecast.auditing.certificate import Certificate

    typer.echo(found.verdict)
    if len(found.scores):
        typer.echo()
        needless = [] if found.scores["fallbacks"].to_numpy().any() else ["fallbacks"]
        table = found.scores.drop(columns=needless)
        print_table(table.dropna(axis="columns", how="all"))
    for name, why in found.failed.items():
        say(f"{name} failed, and is left out: {why}")
    for name, one in found.audits.items():
        if isinstance(one, Certificate) and one.failed:
            each = "; ".join(f"{finding.probe} {finding.name.lower()}" for finding in one.failed)
            say(f"{name} is left out of the verdict, for a probe of its audit failed: {each}")
    for path in found.files:
        if path.suffix != ".png":  # they are in the report, too
            typer.echo(path)


def _summary(found: "Compared") -> dict[str, Any]:
    """Give what a program wants to know of a comparison."""
    folds = found.folds
    table = folds.table().drop(columns="validation_start" if folds[0].validation_start is None else [])
    return {
        "scores": found.scores.to_dict("records"),
        "verdict": found.verdict,
        "failed": dict(found.failed),
        "plan": {
            "rule": folds.plan.rule(),
            "hash": folds.digest,
            "folds": table.to_dict("records"),
            "absent": folds.eligibility.lines(),
        },
        "audits": {name: _audit(one) for name, one in found.audits.items()},
        "files": list(found.files),
        "notes": list(found.notes),
    }


def _audit(one: Any) -> dict[str, Any]:
    if isinstance(one, str):
        return {"passed": None, "badge": one, "failed": []}
    return {"passed": one.passed, "badge": one.badge, "failed": [finding.probe for finding in one.failed]}


def _seeds(given: str) -> list[int]:
    from forecast.experiment.faults import ConfigError

    parts = listed([given])
    if (
        not parts
        or not all(part.isascii() and part.isdigit() for part in parts)
        or len({*map(int, parts)}) < len(parts)
    ):
        raise ConfigError(
            f"error: `--seeds` is {given!r}; allowed: whole numbers of 0 or more, each once, such as 0,1,2"
        )
    return [int(part) for part in parts]
