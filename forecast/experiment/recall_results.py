"""What is left of an experiment on memory for people: tables, plot and the report, all from what its store holds.

- recall.csv: one row per task, backbone, seed and length
- solved.csv: one row per task and backbone: the largest length that was solved
- published.csv: figures of others, where there are any
- cells.csv: one row per cell: done, failed (with its traceback) or unfinished
- plots/: the plot of the report, as PNG
- report.html: the one page to read
- experiment.yaml, protocol.json: the config as written; versions and machine
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from forecast.experiment.recalls import Trained
from forecast.experiment.store import Store

CELLS = ["task", "backbone", "seed", "length", "status", "error", "traceback", "key"]
Row = dict[str, Any]


@dataclass(frozen=True)
class RecallResults:
    """The results of an experiment on memory, as its folder holds them.

    Attributes
    ----------
    folder: where they are.
    recalls: every length of every curve, as `forecast.insight.recall.recall_curves` gives them.
    solved: the largest length that was solved, as `longest_solved` gives it.
    published: figures of others, with their `error` beside the loss.
    cells: one row per cell: `status` is done, failed or unfinished.

    """

    folder: Path
    recalls: pd.DataFrame
    solved: pd.DataFrame
    published: pd.DataFrame
    cells: pd.DataFrame

    @property
    def failures(self) -> list[Row]:
        """The cells that failed, with their tracebacks."""
        return [row for row in self.cells.to_dict("records") if row["status"] == "failed"]  # type: ignore[misc]

    @property
    def report(self) -> Path | None:
        """The page to read; None where nothing was trained."""
        path = self.folder / "report.html"
        return path if path.is_file() else None


def publish(store: Store) -> RecallResults:
    """Write all results of what the store holds, and give them back."""
    from forecast.experiment.recall_report import figures, write_recall_report
    from forecast.insight.recall import COLUMNS, longest_solved
    from forecast.plots.style import look

    note = store.experiment()
    cells = [_cell(store, cell) for cell in note["cells"]]
    tables = [Trained.read(store.folder_of(cell["key"])).table for cell in cells if cell["status"] == "done"]
    recalls = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=COLUMNS)
    solved, published = longest_solved(recalls), quoted(note["config"]["published"])
    table = pd.DataFrame(cells, columns=CELLS)
    written = {"recall.csv": recalls, "solved.csv": solved, "cells.csv": table}
    for name, one in {**written, **({"published.csv": published} if len(published) else {})}.items():
        with store.replacing(name) as path:
            one.to_csv(path, index=False, lineterminator="\n")
    report = store.folder / "report.html"
    if tables:
        facts = json.loads((store.folder / "protocol.json").read_text(encoding="utf-8"))
        drawn = figures(recalls, note["config"]["solved"])
        with store.replacing("plots") as path, look():
            path.mkdir()
            for name, (_, figure) in drawn.items():
                figure.savefig(path / f"{name}.png")
        with store.replacing(report.name) as path:
            write_recall_report(path, note["config"], recalls, solved, published, drawn, facts, table)
    else:
        report.unlink(missing_ok=True)
    return RecallResults(store.folder, recalls, solved, published, table)


def quoted(rows: list[Row]) -> pd.DataFrame:
    """Give published figures with their `error`: the loss as a share of that without any memory, as it was counted.

    In the copy task that is ten symbols guessed among all tokens of an example, of which blanks cost nothing.
    """
    from forecast.synthetic.recall import TASKS

    table = []
    for row in rows:
        task = TASKS[row["task"]]
        share = 1.0 if task.symbols is None else task.asked / task.tokens(row["length"])
        table.append({**row, "error": row["loss"] / (share * task.memoryless)})
    columns = ["task", "length", "name", "parameters", "loss", "error", "source"]
    return pd.DataFrame(table, columns=columns).astype({"parameters": "Int64"})


def _cell(store: Store, cell: Row) -> Row:
    error = store.read_error(cell["key"])
    return {
        **cell,
        "status": "failed" if error else "done" if store.is_done(cell["key"]) else "unfinished",
        "error": f"{error['type']}: {error['message']}" if error else "",
        "traceback": error["traceback"] if error else "",
    }
