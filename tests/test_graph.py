"""Networks that read across series: who reads whom, what may move a forecast, and what may not."""

import copy
import json

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from forecast.evaluation import Plan, backtest
from forecast.experiment.arguments import canonical, construct
from forecast.forecaster import Forecaster
from forecast.frame import FrameError, check_frame
from forecast.graph import edges_of
from forecast.neural import NeuralForecaster
from forecast.nn import GraphTransformer, Transformer
from forecast.origins import origins_of
from forecast.training import Training

HORIZON = 6
IDS = ("b", "a", "c", "d")
CHAIN = [("a", "b"), ("b", "c")]  # a reads b, which reads c; nobody reads d


def frame_of(lengths=(160, 150, 160, 140), begins=(0, 0, 0, 60), seed=0) -> pd.DataFrame:
    """Four waves: the second ends before the others, the last begins after them."""
    rng = np.random.default_rng(seed)
    parts = []
    for place, (name, end, begin) in enumerate(zip(IDS, lengths, begins, strict=True)):
        t = np.arange(begin, end)
        y = 5 + 10 * place + 2 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.5, len(t))
        parts.append(
            pd.DataFrame({"unique_id": name, "ds": pd.Timestamp("2024-03-25") + t * pd.Timedelta("1h"), "y": y})
        )
    return pd.concat(parts, ignore_index=True)


FRAME = frame_of()
STAMPS = [FRAME["ds"].iloc[hour] for hour in (90, 130, 145)]


def small(graph=None, steps=4, **changes) -> NeuralForecaster:
    backbone = changes.pop("backbone", GraphTransformer(width=8, heads=2))
    options = {
        "context_length": 24,
        "patch_length": 6,
        "training": Training(steps=steps, validation_length=0),
    } | changes
    return NeuralForecaster(backbone, HORIZON, graph=graph, **options)


@pytest.fixture(scope="module")
def dense() -> NeuralForecaster:
    return small().fit(FRAME)


@pytest.fixture(scope="module")
def chain() -> NeuralForecaster:
    return small(CHAIN).fit(FRAME)


@pytest.fixture(params=["dense", "chain"])
def fitted(request) -> NeuralForecaster:
    return request.getfixturevalue(request.param)


def same(one, other, **tolerance):
    tolerance = tolerance or {"check_exact": True}
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other.reset_index(drop=True), **tolerance)


def at(table, cutoff):
    return table[table["cutoff"] == cutoff]


# -- the graph ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "graph",
    [
        [("a", "b"), ("b", "c"), ("a", "b")],
        (["a", "b"], ["b", "c"]),
        pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"]}, index=[7, 7]),
    ],
    ids=["pairs", "lists", "frame"],
)
def test_pairs_of_ids_become_pairs_of_places_each_once(graph):
    assert edges_of(graph, check_frame(FRAME)) == ((1, 0), (0, 2))


def test_whole_numbers_are_ids_too():
    panel = check_frame(FRAME.assign(unique_id=FRAME["unique_id"].map({"b": 3, "a": 1, "c": 4, "d": 9})))
    assert edges_of(pd.DataFrame({"reader": [1, 9], "read": [3, 4]}), panel) == ((1, 0), (3, 2))


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (
            [("a", "x"), ("y", "b"), ("x", "a")],
            ValueError,
            "names series that are not there: 'x', 'y'; .*: 'b', 'a', 'c'",
        ),
        (
            [(n, "a") for n in range(9)],
            ValueError,
            "names .* not there: 0, 1, 2, 3, 4 and 4 more; the first that there are: 'b'",
        ),
        (FRAME[["unique_id"]], ValueError, r"has the columns \['unique_id'\]; allowed: two"),
        ([("a", "b", "c")], TypeError, r"holds \('a', 'b', 'c'\); allowed: pairs of ids"),
        (["ab"], TypeError, "holds 'ab'; allowed: pairs of ids"),
        ("ab", TypeError, "is 'ab'; allowed: a frame"),
        (3, TypeError, "is 3; allowed: a frame"),
    ],
)
def test_a_graph_that_cannot_be_is_told_at_fit(graph, error, message):
    with pytest.raises(error, match=f"`graph` {message}"):
        small(graph).fit(FRAME)


