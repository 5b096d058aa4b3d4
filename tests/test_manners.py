"""How forecasters behave among the tools of others: copies, processes, scikit-learn, notebooks, folders, terminals."""

import concurrent.futures
import copy
import io
import logging
import multiprocessing
import os
import pickle
import re
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from lightning.pytorch.callbacks import LambdaCallback
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from forecast.baselines import Naive, NLinear, SeasonalNaive, WindowAverage
from forecast.evaluation import Plan, backtest, interval_score, score
from forecast.frame import FrameError, Roles
from forecast.neural import NeuralForecaster
from forecast.nn import LSTM, TCN, Direct, Transformer
from forecast.progress import Bar
from forecast.searching import Searchable, folds_of
from forecast.training import Training

HORIZON = 6


def frame_of(lengths=(120, 100), seed=0) -> pd.DataFrame:
    """Series of hours with a daily wave."""
    rng = np.random.default_rng(seed)
    parts = []
    for place, length in enumerate(lengths):
        wave = 5 * place + np.sin(2 * np.pi * np.arange(length) / 24) + 0.1 * rng.normal(size=length)
        stamps = pd.date_range("2024-03-25", periods=length, freq="h")
        parts.append(pd.DataFrame({"unique_id": "ab"[place], "ds": stamps, "y": wave}))
    return pd.concat(parts, ignore_index=True)


FRAME = frame_of()


def small(backbone=LSTM(width=8), **changes) -> NeuralForecaster:  # noqa: B008 (frozen)
    return NeuralForecaster(backbone, HORIZON, **{"context_length": 24, "training": Training(steps=2), **changes})


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one, other, check_exact=True)


# -- copies and processes --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> list:
    return [one.fit(FRAME) for one in (small(), small("tcn", decoder="recursive"), NLinear(HORIZON, context_length=12))]


def through_joblib(thing, folder):
    joblib.dump(thing, folder / "thing.joblib")
    return joblib.load(folder / "thing.joblib")


def through_cloudpickle(thing, folder):
    del folder
    return pickle.loads(pytest.importorskip("cloudpickle").dumps(thing))


@pytest.mark.parametrize("through", [through_joblib, through_cloudpickle])
def test_forecasters_pass_through_what_others_pickle_with(through, fitted, tmp_path):
    for forecaster in fitted:
        same(through(forecaster, tmp_path).predict(), forecaster.predict())
        fresh = through(clone(forecaster), tmp_path)
        assert repr(fresh) == repr(forecaster)
        same(fresh.fit(FRAME).predict(), forecaster.predict())


