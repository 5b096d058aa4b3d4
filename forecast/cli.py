"""The command `forecast`: thin, so that its help is there at once. What it does is in `forecast.experiment`.

Exit status: 0 all well, 1 some cells failed, 2 something asked for cannot be had, 130 stopped by the user.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from forecast.experiment.cost_results import CostResults
    from forecast.experiment.results import Results
    from forecast.experiment.runner import Progress

FAILED, WRONG, STOPPED = 1, 2, 130
_TOLD = 10  # failed cells that are told one by one

app = typer.Typer(
    help="Neural time-series forecasting: latent state against direct prediction, compared honestly.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command."""
    app()


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


@app.command()
def run(
    config: Annotated[str, typer.Argument(help="A YAML file, or the name of a shipped experiment, such as `default`.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the results; results/<experiment> if not given.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no table.")] = False,
) -> None:
    """Run an experiment, or go on with one that was stopped.

    Every finished cell (a forecaster with a seed on the folds that share a fit; a point of a cost curve) is stored at
    once: after Ctrl-C, or anything else that ends a run, the same command goes on where it was. Classes of your own
    (`type: module:Class`) are found in the current folder.
    """
    with _answers():
        from forecast.experiment.costs import is_on_costs, run_costs
        from forecast.experiment.runner import Progress, run_experiment

        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        with contextlib.ExitStack() as stack:
            progress = Progress() if quiet else stack.enter_context(_progress())
            results = (run_costs if is_on_costs(config) else run_experiment)(config, out, progress)
        _tell(results, quiet)
        if results.failures:
            raise typer.Exit(FAILED)


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A folder of results that `forecast run` has written.")],
) -> None:
    """Write scores, plots and report of a folder anew from its stored cells; nothing is computed."""
    with _answers():
        from forecast.experiment.costs import holds_costs, rebuild_costs
        from forecast.experiment.runner import rebuild

        _tell((rebuild_costs if holds_costs(folder) else rebuild)(folder), quiet=False)


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(help="A folder that `save` of a fitted NeuralForecaster has written.")],
    data: Annotated[
        str | None,
        typer.Option(
            help="A CSV file in long form, or the name of a data set; what the model was fitted on if not given."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write; MODEL/inspection if not given.")] = None,
    freq: Annotated[str | None, typer.Option(help="Frequency of the data; that of the model if not given.")] = None,
    gaps: Annotated[
        str | None, typer.Option(help="Missing rows: `error`, `mask` or `fill`; as at the fit if not given.")
    ] = None,
    windows: Annotated[int, typer.Option(min=1, help="Windows over which means are taken.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Of the windows that are drawn.")] = 0,
) -> None:
    """Look inside a fitted network: receptive field, gradients, attention, gates, as CSV and plots with an index."""
    with _answers():
        from forecast.experiment.models import load_neural, panel_for
        from forecast.insight.inspection import inspect as look_inside

        forecaster = load_neural(model)
        panel = panel_for(forecaster, data, freq=freq, gaps=gaps)
        typer.echo(look_inside(forecaster, out or model / "inspection", panel, windows=windows, seed=seed))


@app.command()
def datasets() -> None:
    """List the data sets that are known by name, and where each would be loaded from."""
    with _answers():
        from forecast import catalog

        _print_table(catalog.table())


@contextlib.contextmanager
def _answers() -> Iterator[None]:
    """Turn what a person can act on into a message and an exit status, instead of a traceback."""
    try:
        yield
    except KeyboardInterrupt:
        _say("stopped; finished cells are stored, and the same command goes on from there")
        raise typer.Exit(STOPPED) from None
    except Exception as error:
        # Here, so that the help does not wait for them.
        from forecast.experiment.faults import ConfigError
        from forecast.experiment.store import StoreError
        from forecast.frame import FrameError

        # Whoever reads only the head of what is printed has not done anything wrong.
        if not isinstance(error, ConfigError | StoreError | FrameError | OSError) or isinstance(error, BrokenPipeError):
            raise
        _say(str(error) if isinstance(error, ConfigError) else f"error: {error}")
        raise typer.Exit(WRONG) from None


def _say(text: str) -> None:
    typer.echo(text, err=True)


def _tell(results: "Results | CostResults", quiet: bool) -> None:
    """Print what was found, what failed, and where the rest is."""
    from forecast.experiment.results import Results

    if not quiet:
        (_tell_scores if isinstance(results, Results) else _tell_costs)(results)  # type: ignore[arg-type]
    statuses = list(results.cells["status"])
    if unfinished := statuses.count("unfinished"):
        _say(f"{unfinished} of {len(statuses)} cells are not finished: `forecast run` goes on with them")
    if results.failures:
        _say(f"{len(results.failures)} of {len(statuses)} cells failed; the next run tries them again:")
        for cell in results.failures[:_TOLD]:
            _say(f"  {_which(cell)}: {' '.join(cell['error'].split())}")
        if (more := len(results.failures) - _TOLD) > 0:
            _say(f"  and {more} more")
        _say(f"tracebacks: {results.folder / 'cells.csv'}")
    typer.echo(f"{'' if quiet else chr(10)}{results.report or results.folder}")


def _tell_scores(results: "Results") -> None:
    """Print verdicts and scores."""
    import pandas as pd

    shown = ["forecaster", "family", "skill", "mase", "wql", "coverage", "parameters", "fit_seconds", "seeds"]
    ranked = results.summary.sort_values(by=["skill"], ascending=False, kind="stable")
    for dataset in results.summary["dataset"].unique():
        if dataset in results.verdicts:
            typer.echo(f"\n{results.verdicts[dataset]}\n")
        _print_table(pd.DataFrame(ranked.loc[ranked["dataset"] == dataset, shown]))


def _tell_costs(results: "CostResults") -> None:
    """Print what one new prediction costs, and with which powers of the history costs grow."""
    import pandas as pd

    from forecast.experiment.cost_report import told

    for sentence in told(results.costs):
        typer.echo(sentence)
    powers = ["seconds_power", "seconds_expected", "bytes_power", "bytes_expected"]
    _print_table(pd.DataFrame(results.powers[["backbone", "patch_length", "mode", *powers]]))


def _which(cell: "dict[str, Any]") -> str:
    if "dataset" in cell:
        return f"{cell['dataset']}, {cell['forecaster']}, seed {cell['seed']}, fold {cell['folds']}"
    return f"{cell['backbone']}, patches of {cell['patch_length']}, {cell['length']:,} values"


def _print_table(table: "pd.DataFrame") -> None:
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
        f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else escape(str(value))
    )


