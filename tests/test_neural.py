"""NeuralForecaster: what its training does, what it passes on to Lightning, and what it leaves alone."""

import os
import signal

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import pytest
import torch
from lightning.pytorch.loggers import CSVLogger

from forecast.baselines import Naive
from forecast.forecaster import Forecaster
from forecast.frame import FrameError
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES, LSTM, Direct
from forecast.training import Training


def waves(series=4, length=240, noise=0.05, seed=0, period=24) -> pd.DataFrame:
    """Hourly waves of different level, size and phase."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi / period
    parts = [
        pd.DataFrame(
            {
                "unique_id": f"s{i}",
                "ds": pd.date_range("2024-01-01", periods=length, freq="h"),
                "y": 10 * i + (1 + i) * (np.sin(angle * (np.arange(length) + 5 * i)) + noise * rng.normal(size=length)),
            }
        )
        for i in range(series)
    ]
    return pd.concat(parts, ignore_index=True)


def small(backbone="lstm", horizon=12, steps=4, **changes) -> NeuralForecaster:
    training = changes.pop("training", Training(steps=steps))
    return NeuralForecaster(BACKBONES[backbone](width=16), horizon, training=training, **changes)


@pytest.fixture(params=BACKBONES)
def backbone(request) -> str:
    return request.param


def error_on_a_wave_that_no_season_tells(backbone, steps) -> tuple[float, float]:
    """Give the error as a share of that of the last value, and the coverage of the 80 % interval."""
    frame = waves(length=252, period=17)  # no day: the anchor knows nothing of it
    ahead = frame.groupby("unique_id").tail(12)
    past = frame.drop(ahead.index)
    forecaster = small(backbone, context_length=48, training=Training(steps=steps, learning_rate=0.02, batch_size=8))
    scored, last = (one.fit(past).predict().merge(ahead) for one in (forecaster, Naive(12)))
    assert len(scored) == len(ahead)
    error, bar = ((table["prediction"] - table["y"]).abs().mean() for table in (scored, last))
    return error / bar, scored["y"].between(scored["0.1"], scored["0.9"]).mean()


def test_it_learns_a_wave(backbone):
    error, covered = error_on_a_wave_that_no_season_tells(backbone, steps=30)
    assert error < 0.5
    assert covered > 0.4


def test_what_has_learned_nothing_does_not_know_the_wave():
    assert error_on_a_wave_that_no_season_tells("lstm", steps=1)[0] > 0.6


def test_the_network_has_the_form_asked_for():
    forecaster = small(
        context_length=50, patch_length=8, quantile_levels=(0.25, 0.5, 0.75), decoder=Direct(dropout=0.3)
    )
    forecast = forecaster.fit(waves()).predict()
    assert forecaster.context_length_ == 56, "whole patches"
    assert forecaster.patch_length_ == 8
    assert [c for c in forecast if c.startswith("0.")] == ["0.25", "0.5", "0.75"]
    assert forecaster.network_.decoder.dropout.p == 0.3
    assert forecaster.parameters_ == sum(p.numel() for p in forecaster.network_.parameters())
    assert forecaster.family == "latent-state"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"backbone": "lstmm"}, "`backbone` is 'lstmm'.*did you mean 'lstm'"),
        ({"decoder": 3}, "`decoder` is 3; allowed: 'direct'"),
        ({"patch_length": 0}, "`patch_length` is 0"),
        ({"context_length": -5}, "`context_length` is -5"),
        (
            {"training": Training(validation_length=3)},
            "`validation_length` is 3; allowed: 0, or at least the horizon of 12",
        ),
    ],
)
def test_arguments_that_are_not_allowed_are_named(changes, message):
    arguments = {"backbone": "lstm"} | changes
    with pytest.raises(ValueError, match=message):
        NeuralForecaster(horizon=12, **arguments).fit(waves())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recipe": {"scale": "none"}}, "`recipe` is {'scale': 'none'}; allowed: a Recipe"),
        ({"training": 300}, "`training` is 300; allowed: a Training"),
        ({"nonnegative": "yes"}, "`nonnegative` is 'yes'; allowed: True or False"),
    ],
)
def test_arguments_of_another_class_are_named(changes, message):
    with pytest.raises(TypeError, match=message):
        NeuralForecaster("lstm", 12, **changes).fit(waves())


@pytest.mark.parametrize(
    "wrong", [{"steps": 0}, {"batch_size": 2.5}, {"patience": 0}, {"threads": True}, {"learning_rate": 0}, {"clip": -1}]
)
def test_training_that_makes_no_sense_is_refused_when_it_is_made(wrong):
    name, value = next(iter(wrong.items()))
    with pytest.raises(ValueError, match=f"`{name}` is {value}; allowed: a"):
        Training(**wrong)


def test_series_too_short_for_the_horizon_are_an_error_with_the_length_needed():
    with pytest.raises(FrameError, match="needs at least 13 rows"):
        small().fit(waves(length=12))


def test_one_series_just_long_enough_is_forecast():
    forecast = small().fit(waves(series=1, length=14)).predict()
    assert np.isfinite(forecast.select_dtypes("number").to_numpy()).all()


def by_heart(patience, callback) -> NeuralForecaster:
    """Give one that has learned noise by heart, soon after the first half of its validations."""
    training = Training(steps=100, learning_rate=0.1, batch_size=8, patience=patience)
    forecaster = small(context_length=24, training=training, trainer={"callbacks": callback})
    return forecaster.set_params(backbone__dropout=0.0).fit(waves(series=1, noise=2.0))


def test_the_best_weights_seen_in_validation_are_the_ones_kept():
    seen = []

    class Watch(pl.Callback):
        def on_validation_end(self, trainer, pl_module):
            if trainer.current_epoch < 10:  # the first half does not stand for choice
                return
            weights = {name: weight.clone() for name, weight in pl_module.network.state_dict().items()}
            seen.append((float(trainer.callback_metrics["val_loss"]), weights))

    forecaster = by_heart(None, [Watch()])
    best, weights = min(seen, key=lambda pair: pair[0])
    assert forecaster.validation_loss_ == best < seen[-1][0]
    kept = {name: weight for name, weight in forecaster.network_.state_dict().items() if name not in ("drift", "trust")}
    assert all(torch.equal(weights[name], weight) for name, weight in kept.items())


def test_training_stops_when_validation_no_longer_improves():
    class Count(pl.Callback):
        validations = 0

        def on_validation_end(self, trainer, pl_module):
            self.validations += 1

    count = Count()
    by_heart(2, count)
    assert 10 + 2 < count.validations < 20


def test_labels_of_the_last_rows_never_reach_the_weights_they_only_choose_among_them():
    frame = waves()
    training = Training(steps=6, validations=1, patience=None, validation_length=48)
    first = small(training=training).fit(frame)
    last_two_days = frame["ds"] >= frame["ds"].max() - pd.Timedelta("47h")
    changed = frame.assign(y=frame["y"].where(~last_two_days, -1000.0))
    second = small(training=training).fit(changed)
    weights = zip(first.network_.parameters(), second.network_.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)
    assert first.validation_loss_ != second.validation_loss_


def test_callbacks_logger_and_precision_are_passed_on_to_lightning(tmp_path):
    seen = {}

    class See(pl.Callback):
        def on_train_start(self, trainer, pl_module):
            seen["precision"] = trainer.precision

    trainer = {"callbacks": [See()], "logger": CSVLogger(tmp_path), "precision": "bf16-mixed", "accelerator": "cpu"}
    forecast = small(trainer=trainer).fit(waves()).predict()
    assert seen["precision"] == "bf16-mixed"
    logged = pd.read_csv(next(tmp_path.rglob("metrics.csv")))
    assert {"train_loss", "val_loss"} <= set(logged.columns)
    assert np.isfinite(forecast["prediction"]).all()


def test_nothing_is_written_or_said_unless_asked(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small().fit(waves()).predict()
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_batches_of_any_size_give_the_same_forecast(monkeypatch):
    forecaster = small().fit(waves())
    whole = forecaster.predict()
    monkeypatch.setattr("forecast.neural._PREDICTION_BATCH", 1)
    pd.testing.assert_frame_equal(forecaster.predict(), whole, rtol=1e-5, atol=1e-5)


def test_loading_does_not_touch_the_global_random_state(tmp_path):
    small().fit(waves()).save(tmp_path)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    Forecaster.load(tmp_path)
    assert torch.rand(1) == expected


def test_parameters_inside_a_backbone_can_be_set():
    forecaster = NeuralForecaster(LSTM(width=64), 12).set_params(backbone__width=8, seed=3)
    assert forecaster.backbone == LSTM(width=8)
    assert repr(forecaster) == "NeuralForecaster(backbone=LSTM(width=8, depth=1, dropout=0.3), horizon=12, seed=3)"


def test_ctrl_c_stops_a_fit_and_can_be_pressed_again():
    class PressCtrlC(pl.Callback):
        def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
            os.kill(os.getpid(), signal.SIGINT)

    forecaster = small(trainer={"callbacks": [PressCtrlC()]})
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored in the background
    try:
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                forecaster.fit(waves())
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, outside)
    with pytest.raises(ValueError, match="is not fitted"):
        forecaster.predict()


def test_the_number_of_threads_is_given_back():
    before = torch.get_num_threads()
    seen = []

    class See(pl.Callback):
        def on_train_start(self, trainer, pl_module):
            seen.append(torch.get_num_threads())

    small(training=Training(steps=2, threads=3), trainer={"callbacks": [See()]}).fit(waves())
    assert seen == [3]
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("steps", [1, 7, 20, 53])
@pytest.mark.parametrize("values_per_batch", [1, 1_000, 4_000_000])
def test_just_as_many_steps_are_made_as_were_asked_for(steps, values_per_batch, monkeypatch):
    monkeypatch.setattr("forecast.schedule._VALUES_PER_BATCH", values_per_batch)
    made = []

    class See(pl.Callback):
        def on_fit_end(self, trainer, pl_module):
            made.append((pl_module.steps, pl_module.lr_schedulers().last_epoch))

    training = Training(steps=steps, batch_size=8, patience=None)
    small(context_length=48, training=training, trainer={"callbacks": [See()]}).fit(waves())
    assert made == [(steps, steps)]


def test_after_a_gap_longer_than_the_context_the_value_before_it_goes_on():
    frame = waves(series=2)
    fitted = small(context_length=24).fit(frame)
    newer = frame.copy()
    newer.loc[(newer["unique_id"] == "s1") & (newer["ds"] > "2024-01-08"), "y"] = np.nan
    forecast = fitted.predict(newer)
    last = newer.loc[newer["unique_id"] == "s1", "y"].dropna().iloc[-1]
    assert np.allclose(forecast.loc[forecast["unique_id"] == "s1", "0.1":"0.9"], last)
    whole = fitted.predict(frame)
    pd.testing.assert_frame_equal(forecast.query("unique_id == 's0'"), whole.query("unique_id == 's0'"))


def test_a_series_that_has_shown_nothing_yet_is_an_error_that_names_it():
    frame = waves(series=2)
    fitted = small().fit(frame)
    silent = frame["unique_id"].eq("s1") & frame["ds"].lt("2024-01-05")
    with pytest.raises(FrameError, match="'s1' has no observed value up to 2024-01-03"):
        fitted.predict(frame.assign(y=frame["y"].mask(silent)), cutoffs=["2024-01-03"])


def test_without_validation_the_last_weights_are_kept_and_saved(tmp_path):
    forecaster = small(training=Training(steps=3, validation_length=0)).fit(waves())
    assert forecaster.validation_loss_ is None
    forecaster.save(tmp_path)
    pd.testing.assert_frame_equal(Forecaster.load(tmp_path).predict(), forecaster.predict())
