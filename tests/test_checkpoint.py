"""Fits that are stopped and gone on with, fits that start from another, and what both refuse."""

import copy
import json
import random
import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path

import lightning.pytorch as pl
import numpy as np
import pandas as pd
import pytest
import torch

from forecast.baselines import Naive
from forecast.forecaster import NotFittedError
from forecast.frame import Roles
from forecast.neural import NeuralForecaster
from forecast.nn import GRU, LSTM, TCN, Direct, Recipe
from forecast.training import Training

HORIZON = 6


def frame_of(length=200, series=2, seed=0) -> pd.DataFrame:
    """Series of hours with a daily wave."""
    rng = np.random.default_rng(seed)
    hours, stamps = np.arange(length), pd.date_range("2024-03-25", periods=length, freq="h")
    parts = [
        pd.DataFrame({"unique_id": f"s{i}", "ds": stamps, "y": i + np.sin(hours / 4) + rng.normal(0, 0.3, length)})
        for i in range(series)
    ]
    return pd.concat(parts, ignore_index=True)


FRAME = frame_of()
TRAINING = Training(steps=12, validations=6, batch_size=8, learning_rate=0.02, patience=None)


def network(**changes) -> NeuralForecaster:
    arguments = {"backbone": LSTM(width=8, dropout=0.3), "context_length": 24, "training": TRAINING}
    return NeuralForecaster(**arguments | {"horizon": HORIZON} | changes)


@cache
def straight() -> NeuralForecaster:
    """A fit that was not stopped, to compare with."""
    return network().fit(FRAME)


class Stop(pl.Callback):
    """Presses Ctrl-C when an epoch has begun."""

    def __init__(self, epoch: int):
        self.epoch = epoch

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if trainer.current_epoch == self.epoch:
            raise KeyboardInterrupt


class Watch(pl.Callback):
    """Keeps what each epoch is called."""

    def __init__(self):
        self.epochs, self.steps = [], []

    def on_train_epoch_start(self, trainer, pl_module):
        self.epochs.append(trainer.current_epoch)
        self.steps.append(pl_module.steps)


def stopped(forecaster, folder, epoch=3, frame=FRAME, **options) -> NeuralForecaster:
    """Stop a fit within an epoch."""
    forecaster.set_params(trainer={"callbacks": [Stop(epoch)]})
    with pytest.raises(KeyboardInterrupt):
        forecaster.fit(frame, checkpoint=folder, **options)
    assert not hasattr(forecaster, "network_")
    return forecaster.set_params(trainer=None)


def same(one: NeuralForecaster, other: NeuralForecaster) -> None:
    """Whether two fits have come to the same, bit for bit."""
    ours, theirs = one.network_.state_dict(), other.network_.state_dict()
    assert list(ours) == list(theirs)
    assert all(torch.equal(weight, theirs[name]) for name, weight in ours.items())
    assert one.validation_loss_ == other.validation_loss_
    pd.testing.assert_frame_equal(one.learning_curve(), other.learning_curve(), check_exact=True)
    pd.testing.assert_frame_equal(one.predict(), other.predict(), check_exact=True)


@pytest.fixture(scope="module")
def _state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("state")
    stopped(network(), folder)
    return folder


@pytest.fixture
def state(_state, tmp_path):
    """The state of a fit that was stopped, in a folder of its own."""
    return Path(shutil.copytree(_state, tmp_path / "state"))


# -- going on --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "trainer", "epoch"),
    [
        ({}, {}, 1),
        ({}, {}, 5),
        ({"decoder": "recursive", "horizon": 30}, {}, 4),
        ({"backbone": TCN(width=8), "decoder": "attention"}, {}, 4),
        ({"training": replace(TRAINING, steps=11, patience=2)}, {}, 4),
        ({"training": replace(TRAINING, validation_length=0)}, {}, 2),
        ({}, {"precision": "bf16-mixed"}, 2),
        ({}, {"precision": "64-true"}, 3),
    ],
    ids=["early", "late", "recursive", "attention", "early stopping", "no validation", "mixed", "double"],
)
def test_a_fit_that_was_stopped_goes_on_to_the_weights_of_one_that_was_not(changes, trainer, epoch, tmp_path):
    expected = network(trainer=trainer, **changes).fit(FRAME, checkpoint=tmp_path / "straight")
    forecaster = network(trainer={**trainer, "callbacks": [Stop(epoch)]}, **changes)
    with pytest.raises(KeyboardInterrupt):
        forecaster.fit(FRAME, checkpoint=tmp_path / "a" / "b")
    watch = Watch()
    forecaster.set_params(trainer={**trainer, "callbacks": [watch]}).fit(FRAME, checkpoint=tmp_path / "a" / "b")
    assert watch.epochs[0] == epoch, "it did not begin anew"
    assert watch.steps[0] == 2 * epoch
    same(forecaster, expected)


def test_a_fit_that_keeps_its_state_comes_to_the_same_as_one_that_does_not(tmp_path):
    same(network().fit(FRAME, checkpoint=tmp_path), straight())


