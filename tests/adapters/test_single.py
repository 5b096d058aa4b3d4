"""Models of other libraries as Forecasters: stand-ins with their methods keep the contract, and so do the real ones."""

import subprocess
import sys
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from forecast.adapters import SktimeAdapter, StatsForecastAdapter, to_nixtla
from forecast.baselines import SeasonalNaive
from forecast.evaluation import Plan, backtest, score
from forecast.frame import FrameError
from forecast.testing import check_forecaster

HORIZON = 4


class LastValue:
    """As a model of statsforecast: the last value, with normal intervals that widen."""

    def __init__(self, intervals=True):
        self.intervals = intervals
        self.calls = 0

    def __repr__(self):
        return "LastValue"

    def forecast(self, y, h, X=None, X_future=None, level=None, fitted=False):
        self.calls += 1
        assert y.dtype == "float64"
        assert np.isfinite(y).all()
        mean = np.repeat(y[-1], h)
        said = {"mean": mean}
        spread = np.std(np.diff(y, prepend=y[0])) * np.sqrt(np.arange(1, h + 1))
        for one in level if level and self.intervals else ():
            half = NormalDist().inv_cdf(0.5 + one / 200) * spread
            said |= {f"lo-{one}": mean - half, f"hi-{one}": mean + half}
        return said


class Recent:
    """As a forecaster of sktime: the mean of the last values, with their own quantiles."""

    def __init__(self, window=12, quantiles=True):
        self.window = window
        self.quantiles = quantiles

    def __repr__(self):
        return "Recent"

    def clone(self):
        return Recent(self.window, self.quantiles)

    def fit(self, y, X=None, fh=None):
        assert isinstance(y, pd.Series)
        self.y, self.fh = y, fh
        return self

    def predict(self):
        index = [len(self.y) - 1 + step for step in self.fh]
        return pd.Series(self.y.iloc[-self.window :].mean(), index=index)

    def predict_quantiles(self, fh=None, X=None, alpha=None):
        if not self.quantiles:
            raise NotImplementedError("no quantiles")
        values = {("y", level): self.y.iloc[-self.window :].quantile(level) for level in alpha}
        return pd.DataFrame(values, index=range(len(self.fh)))


def frame_of(length=150, missing=()):
    rng = np.random.default_rng(2)
    frame = pd.concat(
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range("2024-01-01", periods=length, freq="D"),
                "y": 10 * place + 5 + np.sin(np.arange(length) * 2 * np.pi / 7) + rng.normal(0, 0.2, length),
            }
        )
        for place, name in enumerate(("x", "w"))
    ).reset_index(drop=True)
    return frame.assign(y=frame["y"].mask(frame.index.isin(missing)))


@pytest.mark.parametrize("adapter", [StatsForecastAdapter(LastValue(), HORIZON), SktimeAdapter(Recent(), HORIZON)])
def test_an_adapter_keeps_the_contract(adapter):
    notes = check_forecaster(adapter).set_index("check")["note"]
    assert notes["missing_values_are_borne"].startswith("refuses missing values: series 'b' has no value at ")
    assert notes["a_loaded_forecaster_says_the_same"].startswith("cannot be saved: `")


def test_quantiles_are_the_ends_of_intervals():
    adapter = StatsForecastAdapter(LastValue(), HORIZON, quantile_levels=(0.0025, 0.1, 0.5, 0.75))
    table = adapter.fit(frame_of()).predict()
    y = frame_of().loc[lambda rows: rows["unique_id"] == "x", "y"].to_numpy("float32").astype("float64")
    said = LastValue().forecast(y, HORIZON, level=[99.5, 80, 50])
    own = table[table["unique_id"] == "x"]
    for column, key in [("0.0025", "lo-99.5"), ("0.1", "lo-80"), ("0.5", "mean"), ("0.75", "hi-50"), ("mean", "mean")]:
        np.testing.assert_allclose(own[column], said[key])


def test_each_forecast_is_made_by_a_copy():
    model = LastValue()
    StatsForecastAdapter(model, HORIZON).fit(frame_of()).predict()
    assert model.calls == 0


def test_an_adapter_is_backtested_beside_the_others():
    forecasters = {
        "last": StatsForecastAdapter(LastValue(), HORIZON),
        "recent": SktimeAdapter(Recent(), HORIZON),
        "seasonal": SeasonalNaive(HORIZON),
    }
    ledger = backtest(frame_of(), forecasters, Plan(horizon=HORIZON, n_folds=3))
    assert score(ledger, "mase")["mase"].notna().all()
    assert "recent-lo-80" in to_nixtla(ledger)


