"""Covariates that are forecasts, from a table to a forecast: each origin reads what had been issued by then."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

from forecast import Forecaster, Naive, NeuralForecaster, Plan, Roles, Training, backtest, score
from forecast.encoding import Encoded, Encoding
from forecast.forecaster import Forecast
from forecast.frame import FrameError, check_frame
from forecast.nn import BACKBONES, DECODERS
from forecast.nn.covariates import Covariates
from forecast.testing import check_forecaster
from forecast.windows import Windows

HORIZON, P, CONTEXT = 6, 4, 16
ROLES = Roles(known=("price",), forecasted={"warmth": "issued", "sky": "issued"})


def frame_of(lengths=(90, 70, 80), seed=0, latest=2) -> pd.DataFrame:
    """Three series; the forecasts of a day were issued up to 8 days before it, and up to `latest` after it."""
    rng, parts = np.random.default_rng(seed), []
    for place, length in enumerate(lengths):
        ds = pd.date_range("2024-01-01", periods=length)
        parts.append(
            pd.DataFrame(
                {
                    "unique_id": f"s{place}",
                    "ds": ds,
                    "y": 10 * 3.0**place * (1 + 0.2 * np.sin(2 * np.pi * np.arange(length) / 7))
                    + rng.normal(0, 0.5, length),
                    "price": rng.choice([1.0, 1.5], length),
                    "warmth": rng.normal(15, 5, length),
                    "sky": rng.choice(["grey", "blue", "black"], length),
                    "issued": ds - pd.to_timedelta(rng.integers(-24 * latest, 8 * 24, length), unit="h"),
                }
            )
        )
    frame = pd.concat(parts, ignore_index=True)
    frame.loc[frame.index[::11], ["warmth", "sky", "issued"]] = [np.nan, None, pd.NaT]
    return frame


WHOLE = frame_of()
AHEAD = WHOLE.groupby("unique_id").tail(HORIZON)
FRAME = WHOLE.drop(AHEAD.index)
FUTURE = AHEAD.drop(columns="y")
_QUICK = [("lstm", "direct"), ("transformer", "recursive"), ("graph_transformer", "direct")]
DAY = FRAME["ds"].min() + pd.Timedelta(days=40)  # a cutoff well within


def network(backbone="lstm", decoder="direct", **options) -> NeuralForecaster:
    options = {"training": Training(steps=3), "context_length": CONTEXT, "patch_length": P} | options
    return NeuralForecaster(BACKBONES[backbone](width=8), HORIZON, decoder=decoder, **options)


@pytest.fixture(scope="module")
def fitted() -> NeuralForecaster:
    return network().fit(FRAME, roles=ROLES)


def numbers(forecast) -> np.ndarray:
    return forecast.iloc[:, 4:].to_numpy("float64")


def same(one, other, **tolerance):
    pd.testing.assert_frame_equal(one, other, **(tolerance or {"check_exact": True}))


class ReadsAhead(Naive):
    """What had not been issued yet is read too."""

    def _forecast(self, panel, origins):
        forecast, beside = super()._forecast(panel, origins), panel.covariates
        rows = (beside.starts - beside.first)[origins.series] + origins.cutoffs + 1
        told = beside.known.numbers[np.minimum(rows, beside.stops[origins.series] - 1), 1]
        return Forecast(forecast.quantiles + np.nan_to_num(told)[:, None, None], forecast.mean)


def wild(frame: pd.DataFrame, where) -> pd.DataFrame:
    """The frame with other forecasts in some rows."""
    frame = frame.copy()
    frame.loc[where, "warmth"] = 1e6
    frame.loc[where, "sky"] = frame.loc[where, "sky"].map({"grey": "blue", "blue": "black", "black": "grey"})
    return frame


# -- each origin of a window -------------------------------------------------------------------------------------------


def by_looking(frame: pd.DataFrame, encoding: Encoding, name: str, cutoff: pd.Timestamp, steps: int) -> np.ndarray:
    """The twin: known columns of the steps up to a cutoff and the horizon after it, one look after another."""
    rows = frame[frame["unique_id"] == name].set_index("ds")
    rows["sky"] = rows["sky"].map({value: place for place, value in enumerate(encoding.known.categories[0].values)})
    issued, values = rows["issued"].to_dict(), rows.to_dict("index")
    table = []
    for day in pd.date_range(cutoff - pd.Timedelta(days=steps - 1), cutoff + pd.Timedelta(days=HORIZON)):
        if issued[day] <= min(day, cutoff):
            told = day
        else:  # of a step that is over, what came on this very day of those before
            came = [other for other, time in issued.items() if other < day <= cutoff and time.ceil("D") == day]
            told = came[-1] if came else None
        own = {} if told is None else values[told]
        table.append([values[day]["price"], own.get("warmth", np.nan), own.get("sky", np.nan)])
    return np.array(table, dtype="float32")


@pytest.mark.parametrize(
    ("backbone", "decoder"),
    [
        pytest.param(*both, id="-".join(both), marks=() if both == ("tcn", "direct") else pytest.mark.slow)
        for both in product(("lstm", "tcn", "transformer"), DECODERS)
    ],
)
def test_every_origin_of_a_window_reads_what_had_been_issued_by_then(backbone, decoder):
    panel = check_frame(FRAME, roles=ROLES)
    forecaster = network(backbone, decoder, training=Training(steps=20)).fit(panel)
    net, encoding, T = forecaster.network_, forecaster.encoding_, 2 * CONTEXT
    series, cutoffs = np.arange(3), panel.first + 50
    batch = Windows(panel, T, HORIZON, encoding).gather(series, panel.starts + 50)
    assert (batch.covariates.late > 0).any()
    nothing = torch.empty(3, T, 0)
    with torch.inference_mode():
        together = net.scaled(batch.values[:, :T], batch.cutoffs, covariates=batch.covariates).in_units()
        for origin in range(T // P):
            end = (origin + 1) * P
            ordinals = cutoffs - T + end
            known = [
                by_looking(FRAME, encoding, f"s{one}", stamp, end)
                for one, stamp in enumerate(panel.calendar.stamps(ordinals))
            ]
            beside = Covariates(nothing[:, :end], torch.from_numpy(np.stack(known)), nothing[:, 0])
            alone = net.scaled(
                batch.values[:, :end], torch.from_numpy(ordinals), slice(-1, None), covariates=beside
            ).in_units()
            torch.testing.assert_close(together[:, origin], alone[:, 0], rtol=1e-4, atol=1e-4)


def test_what_a_training_window_holds_of_later_issues_moves_no_earlier_origin():
    """The losses of a fit: at each origin they are the same whatever was issued after it."""
    panel, day = check_frame(FRAME, roles=ROLES), 50
    forecaster = network(training=Training(steps=20)).fit(panel)
    other = check_frame(wild(FRAME, FRAME["issued"] > DAY), roles=ROLES)

    def forecasts(of):
        batch = Windows(of, 2 * CONTEXT, HORIZON, forecaster.encoding_).gather(np.arange(3), panel.starts + day)
        with torch.inference_mode():
            return forecaster.network_.scaled(
                batch.values[:, : 2 * CONTEXT], batch.cutoffs, covariates=batch.covariates
            ).in_units()

    one, two = forecasts(panel), forecasts(other)
    origins = day - 2 * CONTEXT + P * np.arange(1, 2 * CONTEXT // P + 1)  # their days
    before = int((origins <= 40).sum())
    assert 0 < before < len(origins)
    assert torch.equal(one[:, :before], two[:, :before])
    assert not torch.equal(one[:, before:], two[:, before:])


# -- from a cutoff -----------------------------------------------------------------------------------------------------

some = pytest.mark.parametrize(
    ("backbone", "decoder"),
    [
        pytest.param(*both, id="-".join(both), marks=() if both in _QUICK else pytest.mark.slow)
        for both in product(BACKBONES, DECODERS)
    ],
)


@some
def test_what_was_issued_after_a_cutoff_moves_nothing_and_what_was_before_moves_its_step(backbone, decoder):
    forecaster = network(backbone, decoder).fit(FRAME, roles=ROLES)
    expected = forecaster.predict(FRAME, cutoffs=[DAY])
    same(forecaster.predict(wild(FRAME, FRAME["issued"] > DAY), cutoffs=[DAY]), expected)
    same(forecaster.predict(wild(FRAME, FRAME["issued"] > DAY).assign(issued=FRAME["issued"]), cutoffs=[DAY]), expected)
    for step in range(1, HORIZON + 1):
        of_step = (FRAME["ds"] == DAY + pd.Timedelta(days=step)) & (FRAME["issued"] <= DAY)
        moved = numbers(expected) != numbers(forecaster.predict(wild(FRAME, of_step), cutoffs=[DAY]))
        told = expected["unique_id"].isin(FRAME.loc[of_step, "unique_id"]) & (expected["step"] == step)
        assert moved[told].any(axis=1).all()


def test_what_always_comes_late_is_read_as_a_delayed_column_is():
    frame = FRAME.assign(issued=FRAME["ds"] + pd.Timedelta(hours=30))
    late, delayed = (
        check_frame(frame, roles=roles)
        for roles in (Roles(forecasted={"warmth": "issued"}), Roles(delayed={"warmth": 2}))
    )
    ends = torch.from_numpy(late.last)
    read = [
        Encoded(panel, Encoding.of(panel, ())).gather(torch.arange(3), ends, 60, HORIZON) for panel in (late, delayed)
    ]
    assert torch.equal(read[0].at_end().known[:, :60].nan_to_num(-7), read[1].past.nan_to_num(-7))
    assert read[0].at_end().known[:, 60:].isnan().all()


def test_a_value_that_comes_late_is_read_when_it_comes_and_not_before(fitted):
    frame = FRAME.assign(issued=FRAME["ds"] + pd.Timedelta(hours=30))
    other = wild(frame, frame["ds"] == DAY)
    for days, moves in ((0, False), (1, False), (2, True)):
        cutoff = DAY + pd.Timedelta(days=days)
        one, two = (numbers(fitted.predict(of, cutoffs=[cutoff])) for of in (frame, other))
        moved = (one != two).any(axis=1)  # by step: one quantile of many may be the same
        assert moved.all() == moved.any() == moves


@pytest.mark.parametrize("refit", ["every", "never"])
def test_a_backtest_gives_each_fold_what_had_been_issued_at_its_cutoff(refit):
    plan = Plan(horizon=HORIZON, n_folds=2, stride=5, refit=refit)
    cutoff = plan.folds(check_frame(FRAME))[0].stamp
    first = Plan(horizon=HORIZON, cutoffs=[cutoff])

    def of(frame, plan=plan):
        table = backtest(frame, [network()], plan, roles=ROLES).forecasts
        return table[table["cutoff"] == cutoff].filter(regex="^0|mean|prediction").to_numpy()

    expected = of(FRAME)
    assert np.array_equal(of(wild(FRAME, FRAME["issued"] > cutoff)), expected)
    np.testing.assert_allclose(of(FRAME, first), expected, rtol=1e-5)
    assert not np.array_equal(of(wild(FRAME, (FRAME["issued"] <= cutoff) & (FRAME["ds"] > cutoff))), expected)


def test_units_and_categories_of_a_fit_are_those_of_what_had_been_issued():
    end = FRAME["ds"].max()
    later = FRAME["issued"] > end
    assert later.any()
    other = wild(FRAME, later)
    other.loc[later, "sky"] = "green"
    one, two = (Encoding.of(check_frame(frame, roles=ROLES), ()) for frame in (FRAME, other))
    assert [column.name for column in one.known.numbers] == ["price", "warmth"]
    assert [column.issued for column in one.known.numbers] == [False, True]
    assert one.known.numbers == two.known.numbers
    assert set(one.known.categories[0].values) == set(two.known.categories[0].values) == {"grey", "blue", "black"}


def test_a_network_is_kept_with_what_it_reads(fitted, tmp_path):
    fitted.save(tmp_path)
    same(Forecaster.load(tmp_path).predict(future=FUTURE), fitted.predict(future=FUTURE))


@pytest.mark.slow
@pytest.mark.parametrize("backbone", ["lstm", "graph_transformer"])
def test_an_exported_network_says_what_predict_says(backbone, tmp_path):
    network(backbone).fit(FRAME, roles=ROLES).export(tmp_path / "network.pt2", "torch")  # compares both by itself


# -- the future --------------------------------------------------------------------------------------------------------


def test_the_rows_to_fill_in_have_both_columns(fitted):
    rows = fitted.future_frame()
    assert list(rows) == ["unique_id", "ds", "price", "warmth", "issued", "sky"]
    assert rows["issued"].dtype == rows["ds"].dtype
    assert rows.iloc[:, 2:].isna().all().all()
    filled = rows[["unique_id", "ds"]].merge(FUTURE, on=["unique_id", "ds"])
    same(fitted.predict(future=filled), fitted.predict(future=WHOLE))


def test_what_lies_ahead_is_read_if_it_had_been_issued_where_the_series_ends(fitted):
    ends = FUTURE["unique_id"].map(FRAME.groupby("unique_id")["ds"].max())
    expected = fitted.predict(future=FUTURE)
    same(fitted.predict(future=wild(FUTURE, FUTURE["issued"] > ends)), expected)
    before = FUTURE["issued"] <= ends
    assert 3 < before.sum() < len(FUTURE)
    moved = (numbers(fitted.predict(future=wild(FUTURE, before))) != numbers(expected)).any(axis=1)
    assert (moved == before).all()


def test_forecasts_may_be_missing_ahead_where_known_values_may_not(fitted):
    nothing = FUTURE.assign(warmth=np.nan, sky=None, issued=pd.NaT)
    assert np.isfinite(numbers(fitted.predict(future=nothing))).all()
    with pytest.raises(FrameError, match="series 's0': `price` is not known at 2024-03-25 00:00:00"):
        fitted.predict(future=FUTURE.assign(price=np.nan))
    with pytest.raises(FrameError, match="`future`: column `issued` is missing in series 's0' at 2024-03-25 00:00:00"):
        fitted.predict(future=FUTURE.assign(warmth=1.0, issued=pd.NaT))
    with pytest.raises(FrameError, match="`future`: column `issued` has the role issue time but is not there"):
        fitted.predict(future=FUTURE.drop(columns="issued"))
    alone = network().fit(FRAME, roles=Roles(forecasted=ROLES.forecasted))
    assert np.isfinite(numbers(alone.predict())).all()  # nobody need say anything of the future


def test_a_plan_that_was_made_too_late_is_not_read_in_silence(fitted):
    late = FUTURE.assign(issued=pd.Timestamp("2024-04-01 10:30"))
    told = (
        "of `warmth` nothing is read, as all of it was issued after the end of its series: for series 's0', which ends "
        "at 2024-03-24 00:00:00, `issued` tells that the first may be read from 2024-04-02 00:00:00 on"
    )
    with pytest.warns(UserWarning, match=told), pytest.warns(UserWarning, match="of `sky` nothing"):
        found = fitted.predict(future=late)
    same(found, fitted.predict(future=FUTURE.assign(warmth=np.nan, sky=None, issued=pd.NaT)))


def test_what_was_a_forecast_at_the_fit_has_to_be_one_later(fitted):
    panel = check_frame(FRAME, roles=Roles(known=("price", "warmth", "sky")))
    with pytest.raises(FrameError, match="column `warmth` was forecasted at fit and is known here"):
        fitted.predict(panel, cutoffs=[DAY])
    with pytest.raises(FrameError, match="column `warmth` was known at fit and is forecasted here"):
        network().fit(panel).predict(check_frame(FRAME, roles=ROLES), cutoffs=[DAY])


# -- streams -----------------------------------------------------------------------------------------------------------

ON_TIME = frame_of(latest=0)


@pytest.mark.parametrize("decoder", [name for name, kind in DECODERS.items() if kind.streams])
def test_a_stream_reads_ahead_what_had_been_issued_as_if_it_began_later(decoder):
    frame = ON_TIME[ON_TIME["ds"] <= "2024-03-10"]
    history = frame[frame["ds"] <= "2024-03-01"]
    forecaster = network("tcn", decoder, context_length=84).fit(history, roles=ROLES)
    stream = forecaster.stream(history)
    for day in pd.date_range("2024-03-02", "2024-03-04"):
        known = frame[frame["ds"] <= day]
        found = stream.update(frame[frame["ds"] == day], future=frame)
        same(found, forecaster.predict(known, future=frame), rtol=3e-3 if decoder == "recursive" else 1e-4)
        same(stream.predict(future=frame), found, rtol=1e-5)
        other = wild(frame, (frame["ds"] > day) & (frame["issued"] > day))
        same(stream.predict(future=other), stream.predict(future=frame))


def test_a_stream_refuses_what_comes_after_its_own_time():
    told = "column `warmth`: series 's0' at .* was issued after it, as `issued` tells, and a stream takes each row once"
    with pytest.raises(FrameError, match=told):
        network().fit(FRAME, roles=ROLES).stream()
    stream = network().fit(ON_TIME.groupby("unique_id").head(60), roles=ROLES).stream()
    row = ON_TIME.groupby("unique_id").nth(60)
    row = row[row["unique_id"] == "s0"]
    late = row.assign(warmth=1.0, sky="grey", issued=row["ds"] + pd.Timedelta(hours=1))
    with pytest.raises(FrameError, match=told):
        stream.update(late, future=ON_TIME)
    missing = late.assign(warmth=np.nan, sky=None, issued=pd.NaT)
    assert np.isfinite(numbers(stream.update(missing, future=ON_TIME))).all()


# -- worth -------------------------------------------------------------------------------------------------------------


def driven(length=300, seed=0) -> pd.DataFrame:
    """Sales that follow the warmth of their day; its forecast, made 6 days before, and an oracle, told a day late."""
    rng, parts = np.random.default_rng(seed), []
    for name in ("a", "b"):
        ds = pd.date_range("2022-01-01", periods=length)
        warmth = rng.normal(size=length)
        parts.append(
            pd.DataFrame(
                {
                    "unique_id": name,
                    "ds": ds,
                    "y": 10 + 3 * warmth + rng.normal(0, 0.3, length),
                    "told": warmth + rng.normal(0, 0.3, length),
                    "issued": ds - pd.Timedelta(days=HORIZON),
                    "oracle": warmth,
                    "afterwards": ds + pd.Timedelta(hours=1),
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def test_forecasts_help_and_an_oracle_that_speaks_afterwards_does_not():
    frame, plan = driven(length=200), Plan(horizon=HORIZON, n_folds=4, refit="never")
    training = Training(steps=20, learning_rate=5e-3)
    roles = {
        "blind": None,
        "told": Roles(forecasted={"told": "issued"}),
        "oracle": Roles(forecasted={"oracle": "afterwards"}),
        "leak": Roles(known=("oracle",)),
    }
    mae = {
        name: score(backtest(frame, [network(training=training)], plan, roles=one), ["mae"])["mae"].iloc[0]
        for name, one in roles.items()
    }
    assert mae["told"] < 0.7 * mae["blind"]
    assert mae["oracle"] > 0.8 * mae["blind"]
    assert mae["leak"] < 0.7 * mae["blind"]  # there would have been something to see


@pytest.mark.slow
def test_a_network_that_reads_forecasts_keeps_the_contract():
    frame = frame_of((150, 150, 150), latest=1)
    table = check_forecaster(network(training=Training(steps=2)), frame, roles=ROLES)
    assert len(table) > 10


def test_a_check_of_a_forecaster_that_reads_a_forecast_before_it_was_issued_fails():
    frame = frame_of((150, 150, 150))
    with pytest.raises(AssertionError, match="`rows_after_a_cutoff_do_not_matter`"):
        check_forecaster(ReadsAhead(HORIZON), frame, roles=ROLES, gaps="mask")


# -- pictures, and frames of other kinds -------------------------------------------------------------------------------


def test_a_picture_counts_the_steps_ahead_of_which_a_forecast_had_been_issued():
    from forecast.plots import plot_covariates

    figure = plot_covariates(FRAME, unique_id="s0", cutoff=DAY, horizon=HORIZON, roles=ROLES)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    own = FRAME[(FRAME["unique_id"] == "s0") & (FRAME["ds"] > DAY) & (FRAME["issued"] <= DAY)]
    there = int((own["ds"] <= DAY + pd.Timedelta(days=HORIZON)).sum())
    assert 0 < there < HORIZON
    assert f"warmth: forecasted, {there} of {HORIZON} steps ahead" in titles
    assert f"price: known, all of {HORIZON} steps ahead" in titles


def test_a_frame_of_polars_is_forecast_as_one_of_pandas(fitted):
    pl = pytest.importorskip("polars")

    def as_polars(frame):
        return pl.DataFrame(
            {name: frame[name].astype(object).where(frame[name].notna(), None).to_list() for name in frame}
        )

    other = network().fit(as_polars(FRAME), roles=ROLES)
    rows = other.future_frame()
    assert rows.schema["issued"] == rows.schema["ds"]
    assert rows["issued"].null_count() == len(rows)
    found = other.predict(future=as_polars(FUTURE))
    np.testing.assert_allclose(found["0.9"].to_numpy(), fitted.predict(future=FUTURE)["0.9"].to_numpy(), rtol=1e-6)
