"""An exported network says what predict says, or is refused; the note beside it is enough to use it."""

import io
import json
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import torch

from forecast import export as export_module
from forecast.baselines import Naive
from forecast.export import export
from forecast.export.program import Exported, roles_of
from forecast.export.verification import largest_difference
from forecast.forecaster import NotFittedError
from forecast.frame import Roles
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES, DECODERS, GRU, LSTM, CausalModule
from forecast.training import Training

HORIZON, CONTEXT = 5, 24
FORMATS = {"torch": ".pt2", "onnx": ".onnx"}


def frame_of(length=150, seed=0, ids=("b", "a", "c")):
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    return pd.concat(
        pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range("2024-03-01", periods=length, freq="h"),
                "y": 5 + 10 * place + 2 * np.sin(2 * np.pi * t / 24) + rng.normal(0, 0.5, length),
                "price": rng.uniform(1, 2, length),
                "rain": rng.uniform(0, 9, length),
                "kind": rng.choice(["x", "y"], length),
                "size": float(place),
            }
        )
        for place, name in enumerate(ids)
    )


ROLES = Roles(known=("price", "kind"), past=("rain",), static=("size",))


def fitted(backbone, *, roles=None, calendar=None, **asked):
    forecaster = NeuralForecaster(
        backbone,
        HORIZON,
        context_length=CONTEXT,
        patch_length=8,
        calendar=calendar,
        training=Training(steps=3),
        quantile_levels=(0.1, 0.5, 0.9),
        **asked,
    )
    return forecaster.fit(frame_of(), **({} if roles is None else {"roles": roles}))


def run_of(path, format):
    """Give an exported file as a function of named arrays, by its own library alone."""
    if format == "torch":
        module = torch.export.load(io.BytesIO(path.read_bytes())).module()
        return lambda **inputs: module(**{name: torch.from_numpy(x) for name, x in inputs.items()}).detach().numpy()
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    return lambda **inputs: session.run(["quantiles"], inputs)[0]


def ordinals_by(note, stamps):
    """Count as the note says."""
    begin, freq = note["ordinals"]["stamp"], note["freq"]
    counts = [len(pd.date_range(begin, stamp, freq=freq)) - 1 for stamp in stamps]
    return np.array(counts, dtype="int64") + note["ordinals"]["ordinal"]


def assert_says_what_predict_says(forecaster, path, format, frame):
    note = json.loads(path.with_name(path.name + ".json").read_text())
    assert set(note["inputs"]) == {"values", "cutoffs"}
    assert note["quantile_levels"] == [0.1, 0.5, 0.9]
    assert (note["horizon"], note["context_length"], note["freq"]) == (HORIZON, CONTEXT, "h")
    assert 0 <= note["largest_difference"] <= 1e-5
    series = [rows for _, rows in frame.groupby("unique_id", sort=False)]
    values = np.stack([rows["y"].to_numpy("float32")[-CONTEXT:] for rows in series])
    cutoffs = ordinals_by(note, [rows["ds"].iloc[-1] for rows in series])
    expected = forecaster.predict(frame)[["0.1", "0.5", "0.9"]].to_numpy().reshape(len(series), HORIZON, 3)
    run = run_of(path, format)
    np.testing.assert_allclose(run(values=values, cutoffs=cutoffs), expected, rtol=2e-5, atol=1e-5)
    group = len(note.get("series", [0]))
    some = run(values=values[:group], cutoffs=cutoffs[:group])
    np.testing.assert_allclose(some, expected[:group], rtol=2e-5, atol=1e-5)


def with_gaps():
    frame = frame_of(200, seed=4)
    frame["y"] = frame["y"].mask(np.arange(len(frame)) % 9 == 0)
    return frame


@pytest.mark.slow
def test_a_torch_file_says_what_predict_says_and_nothing_else_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forecaster = fitted("identity")
    state, said = torch.get_rng_state(), forecaster.predict()
    export(forecaster, "models/one.pt2", "torch")
    assert torch.equal(torch.get_rng_state(), state)
    assert forecaster.predict().equals(said)
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["one.pt2", "one.pt2.json"]
    assert_says_what_predict_says(forecaster, tmp_path / "models/one.pt2", "torch", with_gaps())


@pytest.mark.parametrize(
    ("name", "format"),
    [
        pytest.param(name, format, marks=pytest.mark.slow, id=f"{name}-{format}")
        for name in BACKBONES
        for format in FORMATS
        if (name, format) != ("identity", "torch")
    ],
)
def test_every_backbone_can_be_exported(name, format, tmp_path):
    if format == "onnx":
        pytest.importorskip("onnxscript")
    forecaster = fitted(BACKBONES[name](width=8))
    path = tmp_path / f"model{FORMATS[format]}"
    export(forecaster, path, format)
    assert_says_what_predict_says(forecaster, path, format, with_gaps())


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_covariates_are_inputs_of_their_own(format, tmp_path):
    if format == "onnx":
        pytest.importorskip("onnxscript")
    forecaster = fitted(LSTM(width=8), roles=ROLES, calendar=("hour",))
    path = tmp_path / f"model{FORMATS[format]}"
    export(forecaster, path, format)
    check_covariates(forecaster, path, format)


