"""Commands on experiments and what they leave: run, report, inspect, datasets."""

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forecast.cli.answers import FAILED, answers, print_table, say
from forecast.cli.progress import shown_progress

if TYPE_CHECKING:
    from forecast.experiment.cost_results import CostResults
    from forecast.experiment.results import Results

_TOLD = 10  # failed cells that are told one by one


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
    with answers():
        from forecast.experiment.costs import is_on_costs, run_costs
        from forecast.experiment.runner import run_experiment
        from forecast.experiment.work import Progress

        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        with contextlib.ExitStack() as stack:
            progress = Progress() if quiet else stack.enter_context(shown_progress())
            results = (run_costs if is_on_costs(config) else run_experiment)(config, out, progress)
        _tell(results, quiet)
        if results.failures:
            raise typer.Exit(FAILED)


def report(
    folder: Annotated[
        Path, typer.Argument(help="A folder of results that `forecast run` or `forecast backtest` has written.")
    ],
) -> None:
    """Write scores, plots and report of a folder anew from its stored cells; nothing is computed."""
    with answers():
        from forecast.experiment.costs import holds_costs, rebuild_costs
        from forecast.experiment.runner import rebuild

        _tell((rebuild_costs if holds_costs(folder) else rebuild)(folder), quiet=False)


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
    with answers():
        from forecast.experiment.models import load_neural, panel_for
        from forecast.insight.inspection import inspect as look_inside

        forecaster = load_neural(model)
        panel = panel_for(forecaster, data, freq=freq, gaps=gaps)
        typer.echo(look_inside(forecaster, out or model / "inspection", panel, windows=windows, seed=seed))


def datasets() -> None:
    """List the data sets that are known by name, and where each would be loaded from."""
    with answers():
        from forecast import catalog

        print_table(catalog.table())


def _tell(results: "Results | CostResults", quiet: bool) -> None:
    """Print what was found, what failed, and where the rest is."""
    from forecast.experiment.results import Results

    if not quiet:
        (_tell_scores if isinstance(results, Results) else _tell_costs)(results)  # type: ignore[arg-type]
    statuses = list(results.cells["status"])
    if unfinished := statuses.count("unfinished"):
        say(f"{unfinished} of {len(statuses)} cells are not finished: `forecast run` goes on with them")
    if results.failures:
        say(f"{len(results.failures)} of {len(statuses)} cells failed; the next run tries them again:")
        for cell in results.failures[:_TOLD]:
            say(f"  {_which(cell)}: {' '.join(cell['error'].split())}")
        if (more := len(results.failures) - _TOLD) > 0:
            say(f"  and {more} more")
        say(f"tracebacks: {results.folder / 'cells.csv'}")
    typer.echo(f"{'' if quiet else chr(10)}{results.report or results.folder}")


def _tell_scores(results: "Results") -> None:
    """Print verdicts and scores."""
    import pandas as pd

    shown = ["forecaster", "family", "skill", "mase", "wql", "coverage", "parameters", "fit_seconds", "seeds"]
    ranked = results.summary.sort_values(by=["skill"], ascending=False, kind="stable")
    for dataset in results.summary["dataset"].unique():
        if dataset in results.verdicts:
            typer.echo(f"\n{results.verdicts[dataset]}\n")
        for name, one in results.audits.get(dataset, {}).items():
            if isinstance(one, str) or one.failed:
                typer.echo(f"audit of {name}: {one if isinstance(one, str) else one.badge}\n")
        print_table(pd.DataFrame(ranked.loc[ranked["dataset"] == dataset, shown]))


def _tell_costs(results: "CostResults") -> None:
    """Print what one new prediction costs, and with which powers of the history costs grow."""
    import pandas as pd

    from forecast.experiment.cost_report import told

    for sentence in told(results.costs):
        typer.echo(sentence)
    powers = ["seconds_power", "seconds_expected", "bytes_power", "bytes_expected"]
    print_table(pd.DataFrame(results.powers[["backbone", "patch_length", "mode", *powers]]))


def _which(cell: "dict[str, Any]") -> str:
    if "dataset" in cell:
        context = cell["context_length"]
        of = f", context {context}" if isinstance(context, int) else ""  # of a sweep
        return f"{cell['dataset']}, {cell['forecaster']}{of}, seed {cell['seed']}, fold {cell['folds']}"
    return f"{cell['backbone']}, patches of {cell['patch_length']}, {cell['length']:,} values"
