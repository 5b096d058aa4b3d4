"""Checks of forecasts: their form, and what they may and have to depend on."""

from typing import Any

import numpy as np
import pandas as pd

from forecast.forecaster import Forecast, Forecaster
from forecast.frame import Panel
from forecast.origins import Origins, origins_of
from forecast.testing.bench import Bench, apart, series_of, together
from forecast.testing.checks import Check, demand

_WILD = 1e6
_READ_LATER = "read a series up to its origin only, panel.values[panel.starts[s]:end], and learn nothing in _forecast"


def forecasts_have_the_columns_and_the_order(bench: Bench) -> None:
    """A row for each series, in the order in which they came, and step; keys, median, mean and levels as columns."""
    table, H = bench.table, bench.horizon
    columns = ["unique_id", "cutoff", "ds", "step", *bench.numbers]
    demand(list(table.columns) == columns, expected=f"the columns {columns}", came=list(table.columns), mend=_TIDY)
    ids = [name for name in bench.ids for _ in range(H)]
    demand(
        table["unique_id"].tolist() == ids and table["step"].tolist() == [*range(1, H + 1)] * len(bench.ids),
        expected=f"{H} steps of each of {bench.ids}, in this order",
        came=table[["unique_id", "step"]].head(8).to_numpy().tolist(),
        mend=_TIDY,
    )
    last = bench.panel.calendar.stamps(bench.panel.last).repeat(H)
    demand(
        table["cutoff"].tolist() == list(last)
        and table["cutoff"].dtype == table["ds"].dtype == bench.frame["ds"].dtype,
        expected="the last stamp of each series as its cutoff, of the type that came in",
        came=f"{table['cutoff'].iloc[0]}, as {table['cutoff'].dtype}",
        mend=_TIDY,
    )
    kinds = {name: str(table[name].dtype) for name in bench.numbers if table[name].dtype.kind != "f"}
    demand(not kinds, expected="floats", came=kinds, mend="give arrays of floats as quantiles and mean")


def forecasts_are_finite(bench: Bench) -> None:
    """No forecast is missing or infinite."""
    _demand_finite(bench.fitted, bench.panel, origins_of(bench.panel), "of the frame")


def quantiles_do_not_cross(bench: Bench) -> None:
    """No quantile lies below that of a lower level, and the median is the prediction."""
    levels = bench.numbers[2:]
    tables = {"": bench.table, " at an earlier cutoff": bench.predict(bench.fitted, cutoffs=bench.cutoffs)}
    for where, table in tables.items():
        falls = np.diff(table[levels].to_numpy("float64")) < 0
        if falls.any():
            row, q = np.argwhere(falls)[0]
            key = table.iloc[int(row)]
            came = f"{key[levels[q]]:.6g} at {levels[q]}, {key[levels[q + 1]]:.6g} at {levels[q + 1]}, series "
            demand(
                False,
                expected="quantiles that do not fall as levels rise",
                came=f"{came}{key['unique_id']!r}, step {key['step']}{where}",
                mend="sort the quantiles along the last axis in _forecast",
            )
        demand(
            (table["prediction"] == table["0.5"]).all(),
            expected="the median as `prediction`",
            came="another",
            mend=_TIDY,
        )


def rows_after_a_cutoff_do_not_matter(bench: Bench) -> None:
    """What comes or is known only after a cutoff, wild, a little other, missing or gone, moves no forecast from it."""
    issues = {name: pd.Series(bench.frame[issue]) for name, issue in bench.issues.items()}
    for cutoff in bench.cutoffs:
        expected = bench.predict(bench.fitted, bench.frame, [cutoff])
        later = (bench.frame["ds"] > cutoff).to_numpy()
        columns: dict[str, Any] = dict.fromkeys(("y", *bench.past), later)
        columns |= {name: (issued > cutoff).to_numpy() for name, issued in issues.items()}
        for name, delay in bench.delays.items():
            columns[name] = (bench.frame["ds"] > bench.stamp(cutoff, -delay)).to_numpy()
        for change in ("huge", "a little other", "missing"):
            changed = bench.frame.assign(
                **{name: _changed(pd.Series(bench.frame[name]), where, change) for name, where in columns.items()}
            )
            difference = apart(bench.predict(bench.fitted, changed, [cutoff]), expected, bench.numbers, exact=True)
            demand(
                not difference,
                expected=f"the same forecasts from {cutoff} when the values after it are {change}",
                came=difference,
                mend=_READ_LATER,
            )
        cut = bench.predict(bench.fitted, bench.frame.loc[~later])
        difference = apart(cut.loc[cut["cutoff"] == cutoff], expected, bench.numbers)
        demand(
            not difference,
            expected=f"the same forecasts from {cutoff} when the rows after it are not there",
            came=difference,
            mend=_READ_LATER,
        )