def test_a_backbone_that_reads_each_series_by_itself_takes_no_graph():
    with pytest.raises(ValueError, match=r"`graph` is given, but the backbone LSTM reads each .*'graph_transformer'"):
        small(CHAIN, backbone="lstm").fit(FRAME)


def test_series_and_edges_are_set_at_fit_and_the_arguments_stay_as_they_were():
    graph = pd.DataFrame(CHAIN, columns=["reader", "read"])
    forecaster = small(graph)
    backbone = forecaster.backbone
    forecaster.fit(FRAME)
    assert forecaster.backbone is backbone == GraphTransformer(width=8, heads=2)
    assert forecaster.graph is graph
    assert forecaster.backbone_ == GraphTransformer(width=8, heads=2, series=4, edges=((1, 0), (0, 2)))
    assert forecaster.fit(FRAME[FRAME["unique_id"] != "d"]).backbone_.series == 3
    assert small().fit(FRAME).backbone_.edges is None
    own = GraphTransformer(width=8, heads=2, series=4, edges=((0, 1),))
    assert small(backbone=own).fit(FRAME).backbone_ == own


def test_edges_come_from_a_config_file_as_lists_of_ids():
    faults = []
    given = {"backbone": "graph_transformer", "graph": [["a", "b"], ["b", "c"]]}
    forecaster = construct(NeuralForecaster, given, ("forecasters", "G"), faults, {"horizon": HORIZON})
    assert faults == []
    assert edges_of(forecaster.graph, check_frame(FRAME)) == ((1, 0), (0, 2))
    assert canonical(forecaster)["graph"] == [["a", "b"], ["b", "c"]]
    construct(NeuralForecaster, given | {"graph": ["ab"]}, ("forecasters", "G"), faults, {"horizon": HORIZON})
    assert [fault.field for fault in faults] == [("forecasters", "G", "graph")]


# -- what moves a forecast ---------------------------------------------------------------------------------------------


def moved(fitted, name, cutoff) -> set[str]:
    """The series whose forecasts from a cutoff move with another's values before it."""
    wild = FRAME.assign(y=FRAME["y"].mask(FRAME["unique_id"].eq(name) & FRAME["ds"].le(cutoff), FRAME["y"] ** 2))
    before, after = fitted.predict(cutoffs=[cutoff]), fitted.predict(wild, cutoffs=[cutoff])
    return set(before["unique_id"][~np.isclose(before["prediction"], after["prediction"], rtol=3e-7)])


def test_without_a_graph_every_series_moves_every_forecast(dense):
    assert all(moved(dense, name, STAMPS[1]) == set(IDS) for name in IDS)


def test_with_a_graph_a_series_moves_those_that_a_path_leads_to(chain):
    assert moved(chain, "c", STAMPS[1]) == {"c", "b", "a"}
    assert moved(chain, "b", STAMPS[1]) == {"b", "a"}
    assert moved(chain, "a", STAMPS[1]) == {"a"}
    assert moved(chain, "d", STAMPS[1]) == {"d"}


def test_a_graph_without_edges_leaves_each_series_to_itself():
    forecaster = small([]).fit(FRAME)
    assert all(moved(forecaster, name, STAMPS[1]) == {name} for name in IDS)


@pytest.mark.parametrize("decoder", ["direct", "recursive"])
def test_no_row_of_any_series_after_the_cutoff_matters(decoder):
    fitted = small(decoder=decoder, patch_length=3).fit(FRAME)
    expected = fitted.predict(cutoffs=STAMPS)
    for stamp in STAMPS:
        later = FRAME["ds"] > stamp
        for changed in (FRAME.assign(y=FRAME["y"].mask(later, -1e6)), FRAME.assign(y=FRAME["y"].mask(later))):
            same(fitted.predict(changed, cutoffs=[stamp]), at(expected, stamp), rtol=1e-5)
        cut = fitted.predict(FRAME[~later])
        same(at(cut, stamp), at(expected, stamp), rtol=1e-5)


