"""The command `predict`: a table of one's own in, dates and quantiles out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forecast.cli.answers import answers, tell_json
from forecast.cli.engines import Address, FileEngine, FileTimeout, FileWorkers
from forecast.cli.folders import FILES_GO_ON, check_no_engine, forecast_folder
from forecast.cli.options import (
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
from forecast.cli.own_data import listed, names_of, sayer, tidy_mistakes

if TYPE_CHECKING:
    import pandas as pd

_PICTURES = (".png", ".svg", ".pdf")


def predict(
    data: Annotated[
        Path | None,
        data_option("The table: .csv, .tsv, .txt (also .gz), or .parquet; or a folder of Parquet files."),
    ] = None,
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
    forecasted: Forecasted = None,
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
        str | None,
        output_option("Table to write: .csv, .csv.gz, .parquet; stdout if not given, or -. The folder, for a folder."),
    ] = None,
    plot: Annotated[Path | None, output_option("Picture to write: .png, .svg, .pdf.")] = None,
    save: Annotated[Path | None, output_option("Folder to keep the fitted model in, for --model.")] = None,
    engine: FileEngine = "local",
    address: Address = None,
    workers: FileWorkers = None,
    timeout: FileTimeout = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Forecast a table of your own: a CSV or Parquet file in, dates and quantiles out.

    A row is one series at one time; rows may be in any order. Forecasts have your names and spelling of series and
    times, then cutoff (the last time that was known), step, prediction (the median), mean, and a column per quantile
    level. With columns known ahead, rows without a value at the end of a series are taken as its future.

    A folder of Parquet files, of more series than fit into memory, is forecast by a saved model, file by file, into
    another folder; the same command goes on where it was stopped.

    Example: forecast predict --data sales.csv --id store --time date --target sales --horizon 28 --out forecasts.csv
    """
    of_folder = data is not None and data.expanduser().is_dir()
    with answers(FILES_GO_ON if of_folder else "stopped; nothing was written", as_json=as_json):
        if data is not None and of_folder:
            others = {"freq": freq, "known": known, "past": past, "static": static, "delayed": delayed}
            others |= {"forecasted": forecasted, "weight": weight, "future": future, "separator": separator}
            others |= {"decimal": decimal, "time-format": time_format, "steps": steps, "plot": plot, "save": save}
            columns = {"unique_id": id, "ds": time, "y": target}
            asked = {"horizon": horizon, "quantile_levels": _levels(levels) or None, "gaps": gaps}
            with tidy_mistakes():
                where = engine, address, workers, timeout
                forecast_folder(data, model, out, columns, where, asked, others, quiet=quiet, as_json=as_json)
            return
        check_no_engine(engine, address, workers, timeout)
        from forecast.experiment import own_data
        from forecast.experiment.faults import ConfigError
        from forecast.experiment.predicting import Task
        from forecast.experiment.predicting import predict as forecast_table

        with tidy_mistakes():
            if as_json and out == "-":
                raise ConfigError("error: `--json` and `--out -` both write to stdout; give one of them, or a file")
            if data is not None:
                own_data.check_input(data.expanduser())
            path = None if out in (None, "-") else Path(str(out)).expanduser()
            if path is not None:
                own_data.check_output(path, own_data.TABLE_ENDINGS, "--out")
            if plot is not None:
                own_data.check_output(plot, _PICTURES, "--plot")
            names = names_of(
                id, time, target, known, past, static, delayed, forecasted, weight, separator, decimal, time_format
            )
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
                say=sayer(quiet or as_json),
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
            sayer(quiet)(f"{len(table):,} forecasts by {found.model}: {path}")


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


def _levels(given: str | None) -> tuple[float, ...]:
    from forecast.experiment.faults import ConfigError

    try:
        levels = tuple(float(part) for part in listed([given] if given else None))
    except ValueError:
        levels = (0.0,)
    if any(not 0 < level < 1 for level in levels) or list(levels) != sorted(set(levels)):
        raise ConfigError(
            f"error: `--levels` is {given!r}; allowed: rising numbers between 0 and 1, such as 0.1,0.5,0.9"
        )
    return levels
