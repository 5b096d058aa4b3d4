"""The contracts as a tool: what keeps them passes, and every planted defect is caught by the check that is for it."""

import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive, Theta, WindowAverage
from forecast.evaluation import label_of
from forecast.forecaster import DECILES, Forecast, Forecaster, NotFittedError
from forecast.frame import Roles
from forecast.history import history
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES, LSTM
from forecast.testing import check_forecaster
from forecast.testing.bench import Bench, frame_of
from forecast.testing.checks import SKIPPED
from forecast.testing.forecaster import CHECKS
from forecast.testing.forecasts import rows_after_a_cutoff_do_not_matter
from forecast.training import Training

HORIZON = 4


class Climate(Forecaster):
    """Keeps the contract: the quantiles of the last 60 values, around them what was learned of the mean."""

    family = "baseline"

    def __init__(self, horizon, *, seed=0, season_length=None, quantile_levels=DECILES):
        self.horizon = horizon
        self.seed = seed
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel):
        self.share_ = float(np.random.default_rng(self.seed).uniform(0.1, 0.2))

    def _forecast(self, panel, origins):
        seen = history(panel, origins, 60).astype("float64")
        quantiles = np.nanquantile(seen, self.quantile_levels, axis=1).T[:, None]  # (M, 1, Q)
        last = np.array([h[np.isfinite(h)][-1] for h in seen])[:, None]
        mean = np.nanmean(seen, axis=1, keepdims=True) * (1 - self.share_) + last * self.share_
        return Forecast(quantiles.repeat(self.horizon, axis=1), mean.repeat(self.horizon, axis=1))


def names(table: pd.DataFrame) -> list[str]:
    return table["check"].tolist()


@pytest.mark.parametrize(
    "forecaster",
    [
        Climate(HORIZON),
        Naive(HORIZON),
        NeuralForecaster(LSTM(width=8), HORIZON, context_length=24, patch_length=8, training=Training(steps=3)),
        *[
            pytest.param(forecaster, marks=pytest.mark.slow)
            for forecaster in (
                Climate(1),
                SeasonalNaive(30, season_length=24),
                Drift(HORIZON),
                WindowAverage(HORIZON, window=5),
                Theta(HORIZON),
                NLinear(HORIZON, context_length=12),
                *(
                    NeuralForecaster(
                        kind(width=8), HORIZON, context_length=24, patch_length=8, training=Training(steps=3)
                    )
                    for name, kind in BACKBONES.items()
                    if name != "lstm"
                ),
            )
        ],
    ],
    ids=label_of,
)
def test_what_keeps_the_contract_passes(forecaster):
    across = getattr(getattr(forecaster, "backbone", None), "across_series", False)
    table = check_forecaster(forecaster, alone=not across)
    assert names(table) == [check.__name__ for check in CHECKS]
    assert table["asks"].str.len().min() > 20
    assert not hasattr(forecaster, "panel_")


# -- planted defects -------------------------------------------------------------------------------------------------


class Converts(Climate):
    def __init__(self, horizon, *, season_length=None, quantile_levels=DECILES):
        super().__init__(horizon, season_length=season_length, quantile_levels=list(quantile_levels))
        del self.seed


class Counts(Climate):
    def __init__(self, horizon, *, seed=0, season_length=None, quantile_levels=DECILES):
        super().__init__(horizon, seed=seed, season_length=season_length, quantile_levels=quantile_levels)
        self.calls = 0


class Overwrites(Climate):
    def _fit(self, panel):
        super()._fit(panel)
        self.season_length = panel.calendar.season_length


class Careless(Climate):
    def predict(self, frame=None, **asked):
        try:
            return super().predict(frame, **asked)
        except NotFittedError:
            return pd.DataFrame()


class Silent(Climate):
    def fit(self, frame, **door):
        super().fit(frame, **door)


