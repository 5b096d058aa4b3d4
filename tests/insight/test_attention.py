"""Attention maps: the weights that the network has really used, with the stamps that they belong to."""

import numpy as np
import pandas as pd
import pytest
import torch

from forecast.insight import alignments, attention_across_series, attention_by_lag, attention_maps
from forecast.insight.attention import along_time
from forecast.insight.hooks import calls
from forecast.insight.windows import MissingPart, drawn
from forecast.nn import AttentiveRNN, Transformer
from forecast.nn.decoders import AttentionDecoder, CrossAttention
from forecast.nn.self_attention import CausalSelfAttention

ATTENDING = ["transformer", "vanilla_transformer", "attentive_rnn", "graph_transformer"]


@pytest.mark.parametrize(
    "backbone",
    [*ATTENDING, AttentiveRNN(width=16, score="additive"), Transformer(width=16, window=5)],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_rows_sum_to_one_and_nothing_lies_above_the_diagonal(fitted, backbone):
    for weights in along_time(drawn(fitted(backbone), None, None, 4, 0)):
        assert weights.shape[0] == 4
        assert weights.shape[-2:] == (12, 12)
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
        assert (weights.triu(1) == 0).all()


def test_the_band_of_a_window_is_kept(fitted):
    (weights, _) = along_time(drawn(fitted(Transformer(width=16, window=5)), None, None, 4, 0))
    assert (weights.tril(-5) == 0).all()
    assert (weights.tril(0).triu(-4).sum((-1, -2)) > 11.99).all()


@pytest.mark.parametrize("backbone", ["transformer", "vanilla_transformer", "attentive_rnn"])
def test_they_are_the_weights_that_the_network_has_used(fitted, backbone):
    looked = drawn(fitted(backbone), None, None, 4, 0)
    layers = [m for m in looked.network.backbone.modules() if isinstance(m, CausalSelfAttention)]
    with torch.no_grad(), calls([part for m in layers for part in (m.attention.query, m.attention.out)]) as seen:
        looked.network(looked.values, looked.cutoffs)
    for layer, weights in enumerate(along_time(looked)):
        given, merged = seen[2 * layer].inputs[0], seen[2 * layer + 1].inputs[0]
        answer = weights @ layers[layer].attention.data(given)[1]  # (B, A, N, K)
        torch.testing.assert_close(answer.transpose(1, 2).flatten(2), merged)


@pytest.mark.parametrize("backbone", ATTENDING)
def test_a_map_has_the_stamps_of_its_tokens(fitted, backbone):
    maps = attention_maps(fitted(backbone), ids=["s1", "s2"], cutoffs=["2024-01-04 07:00"])
    assert list(maps.columns) == [
        "unique_id", "cutoff", "layer", "head", "query", "key", "lag_tokens", "lag", "weight",
    ]  # fmt: skip
    assert list(maps["unique_id"].unique()) == ["s1", "s2"]
    assert (maps["cutoff"] == pd.Timestamp("2024-01-04 07:00")).all()
    expected = pd.date_range(end="2024-01-04 07:00", periods=12, freq="4h")
    assert list(maps["query"].unique()) == list(maps["key"].unique()) == list(expected)
    assert (maps["lag"] == (maps["query"] - maps["key"]) / pd.Timedelta("1h")).all()
    assert (maps["lag"] == 4 * maps["lag_tokens"]).all()
    sums = maps.groupby(["unique_id", "layer", "head", "query"])["weight"].sum()
    np.testing.assert_allclose(sums, 1, rtol=1e-5)
    weights = torch.stack(along_time(drawn(fitted(backbone), None, ["2024-01-04 07:00"], 64, 0)))  # layers first
    row = maps[(maps["unique_id"] == "s2") & (maps["layer"] == len(weights)) & (maps["lag_tokens"] == 3)]
    last = row[(row["head"] == weights.shape[2]) & (row["query"] == expected[-2])]
    assert last["weight"].item() == pytest.approx(float(weights[-1, 2, -1, 10, 7]))


def test_maps_by_lag_are_means_of_the_last_row(fitted):
    forecaster = fitted("transformer")
    lags = attention_by_lag(forecaster, windows=12, seed=1)
    expected = torch.stack(along_time(drawn(forecaster, None, None, 12, 1)))[:, :, :, -1].mean(1).flip(-1)
    np.testing.assert_allclose(lags["weight"], expected.ravel(), rtol=1e-5)
    np.testing.assert_allclose(lags.groupby(["layer", "head"])["weight"].sum(), 1, rtol=1e-5)
    assert lags["lag"].unique().tolist() == list(range(0, 48, 4))


def test_weights_across_series_follow_the_graph(fitted, frame):
    whole = attention_across_series(fitted("graph_transformer"), windows=4)
    assert (whole["weight"] > 0).all()
    forecaster = fitted("graph_transformer")
    cut = type(forecaster)(**{**forecaster.get_params(deep=False), "graph": [("s0", "s1")]}).fit(frame)
    table = attention_across_series(cut, windows=4)
    assert list(table.columns) == ["layer", "head", "reader", "read", "weight"]
    np.testing.assert_allclose(table.groupby(["layer", "head", "reader"])["weight"].sum(), 1, rtol=1e-5)
    read = {(row.reader, row.read) for row in table.itertuples() if row.weight > 0}
    assert read == {("s0", "s0"), ("s0", "s1"), ("s1", "s1"), ("s2", "s2")}


@pytest.mark.parametrize(
    ("decoder", "heads"), [(AttentionDecoder(), 1), (AttentionDecoder(score="dot"), 1), (CrossAttention(heads=2), 2)]
)
def test_alignments_sum_to_one_and_have_the_stamps_of_steps_and_tokens(fitted, decoder, heads):
    forecaster = fitted("lstm", decoder)
    maps = alignments(forecaster, ids=["s1"], cutoffs=["2024-01-04 07:00"])
    assert list(maps.columns) == ["unique_id", "cutoff", "layer", "head", "step", "ds", "key", "lag", "weight"]
    assert len(maps) == heads * 6 * 12
    np.testing.assert_allclose(maps.groupby(["layer", "head", "step"])["weight"].sum(), 1, rtol=1e-5)
    assert list(maps["ds"].unique()) == list(pd.date_range("2024-01-04 08:00", periods=6, freq="h"))
    assert list(maps["key"].unique()) == list(pd.date_range(end="2024-01-04 07:00", periods=12, freq="4h"))
    assert (maps["lag"] == (maps["ds"] - maps["key"]) / pd.Timedelta("1h")).all()
    looked = drawn(forecaster, None, ["2024-01-04 07:00"], 64, 0)
    with torch.no_grad():
        states = looked.network.backbone(looked.network.tokens(looked.network.read(looked.values, looked.cutoffs)))
        expected = looked.network.decoder.alignments(states, -1)[1]
    means = maps.pivot_table(index="ds", columns="key", values="weight", aggfunc="mean")
    np.testing.assert_allclose(means, expected, rtol=1e-4)


def test_integer_and_zoned_stamps_come_back_as_they_came(fitted, frame):
    hours = frame.groupby("unique_id").cumcount()
    forecaster = fitted("transformer", AttentionDecoder())
    fresh = type(forecaster)(**forecaster.get_params(deep=False))
    maps = alignments(fresh.fit(frame.assign(ds=hours)))
    assert maps["key"].unique().tolist() == list(range(75, 120, 4))
    zoned = frame.assign(ds=frame["ds"].dt.tz_localize("Europe/Berlin"))
    maps = attention_maps(fresh.fit(zoned))
    assert maps["query"].max() == zoned["ds"].max()
    assert str(maps["key"].dtype) == str(maps["cutoff"].dtype) == str(zoned["ds"].dtype)


def test_what_is_not_there_is_said_by_name(fitted):
    with pytest.raises(MissingPart, match=r"`backbone` LSTM\(.*\) attends to nothing along time"):
        attention_maps(fitted("lstm"))
    with pytest.raises(MissingPart, match=r"`backbone` Transformer\(.*\) attends to no other series"):
        attention_across_series(fitted("transformer"))
    with pytest.raises(MissingPart, match="`decoder` 'direct' reads the state at the origin alone"):
        alignments(fitted("transformer"))
