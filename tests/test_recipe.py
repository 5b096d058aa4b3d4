"""What surrounds a network: presets, logarithms, counts, and the parts of the recipe one by one."""

import numpy as np
import pandas as pd
import pytest
from lightning.pytorch import Callback

from forecast import Forecaster, NeuralForecaster, Training
from forecast.nn import LSTM, Recipe
from forecast.testing import check_forecaster

HORIZON = 4
SMALL = {"context_length": 24, "patch_length": 6, "season_length": 6, "training": Training(steps=6)}


def frame_of(lowest=5.0, seed=0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    parts = []
    for name in "ab":
        y = lowest + np.abs(3 * np.sin(np.arange(90) * np.pi / 3) + rng.normal(0, 0.5, 90))
        parts.append(pd.DataFrame({"unique_id": name, "ds": pd.date_range("2024-01-01", periods=90, freq="D"), "y": y}))
    return pd.concat(parts, ignore_index=True)


FRAME = frame_of()
QUANTILES = [f"0.{decile}" for decile in range(1, 10)]


def small(**changes) -> NeuralForecaster:
    return NeuralForecaster(LSTM(width=8), HORIZON, **SMALL | changes)


class Stops(Callback):
    """Raises after so many batches of all fits."""

    def __init__(self, at):
        self.left = at

    def on_train_batch_end(self, trainer, pl_module, *batch):
        self.left -= 1
        if self.left <= 0:
            raise RuntimeError("stopped")


# -- presets -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def best() -> NeuralForecaster:
    return small(preset="best").fit(FRAME)


def test_the_best_are_three_networks_of_different_seeds_whose_forecasts_are_averaged(best):
    assert best.parameters_ > 2.8 * small().fit(FRAME).parameters_  # all but the anchor and the spread
    alone = small(seed=best.seed).fit(FRAME).predict()
    assert not np.allclose(alone[QUANTILES], best.predict()[QUANTILES])


def test_several_networks_are_saved_and_streamed_as_one(best, tmp_path):
    best.save(tmp_path)
    loaded = Forecaster.load(tmp_path)
    pd.testing.assert_frame_equal(loaded.predict(), best.predict())
    new = pd.DataFrame({"unique_id": ["a", "b"], "ds": pd.Timestamp("2024-03-31"), "y": [6.0, 8.0]})
    streamed = best.stream().update(new)
    whole = best.stream(pd.concat([FRAME, new]).sort_values(["unique_id", "ds"])).predict()
    np.testing.assert_allclose(streamed[QUANTILES], whole[QUANTILES], rtol=1e-4)


def test_several_networks_go_on_from_a_checkpoint_that_was_left(best, tmp_path):
    stopped = small(preset="best", trainer={"callbacks": [Stops(at=9)]})
    with pytest.raises(RuntimeError, match="stopped"):
        stopped.fit(FRAME, checkpoint=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"member-1", "member-2"}
    again = small(preset="best").fit(FRAME, checkpoint=tmp_path)
    pd.testing.assert_frame_equal(again.predict(), best.predict())


def test_several_networks_do_not_go_on_from_one(best):
    with pytest.raises(ValueError, match="`continue_from` is given, and `preset` 'best' trains 3 networks"):
        small(preset="best").fit(FRAME, continue_from=best)


def test_an_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="`preset` is 'quick'; allowed: 'fast', 'balanced', 'best'"):
        small(preset="quick").fit(FRAME)


def test_presets_differ_in_steps_where_training_names_none():
    steps = {p: small(preset=p, training=Training()).outline(FRAME).steps for p in ("fast", "balanced", "best")}
    assert steps["fast"] < steps["balanced"] < steps["best"]
    assert small(preset="best").outline(FRAME).steps == 6


# -- weeks -------------------------------------------------------------------------------------------------------------


def hours_of_weeks(count=900) -> pd.DataFrame:
    """A day like the others, but for what its weekday adds."""
    ds, rng = pd.date_range("2024-01-01", periods=count, freq="h"), np.random.default_rng(0)
    levels = np.array([0, 3, 1, 5, 2, -4, 2])[ds.day_of_week]
    y = levels + np.sin(np.arange(count) * np.pi / 12) + rng.normal(0, 0.1, count)
    return pd.DataFrame({"unique_id": "a", "ds": ds, "y": y})


