import numpy as np
import pandas as pd
import pytest

from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive, Theta, WindowAverage
from forecast.evaluation import Ledger, Plan, backtest, groups, label_of, run_group, runs, score
from forecast.evaluation.actuals import points_of
from forecast.evaluation.ledger.tables import scales_of
from forecast.forecaster import DECILES, Forecast, Forecaster
from forecast.frame import check_frame
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES, DECODERS

BUILT_IN = [Naive, SeasonalNaive, Drift, WindowAverage, Theta, NLinear]


def frame_of(lengths=(120, 90), begins=(0, 30), freq="h", zone=None, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for place, (length, begin) in enumerate(zip(lengths, begins, strict=True)):
        t = np.arange(begin, begin + length)
        ds = t if freq is None else pd.date_range("2024-03-20", periods=begin + length, freq=freq, tz=zone)[begin:]
        y = 10 * (place + 1) + 3 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 1, length)
        rows.append(pd.DataFrame({"unique_id": f"s{place}", "ds": ds, "y": y}))
    return pd.concat(rows, ignore_index=True)


class Own(Forecaster):
    """What the tests' own forecasters share: the last value at every step, unless told otherwise."""

    family = "own"

    def __init__(self, horizon, *, season_length=None, quantile_levels=DECILES):
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel):
        self.rows_ = int(panel.lengths.sum())

    def _points(self, panel, origins):
        return np.repeat(panel.values[origins.ends - 1][:, None], self.horizon, axis=1)

    def _forecast(self, panel, origins):
        points = self._points(panel, origins)
        return Forecast(np.repeat(points[:, :, None], len(self.quantile_levels), axis=2), points)


class Seeded(Own):
    """Adds noise of its seed, and remembers what it was given."""

    calls = []  # noqa: RUF012

    def __init__(self, horizon, *, seed=0, season_length=None, quantile_levels=DECILES):
        super().__init__(horizon, season_length=season_length, quantile_levels=quantile_levels)
        self.seed = seed

    def _fit(self, panel):
        super()._fit(panel)
        Seeded.calls.append((self.seed, panel))
        self.noise_ = np.random.default_rng(self.seed).normal(size=self.horizon).astype("float32")
        self.parameters_ = 7

    def _points(self, panel, origins):
        return super()._points(panel, origins) + self.noise_


# -- the numbers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("refit", ["every", "never", 2])
@pytest.mark.parametrize("make", BUILT_IN)
def test_every_row_is_what_a_forecaster_fitted_by_hand_says(make, refit):
    frame = frame_of()
    plan = Plan(horizon=6, n_folds=3, refit=refit)
    ledger = backtest(frame, [make(6)], plan)
    panel = check_frame(frame)
    parts = []
    for fold in plan.folds(panel):
        fitted = make(6).fit(panel.until(fold.train_end).to_frame())
        part = fitted.predict(panel.until(fold.cutoff).to_frame())
        parts.append(part.assign(fit_cutoff=panel.calendar.stamp(fold.train_end)))
    twin = pd.concat(parts).sort_values(["unique_id", "cutoff", "step"], ignore_index=True)
    mine = ledger.forecasts.sort_values(["unique_id", "cutoff", "step"], ignore_index=True)
    pd.testing.assert_frame_equal(mine[twin.columns], twin, check_dtype=False, rtol=1e-4, atol=1e-4)
    actual = twin[["unique_id", "ds"]].merge(frame, how="left", on=["unique_id", "ds"])["y"]
    np.testing.assert_allclose(mine["y"], actual, rtol=1e-6)


def test_a_sliding_window_fits_on_its_rows_only():
    frame = frame_of()
    Seeded.calls.clear()
    backtest(frame, [Seeded(4)], Plan(horizon=4, n_folds=2, window=10))
    panel = check_frame(frame)
    for (_, seen), cutoff in zip(Seeded.calls, (112 - 1, 116 - 1), strict=True):
        expected = frame[frame["ds"].isin(panel.calendar.stamps(panel.first[0] + np.arange(cutoff - 9, cutoff + 1)))]
        np.testing.assert_allclose(seen.to_frame()["y"], expected["y"], rtol=1e-6)


@pytest.mark.parametrize(("refit", "fits"), [("every", 4), ("never", 1), (3, 2)])
def test_it_fits_as_often_as_the_plan_says(refit, fits):
    Seeded.calls.clear()
    ledger = backtest(frame_of(), [Seeded(4)], Plan(horizon=4, n_folds=4, refit=refit))
    assert len(Seeded.calls) == len(ledger.fits) == fits
    assert ledger.fits["forecasts"].sum() == 4 * 2