@contextlib.contextmanager
def _progress() -> "Iterator[Progress]":
    """Give a progress bar on a terminal, and a line for each cell elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display
    from rich.text import Text

    from forecast.experiment.runner import Progress

    class Lines(Progress):
        """A line for each cell."""

        def begin(self, cells):
            self.left, self.total, self.number = list(cells), len(cells), 0
            self.seconds: dict[object, list[float]] = {}
            self.since = time.monotonic()

        def at_work(self, cell):
            self.since = time.monotonic()

        def finished(self, cell, outcome, seconds):
            self.left.remove(cell)
            self.number += 1
            if outcome == "done":
                self.seconds.setdefault(cell.kind, []).append(seconds)
            self.tell(f"{cell}: {outcome}{'' if outcome == 'stored' else f' after {seconds:.1f} s'}")

        def tell(self, text):
            _say(f"[{self.number}/{self.total}] {text}")

        def remaining(self) -> str:
            """Say how long the rest will take, once a cell of each kind that is left has been timed."""
            kinds = [self.seconds.get(cell.kind) for cell in self.left]
            if not kinds or not all(kinds):
                return "-:--"
            total = sum(sum(kind) / len(kind) for kind in kinds if kind) - (time.monotonic() - self.since)
            minutes, seconds = divmod(round(max(total, 0.0)), 60)
            return f"{minutes}:{seconds:02d}"

    class Bar(Lines):
        """A bar, the cell at work, elapsed and remaining time."""

        def begin(self, cells):
            super().begin(cells)
            self.task = display.add_task("reading the store", total=len(cells))
            display.start()

        def at_work(self, cell):
            super().at_work(cell)
            display.update(self.task, description=str(cell))

        def tell(self, text):
            if ": failed" in text:
                display.print(text, markup=False)
            display.update(self.task, completed=self.number)

        def writing(self):
            display.update(self.task, description="scores, plots, report")

    class Remaining(ProgressColumn):
        """What is left, by the kind of cell."""

        def render(self, task):
            return Text(f"{bar.remaining()} left", style="progress.remaining")

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines()
        return
    bar = Bar()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), Remaining()
    display = Display(*columns, console=console, transient=True)
    try:
        yield bar
    finally:
        display.stop()
