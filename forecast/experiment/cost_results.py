"""What is left of an experiment on costs for people: tables, plots and the report, all from what its store holds.

- cost.csv: one row per backbone, patch length, length of the history and mode
- powers.csv: one row per backbone, patch length and mode: how its costs grow with the history
- cells.csv: one row per cell: done, failed (with its traceback) or unfinished
- plots/: the plots of the report, as PNG
- report.html: the one page to read
- experiment.yaml, protocol.json: the config as written; versions and machine
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from forecast.experiment.cells import Row, outcome
from forecast.experiment.costs import Point
from forecast.experiment.protocol import protocol
from forecast.experiment.store import Store

CELLS = ["backbone", "patch_length", "length", "status", "error", "traceback", "key"]


@dataclass(frozen=True)
class CostResults:
    """The results of an experiment on costs, as its folder holds them.

    Attributes
    ----------
    folder: where they are.
    costs: every point of every curve, as `forecast.insight.cost.cost_curves` gives them.
    powers: how they grow with the history, as `cost_powers` gives it.
    cells: one row per cell: `status` is done, failed or unfinished.

    """

    folder: Path
    costs: pd.DataFrame
    powers: pd.DataFrame
    cells: pd.DataFrame

    @property
    def failures(self) -> list[Row]:
        """The cells that failed, with their tracebacks."""
        return [row for row in self.cells.to_dict("records") if row["status"] == "failed"]  # type: ignore[misc]

    @property
    def report(self) -> Path | None:
        """The page to read; None where nothing was measured."""
        path = self.folder / "report.html"
        return path if path.is_file() else None


def write_setting(store: Store, text: str | None) -> None:
    """Write what is known before the first cell: the config as written, versions and machine."""
    if text is not None:
        with store.replacing("experiment.yaml") as path:
            path.write_text(text, encoding="utf-8")
    with store.replacing("protocol.json") as path:
        path.write_text(json.dumps(protocol(), indent=1) + "\n", encoding="utf-8")


def publish(store: Store) -> CostResults:
    """Write all results of what the store holds, and give them back."""
    from forecast.experiment.cost_report import figures, write_cost_report
    from forecast.insight.cost import COLUMNS, cost_powers
    from forecast.plots.style import look

    note = store.experiment()
    cells = [{**cell, **outcome(store, cell["key"])} for cell in note["cells"]]
    tables = [Point.read(store.folder_of(cell["key"])).table for cell in cells if cell["status"] == "done"]
    costs = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS)
    powers, table = cost_powers(costs), pd.DataFrame(cells, columns=CELLS)
    for name, one in {"cost.csv": costs, "powers.csv": powers, "cells.csv": table}.items():
        with store.replacing(name) as path:
            one.to_csv(path, index=False, lineterminator="\n")
    report = store.folder / "report.html"
    if tables:
        facts = json.loads((store.folder / "protocol.json").read_text(encoding="utf-8"))
        drawn = figures(costs)
        with store.replacing("plots") as path, look():
            path.mkdir()
            for name, (_, figure) in drawn.items():
                figure.savefig(path / f"{name}.png")
        with store.replacing(report.name) as path:
            write_cost_report(path, note["config"], costs, powers, drawn, facts, table)
    else:
        report.unlink(missing_ok=True)
    return CostResults(store.folder, costs, powers, table)