def test_forecasters_with_a_seed_run_with_each_and_the_others_once_as_seed_0():
    plan = Plan(horizon=4, n_folds=2, refit="never")
    ledger = backtest(frame_of(), [Naive(4), Seeded(4)], plan, seeds=(3, 5))
    assert set(zip(ledger.forecasts["forecaster"], ledger.forecasts["seed"], strict=True)) == {
        ("Naive", 0),
        ("Seeded", 3),
        ("Seeded", 5),
    }
    assert score(ledger)["points"].tolist() == [16, 16]
    noise = [np.random.default_rng(seed).normal(size=4) for seed in (3, 5)]
    one, other = (ledger.forecasts["mean"][ledger.forecasts["seed"] == seed].to_numpy() for seed in (3, 5))
    np.testing.assert_allclose(one - other, np.tile(noise[0] - noise[1], 4), atol=1e-4)


def test_the_forecasters_given_are_patterns_and_stay_unfitted():
    pattern = Seeded(4, seed=9)
    backtest(frame_of(), [pattern], Plan(horizon=4, n_folds=2))
    assert pattern.seed == 9
    assert not hasattr(pattern, "panel_")


def test_fits_tell_what_was_fitted_and_what_it_cost():
    fits = backtest(frame_of(), {"mine": Seeded(4), "rule": Naive(4)}, Plan(horizon=4, n_folds=2)).fits
    assert fits["forecaster"].tolist() == ["mine", "mine", "rule", "rule"]
    assert fits["family"].tolist() == ["own", "own", "baseline", "baseline"]
    assert (fits[["backbone", "decoder"]] == "").all(axis=None)
    assert fits["parameters"].tolist() == [7, 7, 0, 0]
    assert (fits[["fit_seconds", "predict_seconds"]] > 0).all(axis=None)


def test_series_that_end_within_the_horizon_keep_the_steps_they_have():
    ledger = backtest(frame_of(lengths=(60, 57), begins=(0, 0)), [Naive(4)], Plan(horizon=4, n_folds=1))
    counts = ledger.forecasts.groupby("unique_id")["y"].agg(["size", "count"])
    assert counts.to_numpy().tolist() == [[4, 4], [4, 1]]


def test_values_that_were_missing_or_filled_are_forecast_but_not_scored():
    frame = frame_of(lengths=(60,), begins=(0,))
    frame.loc[[57, 59], "y"] = np.nan
    for gaps in ("mask", "fill"):
        ledger = backtest(frame, [Naive(4)], Plan(horizon=4, n_folds=1), gaps=gaps)
        assert ledger.forecasts["y"].isna().tolist() == [False, True, False, True]
        assert ledger.forecasts["prediction"].notna().all()


def test_a_series_that_begins_after_the_fit_is_forecast_from_its_own_history():
    frame = frame_of(lengths=(120, 30), begins=(0, 90))
    ledger = backtest(frame, [Naive(4), SeasonalNaive(4), NLinear(4)], Plan(horizon=4, n_folds=8, refit="never"))
    late = ledger.forecasts.query("unique_id == 's1' and forecaster == 'Naive'")
    assert (late["fit_cutoff"] < frame["ds"].iloc[-30]).all()
    assert (late["0.9"] > late["0.1"]).sum() >= len(late) - 4  # one observed value alone has no spread


@pytest.mark.parametrize(("freq", "zone"), [("D", "Europe/Paris"), ("h", "Europe/Paris"), ("MS", None), (None, None)])
def test_stamps_come_in_the_zone_of_the_frame_and_step_by_its_calendar(freq, zone):
    frame = frame_of(lengths=(60, 50), begins=(0, 10), freq=freq, zone=zone)
    ledger = backtest(frame, [SeasonalNaive(5)], Plan(horizon=5, n_folds=3))
    known = set(frame["ds"])
    assert ledger.forecasts["ds"].isin(known).all()
    assert ledger.forecasts["ds"].dtype == frame["ds"].dtype
    assert ledger.scales["cutoff"].dtype == ledger.forecasts["cutoff"].dtype == frame["ds"].dtype


