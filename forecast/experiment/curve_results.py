"""What is left of an experiment on curves for people, whichever its kind, all from what its store holds.

- cells.csv: one row per cell: done, failed (with its traceback) or unfinished
- plots/: the plots of the report, as PNG
- report.html: the one page to read
- experiment.yaml, protocol.json: the config as written; versions and machine
"""

import json
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from forecast.experiment.cells import Row
from forecast.experiment.pictures import Picture, write_pictures
from forecast.experiment.setting import write_table
from forecast.experiment.store import Store

_PAGE = "report.html"


@dataclass(frozen=True, kw_only=True)
class CurveResults(ABC):
    """The results of an experiment on curves, as its folder holds them; each kind is a subclass.

    Attributes
    ----------
    folder: where they are.
    cells: one row per cell: `status` is done, failed or unfinished.

    """

    folder: Path
    cells: pd.DataFrame

    @property
    def failures(self) -> list[Row]:
        """The cells that failed, with their tracebacks."""
        return [row for row in self.cells.to_dict("records") if row["status"] == "failed"]  # type: ignore[misc]

    @property
    def report(self) -> Path | None:
        """The page to read; None where nothing was measured."""
        path = self.folder / _PAGE
        return path if path.is_file() else None


def write_results(
    store: Store,
    tables: Mapping[str, pd.DataFrame],
    draw: Callable[[], Sequence[Picture]] | None,
    page: Callable[[Sequence[Picture], Mapping[str, Any]], str],
) -> None:
    """Write tables by file name, and what is drawn with the page; without `draw` nothing was measured, and no page is.

    `page` is given the pictures, and versions and machine.
    """
    for name, table in tables.items():
        write_table(store, name, table)
    if draw is None:
        (store.folder / _PAGE).unlink(missing_ok=True)
        return
    drawn = draw()
    write_pictures(store, "plots", drawn)
    facts = json.loads((store.folder / "protocol.json").read_text(encoding="utf-8"))
    with store.replacing(_PAGE) as path:
        path.write_text(page(drawn, facts), encoding="utf-8")


def unfinished(cells: pd.DataFrame, spelled: Callable[[Row], str], otherwise: str) -> list[str]:
    """Say of each cell that is not done why, or what is said `otherwise`."""
    return [
        f"{spelled(row)}: {' '.join(str(row['error']).split()) or otherwise}"  # type: ignore[arg-type]
        for row in cells.to_dict("records")
        if row["status"] != "done"
    ]