class Crossing(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        return Forecast(forecast.quantiles[..., ::-1], forecast.mean)


class Missing(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        mean = np.where(np.arange(self.horizon) == self.horizon - 1, np.nan, forecast.mean)
        return Forecast(forecast.quantiles, mean)


class Sorted(Climate):
    def tidy(self, panel, origins, forecast):
        return super().tidy(panel, origins, forecast).sort_values("unique_id", kind="stable")


class LooksAhead(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        after = np.nan_to_num(panel.at(origins.series, origins.cutoffs + 1))[:, None]
        return Forecast(forecast.quantiles, forecast.mean + 1e-3 * after)


class ScalesByTheWholeSeries(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        size = np.array([np.nanstd(panel.values[panel.starts[s] : panel.stops[s]]) for s in origins.series])
        return Forecast(forecast.quantiles + size[:, None, None], forecast.mean + size[:, None])


class LooksAheadAtWhatIsMissing(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        stops = panel.stops[origins.series]
        missing = [np.isnan(panel.values[end:stop]).sum() for end, stop in zip(origins.ends, stops, strict=True)]
        return Forecast(forecast.quantiles, forecast.mean + np.array(missing)[:, None])


class NormalisesTheCall(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        return Forecast(forecast.quantiles, forecast.mean * 0.9 + forecast.mean.mean() * 0.1)


class KnowsPlaces(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        return Forecast(forecast.quantiles, forecast.mean + origins.series[:, None])


class ReadsOthers(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        first = [min(panel.ids)]
        other = panel.take(panel.ids.isin(first))
        shift = [np.nanmean(other.at(0, np.arange(cutoff - 50, cutoff))) for cutoff in origins.cutoffs]
        return Forecast(forecast.quantiles, forecast.mean + np.nan_to_num(shift)[:, None])


class Blind(Climate):
    family = "direct-prediction"

    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel.until(int(panel.last.max())), origins)
        seen = history(panel, origins, 60)[:, :-1].astype("float64")
        quantiles = np.nanquantile(seen, self.quantile_levels, axis=1).T[:, None].repeat(self.horizon, axis=1)
        mean = forecast.mean.copy()
        mean[:, -1] = quantiles[:, -1].mean(axis=1)
        return Forecast(quantiles, mean)


class KnowsItsSeriesOnly(Climate):
    def _forecast(self, panel, origins):
        if not panel.ids.isin(self.panel_.ids).all():
            raise KeyError("unseen")
        return super()._forecast(panel, origins)


class SpreadsMissing(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        return Forecast(forecast.quantiles, forecast.mean + 0 * panel.values[origins.ends - 1][:, None])


class DividesByZero(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        seen = history(panel, origins, 60)
        extent = np.nanmax(seen, axis=1, keepdims=True) - np.nanmin(seen, axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):
            return Forecast(forecast.quantiles, forecast.mean * (extent / extent))


class ChangesTheFrame(Climate):
    def fit(self, frame, **door):
        if isinstance(frame, pd.DataFrame):
            frame["y"] = frame["y"].astype("float32")
        return super().fit(frame, **door)


class ChangesThePanel(Climate):
    def _fit(self, panel):
        super()._fit(panel)
        panel.values[:] = np.round(panel.values, 2)


class DrawsFromTheWorld(Climate):
    def _fit(self, panel):
        self.share_ = 0.15 + 0 * np.random.rand()


class SeedsTheWorld(Climate):
    def _fit(self, panel):
        random.seed(1)
        super()._fit(panel)


class Writes(Climate):
    def _fit(self, panel):
        super()._fit(panel)
        Path("log").mkdir(exist_ok=True)


class Unseeded(Climate):
    def _fit(self, panel):
        self.share_ = float(np.random.default_rng().uniform(0.1, 0.2))


class Wanders(Climate):
    def _fit(self, panel):
        super()._fit(panel)
        self.turn_ = 0

    def _forecast(self, panel, origins):
        forecast, self.turn_ = super()._forecast(panel, origins), self.turn_ + 1
        return Forecast(forecast.quantiles, forecast.mean + 1e-6 * self.turn_)


class Remembers(Climate):
    def _fit(self, panel):
        super()._fit(panel)
        self.share_ = self.kept = getattr(self, "kept", float(np.nanmean(panel.values) / 100))


class Unpicklable(Climate):
    def _fit(self, panel):
        super()._fit(panel)
        self.rule = lambda x: x


class ForgetsWhenSaved(Climate):
    def _fit(self, panel):
        self.share_ = 0.1
        self.more = 0.05

    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        return Forecast(forecast.quantiles, forecast.mean + getattr(self, "more", 0.0))


class LearnsWhatCannotBeSaved(Climate):
    def _fit(self, panel):
        super()._fit(panel)
        self.found_ = {1, 2}


class KnowsFourSteps(Climate):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        return Forecast(forecast.quantiles[:, :1].repeat(4, axis=1), forecast.mean[:, :1].repeat(4, axis=1))


class CountsHours(Climate):
    def tidy(self, panel, origins, forecast):
        table = super().tidy(panel, origins, forecast)
        hours = pd.to_timedelta(table["step"], unit="h").astype("timedelta64[us]")
        return table.assign(ds=(table["cutoff"] + hours).astype(table["ds"].dtype))


@pytest.mark.parametrize(
    ("kind", "check", "told"),
    [
        (Converts, "constructor_stores_its_arguments_and_does_nothing_else", "`quantile_levels` is another object"),
        (Counts, "constructor_stores_its_arguments_and_does_nothing_else", "'calls'"),
        (Careless, "without_a_fit_it_says_so", r"predict\(\) without a fit to raise NotFittedError, naming Careless"),
        (Silent, "fit_gives_the_forecaster", "came: None"),
        (Overwrites, "arguments_can_be_read_and_set", "`season_length` is another object"),
        (Missing, "forecasts_are_finite", "for series 'b', step 4"),
        (Crossing, "quantiles_do_not_cross", "series 'b', step 1"),
        (Sorted, "forecasts_have_the_columns_and_the_order", "'b', 'a', 'c'"),
        (LooksAhead, "rows_after_a_cutoff_do_not_matter", "column `mean` is"),
        (ScalesByTheWholeSeries, "rows_after_a_cutoff_do_not_matter", "are huge"),
        (LooksAheadAtWhatIsMissing, "rows_after_a_cutoff_do_not_matter", "are missing"),
        (NormalisesTheCall, "the_other_origins_of_a_call_do_not_matter", "one at a time"),
        (KnowsPlaces, "the_order_of_series_does_not_matter", "by its id"),
        (ReadsOthers, "other_series_do_not_matter", "say alone=False"),
        (Blind, "the_newest_value_moves_every_step", r"1 of 4 steps do not: \[4\]"),
        (KnowsItsSeriesOnly, "a_series_that_was_not_there_at_fit_is_forecast", "KeyError: 'unseen'"),
        (SpreadsMissing, "missing_values_are_borne", "for series 'b', step 1"),
        (DividesByZero, "odd_series_are_borne", "of a series that is constant"),
        (ChangesTheFrame, "the_frame_is_left_as_it_is", "the frame as it was"),
        (ChangesThePanel, "the_frame_is_left_as_it_is", r"others: \['values'\]"),
        (DrawsFromTheWorld, "the_global_random_states_are_left_as_they_are", "moved: numpy.random"),
        (SeedsTheWorld, "the_global_random_states_are_left_as_they_are", "moved: random"),
        (Writes, "nothing_is_written", r"came: \['log'\]"),
        (Unseeded, "the_same_arguments_give_the_same_numbers", "a second forecaster"),
        (Wanders, "the_same_arguments_give_the_same_numbers", r"a second predict\(\)"),
        (Remembers, "a_second_fit_forgets_the_first", "begin anew in _fit"),
        (Unpicklable, "copies_say_the_same", "pickle to copy it"),
        (ForgetsWhenSaved, "a_loaded_forecaster_says_the_same", "let what is learned end in an underscore"),
        (LearnsWhatCannotBeSaved, "a_loaded_forecaster_says_the_same", "`found_` is a set and cannot be saved"),
        (KnowsFourSteps, "horizon_and_levels_are_obeyed", r"expected \(3, 3, 3\)"),
        (CountsHours, "every_calendar_is_taken", "the stamps that follow the data"),
    ],
)
def test_a_defect_of_a_forecaster_is_caught_by_the_check_that_is_for_it(kind, check, told):
    with pytest.raises(AssertionError, match=rf"^check `{check}` failed for {kind.__name__}\(horizon=4.*") as caught:
        check_forecaster(kind(HORIZON))
    assert caught.match(rf"(?s){told}")
    assert [line.split(":")[0].strip() for line in str(caught.value).splitlines()[1:4]] == ["expected", "came", "mend"]


def test_a_class_inside_a_function_is_told_where_to_go():
    class Inside(Climate):
        pass

    with pytest.raises(AssertionError, match=r"`copies_say_the_same` (?s:.*)define the class at the top of a module"):
        check_forecaster(Inside(HORIZON))


def test_a_rule_may_be_blind_and_the_table_says_so():
    notes = check_forecaster(SeasonalNaive(HORIZON)).set_index("check")["note"]
    assert notes["the_newest_value_moves_every_step"].startswith("4 of 4 steps do not: [1, 2, 3, 4]")
    with pytest.raises(AssertionError, match=r"`the_newest_value_moves_every_step`.*\n.*every step to move"):
        check_forecaster(SeasonalNaive(HORIZON), blind="error")


def test_what_is_refused_by_a_value_error_is_noted():
    class NeedsAll(Climate):
        def _forecast(self, panel, origins):
            if np.isnan(history(panel, origins, 60)).any():
                raise ValueError("no missing values, please")
            return super()._forecast(panel, origins)

    skip = ("copies_say_the_same", "a_loaded_forecaster_says_the_same")
    notes = check_forecaster(NeedsAll(HORIZON), skip=skip).set_index("check")["note"]
    assert notes["missing_values_are_borne"] == (
        "refuses missing values: no missing values, please; refuses missing values at fit: no missing values, please"
    )
    assert "single value: no missing values, please" in notes["a_series_that_was_not_there_at_fit_is_forecast"]
    assert (notes[list(skip)] == SKIPPED).all()


class Hooked(Climate):
    """Takes an argument that JSON cannot hold."""

    def __init__(self, horizon, *, hook=print, seed=0, season_length=None, quantile_levels=DECILES):
        super().__init__(horizon, seed=seed, season_length=season_length, quantile_levels=quantile_levels)
        self.hook = hook


def test_an_argument_that_cannot_be_saved_is_noted():
    notes = check_forecaster(Hooked(HORIZON)).set_index("check")["note"]
    assert notes["a_loaded_forecaster_says_the_same"].startswith("cannot be saved: `hook` is a builtin_function")


class ReadsRain(Climate):
    """Reads a covariate that is known up to the cutoff, at the step after it."""

    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        rain = np.nan_to_num(panel.covariates.past.numbers[:, 0])
        return Forecast(forecast.quantiles, forecast.mean + rain[np.minimum(origins.ends, len(rain) - 1)][:, None])


def test_data_of_ones_own_with_covariates_are_checked_too():
    rng = np.random.default_rng(3)
    days = pd.date_range("2023-01-01", periods=90, freq="D", tz="Europe/Berlin")
    frame = pd.concat(
        pd.DataFrame({"unique_id": name, "ds": days, "y": rng.normal(9, 1, 90), "rain": rng.random(90), "kind": "x"})
        for name in (3, 1)
    ).drop(index=[40])
    roles = Roles(past=("rain", "kind"))
    assert len(check_forecaster(Climate(7), frame, roles=roles, gaps="mask")) == len(CHECKS)

    with pytest.raises(AssertionError, match="`rows_after_a_cutoff_do_not_matter`"):
        check_forecaster(ReadsRain(7), frame, roles=roles, gaps="mask")


class ReadsLateRain(Climate):
    """Reads a column so many rows before the newest."""

    before = 0

    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        rain = np.nan_to_num(panel.covariates.past.numbers[origins.ends - 1 - self.before, 0])
        return Forecast(forecast.quantiles, forecast.mean + rain[:, None])


class ReadsLateRainInTime(ReadsLateRain):
    before = 2


def test_what_is_not_yet_known_of_a_delayed_column_does_not_matter():
    frame = frame_of(HORIZON)
    frame = frame.assign(rain=np.random.default_rng(3).random(len(frame)))

    def check(kind):
        door = {"roles": Roles(delayed={"rain": 2})}
        rows_after_a_cutoff_do_not_matter(Bench(kind(HORIZON), frame, door, True, "note"))

    check(ReadsLateRainInTime)
    with pytest.raises(AssertionError, match="column `mean` is"):
        check(ReadsLateRain)


@pytest.mark.slow
def test_a_network_that_reads_covariates_of_all_roles_keeps_the_contract():
    rng = np.random.default_rng(3)
    frame = pd.concat(
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range("2023-01-01", periods=150, freq="D"),
                "y": rng.normal(9, 1, 150),
                "rain": rng.random(150),
                "price": rng.random(150),
                "kind": rng.choice(["x", "y"], 150),
                "size": float(place),
            }
        )
        for place, name in enumerate("cab")
    )
    roles = Roles(past=("rain",), known=("price", "kind"), static=("size",))
    network = NeuralForecaster(
        LSTM(width=8), HORIZON, context_length=24, patch_length=8, calendar=("weekday",), training=Training(steps=2)
    )
    notes = check_forecaster(network, frame, roles=roles).set_index("check")["note"]
    assert notes["every_calendar_is_taken"].startswith("not asked: ")
    assert (notes.drop(["every_calendar_is_taken", "a_series_that_was_not_there_at_fit_is_forecast"]) == "").all()


@pytest.mark.parametrize(
    ("forecaster", "asked", "error", "told"),
    [
        (Climate, {}, TypeError, r"`forecaster` is the class Climate; give one, Climate\(\.\.\.\)"),
        ("lstm", {}, TypeError, "`forecaster` is 'lstm'; allowed: a Forecaster"),
        (Climate(2), {"blind": "warn"}, ValueError, "`blind` is 'warn'; allowed: 'error', 'note', None"),
        (Climate(2), {"skip": ("leaks",)}, ValueError, "`skip` names 'leaks'; the checks are constructor_stores"),
    ],
)
def test_arguments_that_are_not_allowed_are_named(forecaster, asked, error, told):
    with pytest.raises(error, match=told):
        check_forecaster(forecaster, **asked)