# -- groups ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("refit", ["every", "never", 2])
def test_the_parts_of_groups_join_to_the_whole(refit):
    frame, forecasters = frame_of(), [Naive(4), Seeded(4)]
    plan = Plan(horizon=4, n_folds=5, refit=refit)
    panel = check_frame(frame)
    parts = [
        run_group(panel, forecaster, label, seed, plan, group)
        for label, forecaster, seed in runs(forecasters, (0, 1))
        for group in groups(plan.folds(panel))
    ]
    joined, whole = Ledger.concat(parts[::-1]), backtest(frame, forecasters, plan, seeds=(0, 1))
    for name, keys in (
        ("forecasts", ["forecaster", "seed", "unique_id", "cutoff", "step"]),
        ("scales", ["unique_id", "cutoff"]),
        ("fits", ["forecaster", "seed", "fit_cutoff"]),
    ):
        one, other = (getattr(x, name).sort_values(keys, ignore_index=True) for x in (joined, whole))
        seconds = [column for column in one if column.endswith("_seconds")]
        pd.testing.assert_frame_equal(one.drop(columns=seconds), other.drop(columns=seconds))


def test_groups_are_the_folds_that_share_a_fit():
    folds = Plan(horizon=4, n_folds=5, refit=2).folds(check_frame(frame_of()))
    assert [[fold.number for fold in group] for group in groups(folds)] == [[0, 1], [2, 3], [4]]


def test_folds_of_two_fits_are_not_a_group():
    panel, plan = check_frame(frame_of()), Plan(horizon=4, n_folds=2)
    with pytest.raises(ValueError, match="`folds` do not share a fit"):
        run_group(panel, Naive(4), "Naive", 0, plan, plan.folds(panel))


def test_progress_is_told_after_every_group():
    told = []
    plan = Plan(horizon=4, n_folds=2)
    backtest(frame_of(), [Naive(4), Drift(4)], plan, progress=lambda *what: told.append(what))
    assert [done for done, _, _ in told] == [1, 2, 3, 4]
    assert {of for _, of, _ in told} == {4}
    assert told[0][2].startswith("Naive, seed 0, cutoff 2024-03-24")


# -- scales ----------------------------------------------------------------------------------------


def test_scales_are_those_of_a_loop_over_the_history():
    frame = frame_of(lengths=(80, 50, 30), begins=(0, 30, 50))
    frame.loc[[5, 6, 40, 100], "y"] = np.nan
    panel = check_frame(frame)
    folds = Plan(horizon=3, n_folds=9).folds(panel)
    table = scales_of(points_of(panel, folds, 3, 7)).set_index(["unique_id", "cutoff"])
    assert len(table) == sum(len(fold.series) for fold in folds)
    for fold in folds:
        for s in fold.series:
            history = frame[(frame["unique_id"] == panel.ids[s]) & (frame["ds"] <= fold.stamp)]["y"].astype("float32")
            change = history.astype("float64").diff(7).abs()
            twin = [change.mean(), (change**2).mean()]
            np.testing.assert_allclose(table.loc[(panel.ids[s], fold.stamp)], twin, rtol=1e-9)


def test_a_scale_without_a_pair_is_nan_and_that_of_a_constant_series_is_zero():
    frame = frame_of(lengths=(60, 10), begins=(0, 50))
    frame.loc[frame["unique_id"] == "s0", "y"] = 5.0
    panel = check_frame(frame)
    table = scales_of(points_of(panel, Plan(horizon=4, n_folds=1).folds(panel), 4, 24))
    assert table["absolute"].tolist()[0] == table["squared"].tolist()[0] == 0
    assert table[["absolute", "squared"]].isna().all(axis=1).tolist() == [False, True]


def test_a_large_series_does_not_blur_the_scale_of_a_small_one():
    frame = frame_of(lengths=(60, 60), begins=(0, 0))
    small = frame["unique_id"] == "s1"
    panel = check_frame(frame.assign(y=frame["y"].where(small, frame["y"] * 1e15).mask(small, frame["y"] * 1e-12)))
    alone = check_frame(frame[small].assign(y=frame["y"][small] * 1e-12))
    plan = Plan(horizon=4, n_folds=1)
    both, one = (scales_of(points_of(p, plan.folds(p), 4, 24)).query("unique_id == 's1'") for p in (panel, alone))
    assert both["squared"].item() == one["squared"].item() > 0


def test_the_season_of_the_plan_counts_before_that_of_the_calendar():
    assert backtest(frame_of(), [Naive(4)], Plan(horizon=4, n_folds=1)).season_length == 24
    assert backtest(frame_of(), [Naive(4)], Plan(horizon=4, n_folds=1, season_length=3)).season_length == 3


