"""What a saved forecaster is: two files that carry their checksums, whole or not there, and never a pickle."""

import json
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from forecast import saving
from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive, Theta, WindowAverage
from forecast.forecaster import Forecaster
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES, DECODERS
from forecast.streaming import Stream
from forecast.training import Training

HORIZON = 6


def frame_of(length=100) -> pd.DataFrame:
    """Two series of hours with a daily wave."""
    hours, stamps = np.arange(length), pd.date_range("2024-03-25", periods=length, freq="h")
    wave = np.sin(2 * np.pi * hours / 24) + 0.1 * np.random.default_rng(0).normal(size=length)
    parts = [
        pd.DataFrame({"unique_id": name, "ds": stamps, "y": level + wave}) for name, level in (("b", 5.0), ("a", 10.0))
    ]
    return pd.concat(parts, ignore_index=True)


FRAME = frame_of()


def small(backbone="lstm", decoder="direct") -> NeuralForecaster:
    return NeuralForecaster(
        BACKBONES[backbone](width=8), HORIZON, decoder=decoder, context_length=24, training=Training(steps=2)
    )


def rewritten(folder, **changes) -> None:
    """Change the note of a forecaster, with a checksum that is right."""
    path = folder / "forecaster.json"
    note = json.loads(path.read_text())
    checksum = note.pop("sha256")["arrays"]
    path.write_bytes(saving.seal(note | changes, checksum))


def files_in(folder) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


# -- the round trip --------------------------------------------------------------------------------------------------


def test_saved_forecasters_give_the_same_numbers_in_a_process_of_their_own_that_sees_no_accelerator(tmp_path):
    forecasters = {
        "naive": Naive(HORIZON),
        "seasonal_naive": SeasonalNaive(HORIZON),
        "drift": Drift(HORIZON),
        "window_average": WindowAverage(HORIZON, window=5),
        "theta": Theta(HORIZON),
        "nlinear": NLinear(HORIZON, context_length=12),
        **{name: small(name) for name in BACKBONES},
        **{f"lstm_{name}": small(decoder=name) for name in DECODERS if name != "direct"},
    }
    expected = {}
    for name, forecaster in forecasters.items():
        forecaster.fit(FRAME).save(tmp_path / name)
        expected[name] = forecaster.predict()["0.1"].tolist()
        assert files_in(tmp_path / name) == [".json", ".safetensors"]
    script = (
        "import sys, json; from pathlib import Path; from forecast import Forecaster; "
        "folders = Path(sys.argv[1]).iterdir(); "
        "print(json.dumps({f.name: Forecaster.load(f).predict()['0.1'].tolist() for f in folders}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1]), "CUDA_VISIBLE_DEVICES": ""},
    )
    assert json.loads(done.stdout) == expected


def test_nothing_is_unpickled_not_even_what_was_planted(tmp_path, monkeypatch):
    forecasters = [small().fit(FRAME), Naive(HORIZON).fit(FRAME)]
    for place, forecaster in enumerate(forecasters):
        forecaster.save(tmp_path / str(place))
        for name in ("data.pkl", "weights.pt", "forecaster.pickle"):
            (tmp_path / str(place) / name).write_bytes(pickle.dumps(forecaster))

    def refuse(*args, **kwargs):
        raise AssertionError("something was unpickled")

    for module, name in [(pickle, "load"), (pickle, "loads"), (pickle, "Unpickler"), (torch, "load"), (np, "load")]:
        monkeypatch.setattr(module, name, refuse)
    for place, forecaster in enumerate(forecasters):
        pd.testing.assert_frame_equal(Forecaster.load(tmp_path / str(place)).predict(), forecaster.predict())


