"""The command `forecast`: thin, so that its help is there at once. What it does is in `forecast.experiment`.

Exit status: 0 all well, 1 some cells or models failed, 2 something asked for cannot be had, 130 stopped by the user.
"""

import sys
from typing import Annotated

import typer

from forecast.cli.answers import WRONG, tell_fault
from forecast.cli.audit import audit
from forecast.cli.backtest import backtest
from forecast.cli.experiments import datasets, inspect, report, run
from forecast.cli.predict import predict
from forecast.cli.results import compare, export, gc, ls, show

app = typer.Typer(
    help="Neural time-series forecasting: latent state against direct prediction, compared honestly.",
    epilog="Exit status: 0 all well, 1 some cells or models failed, 2 something asked for cannot be had, 130 stopped.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command; a wrong call of one that answers in JSON is answered in JSON, too."""
    if "--json" not in sys.argv[1:]:
        app()
    try:
        status = app(standalone_mode=False)
    except Exception as error:
        # Of click itself, or of the copy of it inside typer: there is no one class to name.
        if not hasattr(error, "format_message"):
            raise
        tell_fault(error.format_message(), WRONG, as_json=True)  # type: ignore[attr-defined]
        status = WRONG
    sys.exit(status)


def _version(asked: bool) -> None:
    if asked:
        from forecast import __version__

        typer.echo(f"foretell {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version and leave.")
    ] = False,
) -> None:
    pass  # what stands before any command


def _flowing(text: str) -> str:
    """Give paragraphs without line breaks of their own, so that they fill a terminal of any width."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


_results = typer.Typer(help="What folders of results hold, what may go, all of it as a table.", no_args_is_help=True)
for _group, _commands in (
    (app, (predict, backtest, audit, run, report, compare, inspect, datasets)),
    (_results, (ls, show, gc, export)),
):
    for _command in _commands:
        _group.command(help=_flowing(str(_command.__doc__)))(_command)
app.add_typer(_results, name="results")