# -- leaks -----------------------------------------------------------------------------------------


class ReadsOn(Own):
    """A cheat that reads the row after its origin, where there is one."""

    def _points(self, panel, origins):
        after = np.minimum(origins.ends, panel.stops[origins.series] - 1)
        return np.repeat(panel.values[after][:, None], self.horizon, axis=1)


class ReadsPastTheEnd(Own):
    """A cheat that reads what lies behind a panel's own rows."""

    def _fit(self, panel):
        assert len(panel.values) == panel.stops[-1] == panel.lengths.sum()

    def _points(self, panel, origins):
        assert len(panel.values) == panel.stops[-1] == panel.lengths.sum()
        return super()._points(panel, origins)


class CentresOnAll(Own):
    """A cheat that uses the mean of all rows of a call."""

    def _points(self, panel, origins):
        return super()._points(panel, origins) * 0 + panel.values.mean()


class Restless(Own):
    """Never says the same twice."""

    def _points(self, panel, origins):
        self.count_ = getattr(self, "count_", 0) + 1
        return super()._points(panel, origins) + self.count_


@pytest.mark.parametrize("cheat", [ReadsOn, CentresOnAll, Restless])
def test_a_forecaster_that_looks_ahead_among_folds_of_one_fit_is_caught(cheat):
    with pytest.raises(
        ValueError, match=f"forecaster '{cheat.__name__}' looks ahead: .* series 's0', cutoff 2024-03-24"
    ):
        backtest(frame_of(), [cheat(4)], Plan(horizon=4, n_folds=3, refit="never"))


def test_there_is_nothing_to_read_after_the_cutoff_of_a_fold_that_fits():
    plan = Plan(horizon=4, n_folds=3)
    honest, cheat = (backtest(frame_of(), [kind(4)], plan).forecasts for kind in (Own, ReadsOn))
    pd.testing.assert_frame_equal(honest.drop(columns="forecaster"), cheat.drop(columns="forecaster"))
    backtest(frame_of(), [ReadsPastTheEnd(4)], Plan(horizon=4, n_folds=3, refit=2, window=20))


@pytest.mark.parametrize("make", BUILT_IN)
def test_forecasts_at_a_cutoff_do_not_depend_on_rows_after_it(make):
    frame = frame_of()
    plan = Plan(horizon=6, n_folds=4, refit="never")
    panel = check_frame(frame)
    cutoff = plan.folds(panel)[1].stamp
    changed = frame.assign(y=frame["y"].mask(frame["ds"] > cutoff, 1e4))
    one, other = (backtest(x, [make(6)], plan).forecasts for x in (frame, changed))
    one, other = one[one["cutoff"] <= cutoff], other[other["cutoff"] <= cutoff]
    pd.testing.assert_frame_equal(one.drop(columns="y"), other.drop(columns="y"), rtol=1e-5)
    assert len(one) == 2 * 2 * 6


# -- refusals --------------------------------------------------------------------------------------


class Fails(Own):
    def _points(self, panel, origins):
        points = super()._points(panel, origins)
        points[-1, 2] = np.nan
        return points


def test_a_forecast_that_is_no_number_is_named_and_not_skipped():
    message = "forecaster 'Fails', seed 0, series 's1', cutoff 2024-03-24 19:00:00, step 3"
    with pytest.raises(ValueError, match=message):
        backtest(frame_of(), [Fails(4)], Plan(horizon=4, n_folds=1))


def test_an_error_in_a_fit_says_where_in_the_backtest_it_was():
    with pytest.raises(ValueError, match="a context of 200") as caught:
        backtest(frame_of(), {"long": NLinear(4, context_length=200)}, Plan(horizon=4, n_folds=2))
    assert caught.value.__notes__ == ["(in the backtest of 'long', seed 0, fold 0, fitted up to 2024-03-24 15:00:00)"]


