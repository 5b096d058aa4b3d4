"""Searches of scikit-learn over forecasters: `GridSearchCV(Searchable(forecaster), grid, cv=folds_of(plan, frame))`.

A search shows an estimator some rows to fit on and others to be scored on. Here the rows are those of a long frame, the
folds those of a `Plan`, and a score is that of a backtest: steps forecast from the end of the rows that were fitted on.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from forecast import params
from forecast.evaluation.actuals import points_of
from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.backtest import season_of
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.ledger.tables import scales_of
from forecast.evaluation.metrics import ERRORS, METRICS, score
from forecast.evaluation.plan import Plan
from forecast.forecaster import Forecaster
from forecast.frame import Panel, as_panel
from forecast.frame.form import Form
from forecast.frame.schema import rows_of

_NOT_SEARCHED = ("gap", "validation", "embargo", "context", "align", "split")  # of a plan


def folds_of(plan: Plan, frame: pd.DataFrame, **door) -> list[tuple[np.ndarray, np.ndarray]]:
    """Give the folds of a plan as positions of rows in a long frame: (to fit on, to be scored on) of each cutoff.

    What `cv` of a search takes, as from `TimeSeriesSplit`, but cut for all series at the same time. Rows to be scored
    on are the `horizon` steps after a cutoff of the series that take part.

    Parameters
    ----------
    plan: with a fit at every fold, as a search makes it.
    frame: a long frame, its rows by series and time.
    door: options of `check_frame`, such as `gaps="mask"`; the same as in `Searchable`.

    Raises
    ------
    TypeError: `plan` is no Plan; a panel, which has no rows of a frame.
    ValueError: a plan that does not fit at every fold, or has a gap and the like; `unsorted` among the options; as
        `plan.folds`.
    FrameError: the frame may not enter.

    """
    if not isinstance(plan, Plan):
        raise TypeError(f"`plan` is {plan!r}; allowed: a Plan, such as Plan(horizon=24, n_folds=8)")
    if asked := [name for name in _NOT_SEARCHED if getattr(plan, name) not in (None, 0, "calendar")]:
        raise ValueError(
            f"`{asked[0]}` of the plan is {getattr(plan, asked[0])!r}; a search knows rows to fit on and the steps "
            "right after them alone: leave it out"
        )
    if plan.refit not in ("every", 1):
        raise ValueError(f"`refit` of the plan is {plan.refit!r}; a search fits at every fold: leave it out")
    if "unsorted" in door:
        raise ValueError("`unsorted` is given; positions are those of rows in order: sort the frame by series and time")
    if isinstance(frame, Panel):
        raise TypeError("`frame` is a Panel, which has no rows to point at; give the frame that is searched on")
    panel = as_panel(frame, **door)
    rows, _ = rows_of(frame, door.get("columns"), door.get("roles"), "error")
    series, times = panel.ids.get_indexer(rows.ids), panel.calendar.locate(rows.stamps)[0]
    folds = []
    for fold in plan.folds(panel):
        seen = (series >= 0) & (times >= fold.train_start) & (times <= fold.train_end)
        scored = np.isin(series, fold.series) & (times >= fold.test_start) & (times <= fold.test_end)
        folds.append((np.flatnonzero(seen), np.flatnonzero(scored)))
    return folds


class Searchable(BaseEstimator):
    """A forecaster as scikit-learn's searches want it: fitted on rows of a frame, scored on those that come after.

    Its parameters are those of the forecaster, under their own names: `{"backbone__width": [32, 64]}`.

    Parameters
    ----------
    forecaster: the pattern; it is not fitted itself. What was fitted is `forecaster_`.
    metric: an error of `METRICS`, or a metric such as `interval_score(0.05, 0.95)`; the score is the error with a
        minus, since searches take the highest.
    door: options of `check_frame`, such as `{"gaps": "mask"}`.

    """

    def __init__(
        self, forecaster: Forecaster, metric: str | Averaged | Pooled = "mase", door: Mapping[str, Any] | None = None
    ):
        self.forecaster = forecaster
        self.metric = metric
        self.door = door

    def fit(self, X: pd.DataFrame, y: None = None) -> Self:
        """Fit a fresh forecaster on rows of a long frame, which holds the target; raises as `fit` of a forecaster."""
        del y
        if not isinstance(self.forecaster, Forecaster):
            raise TypeError(f"`forecaster` is {self.forecaster!r}; allowed: a Forecaster, such as Naive(24)")
        if not isinstance(self.metric, Averaged | Pooled) and self.metric not in ERRORS:
            raise ValueError(f"`metric` is {self.metric!r}; allowed: {', '.join(map(repr, ERRORS))}, or a metric")
        fresh: Any = clone(self.forecaster)
        self.forecaster_ = fresh.fit(X, **self.door or {})
        self.rows_ = X
        return self

    def predict(self, X: pd.DataFrame | None = None) -> pd.DataFrame:
        """Forecast from the end of a frame, None for that of `fit`; as `predict` of the forecaster."""
        check_is_fitted(self)
        return self.forecaster_.predict(X)

    def score(self, X: pd.DataFrame, y: None = None) -> float:
        """Give minus the error on rows that come after those of `fit`, forecast from the end of these.

        Raises
        ------
        ValueError: rows that were fitted on; no row within the horizon; an error that is undefined for these rows.

        """
        del y
        check_is_fitted(self)
        seen = self.forecaster_.panel_
        cutoff = seen.calendar.stamp(int(seen.last.max()))
        try:
            panel = as_panel(_joined(self.rows_, X), **{**(self.door or {}), "unsorted": "sort"})
        except ValueError as error:
            error.add_note("(rows of `fit` and those to be scored after them, as from folds_of(plan, frame))")
            raise
        plan = Plan(horizon=self.forecaster.horizon, cutoffs=[cutoff])
        ledger = self._ledger(panel, plan)
        metric = METRICS[self.metric] if isinstance(self.metric, str) else self.metric
        error = float(score(ledger, {"error": metric})["error"].iloc[0])
        if not np.isfinite(error):
            raise ValueError(
                f"`metric` {self.metric!r} is undefined for the {len(X)} rows after {cutoff}: nothing was observed "
                "within the horizon, or the scale is zero. Give other rows, or another metric such as 'mae'"
            )
        return -error

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the own arguments; with `deep` also those of the forecaster, under their own names."""
        own = params.read(self, deep=False)
        return self.forecaster.get_params(deep=True) | own if deep else own

    def set_params(self, **values) -> Self:
        """Set arguments, of its own or of the forecaster. Raises ValueError for one that neither has."""
        own = {name: values.pop(name) for name in params.read(self, deep=False) if name in values}
        params.set_values(self, own)
        self.forecaster.set_params(**values)
        return self

    def _ledger(self, panel, plan: Plan) -> Ledger:
        """Give the forecasts of the one fold of a plan beside what came, as a backtest does."""
        forecaster, fold = self.forecaster_, plan.folds(panel)[0]
        table = forecaster.predict(replace(panel, form=Form()), cutoffs=[fold.stamp])  # in pandas
        series = panel.ids.get_indexer(table["unique_id"])
        table, series = table[np.isin(series, fold.series)], series[np.isin(series, fold.series)]
        actual = panel.at(series, fold.cutoff + table["step"].to_numpy())
        name = type(forecaster).__name__
        table = table.assign(forecaster=name, seed=0, y=actual, fit_cutoff=table["cutoff"])
        fits = pd.DataFrame(
            {
                "forecaster": [name],
                "seed": [0],
                "fit_cutoff": table["cutoff"].iloc[:1].array,
                "family": [forecaster.family],
                "backbone": [""],
                "decoder": [""],
                "parameters": [0],
                "fit_seconds": [0.0],
                "predict_seconds": [0.0],
                "forecasts": [len(fold.series)],
            }
        )
        season = season_of(panel, plan)
        scales = scales_of(points_of(panel, [fold], plan.horizon, season))
        return Ledger.of(table, scales, fits, season)


def _joined(one: Any, other: Any) -> Any:
    """Give the rows of two frames of the same kind."""
    if isinstance(one, pd.DataFrame):
        return pd.concat([one, other])
    import narwhals.stable.v2 as nw

    return nw.to_native(nw.concat([nw.from_native(frame, eager_only=True) for frame in (one, other)]))
