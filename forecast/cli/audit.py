"""The command `audit`: is a model what it seems to be?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forecast.cli.answers import FAILED, answers, print_table, say, tell_json
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

    from forecast.auditing.certificate import Certificate


def audit(
    model: Annotated[
        str,
        typer.Argument(
            help="A network (lstm, tcn, transformer, ...), a rule (SeasonalNaive, NLinear, ...), a class of your own "
            "as package.module:Class, or the folder of a saved forecaster."
        ),
    ],
    data: Data = None,
    horizon: Annotated[
        int | None, model_option("Steps to forecast; 12 if not given, or those of a saved forecaster.", min=1)
    ] = None,
    probes: Annotated[
        list[str] | None, model_option("Probes to run, such as P1,P5,M; all if not given. M stands for M1 to M8.")
    ] = None,
    cutoff: Annotated[str | None, data_option("The last time that is known; near the end if not given.")] = None,
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
    seed: Seed = 0,
    steps: Steps = None,
    out: Annotated[Path | None, output_option("Certificate to write, as JSON: .json.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Probe a model for leaks of the future.

    What it may not know is changed, deleted and shuffled, and no forecast may move. It is fitted some forty times,
    trained for a few steps each, on three short series: of a table, or of our own. A network is probed by itself, too.
    Exit status 1 if a probe fails.

    Example: forecast audit lstm --data sales.csv --id store --time date --target sales --horizon 28
    """
    with answers("stopped; nothing was written", as_json=as_json):
        from forecast.experiment.auditing import audit_model
        from forecast.experiment.own_data import check_output
        from forecast.experiment.predicting import Task

        with tidy_mistakes():
            if out is not None:
                check_output(out, (".json",), "--out")
            names = names_of(
                id, time, target, known, past, static, delayed, forecasted, weight, separator, decimal, time_format
            )
            task = Task(
                data=data,
                names=names,
                model=[model],
                horizon=horizon,
                freq=freq,
                gaps=gaps,
                seed=seed,
                steps=steps,
                say=sayer(quiet or as_json),
            )
            found = audit_model(task, cutoff=cutoff, probes=listed(probes) or None)
        if out is not None:
            found.write(out)
        status = 0 if found.passed else FAILED
        if as_json:
            tell_json({**found.content(), "out": out, "status": status})
        else:
            print_table(_shown(found))
            typer.echo(f"{found.forecaster}: {found.badge}.")
            for name, value in found.facts.items():
                say(f"{name}: {value}")
        if status:
            raise typer.Exit(status)


def _shown(found: "Certificate") -> "pd.DataFrame":
    """Give the findings for people."""
    words = {True: "passed", False: "FAILED", None: "does not apply"}
    table = found.table()
    return table.assign(
        passed=[words[finding.passed] for finding in found.findings],
        ms=[round(finding.milliseconds) for finding in found.findings],
    ).loc[:, ["probe", "passed", "name", "evidence", "ms"]]
