"""Pipelines with one defect each, for the audit to find: forecasters that leak or pretend, backtesters and a score."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd

from forecast.baselines import WindowAverage
from forecast.evaluation import backtest, score
from forecast.forecaster import DECILES, Forecast, Forecaster
from forecast.frame import check_frame
from forecast.history import last_values
from forecast.origins import origins_of

# -- forecasters -----------------------------------------------------------------------------------------------------


class Sound(Forecaster):
    """Keeps the rules: between the last value and the median of the history, drawn to zero; the spread is learned."""

    family = "baseline"

    def __init__(self, horizon, *, season_length=None, quantile_levels=DECILES):
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel):
        self.spread_ = float(np.nanmean([np.nanstd(values) for values, _ in panel]))

    def _points(self, panel, origins):
        medians = [
            np.nanmedian(panel.values[panel.starts[s] : end])
            for s, end in zip(origins.series, origins.ends, strict=True)
        ]
        return 0.95 * (last_values(panel, origins) + np.array(medians)) / 2

    def _forecast(self, panel, origins):
        points = np.repeat(self._points(panel, origins)[:, None], self.horizon, axis=1).astype("float64")
        widths = self.spread_ * (np.asarray(self.quantile_levels) - 0.5)
        return Forecast(points[:, :, None] + widths, points)


class Ahead(Sound):
    """Reads one value after the cutoff, if there is one."""

    def _points(self, panel, origins):
        following = np.minimum(origins.ends, panel.stops[origins.series] - 1)
        return np.nan_to_num(panel.values[following]) + super()._points(panel, origins)


class LargeAhead(Sound):
    """Is told whether something large comes, and nothing else: a small change moves nothing."""

    def _points(self, panel, origins):
        later = [
            np.nanmax(np.abs(panel.values[end : panel.stops[s]]), initial=0.0)
            for s, end in zip(origins.series, origins.ends, strict=True)
        ]
        return super()._points(panel, origins) + np.round(np.array(later) / 500)


class FromTheEnd(Sound):
    """Counts from the end of the array instead of the cutoff."""

    def _points(self, panel, origins):
        return super()._points(panel, origins) + 0.01 * (panel.stops[origins.series] - origins.ends)


class Upset(Sound):
    """Cannot bear a missing value anywhere, also where it may not look."""

    def _points(self, panel, origins):
        for s, end in zip(origins.series, origins.ends, strict=True):
            if end < panel.stops[s] and np.isnan(panel.values[end : panel.stops[s]]).all():
                raise ValueError("a value is missing")
        return super()._points(panel, origins)


class PastAhead(Sound):
    """Reads a past column after the cutoff."""

    reads_covariates = True

    def _points(self, panel, origins):
        following = np.minimum(origins.ends, panel.stops[origins.series] - 1)
        names = [column.name for column in panel.covariates.past.columns]
        name = "canary_past" if "canary_past" in names else "visitors"
        return np.nan_to_num(panel.covariates.past.numbers[following, names.index(name)])


class TooEarly(Sound):
    """Reads the newest value of a delayed column at once."""

    reads_covariates = True

    def _points(self, panel, origins):
        at = [column.name for column in panel.covariates.past.columns].index("returns")
        return super()._points(panel, origins) + np.nan_to_num(panel.covariates.past.numbers[origins.ends - 1, at])


class IssuedLater(Sound):
    """Reads a forecast for the last step, whenever it was issued."""

    reads_covariates = True

    def _points(self, panel, origins):
        beside = panel.covariates
        rows = beside.starts[origins.series] + origins.cutoffs + self.horizon - beside.first[origins.series]
        rows = np.minimum(rows, beside.stops[origins.series] - 1)
        return super()._points(panel, origins) + np.nan_to_num(beside.known.numbers[rows, beside.forecasted[0]])


class CanaryReader(Sound):
    """Reads a delayed column as soon as it stands in the table."""

    reads_covariates = True

    def _forecast(self, panel, origins):
        forecast, columns = super()._forecast(panel, origins), panel.covariates.past.columns
        at = next((at for at, column in enumerate(columns) if column.name == "canary_delayed"), None)
        if at is None:
            return forecast
        places = origins.ends[:, None] - 1 - columns[at].delay + np.arange(1, self.horizon + 1)
        points = panel.covariates.past.numbers[places, at].astype("float64")
        return Forecast(forecast.quantiles - forecast.mean[:, :, None] + points[:, :, None], points)


class OthersAhead(Sound):
    """Goes by the mean of all series, each read to its end."""

    def _points(self, panel, origins):
        sums = np.array([np.nansum(values) for values, _ in panel])
        return super()._points(panel, origins) + (sums.sum() - sums[origins.series]) / 1000


class FirstSeries(Sound):
    """Takes the level of whichever series comes first for that of all."""

    def _fit(self, panel):
        super()._fit(panel)
        self.level_ = float(np.nanmedian(next(iter(panel))[0]))

    def _points(self, panel, origins):
        return super()._points(panel, origins) + self.level_


class Drawing(Sound):
    """Draws its level by a seed, a little other for each."""

    def __init__(self, horizon, *, seed=0, season_length=None, quantile_levels=DECILES):
        super().__init__(horizon, season_length=season_length, quantile_levels=quantile_levels)
        self.seed = seed

    def _fit(self, panel):
        super()._fit(panel)
        # As with windows: what is drawn goes by place.
        values = panel.values[panel.observed]
        self.shift_ = float(np.random.default_rng(self.seed).choice(values - np.median(values)) / 50)

    def _points(self, panel, origins):
        return super()._points(panel, origins) + self.shift_


class FirstSeriesDrawing(Drawing, FirstSeries):
    """The same, and takes the level of whichever series comes first for that of all."""


class ByName(Sound):
    """Goes by what a series is called."""

    def _points(self, panel, origins):
        return super()._points(panel, origins) + np.array([len(str(name)) for name in panel.ids])[origins.series]


class Batched(Sound):
    """Takes the mean over whatever is asked together away, as a norm over the batch does."""

    def _points(self, panel, origins):
        points = super()._points(panel, origins)
        return points - 0.1 * points.mean()


class Carrying(Sound):
    """Keeps a state from call to call."""

    def _fit(self, panel):
        super()._fit(panel)
        self.calls_ = 0

    def _points(self, panel, origins):
        self.calls_ += 1
        return super()._points(panel, origins) + 0.01 * self.calls_


class Chancy(Sound):
    """Draws from a generator that nobody seeds."""

    def _fit(self, panel):
        super()._fit(panel)
        self.shift_ = float(np.random.default_rng().normal())

    def _points(self, panel, origins):
        return super()._points(panel, origins) + self.shift_


class ByYear(Sound):
    """Has learned what was when."""

    def _points(self, panel, origins):
        return super()._points(panel, origins) + 1e-3 * origins.cutoffs


class Memorised(Sound):
    """Says what it has always said, whatever the targets."""

    def _fit(self, panel):
        self.spread_ = 1.0

    def _points(self, panel, origins):
        return np.array([5.0, 15.0, 25.0])[origins.series % 3] + 0.1 * np.sin(origins.cutoffs / 24)


class Knowing(Sound):
    """Learns every value of a fit by heart, and says it again where it is asked for the same time."""

    def _fit(self, panel):
        super()._fit(panel)
        self.seen_ = panel

    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        ordinals = origins.cutoffs[:, None] + np.arange(1, self.horizon + 1)
        found = self.seen_.at(self.seen_.ids.get_indexer(panel.ids)[origins.series][:, None], ordinals)
        quantiles = np.where(np.isnan(found)[:, :, None], forecast.quantiles, found[:, :, None])
        return Forecast(quantiles, np.where(np.isnan(found), forecast.mean, found))


class Standardised(Sound):
    """Forgets to come back from the units in which it learned."""

    def _fit(self, panel):
        super()._fit(panel)
        values = [values[np.isfinite(values)] for values, _ in panel]
        self.location_, self.scale_ = float(np.concatenate(values).mean()), float(np.concatenate(values).std())
        self.spread_ = 1.0

    def _points(self, panel, origins):
        return (super()._points(panel, origins) - self.location_) / self.scale_


class ByHash(Sound):
    """Goes by the hash of a text, another in every process."""

    def _fit(self, panel):
        super()._fit(panel)
        self.share_ = hash("a text") % 100_003 / 1e6

    def _points(self, panel, origins):
        return super()._points(panel, origins) * (1 + self.share_)


class Forgetful(Sound):
    """Keeps what it learns where a save does not look for it."""

    def _fit(self, panel):
        super()._fit(panel)
        self.offset = float(np.nanmean(panel.values))

    def _points(self, panel, origins):
        return super()._points(panel, origins) + getattr(self, "offset", 0.0)


# -- forecasters that keep the rules, and are odd ----------------------------------------------------------------------


class InLogs(Sound):
    """Refuses what is not above 0 in what it reads."""

    def _points(self, panel, origins):
        points = super()._points(panel, origins)
        if (points <= 0).any():
            raise ValueError("values of 0 or less have no logarithm")
        return np.exp(np.log(points))


class LastAsItIs(Sound):
    """Knows nothing of missing values."""

    def _points(self, panel, origins):
        return panel.values[origins.ends - 1]


class ByDayOfYear(Sound):
    """Reads a calendar of its own."""

    def _points(self, panel, origins):
        days = pd.DatetimeIndex(panel.calendar.stamps(origins.cutoffs)).dayofyear.to_numpy()
        return super()._points(panel, origins) * (1 + 0.1 * np.sin(2 * np.pi * days / 366))


class Both(Sound):
    """Keeps another forecaster, fitted, which a save cannot."""

    def _fit(self, panel):
        super()._fit(panel)
        self.other_ = WindowAverage(self.horizon, window=5).fit(panel)

    def _points(self, panel, origins):
        return (super()._points(panel, origins) + self.other_.forecast(panel, origins).mean[:, 0]) / 2


# -- backtesters -----------------------------------------------------------------------------------------------------


def scaled_on_everything(frame, forecasters, plan, **options):
    """Fits the scaler on the whole table, test span included, once for all folds."""
    panel = check_frame(frame, **{name: value for name, value in options.items() if name != "seeds"})
    values = panel.values[panel.observed]
    location, scale = float(values.mean()), float(values.std())
    scaled = replace(panel, values=(panel.values - np.float32(location)) / np.float32(scale))
    table = backtest(scaled, forecasters, plan, seeds=options["seeds"]).forecasts
    numbers = [name for name in table.columns if name in ("y", "prediction", "mean") or str(name).startswith("0.")]
    return SimpleNamespace(forecasts=table.assign(**{name: table[name] * scale + location for name in numbers}))


def smoothed_before_the_split(frame, forecasters, plan, **options):
    """Takes a centred moving average of the whole series before it is split."""
    smooth = frame.groupby("unique_id", sort=False)["y"].transform(lambda y: y.rolling(5, 1, center=True).mean())
    return backtest(frame.assign(y=smooth.where(frame["y"].notna())), forecasters, plan, **options)


def filled_from_both_sides(frame, forecasters, plan, **options):
    """Draws a line through missing values before the split, so that at a cutoff it leads to what comes after it."""
    return backtest(
        frame.assign(y=frame.groupby("unique_id", sort=False)["y"].transform(lambda y: y.interpolate())),
        forecasters,
        plan,
        **options,
    )


def scored_against_the_forecast(frame, forecasters, plan, **options):
    """Fills actuals that are missing with what was forecast."""
    table = backtest(frame, forecasters, plan, **options).forecasts
    return SimpleNamespace(forecasts=table.assign(y=table["y"].fillna(table["prediction"])))


def by_hand(frame, forecasters, plan, *, seeds, rows_of, choose=None, **door):
    """Fit and forecast fold by fold: on the rows that `rows_of(panel, cutoff)` gives."""
    panel, tables = check_frame(frame, **door), []
    (pattern,) = forecasters.values()
    if plan.gap:
        pattern = type(pattern)(**pattern.get_params(deep=False)).set_params(horizon=plan.gap + plan.horizon)
    for cutoff in map(panel.calendar.ordinal, plan.cutoffs):
        fitted = (choose or _fitted)(pattern, rows_of(panel, cutoff), panel, cutoff)
        known = panel.until(cutoff)
        origins = origins_of(known, [cutoff])
        table = fitted.tidy(known, origins, fitted.forecast(known, origins))
        places = panel.ids.get_indexer(table["unique_id"])
        table = table.assign(y=panel.at(places, cutoff + table["step"].to_numpy()), step=table["step"] - plan.gap)
        tables.append(table.loc[table["step"] > 0])
    return SimpleNamespace(forecasts=pd.concat(tables, ignore_index=True))


def _fitted(pattern, rows, panel, cutoff):
    del panel, cutoff
    return type(pattern)(**pattern.get_params(deep=False)).fit(rows)


def labels_beyond_the_cutoff(frame, forecasters, plan, **options):
    """Lets windows of training begin up to the cutoff, so that their labels lie after it."""
    return by_hand(
        frame, forecasters, plan, rows_of=lambda panel, cutoff: panel.until(cutoff + plan.horizon), **options
    )


def gap_in_rows(frame, forecasters, plan, **options):
    """Leaves a gap of so many rows of all series together, not of so many steps of each."""

    def rows_of(panel, cutoff):
        stacked = panel.until(cutoff + plan.gap).to_frame().sort_values("ds", kind="stable")
        left = stacked.iloc[: len(stacked) - plan.gap]  # meant to end at the cutoff
        return check_frame(left.sort_values(["unique_id", "ds"], kind="stable"), freq=panel.calendar.freq)

    return by_hand(frame, forecasters, plan, rows_of=rows_of, **options)


def gap_read(frame, forecasters, plan, *, seeds, **door):
    """Fits up to the cutoff, and forecasts from the end of the gap."""
    del seeds
    panel, tables, fitted = check_frame(frame, **door), [], None
    (pattern,) = forecasters.values()
    for stamp in plan.cutoffs:
        cutoff = panel.calendar.ordinal(stamp)
        if fitted is None or plan.refit == "every":
            fitted = _fitted(pattern, panel.until(cutoff).detached(), panel, cutoff)
        known = panel.until(cutoff + plan.gap)
        origins = origins_of(known, [cutoff + plan.gap])
        table = fitted.tidy(known, origins, fitted.forecast(known, origins))
        tables.append(table.assign(cutoff=stamp, y=0.0))
    return SimpleNamespace(forecasts=pd.concat(tables, ignore_index=True))


def newest_first(frame, forecasters, plan, *, warm=False, **options):
    """Fits the newest fold first; `warm` lets the older ones begin with what was learned there."""
    learned = []

    def choose(pattern, rows, panel, cutoff):
        fitted = _fitted(pattern, rows, panel, cutoff)
        if warm and learned:
            fitted.spread_ = (fitted.spread_ + learned[-1]) / 2
        if hasattr(fitted, "forecaster_"):
            return fitted
        learned.append(fitted.spread_)
        return fitted

    cutoffs = sorted(plan.cutoffs, reverse=plan.refit == "every")
    until = lambda panel, cutoff: panel.until(cutoff).detached()
    return by_hand(frame, forecasters, replace(plan, cutoffs=cutoffs), rows_of=until, choose=choose, **options)


def newest_first_and_warm(frame, forecasters, plan, **options):
    """Lets each fit begin with what the fit of a newer fold has learned."""
    return newest_first(frame, forecasters, plan, warm=True, **options)


def stopped_on_the_test_span(frame, forecasters, plan, **options):
    """Chooses, of several candidates, the one that errs least on the very steps that are scored."""

    def choose(pattern, rows, panel, cutoff):
        errors = {}
        for window in (1, 2, 4, 8, 24, 48):
            candidate = WindowAverage(pattern.horizon, window=window, quantile_levels=pattern.quantile_levels).fit(rows)
            origins = origins_of(rows, [cutoff])
            actuals = panel.at(origins.series[:, None], cutoff + np.arange(1, pattern.horizon + 1))
            errors[candidate] = float(np.nanmean(np.abs(candidate.forecast(rows, origins).mean - actuals)))
        return min(errors, key=errors.__getitem__)

    until = lambda panel, cutoff: panel.until(cutoff).detached()
    return by_hand(frame, forecasters, plan, rows_of=until, choose=choose, **options)


def last_batch_dropped(frame, forecasters, plan, **options):
    """Scores whole batches only, as a loader with drop_last does."""
    table = backtest(frame, forecasters, plan, **options).forecasts
    return SimpleNamespace(forecasts=table.iloc[: len(table) // 5 * 5])


def shortest_steps_kept(frame, forecasters, plan, **options):
    """Keeps one forecast of each time: the last, which has the shortest way to go."""
    table = backtest(frame, forecasters, plan, **options).forecasts
    return SimpleNamespace(forecasts=table.drop_duplicates(["unique_id", "ds"], keep="last"))


def unchecked(frame, forecasters, plan, **options):
    """Enters whatever is forecast."""
    return by_hand(frame, forecasters, plan, rows_of=lambda panel, cutoff: panel.until(cutoff).detached(), **options)


# -- scores ----------------------------------------------------------------------------------------------------------


def missing_is_skipped(ledger, metrics):
    """Takes the mean over what is there, so that saying nothing costs nothing."""
    if not isinstance(ledger, SimpleNamespace):
        return score(ledger, metrics)
    error = (ledger.forecasts["y"] - ledger.forecasts["prediction"]).abs()
    return pd.DataFrame({"mae": [error.mean()]})


def missing_is_zero(ledger, metrics):
    """Replaces what is no number by zero before it takes the mean."""
    if not isinstance(ledger, SimpleNamespace):
        return score(ledger, metrics)
    error = (ledger.forecasts["y"] - ledger.forecasts["prediction"]).abs()
    return pd.DataFrame({"mae": [error.fillna(0.0).mean()]})