def test_the_week_is_a_second_season_of_hours_where_a_context_holds_one():
    frame, training = hours_of_weeks(), Training(steps=30)
    errors = {}
    for week in (True, False):
        model = NeuralForecaster("lstm", 96, recipe=Recipe(week=week), training=training).fit(frame.iloc[:-96])
        errors[week] = np.abs(model.predict()["0.5"].to_numpy() - frame["y"].to_numpy()[-96:]).mean()
        assert model.network_.week_length == (168 if week else 1)
    assert errors[True] < 0.5 * errors[False]


@pytest.mark.parametrize(
    ("changes", "week"),
    [({"context_length": 160}, 1), ({"context_length": 168}, 168), ({"season_length": 168}, 1), ({"freq": "D"}, 1)],
)
def test_a_week_that_is_no_second_season_is_left_out(changes, week):
    frame, freq = hours_of_weeks(400), changes.pop("freq", "h")
    frame["ds"] = pd.date_range("2024-01-01", periods=len(frame), freq=freq)
    model = NeuralForecaster(LSTM(width=8), 4, **{"training": Training(steps=1), "patch_length": 4} | changes)
    assert model.fit(frame).week_length_ == week


# -- logarithms and counts ---------------------------------------------------------------------------------------------


def test_logarithms_are_what_a_network_of_logarithms_would_say():
    by_hand = small().fit(FRAME.assign(y=np.log(FRAME["y"]))).predict()
    told = small(transform="log").fit(FRAME).predict()
    np.testing.assert_allclose(told[QUANTILES], np.exp(by_hand[QUANTILES]), rtol=1e-4)


def test_with_logarithms_no_forecast_falls_below_zero_and_values_below_the_floor_can_be_read():
    fitted = small(transform="log").fit(frame_of(lowest=0.01))
    told = fitted.predict(frame_of(lowest=-2.0))
    assert (told[QUANTILES] > 0).all(axis=None)
    assert np.isfinite(told[QUANTILES]).all(axis=None)


def test_logarithms_of_nothing_positive_are_refused():
    with pytest.raises(ValueError, match="`transform` is 'log', and no value of the frame is above 0"):
        small(transform="log").fit(FRAME.assign(y=-FRAME["y"]))


def test_counts_are_never_forecast_below_zero():
    counts = FRAME.assign(y=np.random.default_rng(0).poisson(0.3, len(FRAME)).astype(float))
    assert (small().fit(counts).predict()[QUANTILES] < 0).any(axis=None)
    assert (small(nonnegative=True).fit(counts).predict()[QUANTILES] >= 0).all(axis=None)


# -- the parts of the recipe -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def usual() -> pd.DataFrame:
    return small().fit(FRAME).predict()


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(scale="deviation"),
        Recipe(scale="none"),
        Recipe(anchor="mean"),
        Recipe(anchor="last"),
        Recipe(anchor="season"),
        Recipe(anchor="none"),
        Recipe(linear_patches=2),
        Recipe(origins="last"),
        Recipe(loss="squared"),
    ],
    ids=lambda recipe: repr(recipe).removeprefix("Recipe"),
)
def test_every_part_can_be_had_otherwise(recipe, usual):
    other = small(recipe=recipe).fit(FRAME)
    assert not np.allclose(usual[QUANTILES], other.predict()[QUANTILES])
    frame = FRAME[FRAME["ds"] < "2024-03-01"]
    cut = other.predict(frame)
    later = other.predict(FRAME, cutoffs=["2024-02-29"])
    np.testing.assert_allclose(later[QUANTILES], cut[QUANTILES], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{"preset": "best"}, {"transform": "log"}, {"recipe": Recipe(linear_patches=1, scale="deviation")}]
)
def test_the_contract_holds(changes):
    check_forecaster(NeuralForecaster(LSTM(width=8), 3, training=Training(steps=3), context_length=24, **changes))
