"""Occlusion: exact where it is known which values are read."""

import numpy as np
import pytest
import torch

from forecast.insight import occlude
from forecast.insight.occlusion import _without
from forecast.insight.windows import MissingPart, drawn
from forecast.nn import Identity


def test_only_values_that_are_read_change_a_forecast(fitted):
    table = occlude(fitted(Identity(width=16)), shares=(0.05, 0.25), draws=30, windows=8)
    assert list(table.columns) == ["chosen", "draw", "share", "lags", "change"]
    assert table.groupby("chosen")["draw"].nunique().to_dict() == {"random": 30, "receptive_field": 1}
    assert table["lags"].unique().tolist() == [2, 12]
    few, many = (table[table["lags"] == lags].set_index("chosen")["change"] for lags in (2, 12))
    # The last of 12 tokens is all that is read: most pairs of random values miss it, 12 named ones hold it whole.
    assert (few["random"] == 0).mean() > 0.6
    assert few["receptive_field"] > 0
    assert few["receptive_field"] > few["random"].mean()
    assert many["receptive_field"] > many["random"].mean()


def test_taking_values_away_leaves_all_else_as_it_was(fitted):
    looked = drawn(fitted("lstm"), None, None, 4, 0)
    patches = looked.network.read(looked.values, looked.cutoffs)
    without = _without(patches, np.array([0, 5]))
    gone = ~without.readable.flatten(1)
    assert torch.nonzero(gone[0]).ravel().tolist() == [42, 47]
    assert (without.values.flatten(1)[gone] == 0).all()
    assert torch.equal(without.values[without.readable], patches.values[without.readable])
    for name in ("recent", "ends", "before", "ordinals"):
        assert getattr(without, name) is getattr(patches, name)


def test_attention_names_whole_tokens(fitted):
    table = occlude(fitted("transformer"), by="attention", shares=(0.1,), draws=2, windows=8, seed=1)
    assert table["chosen"].tolist() == ["attention", "random", "random"]
    again = occlude(fitted("transformer"), by="attention", shares=(0.1,), draws=2, windows=8, seed=1)
    assert table.equals(again)
    with pytest.raises(MissingPart, match="attends to nothing along time"):
        occlude(fitted("lstm"), by="attention")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"by": "gradient"}, "`by` is 'gradient'; allowed: 'receptive_field', 'attention'"),
        ({"shares": ()}, r"`shares` is \(\); allowed: one or more numbers inside"),
        ({"shares": (0.1, 1.0)}, r"`shares` is \(0.1, 1.0\); allowed"),
        ({"draws": 0}, "`draws` is 0; allowed: a whole number of 1 or more"),
    ],
)
def test_arguments_that_are_not_allowed_are_named(fitted, wrong, message):
    with pytest.raises(ValueError, match=message):
        occlude(fitted("lstm"), **wrong)
