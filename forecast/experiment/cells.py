"""The cells of an experiment, as its folder holds them: what each is of, what has become of it, all their forecasts."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from forecast.evaluation.ledger import Ledger
from forecast.experiment.store import Store

_OUTCOME = ["status", "error", "traceback", "key"]
CELLS = ["dataset", "horizon", "forecaster", "seed", "folds", "context_length", "status", "error", "traceback", "key"]
Row = dict[str, Any]


def outcome(store: Store, key: str, *, check: bool = True) -> Row:
    """Give `status` (done, failed, unfinished), `error` and `traceback` of a cell; without `check` by its marker alone.

    Raises StoreError for a cell of a format that is to come.
    """
    error = store.read_error(key)
    return {
        "status": "failed" if error else store.status(key, check=check),
        "error": f"{error['type']}: {error['message']}" if error else "",
        "traceback": error["traceback"] if error else "",
    }


def cell_rows(store: Store, note: Mapping[str, Any], *, check: bool = True) -> list[Row]:
    """Give a row for each cell of a comparison, as `CELLS`, and its family; those of a sweep have a context length.

    Raises as `outcome`.
    """
    rows = []
    for cell in note["cells"]:
        first, last = cell["folds"][0] + 1, cell["folds"][-1] + 1
        rows.append(
            {
                "context_length": None,
                **cell,
                "horizon": note["config"]["horizon"],
                "folds": str(first) if first == last else f"{first} to {last}",
                **outcome(store, cell["key"], check=check),
            }
        )
    return rows


def curve_cells(store: Store, note: Mapping[str, Any], *, check: bool = True) -> pd.DataFrame:
    """Give a row for each cell of an experiment on curves: what it is of, and what has become of it.

    Raises as `outcome`.
    """
    rows = [{**cell, **outcome(store, cell["key"], check=check)} for cell in note["cells"]]
    of = dict.fromkeys(name for cell in note["cells"] for name in cell if name not in _OUTCOME)
    return pd.DataFrame(rows, columns=[*of, *_OUTCOME])


def joined_ledger(store: Store, cells: Sequence[Row]) -> Ledger | None:
    """Join the cells of all forecasters and seeds that got through all folds: only they can be compared."""
    lost = {(cell["forecaster"], cell["seed"]) for cell in cells if cell["status"] != "done"}
    keys = [cell["key"] for cell in cells if (cell["forecaster"], cell["seed"]) not in lost]
    return store.read(*keys) if keys else None


def failure_of(cell: Row) -> Row:
    """Give what a report tells of a cell that failed."""
    # One line: the traceback may end with notes.
    told = " ".join(cell["error"].split())
    where = {name: cell[name] for name in ("forecaster", "seed", "folds")}
    if cell["context_length"] is not None:
        where["context"] = cell["context_length"]
    return {**where, "traceback": told}


def left_out(cells: Sequence[Row]) -> list[str]:
    """Say who is not compared, since some of their cells, which these are, are not done."""
    runs = dict.fromkeys((cell["forecaster"], cell["seed"], cell["context_length"]) for cell in cells)
    return [
        f"{name}, seed {seed}{'' if context is None else f', with a context of {context}'}: left out, since not all of "
        "its folds are there (see cells.csv)."
        for name, seed, context in runs
    ]
