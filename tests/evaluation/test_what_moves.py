"""What moves from fold to fold of a backtest and what is frozen with the fit, row by row; and what each role may show.

Two folds, at `FIRST` and `SECOND`; with `refit="never"` the second is forecast by the fit of the first.
"""

import numpy as np
import pandas as pd
import pytest

from forecast import Naive, NeuralForecaster, NLinear, Plan, Roles, Training, backtest
from forecast.calibrated import Calibrated
from forecast.forecaster import Forecast, Forecaster
from forecast.frame import check_frame

HORIZON, CONTEXT = 5, 12
ROLES = Roles(
    static=("size",), known=("price", "kind"), past=("rain",), delayed={"returns": 2}, forecasted={"warmth": "issued"}
)


def frame_of(length=100) -> pd.DataFrame:
    """Three series; the forecast of a day was issued half a day to six and a half days before it."""
    rng, parts = np.random.default_rng(0), []
    for place, name in enumerate("bac"):
        ds = pd.date_range("2024-01-01", periods=length)
        parts.append(
            pd.DataFrame(
                {
                    "unique_id": name,
                    "ds": ds,
                    "y": 10 * (place + 1) + rng.normal(0, 1, length).cumsum(),
                    "size": float(place),
                    "price": rng.normal(5, 1, length),
                    "kind": rng.choice(["sale", "plain"], length),
                    "rain": rng.normal(size=length),
                    "returns": rng.normal(size=length),
                    "warmth": rng.normal(15, 5, length),
                    "issued": ds - pd.to_timedelta(12 + 24 * rng.integers(0, 7, length), unit="h"),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


FRAME = frame_of()
DAYS = FRAME["ds"].unique()
FIRST, SECOND = pd.Timestamp(DAYS[69]), pd.Timestamp(DAYS[81])
BETWEEN = (FRAME["ds"] > FIRST) & (FRAME["ds"] <= SECOND)


def network(backbone="lstm", **options) -> NeuralForecaster:
    options = {"training": Training(steps=4), "context_length": CONTEXT, "patch_length": 4} | options
    return NeuralForecaster(backbone, HORIZON, **options)


def of_folds(frame=FRAME, forecaster=None, refit="never", roles=ROLES, cutoffs=(FIRST, SECOND)) -> dict:
    """Forecasts of each fold, (3 series x H, columns)."""
    plan = Plan(horizon=HORIZON, cutoffs=list(cutoffs), refit=refit)
    table = backtest(frame, [network() if forecaster is None else forecaster], plan, roles=roles).forecasts
    return {cutoff: numbers(rows) for cutoff, rows in table.groupby("cutoff")}


def numbers(table: pd.DataFrame) -> np.ndarray:
    return table[["prediction", "mean", "0.1", "0.9"]].to_numpy("float64")


def until(cutoff, frame=FRAME, **change):
    """The panel of what was known at a cutoff."""
    panel = check_frame(frame.assign(**change), roles=ROLES)
    return panel.until(panel.calendar.ordinal(cutoff)).detached()


@pytest.fixture(scope="module")
def never() -> dict:
    return of_folds()


@pytest.fixture(scope="module")
def every() -> dict:
    return of_folds(refit="every")


class Noted(Forecaster):
    """Writes down what it is given; forecasts the last value."""

    family = "baseline"
    season_length = None
    calls: list = []  # noqa: RUF012 (shared by all copies)

    def __init__(self, horizon: int):
        self.horizon = horizon
        self.quantile_levels = (0.1, 0.5, 0.9)

    def _fit(self, panel):
        self.calls.append(("fit", panel, None))

    def _forecast(self, panel, origins):
        self.calls.append(("forecast", panel, origins))
        last = np.nan_to_num(panel.values[origins.ends - 1])
        shape = (len(origins), self.horizon, 3)
        return Forecast(
            np.broadcast_to(last[:, None, None], shape).copy(), np.broadcast_to(last[:, None], shape[:2]).copy()
        )


# -- weights, embeddings, categories, units ----------------------------------------------------------------------------


def test_weights_and_units_are_frozen_with_the_fit(never):
    fitted = network().fit(until(FIRST))
    later = fitted.predict(until(SECOND), cutoffs=[SECOND], future=FRAME)
    np.testing.assert_allclose(never[SECOND], numbers(later), rtol=1e-5)
    seldom = FRAME.assign(price=FRAME["price"].where(~BETWEEN, 500.0))  # would give other units
    again = fitted.predict(until(SECOND, seldom), cutoffs=[SECOND], future=seldom)
    np.testing.assert_allclose(of_folds(seldom)[SECOND], numbers(again), rtol=1e-5)


def test_a_refit_learns_anew_from_what_has_come(never, every):
    np.testing.assert_allclose(every[FIRST], never[FIRST], rtol=1e-6)
    assert (every[SECOND] != never[SECOND]).all()


def test_a_category_that_comes_between_two_folds_is_unknown_until_the_next_fit():
    new = FRAME.assign(kind=FRAME["kind"].where(~BETWEEN, "gift"))
    with pytest.warns(UserWarning, match="not there to learn from are read as unknown: `kind` 'gift'"):
        frozen = of_folds(new)
    nothing = FRAME.assign(kind=FRAME["kind"].where(~BETWEEN))
    np.testing.assert_allclose(frozen[SECOND], of_folds(nothing)[SECOND], rtol=1e-6)
    of_folds(new, refit="every", cutoffs=(SECOND,))  # without a warning


def test_each_fit_sees_the_rows_up_to_its_own_cutoff_and_no_others():
    for refit, ends in (("never", [FIRST]), ("every", [FIRST, SECOND])):
        Noted.calls.clear()
        of_folds(forecaster=Noted(HORIZON), refit=refit)
        fits = [panel for what, panel, _ in Noted.calls if what == "fit"]
        assert [panel.calendar.stamp(int(panel.last.max())) for panel in fits] == ends
        for panel in fits:
            assert len(panel.values) == panel.lengths.sum()  # nothing else in memory


def test_the_ledger_says_by_which_fit_and_how_old_it_was():
    for refit, fits, ages in (("never", [FIRST, FIRST], [0, 12]), ("every", [FIRST, SECOND], [0, 0])):
        plan = Plan(horizon=HORIZON, cutoffs=[FIRST, SECOND], refit=refit)
        ledger = backtest(FRAME, [Naive(HORIZON)], plan)
        assert ledger.forecasts.groupby("cutoff")["fit_cutoff"].first().tolist() == fits
        staleness = np.concatenate([run.staleness for run in ledger.runs])
        assert sorted(set(staleness.tolist())) == sorted(set(ages))


# -- context and recurrent state ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("backbone", ["lstm", "tcn", "transformer"])
def test_the_context_moves_on_to_each_cutoff(backbone):
    one, other = (
        of_folds(frame, network(backbone), roles=None)
        for frame in (FRAME, FRAME.assign(y=FRAME["y"] + np.where(FRAME["ds"] == SECOND, 3.0, 0.0)))
    )
    np.testing.assert_array_equal(one[FIRST], other[FIRST])
    assert (one[SECOND] != other[SECOND]).all()


def test_a_latent_state_starts_anew_from_the_context_of_each_cutoff(never):
    """What lies before the context is read by the fit alone: with weights given, it moves nothing."""
    fitted = network().fit(until(FIRST))
    before = FRAME["ds"] <= SECOND - pd.Timedelta(days=40)
    other = FRAME.assign(y=np.where(before, 1e3, FRAME["y"]), rain=np.where(before, 9.0, FRAME["rain"]))
    later = fitted.predict(until(SECOND, other), cutoffs=[SECOND], future=FRAME)
    np.testing.assert_allclose(never[SECOND], numbers(later), rtol=1e-5)
    alone = fitted.predict(until(SECOND, FRAME[~before]), cutoffs=[SECOND], future=FRAME)
    np.testing.assert_allclose(never[SECOND], numbers(alone), rtol=1e-5)


def test_a_fold_does_not_depend_on_those_that_are_forecast_with_it():
    between = FIRST + pd.Timedelta(days=6)
    three = of_folds(cutoffs=(FIRST, between, SECOND))
    for cutoff, found in of_folds().items():
        np.testing.assert_allclose(three[cutoff], found, rtol=1e-5)


# -- margins, and scales of errors -------------------------------------------------------------------------------------


def test_conformal_margins_are_frozen_with_the_fit_they_belong_to():
    pattern = Calibrated(NLinear(HORIZON, season_length=7), windows=9)
    found = of_folds(forecaster=pattern, roles=None)
    fitted = Calibrated(NLinear(HORIZON, season_length=7), windows=9).fit(FRAME[FRAME["ds"] <= FIRST])
    for cutoff in (FIRST, SECOND):
        expected = fitted.predict(FRAME[FRAME["ds"] <= cutoff], cutoffs=[cutoff])
        np.testing.assert_allclose(found[cutoff], numbers(expected), rtol=1e-5)
    refitted = of_folds(forecaster=pattern, roles=None, refit="every")
    assert (refitted[SECOND] != found[SECOND]).any()


@pytest.mark.parametrize("refit", ["never", "every"])
def test_the_scale_of_errors_follows_the_cutoff_and_not_the_refit(refit):
    plan = Plan(horizon=HORIZON, cutoffs=[FIRST, SECOND], refit=refit, season_length=7)
    scales = backtest(FRAME, [Naive(HORIZON)], plan).scales.set_index(["unique_id", "cutoff"])
    for (name, cutoff), scale in scales.iterrows():
        history = (
            FRAME[(FRAME["unique_id"] == name) & (FRAME["ds"] <= cutoff)]["y"].to_numpy("float32").astype("float64")
        )
        change = history[7:] - history[:-7]
        assert scale["absolute"] == pytest.approx(np.abs(change).mean(), rel=1e-6)
        assert scale["squared"] == pytest.approx((change**2).mean(), rel=1e-6)


# -- what each role may show -------------------------------------------------------------------------------------------


def not_yet(role: str, cutoff) -> pd.Series:
    """The rows of which a column with this role may not be read from a cutoff."""
    ds, day = FRAME["ds"], pd.Timedelta(days=1)
    return {
        "static": pd.Series(False, FRAME.index),
        "known": ds > cutoff + HORIZON * day,
        "past": ds > cutoff,
        "delayed": ds > cutoff - 2 * day,
        "forecasted": (FRAME["issued"] > cutoff) | (ds > cutoff + HORIZON * day),
    }[role]


def the_last(role: str, cutoff) -> pd.Series:
    """The rows of the newest values that may be read of it."""
    ds, day = FRAME["ds"], pd.Timedelta(days=1)
    return {
        "static": pd.Series(True, FRAME.index),
        "known": ds == cutoff + HORIZON * day,
        "past": ds == cutoff,
        "delayed": ds == cutoff - 2 * day,
        "forecasted": (FRAME["issued"] <= cutoff) & (ds > cutoff),
    }[role]


COLUMNS = {"static": "size", "known": "price", "past": "rain", "delayed": "returns", "forecasted": "warmth"}


@pytest.mark.parametrize(("role", "column"), COLUMNS.items(), ids=COLUMNS)
def test_folds_that_share_a_fit_are_each_shown_what_was_known_at_their_own_cutoff(role, column, never):
    for cutoff in (FIRST, SECOND) if role != "static" else ():
        other = of_folds(FRAME.assign(**{column: FRAME[column].mask(not_yet(role, cutoff), 1e5)}))
        np.testing.assert_array_equal(other[cutoff], never[cutoff])
    newest = the_last(role, SECOND)
    assert not (newest & not_yet(role, SECOND)).any()
    moved = of_folds(FRAME.assign(**{column: FRAME[column].mask(newest, 40 - FRAME[column])}))
    changed = (moved[SECOND] != never[SECOND]).any(axis=1).reshape(3, HORIZON)
    if role == "forecasted":
        told = FRAME[newest & (FRAME["ds"] <= SECOND + pd.Timedelta(days=HORIZON))]
        assert len(told) >= 3
        for name, ds in told[["unique_id", "ds"]].itertuples(index=False):
            assert changed["bac".index(name), (ds - SECOND).days - 1]
    else:
        assert changed[:, HORIZON - 1 if role == "known" else slice(None)].all()


@pytest.mark.parametrize("refit", ["never", "every"])
def test_what_is_handed_to_a_forecaster_holds_nothing_that_was_not_known(refit):
    Noted.calls.clear()
    of_folds(forecaster=Noted(HORIZON), refit=refit)
    assert len(Noted.calls) >= 3
    for _, panel, _ in Noted.calls:
        beside, end = panel.covariates, panel.calendar.stamp(int(panel.last.max()))
        shown = panel.to_frame()
        assert shown["ds"].max() == end
        late = shown["ds"] > end - pd.Timedelta(days=2)
        assert shown.loc[late, "returns"].isna().all()
        assert shown.loc[~late, "returns"].notna().all()
        for place, name in enumerate(panel.ids):
            table = beside.known.numbers[beside.starts[place] : beside.stops[place]]
            assert len(table) == panel.lengths[place] + HORIZON
            assert np.isfinite(table[:, 0]).all()
            issued = FRAME.loc[FRAME["unique_id"] == name, "issued"].iloc[: len(table)]
            np.testing.assert_array_equal(np.isfinite(table[:, 2]), issued <= end)  # warmth, wherever it lies
