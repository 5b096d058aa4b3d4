"""A backtest follows its plan: gaps, rows held back, contexts, cutoffs of each series' own, seeds, fallbacks."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive
from forecast.evaluation import Ledger, Plan, backtest, score
from forecast.forecaster import DECILES, Forecast, Forecaster
from forecast.frame import Roles, check_frame
from forecast.neural import NeuralForecaster
from forecast.training import Training


def frame_of(lengths=(80, 60), begins=(0, 20), seed=0):
    rng = np.random.default_rng(seed)
    parts = []
    for place, (length, begin) in enumerate(zip(lengths, begins, strict=True)):
        t = np.arange(begin, begin + length)
        y = 10 * (place + 1) + 3 * np.sin(2 * np.pi * t / 12) + rng.normal(0, 1, length)
        parts.append(pd.DataFrame({"unique_id": f"s{place}", "ds": t, "y": y}))
    return pd.concat(parts, ignore_index=True)


class Recorder(Forecaster):
    """The last value at every step; remembers what it was given."""

    family = "own"
    fits = []  # noqa: RUF012
    reads = []  # noqa: RUF012

    def __init__(self, horizon, *, season_length=None, quantile_levels=DECILES):
        self.horizon = horizon
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel):
        type(self).fits.append((self, panel))

    def _forecast(self, panel, origins):
        type(self).reads.append((self, panel, origins))
        points = np.repeat(panel.values[origins.ends - 1][:, None], self.horizon, axis=1)
        return Forecast(np.repeat(points[:, :, None], len(self.quantile_levels), axis=2), points)


class Validating(Recorder):
    """Keeps rows for validation itself."""

    validates = True

    def __init__(self, horizon, *, kept=None, free=0, season_length=None, quantile_levels=DECILES):
        super().__init__(horizon, season_length=season_length, quantile_levels=quantile_levels)
        self.kept = kept
        self.free = free

    def holding_back(self, validation, embargo):
        return type(self)(**self.get_params(deep=False) | {"kept": validation, "free": embargo})


class Local(Recorder):
    across_series = False


class Drawn(Recorder):
    """Adds noise of its seed."""

    def __init__(self, horizon, *, seed=0, season_length=None, quantile_levels=DECILES):
        super().__init__(horizon, season_length=season_length, quantile_levels=quantile_levels)
        self.seed = seed

    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        noise = np.float32(np.random.default_rng(self.seed).normal())
        return Forecast(forecast.quantiles + noise, forecast.mean + noise)


@pytest.fixture(autouse=True)
def _forgetting():
    for kind in (Recorder, Validating, Local, Drawn):
        kind.fits, kind.reads = [], []


# -- the gap ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [Naive, SeasonalNaive, Drift, NLinear])
@pytest.mark.parametrize("refit", ["every", "never"])
def test_after_a_gap_stand_the_later_steps_of_a_longer_forecast(make, refit):
    frame = frame_of()
    plan = Plan(horizon=4, n_folds=3, gap=3, refit=refit)
    ledger = backtest(frame, [make(4)], plan)
    panel = check_frame(frame)
    parts = []
    for fold in plan.folds(panel):
        fitted = make(7).fit(panel.until(fold.train_end).to_frame())
        part = fitted.predict(panel.until(fold.cutoff).to_frame())
        parts.append(part[part["step"] > 3].assign(step=part["step"] - 3))
    twin = pd.concat(parts).sort_values(["unique_id", "cutoff", "step"], ignore_index=True)
    mine = ledger.forecasts.sort_values(["unique_id", "cutoff", "step"], ignore_index=True)
    pd.testing.assert_frame_equal(mine[twin.columns], twin, check_dtype=False, rtol=1e-4, atol=1e-4)
    actual = twin[["unique_id", "ds"]].merge(frame, how="left", on=["unique_id", "ds"])["y"]
    np.testing.assert_allclose(mine["y"], actual, rtol=1e-6)
    assert (mine["ds"] == mine["cutoff"] + 3 + mine["step"]).all()


@pytest.mark.parametrize("series", [1, 8])
def test_a_gap_counts_time_steps_and_never_rows(series):
    frame = frame_of(lengths=(80,) * series, begins=(0,) * series)
    ledger = backtest(frame, [Naive(2)], Plan(horizon=2, n_folds=2, gap=12))
    apart = ledger.forecasts["ds"] - ledger.forecasts["cutoff"]
    assert sorted(apart.unique()) == [13, 14]


def test_nothing_in_the_gap_is_read():
    frame = frame_of()
    plan = Plan(horizon=4, cutoffs=[60], gap=6)
    other = frame.assign(y=frame["y"].where(frame["ds"] <= 60, frame["y"] * -50))
    one, two = (backtest(x, [SeasonalNaive(4), NLinear(4)], plan).forecasts for x in (frame, other))
    pd.testing.assert_frame_equal(one.drop(columns="y"), two.drop(columns="y"))


# -- rows held back --------------------------------------------------------------------------------


def test_a_forecaster_that_validates_is_told_how_many_rows_to_keep_and_given_all_up_to_the_cutoff():
    plan = Plan(horizon=4, n_folds=2, validation=9, embargo=2)
    backtest(frame_of(), [Validating(4)], plan)
    assert [(one.kept, one.free, int(panel.last.max())) for one, panel in Validating.fits] == [(9, 2, 71), (9, 2, 75)]


def test_one_that_does_not_learns_from_the_rows_before_them_and_reads_up_to_the_cutoff():
    plan = Plan(horizon=4, n_folds=2, validation=9, embargo=2)
    ledger = backtest(frame_of(), [Recorder(4)], plan)
    assert [int(panel.last.max()) for _, panel in Recorder.fits] == [71 - 9 - 2, 75 - 9 - 2]
    assert [int(panel.last.max()) for _, panel, _ in Recorder.reads] == [71, 75]
    assert ledger.fits["fit_cutoff"].tolist() == [71, 75]


def test_without_validation_in_the_plan_nobody_is_told_anything_but_the_embargo():
    backtest(frame_of(), [Validating(4, kept=5)], Plan(horizon=4, n_folds=1))
    backtest(frame_of(), [Validating(4, kept=5)], Plan(horizon=4, n_folds=1, embargo=3))
    assert [(one.kept, one.free) for one, _ in Validating.fits] == [(5, 0), (None, 3)]


def test_a_network_takes_the_rows_of_validation_from_the_plan():
    network = NeuralForecaster("lstm", 4, training=Training(steps=7, validation_length=20))
    told = network.holding_back(9, 2)
    assert (told.training.validation_length, told.training.embargo, told.training.steps) == (9, 2, 7)
    assert network.holding_back(None, 2).training.validation_length == 20
    assert network.training == Training(steps=7, validation_length=20)


def test_a_forecaster_that_keeps_no_rows_says_so():
    with pytest.raises(TypeError, match="Naive keeps no rows for validation: fit it on those before them alone"):
        Naive(4).holding_back(9, 2)


def test_values_of_the_embargo_reach_a_fit_of_a_network_by_no_label():
    frame = frame_of(lengths=(80,), begins=(0,))
    training = Training(steps=3, validations=1)
    plan = Plan(horizon=4, cutoffs=[70], validation=0, embargo=6)
    network = NeuralForecaster("identity", 4, context_length=12, patch_length=4, training=training)
    fits = []
    for change in (0.0, 50.0):
        y = frame["y"].where((frame["ds"] <= 64) | (frame["ds"] > 70), frame["y"] + change)
        fold = plan.folds(check_frame(frame.assign(y=y)))[0]
        panel = fold.rows(check_frame(frame.assign(y=y)), fold.train_start, fold.fit_end)
        fitted = network.holding_back(plan.held_back, plan.embargo).fit(panel)
        fits.append([weight.numpy() for weight in fitted.network_.state_dict().values()])
    for one, other in zip(*fits, strict=True):
        np.testing.assert_array_equal(one, other)


# -- the context -----------------------------------------------------------------------------------


@pytest.mark.parametrize("refit", ["every", "never"])
def test_rows_before_the_context_are_not_there_to_be_read(refit):
    backtest(frame_of(), [Recorder(4)], Plan(horizon=4, n_folds=3, context=10, refit=refit))
    assert [(int(x.first.min()), int(x.last.max()), len(x.values)) for _, x, _ in Recorder.reads] == [
        (58, 67, 20),
        (62, 71, 20),
        (66, 75, 20),
    ]


def test_a_context_as_long_as_what_is_read_changes_nothing():
    frame, plan = frame_of(), {"horizon": 4, "n_folds": 5, "refit": 2}
    whole, cut = (backtest(frame, [NLinear(4, context_length=12)], Plan(**plan, context=c)) for c in (None, 12))
    np.testing.assert_allclose(whole.runs[0].quantiles, cut.runs[0].quantiles, rtol=1e-5, atol=1e-5)
    assert cut.fits["context"].tolist() == [12, 12, 12]


# -- cutoffs of each series' own -------------------------------------------------------------------


@pytest.mark.parametrize("refit", ["every", "never"])
def test_each_series_is_forecast_from_cutoffs_of_its_own(refit):
    frame = frame_of(lengths=(80, 40, 55), begins=(0, 5, 20))  # the last rows are 79, 44, 74
    plan = Plan(horizon=4, n_folds=2, align="ends", gap=1, refit=refit)
    ledger = backtest(frame, [Local(4)], plan)
    table = ledger.forecasts
    assert table.groupby("unique_id")["cutoff"].unique().map(list).to_dict() == {
        "s0": [70, 74],
        "s1": [35, 39],
        "s2": [65, 69],
    }
    y = frame.set_index(["unique_id", "ds"])["y"]
    np.testing.assert_allclose(table["y"], y.loc[list(zip(table["unique_id"], table["ds"], strict=True))], rtol=1e-6)
    last = y.loc[list(zip(table["unique_id"], table["cutoff"], strict=True))]
    np.testing.assert_allclose(table["prediction"], last, rtol=1e-6)
    assert ledger.points.fold.tolist() == [0, 1] * 3
    for (_, panel), back in zip(Local.fits, (9, 5), strict=False):
        assert panel.last.tolist() == [79 - back, 44 - back, 74 - back]


def test_one_that_learns_across_series_is_refused_where_they_end_at_different_dates():
    plan = {"horizon": 4, "n_folds": 2, "align": "ends"}
    message = "`align` is 'ends' and series end at different dates, up to 35 steps apart; forecaster 'NLinear'"
    with pytest.raises(ValueError, match=message):
        backtest(frame_of((80, 40), (0, 5)), [SeasonalNaive(4), NLinear(4)], Plan(**plan))
    allowed = Plan(**plan, lookahead_across_series=True)
    assert score(backtest(frame_of((80, 40), (0, 5)), [NLinear(4)], allowed))["points"].item() == 16
    assert score(backtest(frame_of((80, 40), (0, 40)), [NLinear(4)], Plan(**plan)))["points"].item() == 16


def test_the_error_of_each_series_own_cutoffs_is_scaled_by_its_history_up_to_them():
    frame = frame_of((80, 40), (0, 5))
    ledger = backtest(frame, [Naive(4)], Plan(horizon=4, n_folds=1, align="ends", season_length=3))
    for name, cutoff, absolute in ledger.scales[["unique_id", "cutoff", "absolute"]].itertuples(index=False):
        history = frame[(frame["unique_id"] == name) & (frame["ds"] <= cutoff)]["y"].astype("float32")
        np.testing.assert_allclose(absolute, history.astype("float64").diff(3).abs().mean(), rtol=1e-9)


# -- seeds, order, processes -----------------------------------------------------------------------


def test_the_first_fit_has_the_seed_of_the_run_and_each_other_one_of_its_own():
    plan = Plan(horizon=4, n_folds=4, refit=2)
    backtest(frame_of(), [Drawn(4)], plan, seeds=(3, 5))
    seeds = [one.seed for one, _ in Drawn.fits]
    assert (seeds[0], seeds[2]) == (3, 5)
    assert len(set(seeds)) == 4
    backtest(frame_of(), [Drawn(4)], plan, seeds=(5,))
    assert [one.seed for one, _ in Drawn.fits][4:] == seeds[2:]


# Computes one of the groups of a backtest from scratch; a text, so that another process has it too.
PART_OF = """
import sys
import numpy as np, pandas as pd
from forecast.baselines import NLinear, SeasonalNaive
from forecast.evaluation import Plan, groups, run_group, runs
from forecast.forecaster import DECILES, Forecast
from forecast.frame import check_frame

