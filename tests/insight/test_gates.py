"""The time-scales of gates equal the textbook's equations, worked out token by token."""

import numpy as np
import pytest
import torch

from forecast.insight import gate_timescales
from forecast.insight.gates import gates_of
from forecast.insight.hooks import calls
from forecast.insight.windows import MissingPart, drawn
from forecast.nn import GRU, LSTM, AttentiveRNN


def lstm(weights, x):
    h = c = torch.zeros(x.shape[0], x.shape[2])
    for token in x.unbind(1):
        both = [
            token @ weights["weight_ih_l0"].T + weights["bias_ih_l0"],
            h @ weights["weight_hh_l0"].T + weights["bias_hh_l0"],
        ]
        i, f, g, o = sum(both).chunk(4, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        yield f.sigmoid()


def gru(weights, x):
    h = torch.zeros(x.shape[0], x.shape[2])
    for token in x.unbind(1):
        ri, zi, ni = (token @ weights["weight_ih_l0"].T + weights["bias_ih_l0"]).chunk(3, dim=1)
        rh, zh, nh = (h @ weights["weight_hh_l0"].T + weights["bias_hh_l0"]).chunk(3, dim=1)
        z = (zi + zh).sigmoid()
        h = (1 - z) * (ni + (ri + rh).sigmoid() * nh).tanh() + z * h
        yield z


@pytest.mark.parametrize(("backbone", "naive"), [(LSTM(width=16, depth=2), lstm), (GRU(width=16), gru)])
def test_gates_equal_a_loop_over_the_equations(fitted, backbone, naive):
    looked = drawn(fitted(backbone), None, None, 4, 0)
    network = looked.network
    for gate in gates_of(network.backbone):
        with torch.no_grad(), calls([gate.module]) as seen:
            network.backbone(network.tokens(network.read(looked.values, looked.cutoffs)))
            expected = torch.stack(list(naive(dict(gate.module.named_parameters()), seen[0].inputs[0])), dim=1)
            torch.testing.assert_close(gate.kept(seen[0]), expected)


def test_the_gate_of_a_mingru_says_what_its_state_keeps(fitted):
    looked = drawn(fitted("mingru"), None, None, 4, 0)
    network = looked.network
    layer = network.backbone.layers[0]
    gate = gates_of(network.backbone)[0]
    with torch.no_grad(), calls([gate.module, layer.recurrence_norm]) as seen:
        tokens = network.tokens(network.read(looked.values, looked.cutoffs))
        layer.advance(tokens, None)
        kept = gate.kept(seen[0])
        low, high = (layer.advance(tokens[:, :1], torch.full((4, 16), held))[1] for held in (0.0, 1.0))
    torch.testing.assert_close(high - low, kept[:, 0])


@pytest.mark.parametrize(
    ("backbone", "cell", "layers"),
    [
        (LSTM(width=16, depth=2), "lstm", 2),
        (GRU(width=16), "gru", 1),
        ("mingru", "mingru", 2),
        (AttentiveRNN(width=16, cell="gru"), "gru", 1),
    ],
    ids=lambda one: str(one).split("(")[0],
)
def test_there_is_a_row_for_every_layer_and_unit(fitted, backbone, cell, layers):
    table = gate_timescales(fitted(backbone), windows=8)
    assert list(table.columns) == ["layer", "unit", "cell", "kept", "timescale"]
    assert table.groupby("layer")["unit"].apply(list).tolist() == [list(range(1, 17))] * layers
    assert (table["cell"] == cell).all()
    assert table["kept"].between(0, 1).all()
    np.testing.assert_allclose(table["timescale"], 4 / (1 - table["kept"]), rtol=1e-6)
    assert table.attrs == {"context": 48, "patch_length": 4}


@pytest.mark.parametrize("backbone", ["rnn", "tcn", "transformer"])
def test_what_has_no_gate_is_said_by_name(fitted, backbone):
    with pytest.raises(MissingPart, match=r"`backbone` \w+\(.*\) has no gate that says how much of a memory is kept"):
        gate_timescales(fitted(backbone))
