"""What an experiment varies beside its comparison: the context length of each forecaster, the history of each network.

Neither goes into the table of scores or the verdict.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import standings
from forecast.experiment.arguments import canonical
from forecast.experiment.costs import CostCell, cells_of_plan
from forecast.experiment.curves import points_of
from forecast.experiment.regimes.networks import changed, networks
from forecast.experiment.store import Store
from forecast.forecaster import Forecaster
from forecast.frame import Panel

COST = "cost"
CONTEXTS = ["dataset", "forecaster", "family", "context_length", "skill", "low", "high", "seeds"]
_LENGTH = "context_length"


def at_context(forecasters: Mapping[str, Forecaster], length: int) -> dict[str, Forecaster]:
    """Give copies with this context length of the forecasters that have one, themselves or inside."""
    found = {}
    for label, forecaster in forecasters.items():
        names = [name for name in forecaster.get_params(deep=True) if name.rpartition("__")[2] == _LENGTH]
        if names:
            found[label] = changed(forecaster, dict.fromkeys(names, length))
    return found


def skill_by_context(ledgers: Mapping[int, Ledger], whole: Ledger, baseline: str, dataset: str) -> pd.DataFrame:
    """Give the skill of each forecaster at each context length, with intervals: a row for each.

    `ledgers` holds those of the sweep by context length; the baseline is that of the whole comparison.
    """
    tables = []
    for length, ledger in ledgers.items():
        names = [name for name in ledger.forecasters if name != baseline]
        found = standings(Ledger.concat([whole.take([baseline]), ledger.take(names)]), baseline).skill
        families = dict(zip(ledger.fits["forecaster"], ledger.fits["family"], strict=True))
        table = pd.DataFrame(found[found["forecaster"].isin(names)])
        more = {"dataset": dataset, _LENGTH: length, "family": [families[name] for name in table["forecaster"]]}
        tables.append(table.assign(**more))
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=CONTEXTS)
    return table.reindex(columns=CONTEXTS).astype({_LENGTH: "int64"})


def cost_cells(
    forecasters: Mapping[str, Forecaster], panel: Panel, horizon: int, lengths: Sequence[int]
) -> list[CostCell]:
    """Give the work of measuring each distinct backbone, with patches and context as fitted on the panel."""
    held = networks(forecasters)
    if not held or not lengths:
        return []
    # Here, since it imports torch.
    from forecast.insight.cost import CostPlan
    from forecast.nn import BACKBONES

    cells, seen = [], set()
    for label, (_, network) in held.items():
        outline, backbone = network.outline(panel), network.backbone
        if isinstance(backbone, str):
            backbone = BACKBONES[backbone](width=outline.width)  # type: ignore[call-arg]
        alike = repr((canonical(backbone, label), outline.patch_length, outline.context_length))
        if backbone.across_series or alike in seen:
            continue
        seen.add(alike)
        plan = CostPlan(
            backbones={label: backbone},
            patch_lengths=[outline.patch_length],
            lengths=sorted(lengths),
            horizon=horizon,
            context_length=outline.context_length,
            repeats=3,
            most_seconds=2.0,
        )
        cells += cells_of_plan(plan)
    return cells


def costs_in(store: Store, works: Sequence[Mapping[str, Any]], dataset: str) -> pd.DataFrame:
    """Give what was measured of networks as the history grows, as `plot_cost` takes it."""
    here = [work for work in works if work["kind"] == COST and work["dataset"] == dataset]
    found = points_of(store, [work["key"] for work in here])
    return pd.DataFrame({"length": np.array([], dtype="int64")}) if found is None else found