def test_steps_before_a_series_begins_are_as_rows_without_values(fitted):
    d, begin = FRAME["unique_id"] == "d", FRAME[FRAME["unique_id"] == "b"].head(60)
    panel, padded = map(check_frame, (FRAME, pd.concat([FRAME[~d], begin.assign(unique_id="d", y=np.nan), FRAME[d]])))
    for hour in (50, 70):
        some, all_four = (origins_of(one, [one.calendar.ordinal(FRAME["ds"][hour])]) for one in (panel, padded))
        expected = fitted.forecast(panel, some).quantiles
        given = fitted.forecast(padded, all_four.take(slice(len(some)))).quantiles
        np.testing.assert_allclose(given, expected, rtol=1e-5)


def test_a_series_of_the_fit_that_a_frame_does_not_hold_is_as_one_without_values(fitted):
    stamp, c = STAMPS[1], FRAME["unique_id"] == "c"
    without = fitted.predict(FRAME[~c], cutoffs=[stamp])
    context = FRAME["ds"].between(stamp - pd.Timedelta("23h"), stamp)
    silent = fitted.predict(FRAME.assign(y=FRAME["y"].mask(c & context)), cutoffs=[stamp])
    assert np.isfinite(silent["prediction"]).all()
    same(silent[silent["unique_id"] != "c"], without, rtol=1e-5)


def test_a_series_that_was_not_there_at_fit_is_refused_by_name(dense):
    new = pd.concat([FRAME, FRAME[FRAME["unique_id"] == "b"].assign(unique_id="new")])
    with pytest.raises(FrameError, match="'new' was not there at fit"):
        dense.predict(new)
    with pytest.raises(FrameError, match="'new' was not there at fit"):
        dense.predict(new[new["unique_id"] == "new"])


def test_the_order_of_series_in_a_frame_does_not_matter(fitted):
    turned = pd.concat([FRAME[FRAME["unique_id"] == name] for name in ("d", "a", "c", "b")])
    table, expected = (fitted.predict(frame, cutoffs=STAMPS) for frame in (turned, FRAME))
    assert list(dict.fromkeys(table["unique_id"])) == ["d", "a", "c", "b"]
    for name in IDS:
        same(table[table["unique_id"] == name], expected[expected["unique_id"] == name], rtol=1e-5)


@pytest.mark.parametrize("size", [1, 5, 8])
def test_batches_of_any_size_give_the_same_forecast(fitted, size, monkeypatch):
    whole = fitted.predict(cutoffs=STAMPS), fitted.predict()
    monkeypatch.setattr("forecast.neural._PREDICTION_BATCH", size)
    same(fitted.predict(cutoffs=STAMPS), whole[0], rtol=1e-5)
    same(fitted.predict(), whole[1], rtol=1e-5)


def test_each_series_is_forecast_from_its_own_end_with_the_others_up_to_there(fitted):
    table = fitted.predict()
    for name, end in FRAME.groupby("unique_id")["ds"].max().items():
        from_there = fitted.predict(FRAME[FRAME["ds"] <= end])
        same(from_there[from_there["unique_id"] == name], table[table["unique_id"] == name], rtol=1e-5)


def test_some_origins_alone_are_forecast_as_among_all(fitted):
    panel = check_frame(FRAME)
    origins = origins_of(panel, [panel.calendar.ordinal(stamp) for stamp in STAMPS])
    whole = fitted.forecast(panel, origins).quantiles
    for which in (np.array([0]), np.array([7, 2, 4]), np.arange(len(origins))[::-1]):
        np.testing.assert_allclose(fitted.forecast(panel, origins.take(which)).quantiles, whole[which], rtol=1e-5)


def test_after_a_gap_as_long_as_the_context_the_last_value_goes_on(dense):
    stamp = STAMPS[1]
    gap = FRAME["unique_id"].eq("a") & FRAME["ds"].between(stamp - pd.Timedelta("30h"), stamp)
    table = dense.predict(FRAME.assign(y=FRAME["y"].mask(gap)), cutoffs=[stamp])
    last = FRAME.loc[FRAME["unique_id"].eq("a") & FRAME["ds"].lt(stamp - pd.Timedelta("30h")), "y"].iloc[-1]
    assert np.allclose(table.loc[table["unique_id"] == "a", "0.1":"0.9"], last)