@pytest.mark.parametrize("spelled", [str, Path], ids=["text", "Path"])
def test_folders_may_be_told_from_the_home_folder_as_text_or_path(spelled, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    Naive(HORIZON).fit(FRAME).save(spelled("~/models/first"))
    assert files_in(tmp_path / "models" / "first") == [".json", ".safetensors"]
    assert isinstance(Forecaster.load(spelled("~/models/first")), Naive)


def test_a_folder_holds_one_forecaster_the_last_one_saved(tmp_path):
    for forecaster in (small(), NLinear(HORIZON, context_length=12), Naive(HORIZON)):
        fitted = forecaster.fit(FRAME)
        fitted.save(tmp_path)
        fitted.save(tmp_path)
        loaded = Forecaster.load(tmp_path)
        assert type(loaded) is type(forecaster)
        pd.testing.assert_frame_equal(loaded.predict(), fitted.predict())
        assert files_in(tmp_path) == [".json", ".safetensors"]


def test_other_files_in_the_folder_are_let_be(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "other.safetensors").write_text("mine too")
    Naive(HORIZON).fit(FRAME).save(tmp_path)
    Drift(HORIZON).fit(FRAME).save(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "other.safetensors").read_text() == "mine too"


def test_a_stream_and_its_forecaster_are_those_that_were_saved_together(tmp_path):
    small().fit(FRAME).stream().save(tmp_path)
    Stream.load(tmp_path)
    small().set_params(seed=1).fit(FRAME).save(tmp_path / "forecaster")
    with pytest.raises(ValueError, match=r"holds a stream of another forecaster .*: save the stream again"):
        Stream.load(tmp_path)


# -- saves that are stopped ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("acts", range(3))
def test_a_save_that_is_stopped_leaves_the_old_forecaster_and_the_next_one_cleans_up(acts, tmp_path, monkeypatch):
    """`acts` renames are made before the save is stopped; the second of them is the save itself."""
    NLinear(HORIZON, context_length=12).fit(FRAME).save(tmp_path)
    replace, made = Path.replace, []

    def stop(path, target):
        if len(made) == acts:
            raise KeyboardInterrupt
        made.append(target)
        return replace(path, target)

    fitted = Naive(HORIZON).fit(FRAME)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", stop)
        if acts < 2:
            with pytest.raises(KeyboardInterrupt):
                fitted.save(tmp_path)
        else:
            fitted.save(tmp_path)
    assert isinstance(Forecaster.load(tmp_path), NLinear if acts < 2 else Naive)
    fitted.save(tmp_path)
    assert isinstance(Forecaster.load(tmp_path), Naive)
    assert files_in(tmp_path) == [".json", ".safetensors"]


def test_a_killed_process_leaves_the_old_forecaster_and_the_next_save_removes_what_it_left(tmp_path, monkeypatch):
    NLinear(HORIZON, context_length=12).fit(FRAME).save(tmp_path)
    fitted = Naive(HORIZON).fit(FRAME)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads: the child takes no locks
        child = os.fork()
    if not child:
        monkeypatch.setattr(Path, "replace", lambda path, target: os._exit(9))
        fitted.save(tmp_path)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert isinstance(Forecaster.load(tmp_path), NLinear)
    assert len(files_in(tmp_path)) == 3
    fitted.save(tmp_path)
    assert files_in(tmp_path) == [".json", ".safetensors"]


def test_what_cannot_be_saved_leaves_what_was_there(tmp_path):
    Naive(HORIZON).fit(FRAME).save(tmp_path)
    with pytest.raises(TypeError):
        Learns(HORIZON).fit(FRAME).save(tmp_path)
    assert type(Forecaster.load(tmp_path)) is Naive


# -- files that are not loaded ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_one_flipped_bit_anywhere_is_told_with_its_file(suffix, tmp_path):
    Naive(HORIZON).fit(FRAME).save(tmp_path)
    path = next(path for path in tmp_path.iterdir() if path.suffix == suffix)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=f"`folder` '.*' holds a (damaged )?{path.name}"):
            Forecaster.load(tmp_path)
    path.write_bytes(content)
    Forecaster.load(tmp_path)