@pytest.mark.slow
def test_forecasters_are_fitted_and_asked_in_a_process_that_shares_nothing_but_the_folder(
    fitted, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        asked = [pool.submit(one.predict) for one in fitted]
        made = [pool.submit(clone(one).fit, FRAME) for one in fitted]
        asked[0].result()  # from here on both are at work
        for forecaster, predicted, refitted in zip(fitted, asked, made, strict=True):
            same(clone(forecaster).fit(FRAME).predict(), forecaster.predict())
            same(predicted.result(), forecaster.predict())
            same(refitted.result().predict(), forecaster.predict())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_joblib_fits_and_asks_in_parallel(fitted):
    parallel = joblib.Parallel(n_jobs=2, backend="loky")
    for forecaster, table in zip(fitted, parallel(joblib.delayed(one.predict)() for one in fitted), strict=True):
        same(table, forecaster.predict())
    made = parallel(joblib.delayed(clone(one).fit)(FRAME) for one in fitted)
    for forecaster, again in zip(fitted, made, strict=True):
        same(again.predict(), forecaster.predict())


def test_an_argument_that_cannot_be_pickled_is_an_error_of_pickle_and_no_loss_of_weights():
    forecaster = small(trainer={"callbacks": [LambdaCallback(on_fit_end=lambda *_: None)]}).fit(FRAME)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(forecaster)
    same(copy.deepcopy(forecaster).predict(), forecaster.predict())
    same(pickle.loads(pickle.dumps(forecaster.set_params(trainer=None))).predict(), forecaster.predict())


# -- arguments inside arguments --------------------------------------------------------------------------------------


def test_arguments_inside_a_config_are_listed_and_set_whether_it_is_named_or_made():
    for backbone in ("lstm", LSTM()):
        forecaster = small(backbone)
        told = forecaster.get_params()
        assert told["backbone"] == backbone
        assert told["backbone__width"] == LSTM().width
        assert told["decoder__dropout"] == Direct().dropout
        assert told["training__steps"] == 2
        assert set(forecaster.get_params(deep=False)) < set(told)
        forecaster.set_params(backbone__width=24, training__steps=3, decoder__dropout=0.5)
        assert forecaster.backbone == LSTM(width=24)
        assert forecaster.training == Training(steps=3)
        assert forecaster.get_params()["decoder__dropout"] == 0.5


def test_a_backbone_and_its_arguments_may_be_set_in_one_call_in_any_order():
    for values in ({"backbone": "tcn", "backbone__width": 24}, {"backbone__width": 24, "backbone": TCN(width=99)}):
        assert small().set_params(**values).backbone == TCN(width=24)


def test_arguments_that_only_go_together_are_set_together():
    forecaster = small(Transformer(width=64, heads=4)).set_params(backbone__heads=6, backbone__width=48)
    assert forecaster.backbone == Transformer(width=48, heads=6)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"backbone__widht": 3}, r"no parameter 'backbone__widht'; it has .*did you mean 'backbone__width'\?"),
        ({"seed__width": 3}, "no parameter 'seed__width'"),
        ({"backbone__width__more": 3}, "no parameter 'backbone__width__more'"),
        ({"seed": 5, "horizn": 3}, r"no parameter 'horizn'; it has .*did you mean 'horizon'\?"),
        ({"seed": 5, "backbone__width": 0}, "`width` of LSTM is 0; allowed: a whole number of 1 or more"),
        ({"seed": 5, "training__steps": 0}, "`steps` is 0; allowed"),
        ({"backbone": "lstmm", "backbone__width": 3}, "no parameter 'backbone__width'"),
    ],
)
def test_of_values_that_are_refused_none_is_set(values, message):
    forecaster = small()
    before = forecaster.get_params()
    with pytest.raises(ValueError, match=message):
        forecaster.set_params(**values)
    assert forecaster.get_params() == before


class Wrapped(Naive):
    """A forecaster that holds another one."""

    def __init__(self, horizon, inner, *, season_length=None, quantile_levels=(0.1, 0.5, 0.9)):
        super().__init__(horizon, season_length=season_length, quantile_levels=quantile_levels)
        self.inner = inner


def test_arguments_of_a_forecaster_inside_a_forecaster_are_listed_and_set():
    wrapped = Wrapped(HORIZON, small())
    assert wrapped.get_params()["inner__backbone__width"] == 8
    copied = clone(wrapped).set_params(inner__backbone__width=12, inner__seed=4)
    assert (copied.inner.backbone, copied.inner.seed) == (LSTM(width=12), 4)
    assert (wrapped.inner.backbone, wrapped.inner.seed) == (LSTM(width=8), 0)


# -- searches of scikit-learn ----------------------------------------------------------------------------------------


PLAN = Plan(horizon=HORIZON, n_folds=3)


def test_folds_are_rows_of_the_frame_cut_for_all_series_at_the_same_time():
    plan = Plan(horizon=HORIZON, n_folds=2, stride=20)
    folds = folds_of(plan, FRAME)
    for (seen, scored), cutoff in zip(folds, plan.table(_panel(FRAME))["cutoff"], strict=True):
        assert set(seen) == set(np.flatnonzero(FRAME["ds"] <= cutoff))
        after = FRAME["ds"].gt(cutoff) & FRAME["ds"].le(cutoff + pd.Timedelta(hours=HORIZON))
        under_way = FRAME["unique_id"].map(FRAME.groupby("unique_id")["ds"].max()) > cutoff
        assert set(scored) == set(np.flatnonzero(after & under_way))
    assert len(folds[0][1]) == 2 * HORIZON  # the second series has ended before the last cutoff
    assert len(folds[1][1]) == HORIZON


