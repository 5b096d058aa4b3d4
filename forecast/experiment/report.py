"""The one page a reader wants: verdict, table, plots, protocol, failures, and what was not tested, in one HTML file.

The page needs nothing but itself: no script, no font, no picture from elsewhere. Everything in it comes from the
ledger, the summary and the plan; the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import score, skill
from forecast.plots import (
    plot_calibration,
    plot_error_by_cutoff,
    plot_error_by_step,
    plot_folds,
    plot_forecasts,
    plot_skill,
)
from forecast.plots.extent import Extent, count, extent
from forecast.plots.style import family_colours, family_order
from forecast.plots.svg import embedded_svg

Row = dict[str, Any]
BASELINE = "SeasonalNaive"
LATENT, DIRECT = "latent-state", "direct-prediction"
_FEW_SEEDS, _FEW_CUTOFFS = 3, 5
_NEEDED = ("forecaster", "family", "skill", "mase", "wql", "coverage", "parameters", "seeds")


@dataclass(frozen=True)
class Chapter:
    """One data set at one horizon.

    Attributes
    ----------
    ledger
        All forecasts; every plot is drawn from it.
    summary
        One row per forecaster: `forecaster, family, skill, mase, wql, coverage, parameters, seeds` are read. Where it
        also has `dataset` and `horizon`, only the rows are taken that match those of `protocol`.
    plan
        One row per fold, as `plots.plot_folds` takes it; None: not drawn.
    protocol
        Facts by name, printed in their order: dataset, horizon, stride, refit, library versions, config hash, ...
    failures
        One mapping per failed cell: `traceback` holds the text, all other entries say which cell it was.
    history
        Long frame `unique_id, ds, y` for the tail of the fan charts; None: the actuals of the ledger.
    not_tested
        Sentences beside those that follow from the numbers of seeds and cutoffs.
    """

    ledger: Ledger
    summary: pd.DataFrame
    plan: pd.DataFrame | None
    protocol: Mapping[str, Any]
    failures: Sequence[Mapping[str, Any]] = ()
    history: pd.DataFrame | None = None
    not_tested: Sequence[str] = ()


def write_report(path: str | Path, chapters: Chapter | Sequence[Chapter], *, title: str = "Forecasts compared") -> Path:
    """Write the report of one or more chapters to `path` (one HTML file, UTF-8) and give the path back.

    Raises ValueError where a summary lacks a column, a row, or has more than one row for a forecaster.
    """
    chapters = [chapters] if isinstance(chapters, Chapter) else list(chapters)
    if not chapters:
        raise ValueError("`chapters` is empty; a report needs at least one ledger")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(Path(__file__).with_name("report.html.j2").read_text(encoding="utf-8"))
    pages = [_page(chapter, f"c{number}") for number, chapter in enumerate(chapters, start=1)]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(template.render(title=title, chapters=pages), encoding="utf-8")
    return path


def verdict(ledger: Ledger, rows: Sequence[Row], dataset: str = "this data") -> str:
    """Say in one sentence who is best by skill, and whether latent state or direct prediction is ahead.

    `rows` are those of the summary, one per forecaster: `forecaster, family, skill, seeds` are read. Where the seeds of
    two forecasters overlap, the sentence says that there is no clear difference.
    """
    size = extent(ledger)
    most = _most_seeds(rows)
    place = f"On {dataset} ({size.series} series, {count(size.cutoffs, 'cutoff')}, horizon {count(size.steps, 'step')}"
    place += f", {most} seeds per network)" if most > 1 else ", one seed)"
    ranked = sorted((row for row in rows if not pd.isna(row["skill"])), key=lambda row: -row["skill"])
    if BASELINE not in ledger.forecasters or not ranked:
        return f"{place} there is no verdict: skill against {BASELINE} is not defined."
    ranges = _seed_ranges(ledger)

    def told(row: Row) -> str:
        return f"{row['forecaster']} ({_percent(row['skill'])})"

    def overlap(one: Row, other: Row) -> bool:
        (low, high), (bottom, top) = ranges[one["forecaster"]], ranges[other["forecaster"]]
        return low <= top and bottom <= high

    champions = [next((row for row in ranked if row["family"] == family), None) for family in (LATENT, DIRECT)]
    best = f"{place} the highest skill is that of {told(ranked[0])}"
    # Where the two at the top are the two champions, the second half of the sentence says it.
    if len(ranked) > 1 and any(row not in champions for row in ranked[:2]) and overlap(ranked[0], ranked[1]):
        best += f", with no clear difference to {told(ranked[1])}"
    latent, direct = champions
    if latent is None or direct is None:
        absent = [family for family, row in ((LATENT, latent), (DIRECT, direct)) if row is None]
        return f"{best}; no {' and no '.join(absent)} network was compared."
    pair = f"the best latent-state network, {told(latent)}, and the best direct-prediction network, {told(direct)}"
    points = f"{100 * abs(latent['skill'] - direct['skill']):.1f} points of skill"
    if overlap(latent, direct):
        return f"{best}; no clear difference between {pair}: {points} apart, and the ranges of their seeds overlap."
    ahead = max(latent, direct, key=lambda row: row["skill"])["forecaster"]
    known = "and the ranges of their seeds do not overlap"
    if min(latent["seeds"], direct["seeds"]) < 2:
        known = "but one seed cannot tell merit from chance"
    return f"{best}; of {pair}, {ahead} is ahead by {points}, {known}."


def _page(chapter: Chapter, prefix: str) -> dict[str, Any]:
    ledger, rows, size = chapter.ledger, _rows_of(chapter), extent(chapter.ledger)
    dataset = str(chapter.protocol.get("dataset", "this data"))
    totals = _records(score(ledger, ["mase"]))[0]
    computed = {
        "dataset": dataset,
        "horizon": count(size.steps, "step"),
        "series": f"{size.series:,}",
        "cutoffs": f"{size.cutoffs:,}",
        "seeds": f"{_most_seeds(rows)} per network",
        "season length": count(ledger.season_length, "step"),
        "points scored": f"{int(totals['points']):,} per forecaster and seed",
        "undefined": f"{count(int(totals['undefined']), 'pair')} of series and cutoff (no actual or no MASE scale)",
    }
    return {
        "id": prefix,
        "name": f"{dataset}, {count(size.steps, 'step')} ahead",
        "verdict": verdict(ledger, rows, dataset),
        "caveat": _caveat(size),
        "table": _table(ledger, rows),
        "figures": _figures(chapter, prefix),
        "protocol": {**computed, **{name: _plain(value) for name, value in chapter.protocol.items()}},
        "failures": [_failure(failure) for failure in chapter.failures],
        "not_tested": [*_not_tested(rows, size), *chapter.not_tested],
    }


def _rows_of(chapter: Chapter) -> list[Row]:
    missing = [name for name in _NEEDED if name not in chapter.summary.columns]
    if missing:
        raise ValueError(f"`summary` lacks the columns {missing}; it needs {list(_NEEDED)}")
    place = {name: str(chapter.protocol[name]) for name in ("dataset", "horizon") if name in chapter.protocol}

    def here(row: Row) -> bool:
        return all(str(row[name]) == wanted for name, wanted in place.items() if name in row)

    rows = [row for row in _records(chapter.summary) if here(row)]
    for name in chapter.ledger.forecasters:
        found = sum(row["forecaster"] == name for row in rows)
        if found != 1:
            raise ValueError(f"`summary` has {found} rows for forecaster {name!r} at {place}; it needs exactly one")
    return [row for row in rows if row["forecaster"] in chapter.ledger.forecasters]


def _most_seeds(rows: Sequence[Row]) -> int:
    return max(int(row["seeds"]) for row in rows)


def _seed_ranges(ledger: Ledger) -> dict[str, tuple[float, float]]:
    table = skill(ledger, BASELINE, by=("forecaster", "seed"))
    values: dict[str, list[float]] = {}
    for name, value in zip(table["forecaster"], table["skill"], strict=True):
        values.setdefault(name, []).append(float(value))
    return {name: (min(several), max(several)) for name, several in values.items()}


def _records(table: pd.DataFrame) -> list[Row]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _caveat(size: Extent) -> str:
    text = "Intervals over series and time are not computed yet, so that this is a comparison of averages: "
    if size.cutoffs < _FEW_CUTOFFS:
        return text + f"{count(size.cutoffs, 'cutoff')} cannot tell how it would come out in another period."
    return text + "even where seeds do not overlap, a difference may belong to this period and these series alone."


def _not_tested(rows: Sequence[Row], size: Extent) -> list[str]:
    facts = ["Uncertainty over series and over time: no intervals are computed for skill or any other score."]
    seeds = _most_seeds(rows)
    if seeds < _FEW_SEEDS:
        facts.append(f"The spread over seeds: {count(seeds, 'seed')} per network is below the floor of {_FEW_SEEDS}.")
    if size.cutoffs < _FEW_CUTOFFS:
        facts.append(f"Stability over time: {count(size.cutoffs, 'cutoff')}, fewer than {_FEW_CUTOFFS}.")
    facts.append("Other data, other horizons, other periods and other budgets of training than those of the protocol.")
    return facts


def _table(ledger: Ledger, rows: Sequence[Row]) -> list[Row]:
    costs = _costs(ledger)
    families = [row["family"] for row in rows]
    colours, order = family_colours(families), family_order(families)
    ranked = sorted(rows, key=lambda row: (order.index(row["family"]), -np.nan_to_num(row["skill"], nan=-np.inf)))
    table = []
    for row in ranked:
        seconds, latency = costs[row["forecaster"]]
        table.append(
            {
                "name": row["forecaster"],
                "family": row["family"],
                "place": order.index(row["family"]),
                "colour": colours[row["family"]],
                "skill": _percent(row["skill"]),
                "mase": _number(row["mase"], 3),
                "wql": _number(row["wql"], 4),
                "coverage": _percent(row["coverage"], sign=""),
                "parameters": _number(row["parameters"], 0),
                "seconds": _short(seconds),
                "latency": _short(latency),
                "seeds": _number(row["seeds"], 0),
            }
        )
    return table


def _costs(ledger: Ledger) -> dict[str, tuple[float, float]]:
    """Forecaster -> mean seconds of one fit, milliseconds of one forecast (one series, one cutoff, all steps)."""
    fits = _records(ledger.fits)
    costs = {}
    for name in ledger.forecasters:
        own = [fit for fit in fits if fit["forecaster"] == name]
        forecasts = sum(fit["forecasts"] for fit in own)
        latency = 1000 * sum(fit["predict_seconds"] for fit in own) / forecasts if forecasts else float("nan")
        costs[name] = (float(np.mean([fit["fit_seconds"] for fit in own])), latency)
    return costs


def _figures(chapter: Chapter, prefix: str) -> list[dict[str, Any]]:
    ledger = chapter.ledger
    drawn: list[tuple[str, str, Figure]] = []
    if BASELINE in ledger.forecasters:
        caption = "Skill: how much less absolute error than seasonal naive; the number on the right is exact."
        drawn.append(("skill", caption, plot_skill(ledger, BASELINE)))
    drawn += [
        (
            "forecasts",
            "What was forecast at the last cutoff, by the most accurate forecaster of each family (first seed).",
            plot_forecasts(ledger, chapter.history),
        ),
        (
            "step",
            "How the error grows with the step ahead; shades show the range over seeds.",
            plot_error_by_step(ledger),
        ),
        (
            "cutoff",
            "How the error moves over time; shades show the range over seeds.",
            plot_error_by_cutoff(ledger),
        ),
        (
            "calibration",
            "Whether the intervals hold what they promise: on the dashed line they do.",
            plot_calibration(ledger),
        ),
    ]
    if chapter.plan is not None:
        caption = "The plan of folds: what each forecast was allowed to see, and whose fit it used."
        drawn.append(("folds", caption, plot_folds(chapter.plan)))
    return [
        {"name": name, "caption": caption, "svg": Markup(embedded_svg(figure, f"{prefix}-{name}", caption))}
        for name, caption, figure in drawn
    ]


def _failure(failure: Mapping[str, Any]) -> dict[str, str]:
    lines = [line.strip() for line in str(failure.get("traceback", "")).splitlines() if line.strip()]
    cell = ", ".join(f"{name} {value}" for name, value in failure.items() if name != "traceback")
    return {"cell": cell or "unnamed cell", "line": lines[-1] if lines else "no traceback was kept"}


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(one) for one in value)
    return str(value)


def _percent(value: float, sign: str = "+") -> str:
    if pd.isna(value):
        return "–"
    if abs(value) < 0.0005:
        value, sign = 0.0, ""
    return f"{100 * value:{sign}.1f}\N{NO-BREAK SPACE}%".replace("-", "−")


def _number(value: float, digits: int) -> str:
    return "–" if pd.isna(value) else f"{value:,.{digits}f}".replace("-", "−")


def _short(value: float) -> str:
    """Three digits are enough for a cost: 0.012, 4.56, 78.9, 1,234."""
    if pd.isna(value):
        return "–"
    if 0 < value < 0.001:
        return "< 0.001"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{digits}f}"
