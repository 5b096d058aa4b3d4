"""Commands on a table of one's own: predict, backtest."""

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forecast.cli.answers import FAILED, answers, print_table, say, tell_json
from forecast.cli.options import (
    Data,
    Decimal,
    Delayed,
    Freq,
    Gaps,
    Id,
    Json,
    Known,
    Past,
    Quiet,
    Seed,
    Separator,
    Static,
    Steps,
    Target,
    Time,
    TimeFormat,
    Weight,
    data_option,
    model_option,
    output_option,
)

if TYPE_CHECKING:
    import pandas as pd

    from forecast.experiment.choosing import Comparison

_PICTURES = (".png", ".svg", ".pdf")


def predict(
    data: Data = None,
    horizon: Annotated[int | None, model_option("Steps to forecast.", "--horizon", min=1)] = None,
    model: Annotated[
        str,
        model_option(
            "A network (lstm, tcn, transformer, ...), a rule (SeasonalNaive, NLinear, ...), the folder of a saved "
            "forecaster, or best: a comparison of a few on this data."
        ),
    ] = "best",
    id: Id = None,
    time: Time = None,
    target: Target = None,
    freq: Freq = None,
    gaps: Gaps = None,
    known: Known = None,
    past: Past = None,
    static: Static = None,
    delayed: Delayed = None,
    weight: Weight = None,
    future: Annotated[Path | None, data_option("A table of the known columns for the steps ahead.")] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    time_format: TimeFormat = None,
    levels: Annotated[
        str | None, model_option("Quantile levels, such as 0.1,0.5,0.9; the deciles if not given.")
    ] = None,
    seed: Seed = 0,
    steps: Steps = None,
    out: Annotated[
        str | None, output_option("Table to write: .csv, .csv.gz, .parquet; stdout if not given, or -.")
    ] = None,
    plot: Annotated[Path | None, output_option("Picture to write: .png, .svg, .pdf.")] = None,
    save: Annotated[Path | None, output_option("Folder to keep the fitted model in, for --model.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Forecast a table of your own: a CSV or Parquet file in, dates and quantiles out.

    A row is one series at one time; rows may be in any order. Forecasts have your names and spelling of series and
    times, then cutoff (the last time that was known), step, prediction (the median), mean, and a column per quantile
    level. With columns known ahead, rows without a value at the end of a series are taken as its future.

    Example: forecast predict --data sales.csv --id store --time date --target sales --horizon 28 --out forecasts.csv
    """
    with answers("stopped; nothing was written", as_json=as_json):
        from forecast.experiment import own_data
        from forecast.experiment.faults import ConfigError
        from forecast.experiment.predicting import Task
        from forecast.experiment.predicting import predict as forecast_table

        with _tidy_mistakes():
            if as_json and out == "-":
                raise ConfigError("error: `--json` and `--out -` both write to stdout; give one of them, or a file")
            path = None if out in (None, "-") else Path(str(out)).expanduser()
            if path is not None:
                own_data.check_output(path, own_data.TABLE_ENDINGS, "--out")
            if plot is not None:
                own_data.check_output(plot, _PICTURES, "--plot")
            names = _names(id, time, target, known, past, static, delayed, weight, separator, decimal, time_format)
            task = Task(
                data=data,
                names=names,
                model=[model],
                horizon=horizon,
                future=future,
                freq=freq,
                gaps=gaps,
                levels=_levels(levels),
                seed=seed,
                steps=steps,
                say=_sayer(quiet or as_json),
            )
            found = forecast_table(task)
        table = own_data.named(found.forecasts, found.layout)
        if save is not None:
            found.forecaster.save(save)
        if plot is not None:
            from forecast.plots import plot_forecast

            plot_forecast(found.forecasts, found.panel).savefig(plot)
        text = None if as_json and path is None else own_data.write_table(table, path)
        if as_json:
            summary = _summary(found, data, path, plot, save)
            tell_json(summary if path else summary | {"table": own_data.spelled(table).to_dict("records")})
        elif path is None:
            typer.echo(text, nl=False)
        else:
            _sayer(quiet)(f"{len(table):,} forecasts by {found.model}: {path}")


def backtest(
    data: Data = None,
    horizon: Annotated[int | None, model_option("Steps to forecast from each cutoff.", "--horizon", min=1)] = None,
    model: Annotated[
        list[str] | None, model_option("Models to compare, such as lstm,tcn,SeasonalNaive; those of best if not given.")
    ] = None,
    folds: Annotated[int, model_option("Cutoffs, counted back from the end.", min=1)] = 5,
    stride: Annotated[int | None, model_option("Steps between cutoffs; the horizon if not given.", min=1)] = None,
    cutoffs: Annotated[str | None, model_option("The cutoffs themselves, such as 2024-01-31,2024-02-29.")] = None,
    id: Id = None,
    time: Time = None,
    target: Target = None,
    freq: Freq = None,
    gaps: Gaps = None,
    known: Known = None,
    past: Past = None,
    static: Static = None,
    delayed: Delayed = None,
    weight: Weight = None,
    separator: Separator = None,
    decimal: Decimal = None,
    time_format: TimeFormat = None,
    seed: Seed = 0,
    steps: Steps = None,
    out: Annotated[Path | None, output_option("Folder to write: scores, all forecasts, plots.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare models on a table of your own, by forecasts of its past.

    At each cutoff every model is fitted on what lies before, and scored on the steps after it. What each fold learns
    from and is scored on is told before anything runs.

    Example: forecast backtest --data sales.csv --id store --time date --target sales --horizon 28 --out comparison
    """
    with answers("stopped; nothing was written", as_json=as_json):
        from forecast.experiment.predicting import Task, backtest_models

        with _tidy_mistakes():
            names = _names(id, time, target, known, past, static, delayed, weight, separator, decimal, time_format)
            task = Task(
                data=data,
                names=names,
                model=_listed(model) or ["best"],
                horizon=horizon,
                freq=freq,
                gaps=gaps,
                seed=seed,
                steps=steps,
                say=_sayer(quiet or as_json),
            )
            found, panel, plan, layout, notes = backtest_models(
                task, folds=folds, stride=stride, cutoffs=_listed([cutoffs] if cutoffs else None)
            )
        written = _write_backtest(found, panel, plan, layout, out) if out is not None else []
        if as_json:
            table = plan.table(panel).drop(columns="validation_start")
            scores, folds_ = (one.to_dict("records") for one in (found.scores, table))
            told = {"scores": scores, "verdict": found.verdict, "failed": dict(found.failed), "folds": folds_}
            tell_json({**told, "files": written, "notes": list(notes), "status": FAILED if found.failed else 0})
        else:
            print_table(found.scores)
            typer.echo(f"{found.verdict}.")
            for name, why in found.failed.items():
                say(f"{name} failed: {' '.join(why.split())}")
            for one in written:
                typer.echo(one)
        if found.failed:
            raise typer.Exit(FAILED)


def _write_backtest(found: "Comparison", panel, plan, layout, folder: Path) -> list[str]:
    from forecast import plots
    from forecast.experiment.own_data import named, write_table

    folder.mkdir(parents=True, exist_ok=True)
    found.scores.to_csv(folder / "scores.csv", index=False)
    write_table(named(found.ledger.forecasts, layout), folder / "forecasts.csv")
    plots.plot_backtest(found.ledger, panel).savefig(folder / "backtest.png")
    plots.plot_error_by_step(found.ledger).savefig(folder / "error_by_step.png")
    plots.plot_folds(plan.table(panel)).savefig(folder / "folds.png")
    files = ("scores.csv", "forecasts.csv", "backtest.png", "error_by_step.png", "folds.png")
    return [str(folder / name) for name in files]


def _summary(found, data: Path | None, out: Path | None, plot: Path | None, save: Path | None) -> "dict[str, Any]":
    """Give what a program wants to know of a forecast."""
    panel, forecaster = found.panel, found.forecaster
    stamps = panel.calendar.stamp(int(panel.first.min())), panel.calendar.stamp(int(panel.last.max()))
    summary = {
        "model": found.model,
        "class": type(forecaster).__name__,
        "parameters": int(getattr(forecaster, "parameters_", 0)),
        "data": data,
        "series": len(panel),
        "rows": int(panel.lengths.sum()),
        "freq": panel.calendar.freq,
        "begin": stamps[0],
        "end": stamps[1],
        "forecasts": len(found.forecasts),
        "steps": int(found.forecasts["step"].max()),
        "out": out,
        "plot": plot,
        "saved": save,
        "notes": list(found.notes),
        "status": 0,
    }
    if found.comparison is not None:
        scores: pd.DataFrame = found.comparison.scores
        summary |= {"comparison": scores.to_dict("records"), "verdict": found.comparison.verdict}
    return summary


def _names(id, time, target, known, past, static, delayed, weight, separator, decimal, time_format) -> "dict[str, Any]":
    """Give the options of a layout, as far as they are given."""
    from forecast.experiment.faults import ConfigError
    from forecast.frame import Roles

    if os.getcwd() not in sys.path:  # for classes of the user's own
        sys.path.append(os.getcwd())
    delays = {}
    for one in _listed(delayed):
        column, colon, steps = one.rpartition(":")
        if not colon or not steps.isdigit():
            raise ConfigError(f"error: `--delayed` {one!r}: allowed: a column and how many steps late, as in returns:2")
        delays[column] = int(steps)
    roles = Roles(
        known=tuple(_listed(known)),
        past=tuple(_listed(past)),
        static=tuple(_listed(static)),
        delayed=delays,
        weight=weight,
    )
    if decimal not in (None, ".", ","):
        raise ConfigError(f"error: `--decimal` is {decimal!r}; allowed: . or ,")
    given = {"id": id, "time": time, "target": target, "separator": separator, "decimal": decimal}
    given |= {"time_format": time_format, "roles": roles if roles.columns() else None}
    return {name: value for name, value in given.items() if value is not None}


def _listed(given: list[str] | None) -> list[str]:
    return [part.strip() for one in given or [] for part in one.split(",") if part.strip()]


def _levels(given: str | None) -> tuple[float, ...]:
    from forecast.experiment.faults import ConfigError

    try:
        levels = tuple(float(part) for part in _listed([given] if given else None))
    except ValueError:
        levels = (0.0,)
    if any(not 0 < level < 1 for level in levels) or list(levels) != sorted(set(levels)):
        raise ConfigError(
            f"error: `--levels` is {given!r}; allowed: rising numbers between 0 and 1, such as 0.1,0.5,0.9"
        )
    return levels


def _sayer(silent: bool) -> Callable[[str], object]:
    return (lambda text: None) if silent else say


@contextlib.contextmanager
def _tidy_mistakes():
    """Keep an answer to one line where the mistake is one of the options."""
    from forecast.experiment.faults import ConfigError

    try:
        yield
    except ConfigError as error:
        raise ConfigError(" ".join(str(error).split())) from error
