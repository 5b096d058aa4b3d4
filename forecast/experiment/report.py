"""The one page a reader wants: verdict, table, plots, protocol, failures, and what was not tested, in one HTML file.

The page needs nothing but itself: no script, no font, no picture from elsewhere. Everything in it comes from the ledger,
the summary and the plan; the same input gives the same bytes.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import score, skill
from forecast.plots import plot_calibration, plot_error_by_cutoff, plot_error_by_step, plot_folds, plot_forecasts
from forecast.plots import plot_skill
from forecast.plots.extent import Extent, count, extent
from forecast.plots.style import family_colours, family_order

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
        One row per forecaster: `forecaster, family, skill, mase, wql, coverage, parameters, seeds` are read. Where it also
        has `dataset` and `horizon`, only the rows are taken that match the `dataset` and `horizon` of `protocol`.
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
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(
        Path(__file__).with_name("report.html.j2").read_text(encoding="utf-8")
    )
    pages = [_page(chapter, f"c{number}") for number, chapter in enumerate(chapters, start=1)]
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(template.render(title=title, chapters=pages), encoding="utf-8")
    return path


def verdict(ledger: Ledger, summary: pd.DataFrame, dataset: str = "this data") -> str:
    """Say in one sentence who is best by skill, and whether latent state or direct prediction is ahead.

    `summary` has one row per forecaster. Where the seeds of two forecasters overlap, the sentence says that there is no
    clear difference; where a network has one seed, that nothing can be said about chance.
    """
    size, seeds = extent(ledger), int(summary["seeds"].max())
    place = f"On {dataset} ({size.series} series, {count(size.cutoffs, 'cutoff')}, horizon {count(size.steps, 'step')}"
    place += f", {count(seeds, 'seed')} per network)" if seeds > 1 else ", one seed)"
    ranked = summary[summary["skill"].notna()].sort_values(by=["skill"], ascending=False, kind="stable")
    if BASELINE not in ledger.forecasters or ranked.empty:
        return f"{place} there is no verdict: skill against {BASELINE} is not defined."
    skills = dict(zip(ranked["forecaster"], ranked["skill"].astype(float), strict=True))
    ranges = _seed_ranges(ledger)
    names = list(skills)
    best = f"{place} the highest skill is that of {names[0]} ({_percent(skills[names[0]])})"
    champions = [_first(ranked, family) for family in (LATENT, DIRECT)]
    if set(names[:2]) != set(champions) and len(names) > 1 and _overlap(ranges[names[0]], ranges[names[1]]):
        best += f", with no clear difference to {names[1]} ({_percent(skills[names[1]])})"
    absent = [family for family, name in zip((LATENT, DIRECT), champions, strict=True) if name is None]
    if absent:
        return f"{best}; no {' and no '.join(absent)} network was compared."
    latent, direct = (str(name) for name in champions)
    pair = f"the best latent-state network, {latent} ({_percent(skills[latent])}), and the best direct-prediction"
    pair += f" network, {direct} ({_percent(skills[direct])})"
    points = f"{100 * abs(skills[latent] - skills[direct]):.1f} points of skill"
    if _overlap(ranges[latent], ranges[direct]):
        return f"{best}; no clear difference between {pair}: {points} apart, and the ranges of their seeds overlap."
    ahead = latent if skills[latent] > skills[direct] else direct
    fewest = summary.loc[summary["forecaster"].isin(champions), "seeds"].min()
    known = "and the ranges of their seeds do not overlap" if fewest > 1 else "but one seed cannot tell merit from chance"
    return f"{best}; of {pair}, {ahead} is ahead by {points}, {known}."


def _page(chapter: Chapter, prefix: str) -> dict[str, Any]:
    ledger, summary, size = chapter.ledger, _rows_of(chapter), extent(chapter.ledger)
    dataset = str(chapter.protocol.get("dataset", "this data"))
    totals = score(ledger, ["mase"]).iloc[0]
    computed = {
        "dataset": dataset,
        "horizon": count(size.steps, "step"),
        "series": f"{size.series:,}",
        "cutoffs": f"{size.cutoffs:,}",
        "seeds": f"{int(summary['seeds'].max())} per network",
        "season length": count(ledger.season_length, "step"),
        "points scored": f"{int(totals['points']):,} per forecaster and seed",
        "undefined": f"{count(int(totals['undefined']), 'pair')} of series and cutoff (no actual or no MASE scale)",
    }
    return {
        "id": prefix,
        "name": f"{dataset}, {count(size.steps, 'step')} ahead",
        "verdict": verdict(ledger, summary, dataset),
        "caveat": _caveat(size),
        "table": _table(ledger, summary),
        "figures": _figures(chapter, prefix),
        "protocol": {**computed, **{name: _plain(value) for name, value in chapter.protocol.items()}},
        "failures": [_failure(failure) for failure in chapter.failures],
        "not_tested": [*_not_tested(summary, size), *chapter.not_tested],
    }


def _rows_of(chapter: Chapter) -> pd.DataFrame:
    summary = chapter.summary
    missing = [name for name in _NEEDED if name not in summary.columns]
    if missing:
        raise ValueError(f"`summary` lacks the columns {missing}; it needs {list(_NEEDED)}")
    for name in ("dataset", "horizon"):
        if name in summary.columns and name in chapter.protocol:
            summary = summary[summary[name].astype(str) == str(chapter.protocol[name])]
    for name in chapter.ledger.forecasters:
        found = int((summary["forecaster"] == name).sum())
        if found != 1:
            place = {key: str(chapter.protocol[key]) for key in ("dataset", "horizon") if key in chapter.protocol}
            raise ValueError(f"`summary` has {found} rows for forecaster {name!r} at {place}; it needs exactly one")
    return summary


def _seed_ranges(ledger: Ledger) -> dict[str, tuple[float, float]]:
    seeds = skill(ledger, BASELINE, by=("forecaster", "seed")).groupby("forecaster")["skill"]
    return {str(name): (float(values.min()), float(values.max())) for name, values in seeds}


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] <= other[1] and other[0] <= one[1]


def _first(ranked: pd.DataFrame, family: str) -> str | None:
    names = list(ranked.loc[ranked["family"] == family, "forecaster"])
    return names[0] if names else None


def _caveat(size: Extent) -> str:
    text = "Intervals over series and time are not computed yet, so that this is a comparison of averages: "
    if size.cutoffs < _FEW_CUTOFFS:
        return text + f"{count(size.cutoffs, 'cutoff')} cannot tell how it would come out in another period."
    return text + "even where seeds do not overlap, a difference may belong to this period and these series alone."


def _not_tested(summary: pd.DataFrame, size: Extent) -> list[str]:
    facts = ["Uncertainty over series and over time: no intervals are computed for skill or any other score."]
    seeds = int(summary["seeds"].max())
    if seeds < _FEW_SEEDS:
        facts.append(f"The spread over seeds: {count(seeds, 'seed')} per network is below the floor of {_FEW_SEEDS}.")
    if size.cutoffs < _FEW_CUTOFFS:
        facts.append(f"Stability over time: {count(size.cutoffs, 'cutoff')}, fewer than {_FEW_CUTOFFS}.")
    facts.append("Other data, other horizons, other periods and other budgets of training than those of the protocol.")
    return facts


def _table(ledger: Ledger, summary: pd.DataFrame) -> list[dict[str, str]]:
    fits = ledger.fits.groupby("forecaster")
    seconds = fits["fit_seconds"].mean()
    latency = 1000 * fits["predict_seconds"].sum() / fits["forecasts"].sum()
    colours = family_colours(list(summary["family"]))
    order = {name: place for place, name in enumerate(family_order(list(summary["family"])))}
    ranked = summary.assign(place=summary["family"].map(order.get), bad=-summary["skill"])
    rows = []
    for row in ranked.sort_values(by=["place", "bad"], kind="stable").to_dict("records"):
        name = row["forecaster"]
        rows.append(
            {
                "name": name,
                "family": row["family"],
                "place": row["place"],
                "colour": colours[row["family"]],
                "skill": _percent(row["skill"]),
                "mase": _number(row["mase"], 3),
                "wql": _number(row["wql"], 4),
                "coverage": _percent(row["coverage"], sign=""),
                "parameters": _number(row["parameters"], 0),
                "seconds": _short(seconds.get(name, np.nan)),
                "latency": _short(latency.get(name, np.nan)),
                "seeds": _number(row["seeds"], 0),
            }
        )
    return rows


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
        {"name": name, "caption": caption, "svg": embedded_svg(figure, f"{prefix}-{name}", caption)}
        for name, caption, figure in drawn
    ]


def embedded_svg(figure: Figure, prefix: str, label: str) -> Markup:
    """Draw a figure as an SVG element that may stand in HTML beside others: every id begins with `prefix`.

    The text stays text, so that it can be searched and read aloud as well as seen.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix}), warnings.catch_warnings():
        # The reader's browser draws the letters: what matplotlib's own font lacks is not missing there.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Quotes and angle brackets are escaped in text and attributes alike, so that a tag ends at its first ">".
    svg = re.sub(r"<[^>]+>", lambda tag: _own_ids(tag.group(), prefix), svg)
    width, height = (72 * inches for inches in figure.get_size_inches())
    opening = (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {width:g} {height:g}" '
        f'style="--natural:{width * 4 / 3:.0f}px">'
    )
    return Markup(opening + svg[svg.index(">") + 1 :])


def _own_ids(tag: str, prefix: str) -> str:
    tag = re.sub(r'\sid="', f' id="{prefix}-', tag)
    tag = re.sub(r'\s(?:xlink:)?href="#', f' href="#{prefix}-', tag)
    return tag.replace("url(#", f"url(#{prefix}-")


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
    sign = "" if abs(value) < 0.0005 else sign
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