def test_stopping_again_and_again_changes_nothing(tmp_path):
    forecaster = network()
    for epoch in (1, 2, 5):
        stopped(forecaster, tmp_path, epoch)
    same(forecaster.fit(FRAME, checkpoint=tmp_path), straight())


def test_a_new_process_would_go_on_whatever_its_random_states_are(tmp_path):
    forecaster, expected = stopped(network(), tmp_path), straight()
    random.seed(5), np.random.seed(6), torch.manual_seed(7)
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    same(copy.deepcopy(forecaster).fit(FRAME, checkpoint=tmp_path), expected)
    assert (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == states


def test_a_fit_that_is_finished_leaves_nothing_and_the_next_begins_anew(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    forecaster = stopped(network(), str(tmp_path))
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".safetensors", ".txt"]
    forecaster.fit(FRAME, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    watch = Watch()
    forecaster.set_params(trainer={"callbacks": [watch]}).fit(FRAME, checkpoint=tmp_path)
    assert watch.epochs == [*range(6)]


def test_a_fit_stopped_before_its_first_validation_begins_anew(tmp_path):
    forecaster = stopped(network(), tmp_path, epoch=0)
    assert list(tmp_path.iterdir()) == []
    same(forecaster.fit(FRAME, checkpoint=tmp_path), straight())


def test_loggers_count_on(tmp_path):
    from lightning.pytorch.loggers import CSVLogger

    def logged(folder):
        tables = [pd.read_csv(path) for path in sorted(folder.rglob("metrics.csv"))]
        return pd.concat(tables).groupby(["epoch", "step"])["train_loss"].first().dropna()

    network(trainer={"logger": CSVLogger(tmp_path / "straight")}).fit(FRAME)
    forecaster = network(trainer={"logger": CSVLogger(tmp_path / "parts"), "callbacks": [Stop(3)]})
    with pytest.raises(KeyboardInterrupt):
        forecaster.fit(FRAME, checkpoint=tmp_path / "state")
    forecaster.set_params(trainer={"logger": CSVLogger(tmp_path / "parts")})
    forecaster.fit(FRAME, checkpoint=tmp_path / "state")
    pd.testing.assert_series_equal(logged(tmp_path / "parts"), logged(tmp_path / "straight"), check_exact=True)


@pytest.mark.parametrize(
    ("changes", "frame", "message"),
    [
        ({"seed": 3}, FRAME, "of other seed: 0 there, 3 here. Give the same again .* or another folder; remove checkp"),
        ({"horizon": 5}, FRAME, "of other horizon: 6 there, 5 here"),
        ({"backbone": LSTM(width=9)}, FRAME, r"of other backbone: .*'width': 8.* there, .*'width': 9"),
        ({"training": replace(TRAINING, learning_rate=0.5)}, FRAME, "of other training: "),
        ({}, FRAME.assign(y=FRAME["y"].where(FRAME.index != 7, 1.5)), "of other data. Give"),
        ({}, FRAME.assign(unique_id=FRAME["unique_id"].replace("s1", "s2")), "of other data. Give"),
        ({}, FRAME.assign(ds=FRAME["ds"] + pd.Timedelta("1h")), "of other data. Give"),
        ({}, FRAME.iloc[:-1], "of other data. Give"),
    ],
)
def test_a_state_of_another_fit_is_refused(changes, frame, message, state):
    files = sorted(state.iterdir())
    with pytest.raises(ValueError, match=f"`checkpoint` '.*' holds a fit that was stopped, {message}"):
        network(**changes).fit(frame, checkpoint=state)
    assert sorted(state.iterdir()) == files, "what was there is still there"


def test_how_much_is_said_and_callbacks_may_be_others(state):
    same(network(verbose=1, trainer={"callbacks": [Watch()]}).fit(FRAME, checkpoint=state), straight())


def test_a_damaged_state_is_refused(state):
    arrays = next(state.glob("*.safetensors"))
    content = bytearray(arrays.read_bytes())
    content[-1] ^= 1
    arrays.write_bytes(content)
    with pytest.raises(ValueError, match=f"holds a damaged {arrays.name}"):
        network().fit(FRAME, checkpoint=state)


def test_a_state_can_be_read_by_people(state):
    note = json.loads((state / "checkpoint.json").read_text())
    assert note["state"]["epoch"] == 3
    assert note["state"]["steps"] == 6
    assert note["fit"]["seed"] == 0


def test_forecasters_without_steps_have_no_checkpoint(tmp_path):
    with pytest.raises(TypeError, match="checkpoint"):
        Naive(HORIZON).fit(FRAME, checkpoint=tmp_path)


# -- starting from another -------------------------------------------------------------------------------------------


class Begin(pl.Callback):
    """Keeps the weights with which a fit begins; what moderates a network comes once it is trained."""

    def on_train_start(self, trainer, pl_module):
        state = pl_module.network.state_dict()
        self.weights = {name: weight.clone() for name, weight in state.items() if name not in ("drift", "trust")}


def begun(forecaster, frame=FRAME, **options) -> dict:
    begin = Begin()
    forecaster.set_params(trainer={"callbacks": [begin]}).fit(frame, **options)
    return begin.weights


def test_a_fit_starts_from_the_weights_of_another_and_leaves_these_as_they_are():
    earlier = straight()
    weights = copy.deepcopy(earlier.network_.state_dict())
    for forecaster in (network(seed=1), network(training=Training(steps=2), backbone=LSTM(width=8, dropout=0.0))):
        found = begun(forecaster, frame_of(seed=1), continue_from=earlier)
        assert all(torch.equal(weights[name], weight) for name, weight in found.items())
    assert all(torch.equal(weights[name], weight) for name, weight in earlier.network_.state_dict().items())


def test_a_second_fit_starts_anew_unless_it_is_told_to_go_on_from_the_first():
    forecaster = network().fit(FRAME)
    weights = copy.deepcopy(forecaster.network_.state_dict())
    anew = begun(forecaster)
    assert not all(torch.equal(weights[name], weight) for name, weight in anew.items())
    same(forecaster, straight())
    on = begun(forecaster, continue_from=forecaster)
    assert all(torch.equal(weights[name], weight) for name, weight in on.items())


def test_covariates_are_read_in_the_units_of_the_fit_that_is_gone_on_from():
    rng = np.random.default_rng(0)
    frame = FRAME.assign(price=rng.normal(size=len(FRAME)), kind=np.where(FRAME["ds"].dt.hour < 6, "n", "d"))
    roles = Roles(past=("price", "kind"))
    earlier = network().fit(frame, roles=roles)
    later = network().fit(frame.assign(price=100 * frame["price"]), roles=roles, continue_from=earlier)
    assert later.encoding_ == earlier.encoding_
    in_another_order = frame[frame["ds"].dt.hour.ge(7).cummax()]
    assert network().fit(in_another_order, roles=roles, continue_from=earlier).encoding_ == earlier.encoding_
    with pytest.raises(ValueError, match=r"fitted with `categories of kind` \('n', 'd'\), .* with \('x', 'd'\)"):
        network().fit(frame.replace({"kind": {"n": "x"}}), roles=roles, continue_from=earlier)
    with pytest.raises(ValueError, match=r"fitted with `past columns` \['price', 'kind'\], .* with \[\]"):
        network().fit(frame, continue_from=earlier)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizon": 5}, "was fitted with `horizon` 6, and this is a fit with 5"),
        ({"quantile_levels": (0.1, 0.5, 0.9)}, r"was fitted with `quantile_levels` \(0\.1, 0\.2"),
        ({"backbone": GRU(width=8)}, "was fitted with `backbone` 'LSTM', and this is a fit with 'GRU'"),
        ({"decoder": "attention"}, "has another network: its weight `decoder.* is .*not there"),
        ({"patch_length": 4}, "was fitted with `patch_length` 2, and this is a fit with 4"),
        ({"season_length": 12, "patch_length": 2}, "was fitted with `season_length` 24, and this is a fit with 12"),
        ({"transform": "log"}, "was fitted with `transform` 'auto', and this is a fit with 'log'"),
        ({"recipe": Recipe(anchor="last")}, "was fitted with `recipe` Recipe.*, and this is a fit with Recipe.*'last'"),
        ({"calendar": ("weekday",)}, r"was fitted with `calendar` \(\), and this is a fit with \('weekday',\)"),
        (
            {"backbone": LSTM(width=16)},
            r"has another network: its weight `.*` is \(.*8.*\), and that of this one \(.*16",
        ),
    ],
)
def test_a_fit_of_something_else_is_not_gone_on_from(changes, message):
    with pytest.raises(ValueError, match=f"`continue_from` {message}.*leave `continue_from` out"):
        network(**changes).fit(FRAME, continue_from=straight())