class Drawn(SeasonalNaive):
    def __init__(self, horizon, *, seed=0, season_length=None, quantile_levels=DECILES):
        super().__init__(horizon, season_length=season_length, quantile_levels=quantile_levels)
        self.seed = seed
    def _forecast(self, panel, origins):
        said = super()._forecast(panel, origins)
        noise = np.float32(np.random.default_rng(self.seed).normal())
        return Forecast(said.quantiles + noise, said.mean + noise)

def part_of(number, shuffled=False):
    t = np.arange(80)
    rng = np.random.default_rng(0)
    frame = pd.concat([pd.DataFrame({"unique_id": name, "ds": t, "y": rng.normal(size=80)}) for name in "bca"])
    frame = frame[(frame["unique_id"] != "c") | (frame["ds"] > 20)]
    if shuffled:  # the latest rows first, one series after another
        frame = frame.sort_values("ds", ascending=False, kind="stable")
    panel = check_frame(frame, unsorted="sort")
    plan = Plan(horizon=4, n_folds=5, refit=2, gap=2)
    work = [(run, group) for run in runs([NLinear(4), Drawn(4)], (0, 1)) for group in groups(plan.folds(panel))]
    (label, forecaster, seed), group = work[number]
    return run_group(panel, forecaster, label, seed, plan, group)