@pytest.mark.parametrize(
    ("forecasters", "arguments", "error", "message"),
    [
        ([Naive(5)], {}, ValueError, "`horizon`: forecaster 'Naive' has 5 and the plan 4"),
        (
            [Naive(4), Drift(4, quantile_levels=(0.5,))],
            {},
            ValueError,
            "`quantile_levels`: forecaster 'Drift' has (0.5,)",
        ),
        ([], {}, ValueError, "`forecasters` is empty"),
        ([Naive(4), Naive(4, season_length=2)], {}, ValueError, "'Naive' comes twice; give a mapping"),
        ([Naive], {}, TypeError, "`forecasters` holds <class"),
        (["Naive"], {}, TypeError, "`forecasters` holds 'Naive'; allowed: a Forecaster"),
        (Naive(4), {}, TypeError, "`forecasters` is Naive(horizon=4); allowed: a list"),
        ("Naive", {}, TypeError, "`forecasters` is 'Naive'; allowed: a list"),
        ({3: Naive(4)}, {}, TypeError, "`forecasters` has the label 3; allowed: texts"),
        ({"": Naive(4)}, {}, TypeError, "`forecasters` has the label ''"),
        ([Naive(4, quantile_levels=0.5)], {}, ValueError, "`quantile_levels` is 0.5; allowed: rising numbers"),
        ([Naive(4)], {"seeds": 3}, TypeError, "`seeds` is 3; allowed: a list"),
        ([Naive(4)], {"seeds": (True,)}, ValueError, "`seeds` is (True,)"),
        ([Naive(4)], {"seeds": (-1,)}, ValueError, "each once, none below 0"),
        ([Naive(4)], {"seeds": ()}, ValueError, "`seeds` is ()"),
        ([Naive(4)], {"seeds": (1, 1)}, ValueError, "`seeds` is (1, 1); allowed: one or more whole numbers, each once"),
        ([Naive(4)], {"seeds": (0.5,)}, ValueError, "`seeds` is (0.5,)"),
        ([Naive("4")], {}, ValueError, "`horizon`: forecaster 'Naive' has '4' and the plan 4"),
        ([Naive(4)], {"progress": "bar"}, TypeError, "`progress` is 'bar'; allowed: a function"),
        ([Naive(4)], {"gap": 3}, TypeError, "`gap` is no option of `check_frame`; allowed: freq"),
    ],
)
def test_what_is_not_allowed_is_named(forecasters, arguments, error, message):
    with pytest.raises(error) as caught:
        backtest(frame_of(), forecasters, Plan(horizon=4, n_folds=1), **arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("plan", [None, 4, {"horizon": 4, "n_folds": 1}])
def test_a_backtest_asks_for_a_plan(plan):
    with pytest.raises(TypeError, match=r"`plan` is .*; allowed: a Plan, such as Plan"):
        backtest(frame_of(), [Naive(4)], plan)


def test_another_horizon_is_told_before_anything_is_fitted():
    told = []
    with pytest.raises(ValueError, match="`horizon`: forecaster 'wrong' has 5"):
        backtest(
            frame_of(),
            {"right": Naive(4), "wrong": Naive(5)},
            Plan(horizon=4, n_folds=1),
            progress=lambda *step: told.append(step),
        )
    assert not told


@pytest.mark.parametrize(("name", "kind"), [*BACKBONES.items(), *DECODERS.items()])
def test_a_part_has_one_name_whether_it_is_given_by_name_or_as_a_config(name, kind):
    for part in (name, kind()):
        if name in BACKBONES:
            assert label_of(NeuralForecaster(part, 4)) == f"{name} direct"
        else:
            assert label_of(NeuralForecaster("lstm", 4, decoder=part)) == f"lstm {name}"


def test_labels_come_from_the_class_or_from_backbone_and_decoder():
    class LikeANetwork(Own):
        def __init__(self, backbone, horizon, *, decoder="direct"):
            super().__init__(horizon)
            self.backbone, self.decoder = backbone, decoder

    class ContextVector:
        pass

    class WaveNet:
        name = "wavenet"

    assert label_of(SeasonalNaive(4)) == "SeasonalNaive"
    assert label_of(LikeANetwork("lstm", 4)) == "lstm direct"
    assert label_of(LikeANetwork("lstm", 4, decoder=ContextVector())) == "lstm context_vector"
    assert label_of(LikeANetwork(WaveNet(), 4, decoder=None)) == "wavenet"
    likes = [LikeANetwork("tcn", 4), LikeANetwork(WaveNet(), 4, decoder=ContextVector()), LikeANetwork(None, 4)]
    fits = backtest(frame_of(), likes, Plan(horizon=4, n_folds=1)).fits
    assert fits[["forecaster", "backbone", "decoder"]].to_numpy().tolist() == [
        ["tcn direct", "tcn", "direct"],
        ["wavenet context_vector", "wavenet", "context_vector"],
        ["direct", "", "direct"],
    ]
