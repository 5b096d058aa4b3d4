"""The scales of a ledger measured anew: of another season, or of histories that begin with the first demand."""

from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from forecast.evaluation.actuals import seasonal_changes
from forecast.evaluation.ledger import Ledger, Points, check
from forecast.evaluation.ledger.check import spelled
from forecast.frame import Panel, as_panel
from forecast.origins import ordinals_of
from forecast.params import check_positive


def with_scales(
    ledger: Ledger,
    frame: Panel | pd.DataFrame,
    season_length: int | None = None,
    scale_from: Literal["first", "first_nonzero"] = "first",
    **door,
) -> Ledger:
    """Give a ledger whose scaled errors (`mase`, `rmsse`, `sql`) are in other units; its forecasts are the same.

    Parameters
    ----------
    ledger: what a backtest gave.
    frame: the data that it was given.
    season_length: m, the distance in time steps of the values whose change is the unit; None for that of the ledger.
    scale_from: where a history begins: at its `"first"` value, or at the first that is not zero, as for products that
        were not yet sold (the M5 competition, Makridakis, Spiliotis and Assimakopoulos 2022,
        https://doi.org/10.1016/j.ijforecast.2021.11.013).
    door: options of `check_frame` for a frame.

    Raises
    ------
    TypeError: no ledger, no frame, or one of another kind of time.
    ValueError: another `scale_from`; a frame that lacks a series, or holds other actuals than the ledger.

    """
    check(ledger)
    if scale_from not in (allowed := ("first", "first_nonzero")):
        raise ValueError(f"`scale_from` is {scale_from!r}; allowed: {', '.join(map(repr, allowed))}")
    season = ledger.season_length if season_length is None else season_length
    check_positive(season_length=season)
    panel, points = as_panel(frame, **door), ledger.points
    own = panel.ids.get_indexer(points.ids)
    if (lacking := own[points.series] < 0).any():
        raise ValueError(
            f"`frame` lacks {spelled(points, int(lacking.argmax()))} of the ledger; give the data that was backtested"
        )
    series = own[points.series]
    order = np.argsort(series, kind="stable")
    ordinals = np.array(ordinals_of(panel.calendar, list(points.cutoffs), "frame"))[points.cutoff]
    _check_actuals(panel, points, series)
    scales = np.empty((2, len(points)))
    scales[:, order] = seasonal_changes(panel, series[order], ordinals[order], season, scale_from)
    scaled = replace(points, absolute=scales[0], squared=scales[1])
    return Ledger(tuple(replace(run, points=scaled) for run in ledger.runs), ledger.fits, season)


def _check_actuals(panel: Panel, points: Points, series: np.ndarray) -> None:
    """Raise ValueError, naming the first, where the panel holds other actuals than came true in the ledger."""
    H = len(points.steps)
    times = np.array([panel.calendar.ordinal(stamp) for stamp in points.times]).reshape(-1, H)[points.cutoff]
    there, y = panel.at(series[:, None], times), points.y.astype("float32")
    if (wrong := ~((there == y) | (np.isnan(there) & np.isnan(y)))).any():
        cell, step = np.argwhere(wrong)[0]
        raise ValueError(
            f"`frame` holds {there[cell, step]} for {spelled(points, cell, step)}, but the ledger {y[cell, step]}; "
            "give the data that was backtested"
        )
