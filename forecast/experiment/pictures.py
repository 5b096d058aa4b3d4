"""The pictures of a report, each drawn once: they go into the page as SVG and into the folder as PNG."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from forecast import plots
from forecast.evaluation.effects import is_crossed
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import Standings
from forecast.experiment.ablations import labels_in
from forecast.experiment.store import Store
from forecast.experiment.thinning import thinned
from forecast.experiment.verdict import BASELINE
from forecast.plots.staleness import ages
from forecast.plots.style import look
from forecast.plots.svg import embedded_svg

_LEVELS = (0.1, 0.9)
_BY_POINT = (
    *("skill_by_step", "error_by_step", "error_by_cutoff", "skill_by_staleness"),
    *("calibration", "coverage_by_step", "pit"),
)


class Picture(NamedTuple):
    """A figure, what it is called, and the sentence below it."""

    name: str
    caption: str
    figure: Figure


class Drawn(NamedTuple):
    """What pictures are made of, beside the ledger: None or no row where an experiment does not have it."""

    found: Standings
    plan: pd.DataFrame | None = None
    history: pd.DataFrame | None = None
    contexts: pd.DataFrame | None = None
    costs: pd.DataFrame | None = None
    curves: pd.DataFrame | None = None
    ablations: pd.DataFrame | None = None


def embedded(picture: Picture, prefix: str) -> dict[str, Any]:
    """Give a picture as a page takes it, every id of which begins with a prefix and its name."""
    svg = embedded_svg(picture.figure, f"{prefix}-{picture.name}", picture.caption)
    return {"name": picture.name, "caption": picture.caption, "svg": Markup(svg)}


def pictures(ledger: Ledger, given: Drawn) -> list[Picture]:
    """Draw all that there is, in the order of the page; what is drawn point by point from so many as can be seen.

    Ablations have a picture of their own, and are in no other.
    """
    beside = set(labels_in(given.ablations))
    ledger = ledger.take([name for name in ledger.forecasters if name not in beside]) if beside else ledger
    few, every = thinned(ledger)
    drawn = [
        *_of_skill(ledger, few, given),
        *_of_ablations(given),
        *_of_errors(few, given),
        *_of_quantiles(few),
        *_of_the_plan(given),
    ]
    if every == 1:
        return drawn
    told = f" Drawn from one of every {every} cutoffs."
    return [one._replace(caption=one.caption + told) if one.name in _BY_POINT else one for one in drawn]


def write_pictures(store: Store, place: str, drawn: Sequence[Picture]) -> None:
    """Write pictures as PNG into a place of the folder of results, such as plots."""
    with store.replacing(place) as path, look(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        path.mkdir()
        for name, _, figure in drawn:
            figure.savefig(path / f"{name}.png")


def _of_skill(ledger: Ledger, few: Ledger, given: Drawn) -> Iterator[Picture]:
    found = given.found
    names = set(found.skill["forecaster"])  # without those whose audit failed
    if BASELINE in ledger.forecasters:
        compared = ledger.take([name for name in ledger.forecasters if name in names])
        caption = "Skill: how much less absolute error than seasonal naive; the number on the right is exact."
        if found.over:
            caption += " Thin bars: what other draws of series, time and seeds would have given."
        yield Picture("skill", caption, plots.plot_skill(compared, BASELINE, found=found))
        if len(names) > 1:
            caption = "Skill by step ahead: who is good at the next steps, and who at the far ones."
            yield Picture("skill_by_step", caption, plots.plot_skill_by_step(few.take(compared.forecasters), BASELINE))
    if given.contexts is not None and len(given.contexts):
        caption = "Skill by context length: what reading further back is worth. Each point is a fit of its own."
        yield Picture("skill_by_context", caption, plots.plot_skill_by_context(given.contexts))
    if given.costs is not None and len(given.costs):
        caption = "Cost by history, of training and of one new prediction, recomputed from all of it or streamed."
        yield Picture("cost", caption, plots.plot_cost(given.costs))
    if len(found.skill) > 1:
        caption = "Win rates: in how many series one has the lower error than another; half is a draw."
        yield Picture("win_rates", caption, plots.plot_win_rates(found))
    if BASELINE in ledger.forecasters and _decoders(ledger) > 1 and is_crossed(ledger):
        caption = "Skill of every backbone under every decoder, and how the families answer to the decoder."
        yield Picture("effects", caption, plots.plot_effects(ledger, BASELINE))


def _of_ablations(given: Drawn) -> Iterator[Picture]:
    if given.ablations is not None and len(given.ablations):
        caption = "What each exchange of a part does to the error, each against the same forecaster as it comes."
        yield Picture("ablations", caption, plots.plot_ablations(given.ablations))


def _of_errors(ledger: Ledger, given: Drawn) -> Iterator[Picture]:
    caption = "What was forecast at the last cutoff, by the most accurate forecaster of each family (first seed)."
    yield Picture("forecasts", caption, plots.plot_forecasts(ledger, given.history))
    caption = "How the error grows with the step ahead; shades show the range over seeds."
    yield Picture("error_by_step", caption, plots.plot_error_by_step(ledger))
    caption = "How the error moves over time; shades show the range over seeds."
    yield Picture("error_by_cutoff", caption, plots.plot_error_by_cutoff(ledger))
    if BASELINE in ledger.forecasters and len(ages(ledger)) > 1:
        caption = "Skill by age of the fit: who degrades without a new one. Age and time go together: it may be either."
        yield Picture("skill_by_staleness", caption, plots.plot_skill_by_staleness(ledger, BASELINE))


def _of_quantiles(ledger: Ledger) -> Iterator[Picture]:
    caption = "Whether the intervals hold what they promise: on the dashed line they do."
    yield Picture("calibration", caption, plots.plot_calibration(ledger))
    if not set(_LEVELS) <= set(ledger.quantile_levels) or not np.isfinite(ledger.points.y).any():
        return
    caption = "Coverage by step: the share of actuals in the 80 % interval; in the shade chance alone may lead."
    yield Picture("coverage_by_step", caption, plots.plot_coverage_by_step(ledger, *_LEVELS))
    caption = (
        "Where actuals fall among the quantiles (PIT): level if forecasts are honest, high at both ends if too sure."
    )
    yield Picture("pit", caption, plots.plot_pit(ledger))


def _of_the_plan(given: Drawn) -> Iterator[Picture]:
    if given.curves is not None and len(given.curves):
        caption = "What trials have bought: the error of the best of so many, on the rows before the first cutoff."
        yield Picture("tuning", caption, plots.plot_tuning_curve(given.curves))
    if given.plan is not None:
        caption = "The plan of folds: what each forecast was allowed to see, and whose fit it used."
        yield Picture("folds", caption, plots.plot_folds(given.plan))


def _decoders(ledger: Ledger) -> int:
    return len(set(ledger.fits["decoder"]) - {""})
