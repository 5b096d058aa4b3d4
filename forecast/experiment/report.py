"""The one page a reader wants: verdict, table, plots, protocol, failures, and what was not tested, in one HTML file.

The page needs nothing but itself: no script, no font, no picture from elsewhere. Everything in it comes from the
ledger, what was computed of it once, and the plan; the same input gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from forecast.auditing.certificate import Certificate
from forecast.evaluation.effects import effects
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.ledger.points import STATUS
from forecast.evaluation.remarks import undefined
from forecast.evaluation.statistics import Standings
from forecast.experiment.ablations import ablation_rows, labels_in
from forecast.experiment.audits import failed_in
from forecast.experiment.effect_words import effect_rows
from forecast.experiment.pages import page
from forecast.experiment.pictures import Drawn, Picture, embedded, pictures
from forecast.experiment.published import published_rows
from forecast.experiment.score_table import headings, score_rows
from forecast.experiment.untested import untested
from forecast.experiment.verdict import BASELINE, Row, judged, verdict
from forecast.plots.extent import count, extent

_NEEDED = ("forecaster", "family", "skill", "mase", "wql", "parameters", "seeds")
_FIRST = ("skill", "skill_by_step", "skill_by_context", "cost", "win_rates")  # before the effects of family and decoder
_BESIDE_A_TABLE = ("effects", "ablations")


@dataclass(frozen=True)
class Chapter:
    """One data set at one horizon.

    Attributes
    ----------
    ledger
        All forecasts; every plot is drawn from it.
    summary
        One row per forecaster: `forecaster, family, skill, mase, wql, parameters, seeds` are read. Where it also has
        `dataset` and `horizon`, only the rows are taken that match those of `protocol`.
    plan
        One row per fold, as `plots.plot_folds` takes it; None: not drawn.
    protocol
        Facts by name, printed in their order: dataset, horizon, stride, refit, library versions, config hash, ...
    failures
        One mapping per failed cell: `traceback` holds the text, all other entries say which cell it was.
    history
        Long frame `unique_id, ds, y` for the tail of the fan charts; None: the actuals of the ledger.
    not_tested
        Sentences beside those that follow from what was done.
    found
        How the forecasters stand that the verdict is about; None: computed here.
    audits
        By forecaster the certificate of its audit, or why there is none.
    regime, budgets, unequal
        What was made equal between networks; what each forecaster might spend, by name; budgets that differ, in words.
    published
        Our scores and figures of others, as `published.beside` gives them; None or no row: not shown.
    contexts, costs
        What `plot_skill_by_context` and `plot_cost` draw; None or no row: not drawn.
    ablations
        What each exchange of a part changes, as `ablations.ablation_table` gives it; None or no row: not told.
    drawn
        The pictures, if they are drawn already.
    """

    ledger: Ledger
    summary: pd.DataFrame
    plan: pd.DataFrame | None
    protocol: Mapping[str, Any]
    failures: Sequence[Mapping[str, Any]] = ()
    history: pd.DataFrame | None = None
    not_tested: Sequence[str] = ()
    found: Standings | None = None
    audits: Mapping[str, Certificate | str] = field(default_factory=dict)
    regime: str = ""
    budgets: Mapping[str, Row] = field(default_factory=dict)
    unequal: Sequence[str] = ()
    contexts: pd.DataFrame | None = None
    costs: pd.DataFrame | None = None
    ablations: pd.DataFrame | None = None
    published: pd.DataFrame | None = None
    drawn: Sequence[Picture] | None = None


def write_report(
    path: str | Path,
    chapters: Chapter | Sequence[Chapter],
    *,
    title: str = "Forecasts compared",
    together: Mapping[str, Any] | None = None,
) -> Path:
    """Write the report of one or more chapters to `path` (one HTML file, UTF-8) and give the path back.

    `together` is what all data sets say, as `grid_report.grid_section` gives it; None: no such section.

    Raises ValueError where a summary lacks a column, a row, or has more than one row for a forecaster.
    """
    chapters = [chapters] if isinstance(chapters, Chapter) else list(chapters)
    if not chapters:
        raise ValueError("`chapters` is empty; a report needs at least one ledger")
    pages = [_page(chapter, f"c{place}") for place, chapter in enumerate(chapters, start=1)]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page("report.html.j2", title=title, chapters=pages, together=together), encoding="utf-8")
    return path


def _page(chapter: Chapter, prefix: str) -> dict[str, Any]:
    ledger, rows, size = chapter.ledger, _rows_of(chapter), extent(chapter.ledger)
    dataset = str(chapter.protocol.get("dataset", "this data"))
    beside = set(labels_in(chapter.ablations))
    found = chapter.found or judged(ledger, [*failed_in(chapter.audits), *beside])
    drawn = chapter.drawn
    if drawn is None:
        of = (found, chapter.plan, chapter.history, chapter.contexts, chapter.costs)
        drawn = pictures(ledger, Drawn(*of, ablations=chapter.ablations))
    figures = [embedded(picture, prefix) for picture in drawn]
    first = [figure for figure in figures if figure["name"] in _FIRST]
    crossed, exchanged = (next((one for one in figures if one["name"] == name), None) for name in _BESIDE_A_TABLE)
    lost = pd.Series([str(failure.get("forecaster")) for failure in chapter.failures], dtype="str").value_counts()
    table = score_rows(ledger, rows, found, chapter.audits, chapter.budgets, lost.to_dict())
    columns = 11 + len(headings(ledger)) + _tuned(chapter) + bool(chapter.audits)
    has = {"contexts": _has(chapter.contexts), "costs": _has(chapter.costs)}
    return {
        "id": prefix,
        "name": f"{dataset}, {count(size.steps, 'step')} ahead",
        "verdict": verdict(found, ledger, dataset, chapter.regime),
        "audits": _audits(table, chapter.audits),
        "method": _method(found),
        "table": table,
        "coverages": headings(ledger),
        "decoders": _decoders(ledger),
        "trials": _tuned(chapter),
        "audited": bool(chapter.audits),
        "columns": columns,
        "bold": any(row["bold"] for row in table),
        "unequal": list(chapter.unequal),
        "left_out": _left_out(ledger),
        "published": published_rows(chapter.published),
        "first": first,
        "crossed": crossed and {"effects": effect_rows(effects(_without(ledger, beside), BASELINE)), "figure": crossed},
        "ablations": ablation_rows(chapter.ablations),
        "exchanged": exchanged,
        "figures": [one for one in figures if one["name"] not in (*_FIRST, *_BESIDE_A_TABLE)],
        "protocol": {**_facts(chapter, rows), **{name: _plain(value) for name, value in chapter.protocol.items()}},
        "failures": [_failure(failure) for failure in chapter.failures],
        "not_tested": [
            *untested(ledger, found, chapter.audits, regime=chapter.regime, **has),
            *chapter.not_tested,
        ],
    }


def _without(ledger: Ledger, beside: Collection[str]) -> Ledger:
    return ledger.take([name for name in ledger.forecasters if name not in beside]) if beside else ledger


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


def _facts(chapter: Chapter, rows: Sequence[Row]) -> dict[str, str]:
    """Give what the protocol says that can be read off the ledger."""
    ledger, size = chapter.ledger, extent(chapter.ledger)
    points, masked = ledger.points, {name: int((ledger.points.status == place).sum()) for place, name in _NOT_SCORED}
    told = [f"{number:,} {name}" for name, number in masked.items() if number]
    return {
        "dataset": str(chapter.protocol.get("dataset", "this data")),
        "horizon": count(size.steps, "step"),
        "series": f"{size.series:,}",
        "cutoffs": f"{size.cutoffs:,}",
        "seeds": f"{max(int(row['seeds']) for row in rows)} per network",
        "season length": count(ledger.season_length, "step"),
        "quantile levels": ", ".join(f"{level:g}" for level in ledger.quantile_levels),
        "points scored": f"{int(np.isfinite(points.y).sum()):,} per forecaster and seed",
        "points masked": ", ".join(told) or "none",
    }


_NOT_SCORED = [(place, name) for place, name in enumerate(STATUS) if name != "observed"]


def _method(found: Standings) -> list[str]:
    """Say what the intervals are intervals of, and what they do not cover."""
    said = [f"What is compared: {found.estimand}."]
    if found.over:
        blocks = f", in blocks of {count(found.block, 'cutoff')}" if "time" in found.over and found.block > 1 else ""
        known = f"{100 * found.confidence:.3g} %"
        said.append(
            f"Intervals of {known}: {found.resamples:,} paired resamples of {found.over}{blocks}, and of seeds. An "
            "interval holds for its pair alone; “ahead” and bold hold among all pairs at once, and “ahead of "
            "SeasonalNaive” among all that are compared with it, which asks for more."
        )
    return said + [f"{note[:1].upper()}{note[1:]}." for note in found.notes]


def _audits(table: Sequence[Row], audits: Mapping[str, Certificate | str]) -> str:
    """Say in a line what the audits found; "" where there was none."""
    if not audits:
        return ""
    done = [one for one in audits.values() if isinstance(one, Certificate)]
    failed = [row for row in table if row["failed"]]
    version = f" (foretell {done[0].version})" if done else ""
    passed = len(done) - len(failed_in(audits))
    said = f"Audit{version}: {passed} of {len(audits)} forecasters passed every probe that applies"
    if failed:
        each = "; ".join(
            f"{row['name']}: {', '.join(f'{one.probe} {one.name.lower()}' for one in row['probes'])}" for row in failed
        )
        return f"{said}. Left out of the verdict, for a probe failed: {each}."
    return f"{said}."


def _left_out(ledger: Ledger) -> str:
    """Say which cells no score is defined in, for all forecasters alike, and why."""
    rows = undefined(ledger, ["mase", "wql"]).itertuples(index=False, name=None)
    cells = f"of {len(ledger.points):,} pairs of series and cutoff"
    told = [f"{name.upper()} leaves out {number:,} {cells}: {reason}" for name, reason, number in rows]
    return f"{'; '.join(told)}." if told else ""


def _decoders(ledger: Ledger) -> bool:
    """Tell whether more than one decoder is compared, so that it is worth a column."""
    return ledger.fits.loc[ledger.fits["decoder"] != "", "decoder"].nunique() > 1


def _tuned(chapter: Chapter) -> bool:
    return any(budget.get("trials") for budget in chapter.budgets.values())


def _failure(failure: Mapping[str, Any]) -> dict[str, str]:
    lines = [line.strip() for line in str(failure.get("traceback", "")).splitlines() if line.strip()]
    cell = ", ".join(f"{name} {value}" for name, value in failure.items() if name != "traceback")
    return {"cell": cell or "unnamed cell", "line": lines[-1] if lines else "no traceback was kept"}


def _has(table: pd.DataFrame | None) -> bool:
    return table is not None and len(table) > 0


def _records(table: pd.DataFrame) -> list[Row]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_plain(one) for one in value)
    return str(value)
