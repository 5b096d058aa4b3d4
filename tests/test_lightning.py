"""What reaches lightning's Trainer, what a fit makes of it, and what is refused."""

import functools
import os
import time

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import pytest
import torch
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor
from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
from lightning.pytorch.profilers import SimpleProfiler

from forecast.forecaster import Forecaster
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES, LSTM, Transformer
from forecast.training import Training

HORIZON = 6


def frame_of(length=150) -> pd.DataFrame:
    """One series of hours with a daily wave."""
    rng = np.random.default_rng(0)
    wave = 5 + np.sin(np.arange(length) / 4) + rng.normal(0, 0.2, length)
    return pd.DataFrame({"unique_id": "a", "ds": pd.date_range("2024-03-25", periods=length, freq="h"), "y": wave})


FRAME = frame_of()


def fitted(backbone=LSTM(width=8), training=Training(steps=6, validations=3), **trainer):  # noqa: B008
    forecaster = NeuralForecaster(backbone, HORIZON, context_length=24, training=training, trainer=trainer)
    return forecaster.fit(FRAME)


@functools.cache
def plain(backbone=LSTM(width=8)):  # noqa: B008 (frozen)
    """A fit of which lightning is told nothing, to compare with."""
    return fitted(backbone)


class See(pl.Callback):
    """Counts what it is told, and keeps the trainer."""

    def __init__(self):
        self.batches, self.validations = 0, 0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.trainer = trainer
        self.batches += 1

    def on_validation_end(self, trainer, pl_module):
        self.validations += 1


# -- what is passed on -----------------------------------------------------------------------------------------------


def test_callbacks_are_called_one_or_many(tmp_path):
    one, two = See(), See()
    fitted(callbacks=one)
    fitted(callbacks=[one, two, LearningRateMonitor()], logger=CSVLogger(tmp_path))
    assert (one.batches, one.validations) == (2 * two.batches, 2 * two.validations)
    assert two.validations == 3


def test_a_callback_of_lightning_stops_the_fit():
    stop, see = EarlyStopping("val_loss", stopping_threshold=1e9), See()
    forecaster = fitted(callbacks=[stop, see])
    assert see.validations == 1
    assert len(forecaster.learning_curve()) == 1
    assert np.isfinite(forecaster.predict()["0.1"]).all()


@pytest.mark.parametrize("callbacks", [3, "progress", [print], [See]])
def test_callbacks_that_are_none_are_told(callbacks):
    with pytest.raises(TypeError, match=r"`trainer` has among its `callbacks` .*; allowed: lightning's Callbacks"):
        fitted(callbacks=callbacks)


def test_a_csv_logger_gets_the_losses_of_every_epoch(tmp_path):
    forecaster = fitted(logger=CSVLogger(tmp_path))
    logged = pd.read_csv(next(tmp_path.rglob("metrics.csv")))
    curve = forecaster.learning_curve()
    np.testing.assert_allclose(logged["train_loss"].dropna(), curve["train_loss"], rtol=1e-6)
    np.testing.assert_allclose(logged["val_loss"].dropna(), curve["validation_loss"], rtol=1e-6)


