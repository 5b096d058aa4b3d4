"""What is left of an experiment on costs for people, beside what every experiment on curves leaves.

- cost.csv: one row per backbone, patch length, length of the history and mode
- powers.csv: one row per backbone, patch length and mode: how its costs grow with the history
"""

from dataclasses import dataclass

import pandas as pd

from forecast.experiment.cells import curve_cells
from forecast.experiment.curve_results import CurveResults, write_results
from forecast.experiment.curves import points_of
from forecast.experiment.store import Store


@dataclass(frozen=True, kw_only=True)
class CostResults(CurveResults):
    """The results of an experiment on costs, as its folder holds them.

    Attributes
    ----------
    costs: every point of every curve, as `forecast.insight.cost.cost_curves` gives them.
    powers: how they grow with the history, as `cost_powers` gives it.

    """

    costs: pd.DataFrame
    powers: pd.DataFrame


def publish(store: Store) -> CostResults:
    """Write all results of what the store holds, and give them back."""
    from forecast.experiment import cost_report
    from forecast.insight.cost import COLUMNS, cost_powers

    note = store.experiment()
    cells, found = curve_cells(store, note), points_of(store, [cell["key"] for cell in note["cells"]])
    costs = pd.DataFrame(columns=COLUMNS) if found is None else found
    powers = cost_powers(costs)
    write_results(
        store,
        {"cost.csv": costs, "powers.csv": powers, "cells.csv": cells},
        None if found is None else lambda: cost_report.figures(costs),
        lambda drawn, facts: cost_report.cost_page(note["config"], costs, powers, drawn, facts, cells),
    )
    return CostResults(folder=store.folder, cells=cells, costs=costs, powers=powers)