def test_folds_of_a_window_begin_later_and_those_of_a_frame_with_gaps_are_rows_that_are_there():
    frame = FRAME.drop(index=[40, 99, 118])
    plan = Plan(horizon=HORIZON, n_folds=2, window=30)
    for seen, scored in folds_of(plan, frame, gaps="mask"):
        assert frame.iloc[seen].groupby("unique_id").size().max() <= 30
        assert not set(seen) & set(scored)
        assert frame["ds"].iloc[scored].min() > frame["ds"].iloc[seen].max()
    assert sum(len(scored) for _, scored in folds_of(plan, frame, gaps="mask")) == 2 * HORIZON - 1


@pytest.mark.parametrize("metric", ["mase", interval_score(0.2, 0.8)])
def test_a_search_finds_what_a_backtest_finds(metric):
    frame = frame_of(lengths=(150, 150))
    grid = {"season_length": [24, 5]}
    search = GridSearchCV(Searchable(SeasonalNaive(HORIZON), metric), grid, cv=folds_of(PLAN, frame)).fit(frame)
    for season, found in zip(grid["season_length"], search.cv_results_["mean_test_score"], strict=True):
        ledger = backtest(frame, [SeasonalNaive(HORIZON, season_length=season)], PLAN)
        metrics = [metric] if isinstance(metric, str) else {"own": metric}
        assert -found == pytest.approx(score(ledger, metrics, by=("forecaster", "cutoff")).iloc[:, 2].mean())
    assert search.best_params_ == {"season_length": 24}
    same(search.predict(frame), SeasonalNaive(HORIZON, season_length=24).fit(frame).predict())
    assert search.best_estimator_.forecaster_.panel_.lengths.tolist() == [150, 150]


def test_networks_are_searched_by_what_is_inside_their_backbone():
    searchable = Searchable(small("lstm"), "mae")
    grid = {"backbone__width": [4, 8], "training__steps": [2]}
    search = GridSearchCV(searchable, grid, cv=folds_of(Plan(horizon=HORIZON, n_folds=1), FRAME)).fit(FRAME)
    assert len(search.cv_results_["params"]) == 2
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.forecaster_.backbone.width in (4, 8)
    assert searchable.forecaster.backbone == "lstm", "the pattern stays as it was"


def test_frames_of_polars_are_searched_as_those_of_pandas():
    polars = pytest.importorskip("polars")
    for frame in (polars.DataFrame({name: FRAME[name].to_list() for name in FRAME}), FRAME):
        scores = cross_val_score(Searchable(SeasonalNaive(HORIZON)), frame, cv=folds_of(PLAN, frame))
        assert (
            scores.tolist()
            == cross_val_score(Searchable(SeasonalNaive(HORIZON)), FRAME, cv=folds_of(PLAN, FRAME)).tolist()
        )


def test_covariates_that_are_known_ahead_are_read_from_the_rows_to_be_scored():
    frame = FRAME.assign(price=np.sin(np.arange(len(FRAME))))
    door = {"roles": Roles(known=("price",))}
    seen, scored = folds_of(Plan(horizon=HORIZON, n_folds=1), frame, **door)[0]
    searchable = Searchable(small(), "mae", door).fit(frame.iloc[seen])
    changed = frame.iloc[scored].assign(price=5.0)
    assert searchable.score(frame.iloc[scored]) != searchable.score(changed)