def test_only_a_fitted_network_is_gone_on_from():
    with pytest.raises(TypeError, match="`continue_from` is a Naive; allowed: a fitted NeuralForecaster"):
        network().fit(FRAME, continue_from=Naive(HORIZON).fit(FRAME))
    with pytest.raises(NotFittedError, match="is not fitted"):
        network().fit(FRAME, continue_from=network())


def test_a_fit_that_goes_on_from_another_can_be_stopped_too(tmp_path):
    earlier, other = straight(), network(seed=1).fit(FRAME)
    forecaster = stopped(network(decoder=Direct()), tmp_path, continue_from=earlier)
    with pytest.raises(ValueError, match="of other weights"):
        copy.deepcopy(forecaster).fit(FRAME, checkpoint=tmp_path, continue_from=other)
    forecaster.fit(FRAME, checkpoint=tmp_path, continue_from=earlier)
    same(forecaster, network(decoder=Direct()).fit(FRAME, continue_from=earlier))


def test_a_file_in_the_place_of_the_folder_is_told_before_the_fit(tmp_path):
    (tmp_path / "state").write_text("")
    with pytest.raises(NotADirectoryError, match=r"`checkpoint` '.*state' is a file; give a folder"):
        NeuralForecaster("lstm", 4, training=Training(steps=2)).fit(FRAME, checkpoint=tmp_path / "state")