def the_newest_value_moves_every_step(bench: Bench) -> str | None:
    """Every step of a forecast, in some quantile or its mean, moves when the last value before it moves."""
    series = series_of(bench.frame)
    moved = np.zeros(len(bench.table), dtype=bool)
    for size in (0.3, 3.0, -3.0):
        changed = [rows.copy() for rows in series]
        for rows in changed:
            values = rows["y"].to_numpy("float64").copy()
            newest = values[-1] if np.isfinite(values[-1]) else np.nanmean(values)
            values[-1] = newest + size * (np.nanstd(values) or 1.0)
            rows["y"] = values
        other = bench.predict(bench.fitted, together(changed))
        moved |= (other[bench.numbers].to_numpy() != bench.table[bench.numbers].to_numpy()).any(axis=1)
    if moved.all():
        return None
    still = bench.table.loc[~moved]
    steps = sorted(set(still["step"].tolist()))
    told = (
        f"{len(steps)} of {bench.horizon} steps do not: {steps[:10]}, first for series {still['unique_id'].iloc[0]!r}"
    )
    demand(
        bench.blind == "note",
        expected="every step to move with the newest value",
        came=told,
        mend="let every step read the history up to the cutoff; where a rule is meant to be blind, say blind='note'",
    )
    return told


def other_series_do_not_matter(bench: Bench) -> str | None:
    """A series is forecast the same alone, and beside others whose values are wild."""
    if not bench.alone:
        return "not asked: alone=False"
    mend = "read each origin's own series alone in _forecast; for a model that reads across series say alone=False"
    for rows in series_of(bench.frame):
        name = rows["unique_id"].iloc[0]
        wild = bench.frame["y"].mask(bench.frame["unique_id"] != name, -_WILD * bench.frame["y"])
        wild = bench.frame.assign(y=wild)
        for what, frame in (("alone", rows), ("beside others that are wild", wild)):
            found = bench.of(bench.predict(bench.fitted, frame), name)
            difference = apart(found, bench.of(bench.table, name), bench.numbers)
            demand(
                not difference,
                expected=f"series {name!r} to be forecast the same {what}",
                came=difference,
                mend=mend,
            )
    return None


def the_order_of_series_does_not_matter(bench: Bench) -> None:
    """Series that come in another order are forecast the same, and come out in that order."""
    table = bench.predict(bench.fitted, together(series_of(bench.frame)[::-1]))
    ids = list(dict.fromkeys(table["unique_id"]))
    demand(ids == bench.ids[::-1], expected=f"series in the order {bench.ids[::-1]}", came=ids, mend=_TIDY)
    for name in ids:
        difference = apart(bench.of(table, name), bench.of(bench.table, name), bench.numbers)
        demand(
            not difference,
            expected="the same forecasts when the series come in another order",
            came=difference,
            mend="find a series by its id, as in self.panel_.ids.get_indexer(panel.ids), not by its place",
        )


def the_other_origins_of_a_call_do_not_matter(bench: Bench) -> None:
    """Origins forecast together, one at a time or in another order come out the same."""
    ordinals = [bench.panel.calendar.ordinal(cutoff) for cutoff in bench.cutoffs]
    origins = origins_of(bench.panel, ordinals)
    together_ = bench.fitted.forecast(bench.panel, origins)
    turned = np.arange(len(origins))[::-1]
    ways = {"in another order": (bench.fitted.forecast(bench.panel, origins.take(turned)), turned)}
    parts = [bench.fitted.forecast(bench.panel, origins.take(slice(m, m + 1))) for m in range(len(origins))]
    quantiles, mean = (np.concatenate([getattr(part, name) for part in parts]) for name in ("quantiles", "mean"))
    ways["one at a time"] = (Forecast(quantiles, mean), np.arange(len(origins)))
    expected = bench.fitted.tidy(bench.panel, origins, together_)
    for way, (forecast, order) in ways.items():
        found = bench.fitted.tidy(bench.panel, origins.take(order), forecast)
        difference = apart(found, expected, bench.numbers)
        demand(
            not difference,
            expected=f"the same forecasts from origins {way}",
            came=difference,
            mend="treat origins row by row: do not average, scale or sort over axis 0, that of origins",
        )


def a_series_that_was_not_there_at_fit_is_forecast(bench: Bench) -> str | None:
    """A new series, and one of a single value, are forecast, or refused by a ValueError."""
    if not bench.alone:
        return "not asked: alone=False"
    if bench.future is not None:
        return "not asked: nothing is known ahead of a new series"
    rows, notes = series_of(bench.frame)[0], []
    for what, new in (("a new series", rows), ("a new series of a single value", rows.iloc[-1:])):
        panel = bench.fitted.panel_of(new.assign(unique_id="unseen"))
        notes.append(_refusal(bench.fitted, panel, what))
    return "; ".join(filter(None, notes)) or None


