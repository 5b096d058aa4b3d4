"""Options that commands on a table of one's own share."""

from pathlib import Path
from typing import Annotated, Any

import typer

_DATA, _MODEL, _PLAN, _WORK, _OUTPUT = "Data", "Model", "Plan", "Work", "Output"


def data_option(help: str, *names: str, **more) -> Any:
    """Give an option about the table."""
    return typer.Option(*names, help=help, rich_help_panel=_DATA, **more)


def model_option(help: str, *names: str, **more) -> Any:
    """Give an option about models."""
    return typer.Option(*names, help=help, rich_help_panel=_MODEL, **more)


def plan_option(help: str, *names: str, **more) -> Any:
    """Give an option about where a backtest forecasts from, and what it learns from."""
    return typer.Option(*names, help=help, rich_help_panel=_PLAN, **more)


def output_option(help: str, *names: str, **more) -> Any:
    """Give an option about what is written and said."""
    return typer.Option(*names, help=help, rich_help_panel=_OUTPUT, **more)


def work_option(help: str, *names: str, **more) -> Any:
    """Give an option about where cells are computed."""
    return typer.Option(*names, help=help, rich_help_panel=_WORK, **more)


Data = Annotated[Path | None, data_option("The table: .csv, .tsv, .txt (also .gz), or .parquet.")]
Id = Annotated[str | None, data_option("Column that tells series apart; none for one series.", "--id")]
Time = Annotated[str | None, data_option("Column of times: ISO 8601 (2024-01-31), or whole numbers; ds if not given.")]
Target = Annotated[str | None, data_option("Column of the values to forecast; y if not given.")]
Freq = Annotated[str | None, data_option("Frequency, such as h, D, W-MON, MS; read off the data if not given.")]
Gaps = Annotated[
    str | None,
    data_option("Missing rows: refuse them (error), read them as missing (mask), or go on with the last (fill)."),
]
Known = Annotated[list[str] | None, data_option("Columns that are known ahead, such as price,promo.")]
Past = Annotated[list[str] | None, data_option("Columns that are known up to now.")]
Static = Annotated[list[str] | None, data_option("Columns with one value per series.")]
Forecasted = Annotated[
    list[str] | None,
    data_option("Columns that are forecasts, with that of their issue times, such as temperature:issued."),
]
Delayed = Annotated[list[str] | None, data_option("Columns that are known late, with steps, such as returns:2.")]
Weight = Annotated[str | None, data_option("Column that says how much a row counts in training.")]
Separator = Annotated[str | None, data_option("Between columns, such as ';' or tab; looked for if not given.")]
Decimal = Annotated[str | None, data_option("Mark before decimals: a point if not given, or a comma.")]
TimeFormat = Annotated[str | None, data_option("Of times that are not ISO 8601, such as '%d/%m/%Y'.")]
Seed = Annotated[int, model_option("Of networks.", min=0)]
Steps = Annotated[int | None, model_option("Training steps of networks; the usual number if not given.", min=1)]
Quiet = Annotated[bool, output_option("Say nothing beside the results, but what goes wrong.", "--quiet", "-q")]
Json = Annotated[bool, output_option("Answer with one JSON object on stdout, errors too.", "--json")]
