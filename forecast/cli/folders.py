"""Of the command `predict`, the form for a folder of Parquet files: its options, and what is said of it."""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from forecast.cli.answers import FAILED, say, tell_json
from forecast.cli.engines import engine_from
from forecast.cli.own_data import sayer
from forecast.cli.progress import shown_progress

FILES_GO_ON = "stopped; finished files are kept, and the same command goes on from there"
_TOLD = 10  # failed files that are told one by one


def check_no_engine(engine: str, address: str | None, workers: int | None, timeout: float | None) -> None:
    """Refuse, for a table, options that say where a folder is forecast. Raises ConfigError."""
    from forecast.experiment.faults import ConfigError

    given = {"engine": engine != "local", "address": address, "workers": workers, "timeout": timeout}
    for option, value in given.items():
        if value:
            raise ConfigError(f"error: `--{option}` is for a folder of Parquet files: leave it out, or give one")


def forecast_folder(
    data: Path,
    model: str,
    out: str | None,
    columns: Mapping[str, str | None],
    engine: tuple[str, str | None, int | None, float | None],
    asked: Mapping[str, Any],
    others: Mapping[str, Any],
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Forecast a folder into another, and say what came of it.

    Parameters
    ----------
    data, model, out: as the options of `predict`.
    columns: our name -> the folder's, None where it is not given.
    engine: name, address, workers and timeout.
    asked: of `predict_folder`: horizon, quantile levels, gaps.
    others: options that do not go with a folder, by name.

    Raises
    ------
    ConfigError: an option that does not go with a folder; otherwise as `predict_folder`.

    """
    from forecast.experiment.faults import ConfigError
    from forecast.experiment.folder_prediction import predict_folder
    from forecast.experiment.wording import in_options
    from forecast.experiment.work import Progress

    if given := [option for option, value in others.items() if value]:
        raise ConfigError(f"error: `--{given[0]}` is for a table, and {data} is a folder: leave it out")
    if out in (None, "-"):
        raise ConfigError(f"error: `--out` is missing: {data} is a folder, and so are its forecasts; name one")
    if not (Path(model).expanduser() / "forecaster.json").is_file():
        raise ConfigError(
            f"error: `--model` is {model!r}; a folder is forecast by a saved model: name the folder of one, as from "
            "forecast predict --data SAMPLE --model lstm --save MODEL, or save(MODEL) after fit(FOLDER) in Python"
        )
    with contextlib.ExitStack() as stack:
        stack.enter_context(in_options())
        progress = Progress() if quiet or as_json else stack.enter_context(shown_progress())
        found = predict_folder(
            model,
            data,
            str(out),
            columns={name: column for name, column in columns.items() if column is not None},
            engine=engine_from(*engine),
            progress=progress,
            say=sayer(quiet or as_json),
            **asked,
        )
    failures = [failure["error"] for failure in found.failures]
    if as_json:
        counts = {name: getattr(found, name) for name in ("files", "series", "forecasts")}
        status = FAILED if failures else 0
        told = {"model": model, "data": data, "out": out, "failed": failures, "notes": list(found.notes)}
        tell_json({**told, **counts, "status": status})
    else:
        for failure in failures[:_TOLD]:
            say(f"failed: {failure}")
        more = f"; {len(failures)} failed, see {found.folder / '_failed'}" if failures else ""
        sayer(quiet)(
            f"{found.forecasts:,} forecasts of {found.series:,} series in {found.files:,} files: {found.folder}{more}"
        )
    if failures:
        raise typer.Exit(FAILED)