def test_whole_forecasters_can_be_searched_and_scored_with_gaps():
    frame = FRAME.drop(index=[40, 50])
    folds, door = folds_of(PLAN, frame, gaps="mask"), {"gaps": "mask"}
    searchable = Searchable(Naive(HORIZON), "mae", door)
    search = GridSearchCV(searchable, {"forecaster": [Naive(HORIZON), SeasonalNaive(HORIZON)]}, cv=folds).fit(frame)
    assert isinstance(search.best_estimator_.forecaster_, SeasonalNaive)
    assert cross_val_score(searchable, frame, cv=folds).shape == (3,)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: folds_of(3, FRAME), "`plan` is 3; allowed: a Plan"),
        (lambda: folds_of(Plan(horizon=6, n_folds=3, refit="never"), FRAME), "`refit` of the plan is 'never'"),
        (lambda: folds_of(Plan(horizon=6, n_folds=1, gap=2), FRAME), "`gap` of the plan is 2; a search knows rows"),
        (lambda: folds_of(Plan(horizon=6, n_folds=1, align="ends"), FRAME), "`align` of the plan is 'ends'"),
        (lambda: folds_of(PLAN, FRAME, unsorted="sort"), "`unsorted` is given; .* sort the frame"),
        (lambda: folds_of(PLAN, _panel(FRAME)), "`frame` is a Panel, .* give the frame that is searched on"),
        (lambda: Searchable(3).fit(FRAME), "`forecaster` is 3; allowed: a Forecaster"),
        (lambda: Searchable(Naive(6), "bias").fit(FRAME), "`metric` is 'bias'; allowed: 'mae', "),
        (lambda: Searchable(Naive(6)).set_params(widht=3), "Naive has no parameter 'widht'"),
        (lambda: Searchable(Naive(6)).score(FRAME), "not fitted"),
        (lambda: Searchable(Naive(6)).predict(FRAME), "not fitted"),
    ],
)
def test_searches_that_make_no_sense_are_refused(ask, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ask()


def test_rows_of_the_fit_are_not_scored():
    with pytest.raises(FrameError) as caught:
        Searchable(Naive(HORIZON)).fit(FRAME).score(FRAME)
    assert any("folds_of(plan, frame)" in note for note in caught.value.__notes__)


def test_an_error_that_is_undefined_is_told():
    frame = FRAME.assign(y=3.0)
    seen, scored = folds_of(PLAN, frame)[0]
    searchable = Searchable(Naive(HORIZON), "mase").fit(frame.iloc[seen])
    with pytest.raises(ValueError, match=r"`metric` 'mase' is undefined for the .* another metric such as 'mae'"):
        searchable.score(frame.iloc[scored])
    assert searchable.set_params(metric="mae").score(frame.iloc[scored]) == 0


def _panel(frame):
    from forecast.frame import check_frame

    return check_frame(frame)


# -- notebooks -------------------------------------------------------------------------------------------------------


def test_a_notebook_shows_arguments_data_and_what_was_found(fitted):
    page = fitted[0]._repr_html_()
    for told in ("NeuralForecaster", "fitted", "LSTM(width=8", "2 series, 220 rows", "parameters_", "validation_loss_"):
        assert told in page
    assert f"{fitted[0].parameters_:,}" in page
    fresh = clone(fitted[0])._repr_html_()
    assert "not fitted" in fresh
    assert "2 series" not in fresh


def test_what_a_notebook_shows_is_escaped_and_never_endless():
    page = Wrapped("<script>alert('x')</script>", list(range(10_000)))._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert len(page) < 10_000


def test_frames_among_the_arguments_do_not_break_the_page():
    page = small("graph_transformer", graph=pd.DataFrame({"a": ["a"], "b": ["b"]}))._repr_html_()
    assert "&lt;DataFrame of 1 rows&gt;" in page


# -- folders and terminals -------------------------------------------------------------------------------------------

_WRITTEN: list[str] | None = None


def _watch(event: str, arguments: tuple) -> None:
    """Note what is opened to be written; what Python keeps of compiled modules is not the library's doing."""
    if _WRITTEN is None or event not in ("open", "os.mkdir", "os.rename", "os.symlink", "os.link"):
        return
    name = str(arguments[0])
    reads = event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if not reads and "__pycache__" not in name and name != os.devnull and not name.isdigit():
        _WRITTEN.append(f"{event} {name}")


@pytest.fixture
def written(tmp_path, monkeypatch):
    """What this process writes, by name, while a test goes on."""
    if not hasattr(sys, "_watched_by_test_manners"):
        sys.addaudithook(_watch)
        sys._watched_by_test_manners = True  # type: ignore[attr-defined] (a hook stays for good)
    del tmp_path  # is there before the watch begins
    monkeypatch.setattr(sys.modules[__name__], "_WRITTEN", [])
    return lambda: list(_WRITTEN or [])


def test_a_test_of_what_is_written_sees_it(written, tmp_path):
    (tmp_path / "x").write_text("")
    assert written() == [f"open {tmp_path / 'x'}"]


def test_fit_predict_backtest_and_stream_write_nothing_anywhere(written, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forecaster = small().fit(FRAME)
    forecaster.predict()
    forecaster.stream().predict()
    backtest(FRAME, [small(), WindowAverage(HORIZON, window=5)], Plan(horizon=HORIZON, n_folds=1))
    assert written() == []
    assert list(tmp_path.iterdir()) == []


def test_nothing_at_all_is_said_unless_asked(capfd, caplog):
    with caplog.at_level(logging.DEBUG):
        forecaster = small().fit(FRAME)
        forecaster.predict()
        backtest(FRAME, [small(), Naive(HORIZON)], Plan(horizon=HORIZON, n_folds=2))
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if not record.name.startswith("fsspec")] == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_holds_one_short_line_for_the_whole_fit(capfd):
    small(verbose=1, training=Training(steps=40)).fit(FRAME)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert re.fullmatch(r"NeuralForecaster:( \d+%){1,10} \d+/40 steps, \d+ s, validation loss [\d.]+\n", err)


def test_a_terminal_shows_one_bar_for_the_whole_fit(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    small(verbose=1, training=Training(steps=5)).fit(FRAME)
    drawn = terminal.getvalue()
    assert drawn.count("\n") == 1
    assert drawn.endswith("\n")
    assert all(line.startswith("NeuralForecaster |") for line in drawn.split("\r")[1:])
    assert f"|{'#' * 30}| 5/5 steps" in drawn


def test_a_backtest_shows_one_bar_of_its_own_whatever_its_forecasters_say(capfd):
    plan = Plan(horizon=HORIZON, n_folds=3)
    backtest(FRAME, [small(verbose=1), Naive(HORIZON)], plan, verbose=1)
    out, err = capfd.readouterr()
    assert out == ""
    assert re.fullmatch(r"backtest:( \d+%){1,10} 6/6 fits, \d+ s, .*\n", err)
    backtest(FRAME, [Naive(HORIZON)], plan)
    assert capfd.readouterr() == ("", "")


def test_a_bar_ends_its_line_when_the_work_fails_and_another_can_follow(capfd):
    def stopped():
        with Bar("work", 10, "parts") as bar:
            bar.update(3, "so far")
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            stopped()
    assert capfd.readouterr().err == "work: 30% 3/10 parts, 0 s, so far\n" * 2


def test_a_shorter_line_wipes_out_the_longer_one_before(monkeypatch):
    terminal, now = Terminal(), iter(range(100))
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("forecast.progress.monotonic", lambda: next(now))
    with Bar("work", 2, "parts") as bar:
        bar.update(1, "a long remark")
        bar.update(2, "short")
    widths = [len(line.rstrip("\n")) for line in terminal.getvalue().split("\r")[1:]]
    assert widths == sorted(widths)[:1] + [max(widths)] * 2 + widths[-1:]
