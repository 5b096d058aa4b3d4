"""Answers of a command that a person, or a program, can act on: messages, exit statuses, tables."""

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

FAILED, WRONG, STOPPED = 1, 2, 130
GOES_ON = "stopped; finished cells are stored, and the same command goes on from there"


@contextlib.contextmanager
def answers(stopped: str = GOES_ON, *, as_json: bool = False) -> Iterator[None]:
    """Turn what a person can act on into a message and an exit status, instead of a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        tell_fault(stopped, STOPPED, as_json)
        raise typer.Exit(STOPPED) from None
    except Exception as error:
        # Here, so that the help does not wait for them.
        from forecast.experiment.faults import ConfigError
        from forecast.experiment.store import StoreError
        from forecast.frame import FrameError

        # Whoever reads only the head of what is printed has not done anything wrong.
        if not isinstance(error, ConfigError | StoreError | FrameError | OSError) or isinstance(error, BrokenPipeError):
            raise
        tell_fault(str(error) if isinstance(error, ConfigError) else f"error: {error}", WRONG, as_json)
        raise typer.Exit(WRONG) from None


def tell_fault(message: str, status: int, as_json: bool) -> None:
    """Say what went wrong: to a person on stderr, to a program as JSON on stdout."""
    if as_json:
        tell_json({"error": message.removeprefix("error: "), "status": status})
    else:
        say(message)


def say(text: str) -> None:
    """Print a line beside the results."""
    typer.echo(text, err=True)


def tell_json(content: dict[str, Any]) -> None:
    """Print one JSON object; what is no finite number is null."""
    typer.echo(json.dumps(_plain(content), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return str(value)


def print_table(table: "pd.DataFrame") -> None:
    """Print a table: as wide as the terminal, or 160 characters elsewhere."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in table.columns:
        number = table[column].dtype.kind in "iuf"
        drawn.add_column(str(column).replace("_", " "), justify="right" if number else "left")
    for row in table.astype("object").itertuples(index=False):
        drawn.add_row(*(_cell(value) for value in row))
    console.print(drawn)


def _cell(value: Any) -> str:
    import pandas as pd
    from rich.markup import escape

    if pd.isna(value):
        return "-"
    return (
        f"{value:z.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else escape(str(value))
    )