def test_a_tensorboard_logger_gets_the_losses_of_every_epoch(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    forecaster = fitted(logger=TensorBoardLogger(tmp_path, name="run", version=""))
    events = EventAccumulator(str(tmp_path / "run"))
    events.Reload()
    losses = [event.value for event in events.Scalars("val_loss")]
    np.testing.assert_allclose(losses, forecaster.learning_curve()["validation_loss"], rtol=1e-6)


def test_an_mlflow_logger_gets_the_losses_of_every_epoch(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    pytest.importorskip("mlflow")
    from lightning.pytorch.loggers import MLFlowLogger

    logger = MLFlowLogger(tracking_uri=f"file:{tmp_path}")
    forecaster = fitted(logger=logger)
    history = logger.experiment.get_metric_history(logger.run_id, "val_loss")
    curve = forecaster.learning_curve()
    np.testing.assert_allclose([one.value for one in history], curve["validation_loss"], rtol=1e-6)


def test_nothing_is_logged_or_kept_unless_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    see = See()
    fitted(callbacks=see)
    assert (see.trainer.logger, see.trainer.checkpoint_callback) == (None, None)
    assert list(tmp_path.iterdir()) == []


def test_a_profiler_measures_the_steps(tmp_path):
    profiler = SimpleProfiler(dirpath=tmp_path, filename="profile")
    fitted(profiler=profiler)
    assert profiler.recorded_durations["run_training_batch"]
    assert "run_training_batch" in next(tmp_path.iterdir()).read_text()


def test_a_fit_ends_when_its_time_is_up():
    began = time.monotonic()
    forecaster = fitted(training=Training(steps=100_000, validations=1000), max_time={"seconds": 1})
    assert time.monotonic() - began < 20
    assert 0 < forecaster.learning_curve()["step"].max() < 100_000
    assert np.isfinite(forecaster.predict()["0.1"]).all()


# -- devices and precision -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{"accelerator": "cpu"}, {"devices": 1}, {"accelerator": "cpu", "devices": "auto"}])
def test_one_device_can_be_named(asked):
    pd.testing.assert_frame_equal(fitted(**asked).predict(), plain().predict())


def test_ddp_does_not_start_a_run_of_tests_once_more():
    with pytest.raises(
        ValueError, match=r"`trainer` asks for 2 processes under 'ddp', .* and there is no script of yours"
    ):
        fitted(accelerator="cpu", devices=2)


_ALL = [kind(width=8) for kind in BACKBONES.values()]


@pytest.mark.parametrize(
    "backbone",
    [one if type(one) in (LSTM, Transformer) else pytest.param(one, marks=pytest.mark.slow) for one in _ALL],
    ids=lambda backbone: type(backbone).__name__,
)
@pytest.mark.parametrize("precision", ["64-true", "bf16-mixed", "bf16-true"])
def test_a_network_trained_in_another_precision_forecasts_and_is_saved_in_single(backbone, precision, tmp_path):
    see = See()
    forecaster = fitted(backbone, callbacks=see, precision=precision)
    single = plain(backbone)
    assert see.trainer.precision == precision
    assert {weight.dtype for weight in forecaster.network_.state_dict().values() if weight.is_floating_point()} == {
        torch.float32
    }
    assert torch.get_default_dtype() == torch.float32
    close = {"64-true": 1e-3, "bf16-mixed": 0.2, "bf16-true": 0.5}[precision]
    np.testing.assert_allclose(forecaster.predict()["0.5"], single.predict()["0.5"], atol=close)
    assert forecaster.validation_loss_ == pytest.approx(single.validation_loss_, abs=close)
    forecaster.set_params(trainer=None).save(tmp_path)
    pd.testing.assert_frame_equal(Forecaster.load(tmp_path).predict(), forecaster.predict(), check_exact=True)


def test_double_precision_is_double():
    dtypes = set()

    class Look(pl.Callback):
        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            dtypes.update(weight.dtype for weight in pl_module.network.parameters())
            dtypes.add(batch.values.dtype)

    fitted(precision="64-true", callbacks=Look())
    assert dtypes == {torch.float64}


def test_half_precision_whose_gradients_vanish_is_refused():
    with pytest.raises(
        ValueError, match=r"`trainer` has the precision '16-true', .*; allowed: '32-true', .*'bf16-mixed'"
    ):
        fitted(precision="16-true")


# -- what is given back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{"deterministic": True}, {"benchmark": True}, {"deterministic": "warn"}])
def test_switches_of_the_process_are_as_before(asked):
    def switches():
        return (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.backends.cudnn.benchmark,
            dict(os.environ),
        )

    before = switches()
    seen = []

    class Look(pl.Callback):
        def on_train_start(self, trainer, pl_module):
            seen.append(switches()[:3])

    forecaster = fitted(callbacks=Look(), **asked)
    assert seen[0] != before[:3]
    assert switches() == before
    pd.testing.assert_frame_equal(forecaster.predict(), plain().predict())


# -- early stopping --------------------------------------------------------------------------------------------------


def test_patience_without_validation_is_an_error_that_names_both():
    with pytest.raises(ValueError, match="`patience` is 3 and `validation_length` is 0: without"):
        Training(patience=3, validation_length=0)
    with pytest.raises(ValueError, match="`patience` is 3 and `validation_length` is 0"):
        NeuralForecaster("lstm", 6, training=Training(patience=3)).set_params(training__validation_length=0)
    assert Training(validation_length=0).patience == "auto"
    assert Training(validation_length=0, patience=None).patience is None


@pytest.mark.parametrize("wrong", ["never", 0, -1, 1.5, True])
def test_patience_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(
        ValueError, match=f"`patience` is {wrong!r}; allowed: a whole number of 1 or more, 'auto', or None"
    ):
        Training(patience=wrong)


def test_patience_by_rule_is_that_of_five_validations():
    counts = []
    for patience in ("auto", 5, None):
        see = See()
        fitted(
            training=Training(steps=20, learning_rate=1e-30, patience=patience), callbacks=see
        )  # nothing gets better
        counts.append(see.validations)
    assert counts == [10 + 1 + 5, 10 + 1 + 5, 20]
