"""What is left of an experiment on memory for people, beside what every experiment on curves leaves.

- recall.csv: one row per task, backbone, seed and length
- solved.csv: one row per task and backbone: the largest length that was solved
- published.csv: figures of others, where there are any
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from forecast.experiment.cells import Row, curve_cells
from forecast.experiment.curve_results import CurveResults, write_results
from forecast.experiment.curves import points_of
from forecast.experiment.store import Store


@dataclass(frozen=True, kw_only=True)
class RecallResults(CurveResults):
    """The results of an experiment on memory, as its folder holds them.

    Attributes
    ----------
    recalls: every length of every curve, as `forecast.insight.recall.recall_curves` gives them.
    solved: the largest length that was solved, as `longest_solved` gives it.
    published: figures of others, with their `error` beside the loss.

    """

    recalls: pd.DataFrame
    solved: pd.DataFrame
    published: pd.DataFrame


def publish(store: Store) -> RecallResults:
    """Write all results of what the store holds, and give them back."""
    from forecast.experiment import recall_report
    from forecast.insight.recall import COLUMNS, longest_solved

    note = store.experiment()
    config = note["config"]
    cells, found = curve_cells(store, note), points_of(store, [cell["key"] for cell in note["cells"]])
    recalls = pd.DataFrame(columns=COLUMNS) if found is None else found
    solved, published = longest_solved(recalls), quoted(config["published"])
    tables = {"recall.csv": recalls, "solved.csv": solved, "cells.csv": cells}
    write_results(
        store,
        {**tables, **({"published.csv": published} if len(published) else {})},
        None if found is None else lambda: recall_report.figures(recalls, config["solved"]),
        lambda drawn, facts: recall_report.recall_page(config, recalls, solved, published, drawn, facts, cells),
    )
    return RecallResults(folder=store.folder, cells=cells, recalls=recalls, solved=solved, published=published)


def quoted(rows: Sequence[Row]) -> pd.DataFrame:
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
