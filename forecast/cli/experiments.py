"""Commands on experiments and what they leave: run, report, inspect, datasets."""

import contextlib
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forecast.cli.answers import FAILED, answers, print_table, say
from forecast.cli.engines import Address, EngineName, Timeout, Workers, engine_from
from forecast.cli.progress import shown_progress

if TYPE_CHECKING:
    import pandas as pd

    from forecast.experiment.cost_results import CostResults
    from forecast.experiment.recall_results import RecallResults
    from forecast.experiment.results import Results
    from forecast.experiment.suite import SuiteResults

_TOLD = 10  # failed cells that are told one by one


def run(
    config: Annotated[str, typer.Argument(help="A YAML file, or the name of a shipped experiment, such as `default`.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the results; results/<experiment> if not given.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="As the file has it under `quick`, into results/<experiment>-quick.")
    ] = False,
    engine: EngineName = "local",
    address: Address = None,
    workers: Workers = None,
    timeout: Timeout = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no table.")] = False,
) -> None:
    """Run an experiment, or go on with one that was stopped.

    Every finished cell (a forecaster with a seed on the folds that share a fit; a point of a curve) is stored at
    once: after Ctrl-C, or anything else that ends a run, the same command goes on where it was. Classes of your own
    (`type: module:Class`) are found in the current folder.
    """
    with answers():
        from forecast.experiment.work import Progress

        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        with contextlib.ExitStack() as stack:
            progress = Progress() if quiet else stack.enter_context(shown_progress())
            results = _run(config, quick)(out, progress, engine=engine_from(engine, address, workers, timeout))
        _tell(results, quiet)
        if results.failures:
            raise typer.Exit(FAILED)


def _run(config: str, quick: bool) -> "Callable[..., Results | CostResults | RecallResults | SuiteResults]":
    """Give what runs a config file into a folder, by what kind it is of."""
    from forecast.experiment.config import load_experiment
    from forecast.experiment.costs import CostExperiment, load_costs, run_costs
    from forecast.experiment.curves import is_of_kind
    from forecast.experiment.recalls import RecallExperiment, load_recalls, run_recalls
    from forecast.experiment.runner import run_experiment
    from forecast.experiment.suite import holds_several, load_suite, run_suite

    if is_of_kind(CostExperiment, config):
        return partial(run_costs, load_costs(config, quick=quick))
    if is_of_kind(RecallExperiment, config):
        return partial(run_recalls, load_recalls(config, quick=quick))
    if holds_several(config, quick=quick):
        return partial(run_suite, load_suite(config, quick=quick))
    return partial(run_experiment, load_experiment(config, quick=quick))


def report(
    folder: Annotated[
        Path, typer.Argument(help="A folder of results that `forecast run` or `forecast backtest` has written.")
    ],
) -> None:
    """Write scores, plots and report of a folder anew from its stored cells; nothing is computed."""
    with answers():
        from forecast.experiment.costs import CostExperiment, rebuild_costs
        from forecast.experiment.curves import holds_kind
        from forecast.experiment.recalls import RecallExperiment, rebuild_recalls
        from forecast.experiment.runner import rebuild
        from forecast.experiment.suite import holds_suite, rebuild_suite

        kinds = (
            (holds_suite, rebuild_suite),
            (partial(holds_kind, CostExperiment), rebuild_costs),
            (partial(holds_kind, RecallExperiment), rebuild_recalls),
        )
        anew = next((again for holds, again in kinds if holds(folder)), rebuild)
        _tell(anew(folder), quiet=False)


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


def _tell(results: "Results | CostResults | RecallResults | SuiteResults", quiet: bool) -> None:
    """Print what was found, what failed, and where the rest is."""
    from forecast.experiment.recall_results import RecallResults
    from forecast.experiment.results import Results
    from forecast.experiment.suite import SuiteResults

    if not quiet:
        ways = {Results: _tell_scores, SuiteResults: _tell_suite, RecallResults: _tell_recalls}
        ways.get(type(results), _tell_costs)(results)  # type: ignore[arg-type]
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
    for dataset in results.summary["dataset"].unique():
        if dataset in results.verdicts:
            typer.echo(f"\n{results.verdicts[dataset]}\n")
        for name, one in results.audits.get(dataset, {}).items():
            if isinstance(one, str) or one.failed:
                typer.echo(f"audit of {name}: {one if isinstance(one, str) else one.badge}\n")
        _print_scores(results.summary, results.published, {"dataset": dataset})


def _tell_suite(results: "SuiteResults") -> None:
    """Print verdicts and scores of each experiment."""
    for label, verdicts in results.verdicts.items():
        for verdict in verdicts:
            typer.echo(f"\n{label}: {verdict}\n")
        _print_scores(results.summary, results.published, {"experiment": label})


def _print_scores(summary: "pd.DataFrame", published: "pd.DataFrame", where: "dict[str, Any]") -> None:
    """Print the rows of one comparison, and if there are any the published figures beside them."""
    import pandas as pd

    from forecast.experiment.published import KEYS
    from forecast.experiment.summary import SUMMARY

    ((column, value),) = where.items()
    here = pd.DataFrame(summary[summary[column] == value])
    more = [
        name for name in here.columns if name not in (*SUMMARY, "experiment") and here[name].notna().to_numpy().any()
    ]
    shown = ["forecaster", "family", "skill", "mase", "wql", *more, "coverage", "parameters", "fit_seconds", "seeds"]
    print_table(here.sort_values(by=["skill"], ascending=False, kind="stable").loc[:, shown])
    if column not in published or value not in set(published[column]):
        return
    table = pd.DataFrame(published[published[column] == value]).dropna(axis="columns", how="all")
    metrics = [name for name in table.columns if name not in (*KEYS, "experiment")]
    typer.echo("\nbeside published figures, whose sources published.csv names:\n")
    told = table.assign(ours=["here" if ours else "" for ours in table["ours"]])
    print_table(told.loc[:, ["name", "ours", *metrics]].rename(columns={"ours": ""}))


def _tell_costs(results: "CostResults") -> None:
    """Print what one new prediction costs, and with which powers of the history costs grow."""
    import pandas as pd

    from forecast.experiment.cost_report import told

    for sentence in told(results.costs):
        typer.echo(sentence)
    powers = ["seconds_power", "seconds_expected", "bytes_power", "bytes_expected"]
    print_table(pd.DataFrame(results.powers[["backbone", "patch_length", "mode", *powers]]))


def _tell_recalls(results: "RecallResults") -> None:
    """Print how long the tasks are that each backbone has solved."""
    from forecast.experiment.recall_report import told

    for sentence in told(results.solved):
        typer.echo(sentence)
    print_table(results.solved)


def _which(cell: "dict[str, Any]") -> str:
    if "dataset" in cell:
        context = cell["context_length"]
        of = f", context {context}" if isinstance(context, int) else ""  # of a sweep
        return f"{cell['dataset']}, {cell['forecaster']}{of}, seed {cell['seed']}, fold {cell['folds']}"
    if "task" in cell:
        return f"{cell['backbone']}, {cell['task']}, seed {cell['seed']}, length {cell['length']:,}"
    return f"{cell['backbone']}, patches of {cell['patch_length']}, {cell['length']:,} values"