def check_covariates(forecaster, path, format):
    inputs = json.loads(path.with_name(path.name + ".json").read_text())["inputs"]
    assert list(inputs) == ["values", "cutoffs", "past", "known", "static"]
    assert [column.get("name", column.get("calendar")) for column in inputs["known"]["columns"]] == [
        "price",
        ["hour"],
        "kind",
    ]
    assert inputs["known"]["columns"][-1]["categories"] == ["x", "y"]
    features = inputs["known"]["columns"][1]["columns"]
    assert inputs["known"]["shape"] == ["batch", CONTEXT + HORIZON, 2 + features]
    assert inputs["past"]["columns"] == [{"name": "rain", "delay": 0, "missing": "NaN"}]
    run, B = run_of(path, format), 2
    given = {
        "values": np.full((B, CONTEXT), 7.0, dtype="float32"),
        "cutoffs": np.array([100, 101]),
        "past": np.ones((B, CONTEXT, 1), dtype="float32"),
        "known": np.zeros((B, CONTEXT + HORIZON, 2 + features), dtype="float32"),
        "static": np.zeros((B, 1), dtype="float32"),
    }
    given["values"][:, -3:] = 9.0
    first = run(**given)
    assert first.shape == (B, HORIZON, 3)
    assert np.isfinite(first).all()
    for name in ("past", "known", "static"):
        changed = given[name].copy()
        changed[..., 0] += 3
        assert not np.allclose(run(**(given | {name: changed})), first), name


def test_what_is_not_used_is_left_out():
    forecaster = fitted(LSTM(width=8), roles=Roles(past=("rain",)))
    assert roles_of(forecaster) == ["past"]


# -- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", [name for name in DECODERS if name != "direct"])
def test_other_decoders_are_refused_by_name(decoder, tmp_path):
    forecaster = NeuralForecaster(LSTM(width=8), HORIZON, decoder=decoder, training=Training(steps=1)).fit(frame_of())
    with pytest.raises(ValueError, match=f"`decoder` is '{decoder}', which cannot be exported; allowed: 'direct'"):
        export(forecaster, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_allowed_is_named(tmp_path):
    forecaster = fitted("identity")
    for asked, error, told in [
        ((forecaster, tmp_path / "m.pt2", "onnx"), ValueError, r"for 'onnx': a file that ends in \.onnx"),
        ((forecaster, tmp_path / "m", "torch"), ValueError, r"for 'torch': a file that ends in \.pt2"),
        ((forecaster, tmp_path / "m.onnx", "ONNX"), ValueError, "`format` is 'ONNX'; allowed: 'onnx', 'torch'"),
        ((NeuralForecaster("lstm", 5), tmp_path / "m.onnx"), NotFittedError, "NeuralForecaster is not fitted"),
        ((Naive(5).fit(frame_of()), tmp_path / "m.onnx"), TypeError, r"`forecaster` is Naive.* a fitted NeuralF"),
        (("lstm", tmp_path / "m.onnx"), TypeError, "`forecaster` is 'lstm'; allowed: a fitted NeuralForecaster"),
    ]:
        with pytest.raises(error, match=told):
            export(*asked)


def test_an_export_that_says_something_else_is_refused_and_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(export_module, "program_of", lambda *_: None)
    monkeypatch.setattr(export_module, "as_torch", lambda *_: (b"program", None))
    monkeypatch.setattr(export_module, "largest_difference", lambda *_: 3e-5)
    with pytest.raises(ValueError, match=r"differs from predict by 3e-05 of the largest .*; allowed: 1e-05"):
        export(fitted("identity"), tmp_path / "model.pt2", "torch")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def forecaster():
    return fitted(LSTM(width=8))


@pytest.mark.parametrize(
    ("wrong", "caught"),
    [
        (lambda x, said: said, False),
        (lambda x, said: said * (1 + 1e-6), False),
        (lambda x, said: said * (1 + 1e-4), True),
        (lambda x, said: torch.where(x.isnan().any(1)[:, None, None], torch.nan, said), True),
        (lambda x, said: torch.where((x == 7).all(1)[:, None, None], said + 1, said), True),
        (lambda x, said: said + 1 if len(x) == 1 else said, True),
        (lambda x, said: said + said.mean(0) if len(x) > 1 else said, True),
    ],
    ids=["right", "rounding", "too far", "missing values", "a constant window", "one window", "several windows"],
)
def test_what_is_wrong_about_an_exported_network_shows(wrong, caught, forecaster):
    module = Exported(forecaster.network_, CONTEXT + HORIZON).eval()

    def run(inputs):
        with torch.no_grad():
            return wrong(inputs["values"], module(**inputs))

    assert (largest_difference(forecaster, forecaster.panel_, run) > 1e-5) == caught


@dataclass(frozen=True, kw_only=True)
class Stubborn(GRU):
    """Asks a tensor for a number on its way."""

    def build(self, tokens):
        return StubbornModule()


class StubbornModule(CausalModule):
    receptive_field = 1

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1))

    def init_state(self, batch):
        return ()

    def advance(self, x, state=None):
        return (x if float(x.detach()[0, 0, 0]) > 0 else 2 * x) * self.scale, ()


def test_a_backbone_that_cannot_be_exported_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"`backbone` is Stubborn\(width=8.*\), which torch cannot export") as caught:
        export(fitted(Stubborn(width=8)), tmp_path / "model.pt2", "torch")
    assert caught.value.__cause__ is not None
    assert list(tmp_path.iterdir()) == []


def test_a_library_that_is_not_installed_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match=r"pip install \"foretell\[onnx\]\""):
        export(fitted("identity"), tmp_path / "model.onnx")
