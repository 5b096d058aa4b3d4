"""The table of a report: a row per forecaster with scores, intervals, costs, budget, failures and its audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from forecast.auditing.certificate import Certificate
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import coverage, score
from forecast.evaluation.statistics import Standings
from forecast.experiment.levels import INTERVALS
from forecast.experiment.numerals import number, percent, short
from forecast.plots.style import family_colours, family_order

Row = dict[str, Any]


def score_rows(
    ledger: Ledger,
    summary: Sequence[Row],
    found: Standings,
    audits: Mapping[str, Certificate | str],
    budgets: Mapping[str, Row],
    lost: Mapping[str, int],
) -> list[Row]:
    """Give the rows, baselines first and the best of each family on top; all values are text.

    `summary` holds the scores; `lost` how many cells of each forecaster failed. `bold` marks the one that is separated
    from all others, `failed` one whose audit failed.
    """
    costs, fits = _costs(ledger), ledger.fits.drop_duplicates("forecaster").set_index("forecaster")
    covered, intervals = _coverage(ledger), {row["forecaster"]: row for row in _records(found.skill)}
    families = [row["family"] for row in summary]
    colours, order = family_colours(families), family_order(families)
    ranked = sorted(summary, key=lambda row: (order.index(row["family"]), -np.nan_to_num(row["skill"], nan=-np.inf)))
    ahead, contexts = _ahead(found), fits["context"].to_dict()
    table = []
    for row in ranked:
        name, of = row["forecaster"], intervals.get(row["forecaster"], {})
        seconds, latency, fallbacks = costs[name]
        audit, budget = audits.get(name), budgets.get(name, {})
        table.append(
            {
                "name": name,
                "family": row["family"],
                "place": order.index(row["family"]),
                "colour": colours[row["family"]],
                "backbone": fits["backbone"][name],
                "decoder": fits["decoder"][name],
                "skill": percent(row["skill"]),
                "interval": interval_of(of),
                "bold": name == ahead,
                "mase": number(row["mase"], 3),
                "wql": number(row["wql"], 4),
                "coverages": [percent(covered[kind].get(name, np.nan), sign="") for kind in covered],
                "parameters": number(row["parameters"], 0),
                "seconds": short(seconds),
                "latency": short(latency),
                "context": number(contexts[name], 0),
                "steps": number(budget.get("steps", np.nan) or np.nan, 0),
                "trials": number(budget.get("trials") or np.nan, 0),
                "seeds": number(row["seeds"], 0),
                "lost": _lost(lost.get(name, 0), fallbacks),
                "audit": badge_of(audit),
                "failed": isinstance(audit, Certificate) and bool(audit.failed),
                "probes": audit.failed if isinstance(audit, Certificate) else (),
            }
        )
    return table


def headings(ledger: Ledger) -> list[str]:
    """Say of which intervals there is a column of coverage."""
    return [f"of {100 * (INTERVALS[kind][1] - INTERVALS[kind][0]):.0f} %" for kind in _coverage(ledger)]


def interval_of(row: Row) -> str:
    """Write an interval of skill; "" where there is none."""
    if not row or pd.isna(row["low"]) or row["low"] == row["high"]:
        return ""
    return f"{percent(row['low'])} to {percent(row['high'])}"


def badge_of(audit: Certificate | str | None) -> str:
    """Say in a few letters what an audit found; a dash where there was none."""
    if not isinstance(audit, Certificate):
        return "–" if audit is None else "none"
    return audit.badge.replace(" probes passed", "")


def _ahead(found: Standings) -> str | None:
    """Give the forecaster that is better than, and separated from, all others; None where there is none."""
    if len(found.skill) < 2:
        return None
    name = str(found.skill["forecaster"].iloc[0])
    return name if found.pairs.loc[found.pairs["forecaster"] == name, "separated"].all() else None


def _coverage(ledger: Ledger) -> dict[str, dict[str, float]]:
    """Give by interval, as far as the quantile levels allow, the coverage of each forecaster."""
    levels = set(ledger.quantile_levels)
    metrics = {kind: coverage(*edges) for kind, edges in INTERVALS.items() if set(edges) <= levels}
    if not metrics:
        return {}
    table = score(ledger, metrics).set_index("forecaster")
    return {kind: table[kind].to_dict() for kind in metrics}


def _costs(ledger: Ledger) -> dict[str, tuple[float, float, int]]:
    """Give mean seconds of a fit, milliseconds of a forecast (one series, one cutoff, all steps), and fallbacks."""
    costs, fits = {}, _records(ledger.fits)
    for name in ledger.forecasters:
        own = [fit for fit in fits if fit["forecaster"] == name]
        forecasts = sum(fit["forecasts"] for fit in own)
        latency = 1000 * sum(fit["predict_seconds"] for fit in own) / forecasts if forecasts else float("nan")
        costs[name] = float(np.mean([fit["fit_seconds"] for fit in own])), latency, sum(fit["fallbacks"] for fit in own)
    return costs


def _lost(cells: int, fallbacks: int) -> str:
    return f"{cells}{f' + {fallbacks:,}' if fallbacks else ''}"


def _records(table: pd.DataFrame) -> list[Row]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
