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
from markupsafe import Markup
from matplotlib.figure import Figure

from forecast.evaluation.effects import effects, is_crossed
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import score
from forecast.experiment.numerals import number, percent, short
from forecast.experiment.pages import page
from forecast.experiment.verdict import BASELINE, Row, caveat, effect_rows, most_seeds, not_tested, verdict
from forecast.plots import (
    plot_calibration,
    plot_effects,
    plot_error_by_cutoff,
    plot_error_by_step,
    plot_folds,
    plot_forecasts,
    plot_skill,
)
from forecast.plots.extent import count, extent
from forecast.plots.style import family_colours, family_order
from forecast.plots.svg import embedded_svg

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
    pages = [_page(chapter, f"c{place}") for place, chapter in enumerate(chapters, start=1)]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page("report.html.j2", title=title, chapters=pages), encoding="utf-8")
    return path


def _page(chapter: Chapter, prefix: str) -> dict[str, Any]:
    ledger, rows, size = chapter.ledger, _rows_of(chapter), extent(chapter.ledger)
    dataset = str(chapter.protocol.get("dataset", "this data"))
    totals = _records(score(ledger, ["mase"]))[0]
    computed = {
        "dataset": dataset,
        "horizon": count(size.steps, "step"),
        "series": f"{size.series:,}",
        "cutoffs": f"{size.cutoffs:,}",
        "seeds": f"{most_seeds(rows)} per network",
        "season length": count(ledger.season_length, "step"),
        "points scored": f"{int(totals['points']):,} per forecaster and seed",
        "undefined": f"{count(int(totals['undefined']), 'pair')} of series and cutoff (no actual or no MASE scale)",
    }
    return {
        "id": prefix,
        "name": f"{dataset}, {count(size.steps, 'step')} ahead",
        "verdict": verdict(ledger, rows, dataset),
        "caveat": caveat(size),
        "table": _table(ledger, rows),
        "decoders": ledger.fits.loc[ledger.fits["decoder"] != "", "decoder"].nunique(),
        "crossed": _crossed(ledger, prefix),
        "figures": _figures(chapter, prefix),
        "protocol": {**computed, **{name: _plain(value) for name, value in chapter.protocol.items()}},
        "failures": [_failure(failure) for failure in chapter.failures],
        "not_tested": [*not_tested(rows, size), *chapter.not_tested],
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


def _records(table: pd.DataFrame) -> list[Row]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _table(ledger: Ledger, rows: Sequence[Row]) -> list[Row]:
    costs, fits = _costs(ledger), ledger.fits.drop_duplicates("forecaster").set_index("forecaster")
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
                "backbone": fits["backbone"][row["forecaster"]],
                "decoder": fits["decoder"][row["forecaster"]],
                "skill": percent(row["skill"]),
                "mase": number(row["mase"], 3),
                "wql": number(row["wql"], 4),
                "coverage": percent(row["coverage"], sign=""),
                "parameters": number(row["parameters"], 0),
                "seconds": short(seconds),
                "latency": short(latency),
                "seeds": number(row["seeds"], 0),
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


def _crossed(ledger: Ledger, prefix: str) -> dict[str, Any] | None:
    """Give main effects, interactions and their plot; None where there is nothing to cross or to measure against."""
    if BASELINE not in ledger.forecasters or not is_crossed(ledger):
        return None
    caption = "Skill of every backbone under every decoder, and how the families answer to the decoder."
    return {
        "effects": effect_rows(effects(ledger, BASELINE)),
        "figure": _drawn("effects", caption, plot_effects(ledger, BASELINE), prefix),
    }


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
    return [_drawn(name, caption, figure, prefix) for name, caption, figure in drawn]


def _drawn(name: str, caption: str, figure: Figure, prefix: str) -> dict[str, Any]:
    return {"name": name, "caption": caption, "svg": Markup(embedded_svg(figure, f"{prefix}-{name}", caption))}


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