def test_a_gap_is_told_and_the_door_can_fill_it():
    frame = frame_of(missing=[0, 1, 40, 41])
    for adapter in (StatsForecastAdapter(LastValue(), HORIZON), SktimeAdapter(Recent(), HORIZON)):
        with pytest.raises(FrameError, match=r"'x' has no value at 2024-02-10.*gaps=\"fill\""):
            adapter.fit(frame).predict()
        assert len(adapter.fit(frame, gaps="fill").predict()) == 2 * HORIZON  # what lies before the first is no gap
    empty = frame_of(missing=range(100))
    with pytest.raises(FrameError, match="series 'x' has no value up to 2024-02-10"):
        adapter.fit(empty, gaps="fill").predict(cutoffs=["2024-02-10"])


def test_what_a_model_lacks_is_named():
    for adapter, error, told in [
        (StatsForecastAdapter(LastValue(intervals=False), HORIZON), ValueError, "`model` LastValue gave no 'lo-80'"),
        (SktimeAdapter(Recent(quantiles=False), HORIZON), ValueError, "`forecaster` Recent gives no quantiles"),
        (StatsForecastAdapter(LastValue, HORIZON), TypeError, "`model` is <class .*; allowed: a model with forecast"),
        (StatsForecastAdapter("AutoETS", HORIZON), TypeError, "`model` is 'AutoETS'"),
        (SktimeAdapter(LastValue(), HORIZON), TypeError, r"`forecaster` is LastValue; allowed: one with fit\(y, fh"),
    ]:
        with pytest.raises(error, match=told):
            adapter.fit(frame_of()).predict()
    for model in (StatsForecastAdapter(LastValue(False), HORIZON), SktimeAdapter(Recent(quantiles=False), HORIZON)):
        table = model.set_params(quantile_levels=(0.5,)).fit(frame_of()).predict()
        assert (table["0.5"] == table["mean"]).all()


def test_a_model_that_says_no_number_is_refused():
    class Lost(LastValue):
        def forecast(self, y, h, **asked):
            return {name: x * np.nan for name, x in super().forecast(y, h, **asked).items()}

    with pytest.raises(ValueError, match=r"of series 'x' .*it says what is no finite number"):
        StatsForecastAdapter(Lost(), HORIZON).fit(frame_of()).predict()


def test_an_error_of_the_model_tells_where_it_was():
    class Fails(LastValue):
        def forecast(self, y, h, **asked):
            raise ZeroDivisionError("inside")

    told = (
        r"\(model=LastValue, horizon=4\) gave no forecast of series 'x' from 2024-05-29.*, after 150 values \(ZeroDiv"
    )
    with pytest.raises(ValueError, match=told) as caught:
        StatsForecastAdapter(Fails(), HORIZON).fit(frame_of()).predict()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.filterwarnings("ignore")  # of the other library
def test_models_of_statsforecast_themselves():
    models = pytest.importorskip("statsforecast.models")
    frame = frame_of()
    theirs = models.SeasonalNaive(season_length=7)
    adapter = StatsForecastAdapter(theirs, HORIZON)
    table = adapter.fit(frame).predict()
    y = frame.loc[frame["unique_id"] == "w", "y"].to_numpy("float32").astype("float64")
    said = theirs.forecast(y, HORIZON, level=[80])
    own = table[table["unique_id"] == "w"]
    np.testing.assert_allclose(own["mean"], said["mean"])
    np.testing.assert_allclose(own["0.1"], said["lo-80"])
    check_forecaster(StatsForecastAdapter(models.AutoETS(season_length=7), HORIZON))
    check_forecaster(StatsForecastAdapter(models.Theta(season_length=7), HORIZON))


@pytest.mark.filterwarnings("ignore")
def test_forecasters_of_sktime_themselves():
    sktime = pytest.importorskip("sktime.forecasting.naive")
    frame = frame_of()
    theirs = sktime.NaiveForecaster(strategy="mean", sp=7)
    table = SktimeAdapter(theirs, HORIZON).fit(frame).predict()
    y = frame.loc[frame["unique_id"] == "w", "y"].astype("float32").astype("float64").reset_index(drop=True)
    fitted = theirs.clone().fit(y, fh=[1, 2, 3, 4])
    own = table[table["unique_id"] == "w"]
    np.testing.assert_allclose(own["mean"], fitted.predict())
    np.testing.assert_allclose(own["0.1"], fitted.predict_quantiles(alpha=[0.1]).to_numpy().ravel())
    check_forecaster(SktimeAdapter(sktime.NaiveForecaster(strategy="last"), HORIZON))


def test_nothing_of_the_other_libraries_is_imported():
    code = "import sys, forecast.adapters; print([m for m in ('statsforecast', 'sktime', 'torch') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