def test_arrays_of_another_forecaster_are_refused(tmp_path):
    Naive(HORIZON).fit(FRAME).save(tmp_path / "one")
    Naive(HORIZON).fit(FRAME.assign(y=-FRAME["y"])).save(tmp_path / "other")
    arrays = {name: next((tmp_path / name).glob("*.safetensors")) for name in ("one", "other")}
    assert arrays["one"].name != arrays["other"].name
    arrays["other"].replace(arrays["one"])
    with pytest.raises(ValueError, match=f"holds a damaged {arrays['one'].name}"):
        Forecaster.load(tmp_path / "one")
    arrays["one"].unlink()
    with pytest.raises(FileNotFoundError, match=f"has no {arrays['one'].name}"):
        Forecaster.load(tmp_path / "one")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"format": 99}, ValueError, r"a forecaster\.json in format 99, of version '.*'; version .* reads format 2"),
        ({"format": 1}, ValueError, r"in format 1, .*; version .* reads format 2"),
        ({"class": "forecast.frame.panel:Panel"}, TypeError, "holds a Panel"),
        ({"class": "os:system"}, ValueError, "the class 'os:system' is not there"),
        ({"class": "forecast.nothing:X"}, ValueError, "the class 'forecast.nothing:X' is not there"),
        ({"class": "forecast.baselines:Nothing"}, ValueError, "the class 'forecast.baselines:Nothing' is not there"),
        ({"class": "no_such_module:Mine"}, ValueError, "'no_such_module:Mine' is not there: import 'no_such_module'"),
        ({"params": {"horizon": {"__class__": "pathlib:Path"}}}, TypeError, "'pathlib:Path' is not a dataclass"),
    ],
)
def test_files_that_may_not_be_loaded_are_refused(change, error, message, tmp_path):
    Naive(HORIZON).fit(FRAME).save(tmp_path)
    rewritten(tmp_path)
    Forecaster.load(tmp_path)
    rewritten(tmp_path, **change)
    with pytest.raises(error, match=message):
        Forecaster.load(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r"holds a damaged forecaster\.json"),
        (b"\xff", r"holds a damaged forecaster\.json"),
        (b"[]", r"in format None; version"),
        (b'{"format": 2}', r"holds a damaged forecaster\.json"),
        (b"", r"holds a damaged forecaster\.json"),
    ],
)
def test_a_note_that_is_none_is_told_with_its_folder(content, message, tmp_path):
    Naive(HORIZON).fit(FRAME).save(tmp_path)
    (tmp_path / "forecaster.json").write_bytes(content)
    with pytest.raises(ValueError, match=f"`folder` .*{message}"):
        Forecaster.load(tmp_path)


def test_a_folder_without_a_forecaster_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no forecaster\.json: give a folder that"):
        Forecaster.load(tmp_path / "nothing")


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(NotADirectoryError, match=r"`folder` '.*model' is a file; give a folder"):
        Naive(HORIZON).fit(FRAME).save(tmp_path / "model")


def test_loading_as_another_class_is_refused(tmp_path):
    Naive(HORIZON).fit(FRAME).save(tmp_path)
    with pytest.raises(TypeError, match=r"holds a Naive; load it with Forecaster\.load"):
        Drift.load(tmp_path)


# -- what cannot be saved --------------------------------------------------------------------------------------------


class Learns(Naive):
    """Learns something that is neither an array nor plain."""

    def _fit(self, panel):
        super()._fit(panel)
        self.found_ = {"b": {1, 2}}


class Mine(Naive):
    """A forecaster of the user's own, with an argument that JSON does not know."""

    def __init__(self, horizon, *, hook=None, season_length=None, quantile_levels=(0.1, 0.5, 0.9)):
        super().__init__(horizon, season_length=season_length, quantile_levels=quantile_levels)
        self.hook = hook


def test_a_forecaster_of_ones_own_is_loaded_while_its_module_is_imported(tmp_path):
    Mine(HORIZON).fit(FRAME).save(tmp_path)
    assert type(Forecaster.load(tmp_path)) is Mine


def test_what_a_forecaster_has_learned_and_cannot_be_saved_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"`found_\['b'\]` is a set and cannot be saved: \{1, 2\}.*in its _state"):
        Learns(HORIZON).fit(FRAME).save(tmp_path)


class Holds(Naive):
    """Keeps another forecaster that it has fitted."""

    def _fit(self, panel):
        super()._fit(panel)
        self.inside_ = {"of all": Drift(self.horizon).fit(panel)}


def test_a_fitted_model_inside_is_not_saved_as_if_it_were_not_fitted(tmp_path):
    with pytest.raises(TypeError, match=r"`inside_\['of all'\]` is a fitted Drift and cannot be saved.*in _state"):
        Holds(HORIZON).fit(FRAME).save(tmp_path)


def test_an_argument_that_cannot_be_saved_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"`hook\['call'\]` is a builtin_function_or_method and cannot be saved"):
        Mine(HORIZON, hook={"call": print}).fit(FRAME).save(tmp_path)


def test_a_callback_of_the_trainer_is_named(tmp_path):
    from lightning.pytorch.callbacks import LambdaCallback

    fitted = small().set_params(trainer={"callbacks": [LambdaCallback(on_fit_end=lambda *_: None)]}).fit(FRAME)
    with pytest.raises(TypeError, match=r"`trainer\['callbacks'\]` is a LambdaCallback and cannot be saved"):
        fitted.save(tmp_path)
    fitted.set_params(trainer=None).save(tmp_path)
    pd.testing.assert_frame_equal(Forecaster.load(tmp_path).predict(), fitted.predict())