def missing_values_are_borne(bench: Bench) -> str | None:
    """With missing values at the start, inside and at the end it fits and forecasts, or says ValueError."""
    series = series_of(bench.frame)
    rows = series[0].copy()
    values = rows["y"].to_numpy("float64").copy()
    for part in (slice(0, 5), slice(-30, -27), slice(-2, None)):
        values[part] = np.nan
    gaps = together([rows.assign(y=values), *series[1:]])
    panel = bench.panel_of(gaps)
    notes = [_refusal(bench.fitted, panel, "missing values")]
    try:
        fitted = bench.fit(gaps)
    except ValueError as error:
        return f"refuses to fit missing values: {error}"
    notes.append(_refusal(fitted, panel, "missing values at fit"))
    if bench.alone and not notes[0]:
        table = bench.predict(bench.fitted, gaps)
        for name in bench.ids[1:]:
            difference = apart(bench.of(table, name), bench.of(bench.table, name), bench.numbers)
            demand(
                not difference,
                expected=f"missing values of series {bench.ids[0]!r} to leave the others alone",
                came=difference,
                mend="read each origin's own series alone in _forecast",
            )
    return "; ".join(filter(None, notes)) or None


def odd_series_are_borne(bench: Bench) -> str | None:
    """Constant, zero, huge, tiny and almost empty series get finite forecasts, or a ValueError."""
    series = series_of(bench.frame)
    values = series[0]["y"].to_numpy("float64")
    one = np.full_like(values, np.nan)
    one[-1] = 3.0
    odd = {
        "constant": np.full_like(values, 7.0),
        "all zero": np.zeros_like(values),
        "of the size of 1e12": values * 1e12,
        "of the size of 1e-12": values * 1e-12,
        "missing but for its last value": one,
    }
    notes = []
    for what, replaced in odd.items():
        panel = bench.panel_of(together([series[0].assign(y=replaced), *series[1:]]))
        notes.append(_refusal(bench.fitted, panel, f"a series that is {what}"))
    return "; ".join(filter(None, notes)) or None


def it_works_in_a_backtest(bench: Bench) -> None:
    """`backtest` takes it, over folds that share a fit, and finds nothing that looks ahead."""
    from forecast.evaluation import Plan, backtest

    plan = Plan(horizon=bench.horizon, n_folds=2, refit="never")
    backtest(bench.frame, {"it": bench.fresh()}, plan, **bench.door)


def _changed(values: pd.Series, where: np.ndarray, change: str) -> pd.Series:
    """Give values of which some are changed; what are no numbers can only be missing."""
    if not pd.api.types.is_numeric_dtype(values):
        return values.mask(where)
    values = values.astype("float64")
    return values.mask(where, {"huge": -_WILD, "a little other": values * 1.01 + 0.01, "missing": np.nan}[change])


def _refusal(forecaster: Forecaster, panel: Panel, what: str) -> str:
    """Give the note of a ValueError that refuses a panel; "" if its forecasts are finite; fail if they are not."""
    origins = origins_of(panel)
    try:
        forecaster.forecast(panel, origins)
    except ValueError as error:
        return f"refuses {what}: {error}"
    _demand_finite(forecaster, panel, origins, f"of {what}")
    return ""


def _demand_finite(forecaster: Forecaster, panel: Panel, origins: Origins, where: str) -> None:
    forecast = forecaster.forecast(panel, origins)
    wrong = ~(np.isfinite(forecast.quantiles).all(axis=2) & np.isfinite(forecast.mean))
    if wrong.any():
        origin, step = np.argwhere(wrong)[0]
        name = panel.id_of(int(origins.series[origin]))
        demand(
            False,
            expected=f"finite forecasts {where}",
            came=f"what is no finite number for series {name!r}, step {step + 1}",
            mend="skip what is missing (panel.values is NaN there), divide by no zero, or raise a ValueError that says "
            "what is needed",
        )


_TIDY = "leave predict and tidy to the class Forecaster; implement _fit and _forecast"

FORM: tuple[Check, ...] = (
    forecasts_are_finite,
    quantiles_do_not_cross,
    forecasts_have_the_columns_and_the_order,
)
DEPENDENCE: tuple[Check, ...] = (
    rows_after_a_cutoff_do_not_matter,
    the_other_origins_of_a_call_do_not_matter,
    the_order_of_series_does_not_matter,
    other_series_do_not_matter,
    the_newest_value_moves_every_step,
    missing_values_are_borne,
    odd_series_are_borne,
    a_series_that_was_not_there_at_fit_is_forecast,
    it_works_in_a_backtest,
)