# -- manners -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "graph", [None, CHAIN, pd.DataFrame(CHAIN, columns=["reader", "read"])], ids=["dense", "pairs", "frame"]
)
def test_a_forecaster_with_a_graph_keeps_the_manners_of_all_others(graph, tmp_path):
    pattern = small(graph, steps=2)
    copied = clone(pattern)
    assert repr(copied) == repr(pattern)
    assert "\n" not in repr(pattern)
    assert ("graph=" in repr(pattern)) == (graph is not None)
    assert pattern.get_params()["graph"] is graph
    fitted = copied.fit(FRAME)
    same(small().set_params(graph=graph, training=pattern.training).fit(FRAME).predict(), fitted.predict())
    same(copy.deepcopy(fitted).predict(), fitted.predict())
    fitted.save(tmp_path)
    loaded = Forecaster.load(tmp_path)
    same(loaded.predict(), fitted.predict())
    same(loaded.predict(FRAME, cutoffs=STAMPS), fitted.predict(FRAME, cutoffs=STAMPS))
    assert loaded.backbone_ == fitted.backbone_
    if isinstance(graph, pd.DataFrame):
        pd.testing.assert_frame_equal(loaded.graph, graph)
    else:
        assert loaded.graph == (graph and tuple(graph))
    assert json.loads((tmp_path / "forecaster.json").read_text())["params"]["backbone"]["series"] == 1


def test_a_backtest_checks_it_for_looking_ahead_as_any_other():
    plan = Plan(horizon=HORIZON, n_folds=3, refit="never")
    table = backtest(FRAME, {"graph": small(CHAIN), "dense": small()}, plan).forecasts
    assert set(table["unique_id"]) == {"b", "a", "c"}, "d ends before the first cutoff"
    assert np.isfinite(table["prediction"]).all()


def test_training_steps_are_made_of_whole_groups_about_as_large_as_asked_for():
    sizes = []

    class Watch(pl.Callback):
        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            sizes.extend(len(part) for part in batch[0].chunk(pl_module.steps_per_batch))

    for batch_size in (2, 10):
        training = Training(steps=5, batch_size=batch_size)
        small(training=training, trainer={"callbacks": [Watch()]}).fit(FRAME)
    assert set(sizes[:5]) == {4}
    assert set(sizes[5:]) == {8}


# -- what it is for ----------------------------------------------------------------------------------------------------


def test_a_series_that_leads_another_is_made_use_of_where_the_graph_lets_it_through():
    lag, length = 3, 500
    rng = np.random.default_rng(1)
    lead = rng.normal(size=length + lag)  # nobody can say what comes next
    values = {"lead": lead[lag:], "led": lead[:-lag] + 0.1 * rng.normal(size=length)}
    frame = pd.concat(
        [pd.DataFrame({"unique_id": name, "ds": np.arange(length), "y": y}) for name, y in values.items()]
    )
    cutoffs = list(range(400, length - lag, lag))

    def error(backbone, graph=None) -> float:
        options = {"context_length": 12, "patch_length": lag, "season_length": 1, "seed": 1}
        training = Training(steps=60, learning_rate=0.01, validation_length=0)
        forecaster = NeuralForecaster(backbone, lag, graph=graph, training=training, **options)
        table = forecaster.fit(frame[frame["ds"] < 400]).predict(frame, cutoffs=cutoffs)
        table = table[table["unique_id"] == "led"].merge(frame, on=["unique_id", "ds"])
        return (table["prediction"] - table["y"]).abs().mean()

    size = {"width": 16, "depth": 1, "dropout": 0.0}
    by_itself = error(Transformer(**size))
    assert error(GraphTransformer(**size)) < 0.6 * by_itself
    assert error(GraphTransformer(**size), [("led", "lead")]) < 0.6 * by_itself
    assert error(GraphTransformer(**size), [("lead", "led")]) > 0.9 * by_itself
