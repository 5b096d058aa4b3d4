"""Commands on folders of results: what is in them, what may go, all of it as one table, several beside each other."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forecast.cli.answers import FAILED, answers, print_table, say

if TYPE_CHECKING:
    import pandas as pd

_UNITS = ("B", "kB", "MB", "GB", "TB")
_WHICH = ("dataset", "forecaster", "context_length", "seed", "folds", "backbone", "patch_length", "length")
_Below = Annotated[Path, typer.Argument(help="A folder of results, or one in which there are several.")]


def ls(folder: _Below = Path("results")) -> None:
    """List the experiments in a folder: how far each is, its size, when it was written, and by which version.

    Cells count by the marker that they have; `forecast report` reads them.
    """
    with answers():
        from forecast.experiment.stored import list_results

        table = list_results(folder)
        local = table["written"].dt.tz_convert(_zone()).dt.strftime("%Y-%m-%d %H:%M").fillna("")
        shown = table.assign(size=_sizes(table["bytes"]), written=local)
        columns = ["folder", "name", "datasets", "done", "failed", "unfinished", "size", "written", "format", "version"]
        print_table(shown.loc[:, columns])
        faults = [fault for fault in table["fault"] if fault]
        for fault in faults:
            say(f"error: {fault}")
        if faults:
            raise typer.Exit(FAILED)


def show(
    folder: _Below,
    failed: Annotated[bool, typer.Option("--failed", help="Only cells that failed, with their tracebacks.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Read every file; what is damaged counts as not finished.")
    ] = False,
) -> None:
    """Tell what the experiments in a folder are, and what has become of each of their cells."""
    with answers():
        from forecast.experiment.stored import beside_table, cell_table, experiments_below, facts_of

        for number, experiment in enumerate(experiments_below(folder)):
            if number:
                typer.echo()
            for name, value in facts_of(experiment).items():
                typer.echo(f"{name}: {value}")
            cells = cell_table(experiment, check=check)
            if failed:
                _tell_failures(cells)
                continue
            typer.echo()
            table = cells.drop(columns=["traceback", "key"]).assign(error=_lines(cells["error"]))
            print_table(table.loc[:, [name for name in table if name == "status" or _says(table[name])]])
            for row in beside_table(experiment, check=check).to_dict("records"):
                typer.echo(f"{row['kind']}: {row['done']} done, {row['failed']} failed, {row['unfinished']} unfinished")


def gc(
    folder: _Below,
    yes: Annotated[bool, typer.Option("--yes", help="Remove it; without this it is only told.")] = False,
) -> None:
    """Tell, or remove, what experiments do not need any more.

    That is: cells that the config, as it was last run, does not ask for, and what a killed run has left half written.
    """
    with answers("stopped; what was removed is gone, all else is whole"):
        from forecast.experiment.clearing import clear_results

        left = clear_results(folder, remove=yes)
        if left.empty:
            typer.echo("there is nothing that is not needed")
            return
        table = left.groupby(["experiment", "what"], sort=False)["bytes"].agg(["size", "sum"]).reset_index()
        shown = table.rename(columns={"size": "number"}).assign(size=_sizes(table["sum"]))
        print_table(shown.loc[:, ["experiment", "what", "number", "size"]])
        number, size = len(left), _size(sum(left["bytes"]))
        typer.echo(f"\n{number:,} {'was' if number == 1 else 'were'} removed, {size}" if yes else f"\n{size} in all")
        if not yes:
            say("nothing was removed: give --yes for that")


def export(
    folder: _Below,
    out: Annotated[Path, typer.Option(help="Table to write: .parquet, .csv, .csv.gz.")],
) -> None:
    """Write all forecasts of all experiments in a folder into one long table."""
    with answers("stopped; nothing was written"):
        from forecast.experiment.exporting import export_forecasts
        from forecast.experiment.own_data import TABLE_ENDINGS, check_output

        check_output(out, TABLE_ENDINGS, "--out")
        found = export_forecasts(folder, out)
        for note in found.notes:
            say(f"note: {note}")
        typer.echo(f"{found.path}: {found.rows:,} rows")


def compare(
    folders: Annotated[list[Path], typer.Argument(help="Two or more folders of results.")],
    out: Annotated[Path | None, typer.Option(help="Folder to write tables, plots and a report to.")] = None,
) -> None:
    """Compare the forecasters of several experiments on the same data, by the same plan.

    Where data or plan differ it is refused, and said in what. Nothing is computed but scores.
    """
    with answers("stopped; no result was changed"):
        from forecast.experiment.side_by_side import compare_results

        found = compare_results(folders, out)
        for note in found.notes:
            say(f"note: {note}")
        for dataset, verdict in found.verdicts.items():
            typer.echo(f"\n{verdict}\n")
            _print_compared(found.summary[found.summary["dataset"] == dataset])
        if found.report is not None:
            typer.echo(f"\n{found.report}")


def _print_compared(rows: Any) -> None:
    more = [name for name in ("smape", "mse") if name in rows and rows[name].notna().any()]
    scores = ["skill", "low", "high", "mase", "wql", *more, "coverage"]
    shown = ["forecaster", "folder", "family", *scores, "parameters", "fit_seconds", "seeds"]
    print_table(rows.sort_values(by=["skill"], ascending=False, kind="stable").loc[:, shown])


def _tell_failures(cells: "pd.DataFrame") -> None:
    rows = [row for row in cells.to_dict("records") if row["status"] == "failed"]
    for row in rows:
        which = [
            f"{name} {row[name]}" for name in row if name in _WHICH and str(row[name]) not in ("None", "<NA>", "nan")
        ]
        typer.echo(f"\n{', '.join(which)}\n{row['traceback'].rstrip()}")
    typer.echo(f"\n{len(rows)} of {len(cells)} cells failed")


def _says(column: Any) -> bool:
    """Tell whether there is anything in a column."""
    return bool((column.notna() & (column.astype("str") != "")).any())


def _lines(texts: Any) -> list[str]:
    """Give texts on one line each."""
    return [" ".join(text.split()) for text in texts]


def _sizes(numbers: Any) -> list[str]:
    return ["" if number != number else _size(int(number)) for number in numbers.astype("float64")]


def _size(number: float) -> str:
    """Say how many bytes: 12 B, 3.4 MB."""
    unit = 0
    while number >= 1000 and unit < len(_UNITS) - 1:
        number, unit = number / 1000, unit + 1
    return f"{number:.0f} {_UNITS[unit]}" if unit == 0 else f"{number:.1f} {_UNITS[unit]}"


def _zone() -> Any:
    """Give the time zone of this machine."""
    from datetime import datetime

    return datetime.now().astimezone().tzinfo