for number in sys.argv[2:]:
    part_of(int(number)).write(f"{sys.argv[1]}/{number}")
"""
GROUPS = 9


@pytest.fixture(scope="module")
def part_of():
    names = {}
    exec(PART_OF.rpartition("for number")[0], names)
    return names["part_of"]


@pytest.fixture(scope="module")
def in_order(part_of):
    return Ledger.concat([part_of(number) for number in range(GROUPS)])


def test_the_order_of_folds_runs_and_rows_changes_no_number(part_of, in_order):
    order = np.random.default_rng(0).permutation(GROUPS)
    assert Ledger.concat([part_of(number, shuffled=True) for number in order]).digest == in_order.digest


def test_the_order_of_series_changes_no_number_of_what_learns_of_each_by_itself():
    frame, plan = frame_of(lengths=(80, 60, 70), begins=(0, 20, 10)), Plan(horizon=4, n_folds=3)
    one, other = (
        backtest(x, [SeasonalNaive(4), Drift(4)], plan, unsorted="sort")
        for x in (frame, frame.sample(frac=1, random_state=1))
    )
    assert list(one.points.ids) != list(other.points.ids)
    assert one.digest == other.digest


def test_two_processes_give_the_ledger_of_one(part_of, in_order, tmp_path):
    theirs = range(0, GROUPS, 2)
    subprocess.run([sys.executable, "-c", PART_OF, str(tmp_path), *map(str, theirs)], check=True)
    parts = [Ledger.read(tmp_path / str(number)) for number in theirs]
    parts += [part_of(number) for number in range(1, GROUPS, 2)]
    assert Ledger.concat(parts).digest == in_order.digest


@pytest.mark.parametrize("size", [1, 3])
def test_how_many_are_forecast_at_a_time_changes_no_number(size, monkeypatch):
    frame, plan = frame_of(), Plan(horizon=4, n_folds=5, refit="never")
    training = Training(steps=2, validation_length=0)
    network = NeuralForecaster("tcn", 4, context_length=12, patch_length=4, training=training)
    forecasters = {"rule": SeasonalNaive(4), "line": NLinear(4), "network": network}
    whole = backtest(frame, forecasters, plan)
    monkeypatch.setattr("forecast.neural._PREDICTION_BATCH", size)
    monkeypatch.setattr("forecast.history._BLOCK", size)
    parts = backtest(frame, forecasters, plan)
    for one, other in zip(whole.runs, parts.runs, strict=True):
        np.testing.assert_allclose(one.quantiles, other.quantiles, rtol=1e-5, atol=1e-5)


def test_a_fit_is_known_by_what_it_was_given():
    frame, plan = frame_of(), Plan(horizon=4, n_folds=2)
    ids = [backtest(x, [Drawn(4)], plan, seeds=(0, 1)).fits["fit_id"].tolist() for x in (frame, frame.copy())]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 4
    later = frame.assign(y=frame["y"].where(frame["ds"] < 73, 0.0))
    changed = backtest(later, [Drawn(4)], plan, seeds=(0, 1)).fits["fit_id"].tolist()
    assert [one == other for one, other in zip(ids[0], changed, strict=True)] == [True, False, True, False]


# -- covariates ------------------------------------------------------------------------------------


class Reader(Recorder):
    reads_covariates = True


@pytest.mark.parametrize("context", [None, 10])
def test_known_covariates_are_there_as_far_as_a_forecast_reaches_and_no_further(context):
    frame = frame_of(lengths=(80,), begins=(0,)).assign(price=1.0, sold=2.0)
    door = {"roles": Roles(known=("price",), delayed={"sold": 2})}
    Reader.fits, Reader.reads = [], []
    backtest(frame, [Reader(4)], Plan(horizon=4, cutoffs=[50], gap=3, context=context), **door)
    for panel in (Reader.fits[0][1], Reader.reads[0][1]):
        beside = panel.covariates
        assert int((beside.first + beside.stops - beside.starts - 1)[0]) == 50 + 3 + 4
        assert np.isnan(beside.past.numbers[-2:]).all()
        assert np.isfinite(beside.past.numbers[:-2]).all()


# -- failures --------------------------------------------------------------------------------------


class Holes(Recorder):
    """No number at the second step of the last origin."""

    hole = np.nan

    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        forecast.quantiles[-1, 1] = self.hole
        return forecast


class Infinite(Holes):
    hole = np.inf


class NoFit(Recorder):
    def _fit(self, panel):
        if panel.last.max() > 72:
            raise RuntimeError("it went wrong")


@pytest.mark.parametrize("kind", [Holes, Infinite])
@pytest.mark.parametrize("refit", ["every", "never"])
def test_what_is_no_number_is_named_before_anybody_else_is_fitted(kind, refit):
    message = "forecaster 'bad', seed 0, series 's1', cutoff 7., step 2"
    with pytest.raises(ValueError, match=message):
        backtest(frame_of(), {"bad": kind(4), "good": Recorder(4)}, Plan(horizon=4, n_folds=2, refit=refit))
    assert not any(type(one) is Recorder for one, _ in Recorder.fits)


@pytest.mark.parametrize("kind", [Holes, Infinite])
def test_a_fallback_takes_the_place_of_the_cells_that_failed_and_is_counted(kind):
    plan = Plan(horizon=4, n_folds=2, gap=1)
    with pytest.warns(UserWarning, match=r"bad: 1 of 2 forecasts are those of the fallback SeasonalNaive\(horizon=4\)"):
        ledger = backtest(frame_of(), {"bad": kind(4)}, plan, fallback=SeasonalNaive(4))
    assert ledger.fits["fallbacks"].tolist() == [1, 1]
    good, rule = (backtest(frame_of(), [one], plan).runs[0] for one in (Recorder(4), SeasonalNaive(4)))
    run, failed = ledger.runs[0], ledger.points.series == 1
    np.testing.assert_array_equal(run.quantiles[failed], rule.quantiles[failed])
    np.testing.assert_array_equal(run.quantiles[~failed], good.quantiles[~failed])
    np.testing.assert_array_equal(run.mean[failed], rule.mean[failed])


def test_a_fallback_stands_in_for_a_fit_that_failed():
    with pytest.warns(UserWarning, match="bad: 2 of 2 forecasts .*RuntimeError: it went wrong; in the backtest"):
        ledger = backtest(frame_of(), {"bad": NoFit(4)}, Plan(horizon=4, n_folds=2), fallback=Naive(4))
    assert ledger.fits["fallbacks"].tolist() == [0, 2]


def test_a_fallback_that_is_not_needed_changes_nothing():
    plan = Plan(horizon=4, n_folds=2)
    one, other = (backtest(frame_of(), [NLinear(4)], plan, fallback=x) for x in (None, Naive(4)))
    assert one.digest == other.digest
    assert other.fits["fallbacks"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("fallback", "error", "message"),
    [
        ("naive", TypeError, "`fallback` is 'naive'; allowed: a Forecaster, such as SeasonalNaive"),
        (Naive(5), ValueError, "`horizon`: forecaster 'fallback' has 5 and the plan 4"),
        (Naive(4, quantile_levels=(0.5,)), ValueError, r"`quantile_levels`: forecaster 'fallback' has \(0.5,\)"),
    ],
)
def test_a_fallback_that_cannot_be_one_is_refused_before_anything_is_fitted(fallback, error, message):
    with pytest.raises(error, match=message):
        backtest(frame_of(), [Recorder(4)], Plan(horizon=4, n_folds=1), fallback=fallback)
    assert not Recorder.fits


def test_a_fallback_hides_no_look_ahead():
    class ReadsOn(Recorder):
        def _forecast(self, panel, origins):
            after = np.minimum(origins.ends, panel.stops[origins.series] - 1)
            points = np.repeat(panel.values[after][:, None], self.horizon, axis=1)
            return Forecast(np.repeat(points[:, :, None], len(self.quantile_levels), axis=2), points)

    with pytest.raises(ValueError, match=r"forecaster 'ReadsOn' looks ahead: .* series 's0', cutoff 67"):
        backtest(frame_of(), [ReadsOn(4)], Plan(horizon=4, n_folds=3, gap=0, refit="never"), fallback=Naive(4))


class AtTheCutoff(Recorder):
    """Reads the last value of all that it is given, which one that looks ahead would."""

    def _forecast(self, panel, origins):
        points = np.repeat(panel.values[panel.stops[origins.series] - 1][:, None], self.horizon, axis=1)
        return Forecast(np.repeat(points[:, :, None], len(self.quantile_levels), axis=2), points)


@pytest.mark.filterwarnings("ignore:bad:UserWarning")
@pytest.mark.parametrize(
    ("fallback", "error", "message"),
    [
        (Holes(4), ValueError, r"`fallback` Holes\(horizon=4\) forecasts what is no finite number for series 's1'"),
        (NoFit(4), RuntimeError, "it went wrong"),
        (AtTheCutoff(4), ValueError, "forecaster 'fallback' looks ahead"),
    ],
)
def test_a_fallback_that_fails_itself_or_looks_ahead_is_named(fallback, error, message):
    plan = Plan(horizon=4, n_folds=3, refit=2)
    with pytest.raises(error, match=message) as caught:
        backtest(frame_of(), {"bad": Holes(4)}, plan, fallback=fallback)
    told = str(caught.value) + "".join(getattr(caught.value, "__notes__", []))
    assert "`fallback`" in told
    assert "'bad', seed 0, fold" in told


def test_what_single_precision_cannot_hold_is_replaced_too():
    class Enormous(Recorder):
        def _forecast(self, panel, origins):
            forecast = super()._forecast(panel, origins)
            return Forecast(forecast.quantiles.astype(float) * 1e60, forecast.mean.astype(float) * 1e60)

    plan = Plan(horizon=4, n_folds=1)
    with pytest.raises(ValueError, match="column `prediction` is inf for forecaster 'bad'"):
        backtest(frame_of(), {"bad": Enormous(4)}, plan)
    with pytest.warns(UserWarning, match="bad: 2 of 2 forecasts are those of the fallback") as caught:
        ledger = backtest(frame_of(), {"bad": Enormous(4)}, plan, fallback=Naive(4))
    assert ledger.fits["fallbacks"].tolist() == [2]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda forecast: None, "gave a NoneType; expected Forecast"),
        (lambda forecast: (forecast.quantiles, forecast.mean), "gave a tuple"),
        (lambda forecast: Forecast(forecast.quantiles.tolist(), forecast.mean), "gave `quantiles` as a list"),
        (lambda forecast: Forecast(forecast.quantiles, forecast.mean * 1j), "gave `mean` as an array of complex"),
        (
            lambda forecast: Forecast(forecast.quantiles.astype(object), forecast.mean),
            "gave `quantiles` as an array of object",
        ),
    ],
)
def test_what_is_no_forecast_is_named(made, message):
    class Odd(Recorder):
        def _forecast(self, panel, origins):
            return made(super()._forecast(panel, origins))

    with pytest.raises(TypeError, match=f"Odd._forecast {message}"):
        backtest(frame_of(), [Odd(4)], Plan(horizon=4, n_folds=1))


class Misshapen(Recorder):
    def _forecast(self, panel, origins):
        forecast = super()._forecast(panel, origins)
        return Forecast(forecast.quantiles[:-1], forecast.mean[:-1])


def test_a_forecast_of_another_shape_is_named():
    with pytest.raises(ValueError, match=r"Misshapen._forecast gave quantiles \(1, 4, 9\)") as caught:
        backtest(frame_of(), {"odd": Misshapen(4)}, Plan(horizon=4, n_folds=1))
    assert caught.value.__notes__ == ["(in the backtest of 'odd', seed 0, fold 0, fitted up to 75)"]
