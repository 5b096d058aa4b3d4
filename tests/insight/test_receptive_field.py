"""The effective receptive field: exact where the field is known, and equal to bumping every value by hand."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn.functional import pad

from forecast.insight import effective_receptive_field, field_extent
from forecast.insight.receptive_field import mean_gradients
from forecast.insight.windows import drawn
from forecast.nn import TCN, Identity, Recursive
from forecast.nn.network import LAST


def backbone_part(field):
    return field[field["part"] == "backbone"]


@pytest.mark.parametrize(
    ("backbone", "tokens"),
    [(Identity(width=16), 1), (TCN(width=16, depth=1, kernel_size=2), 3), (TCN(width=16, depth=2, kernel_size=2), 7)],
)
def test_it_reaches_just_as_far_as_is_claimed(fitted, backbone, tokens):
    field = effective_receptive_field(fitted(backbone), windows=16)
    assert field.attrs["claimed"] == 4 * tokens
    own = backbone_part(field)
    assert (own.loc[own["lag"] < 4 * tokens, "gradient"] > 0).all()
    assert (own.loc[own["lag"] >= 4 * tokens, "gradient"] == 0).all()
    assert field.attrs["effective"] <= 4 * tokens
    assert field.attrs["warning"] == (
        f"the context of 48 steps exceeds the claimed field of {4 * tokens}: older values are never read"
    )


def test_shares_sum_to_one_and_steps_are_the_first_the_middle_and_the_last(fitted):
    field = effective_receptive_field(fitted("lstm"), windows=16)
    assert list(field.columns) == ["part", "step", "lag", "gradient", "share"]
    np.testing.assert_allclose(field.groupby(["part", "step"])["share"].sum(), 1)
    assert list(field["step"].unique()) == [1, 3, 6]
    assert list(field["lag"].unique()) == list(range(48))
    assert field.attrs["claimed"] is None


def bumped(network, values, cutoffs, lag, by, whole):
    """Medians after the value at a lag is raised by so many scales, location and scale as they were."""
    patches = network.read(values, cutoffs)
    ends = patches.ends.at(LAST)
    moved = pad(torch.full((1, 1), by * float(ends.scale)), (values.shape[1] - 1 - lag, lag))
    patches = replace(patches, values=patches.values + moved.unflatten(1, patches.values.shape[1:]))
    if whole:
        recent = torch.zeros_like(patches.recent)
        recent[:, -1] = pad(moved, (network.recent, 0))[:, -network.recent :]
        last = patches.ends.last.clone()
        last[:, -1] += moved[:, -1]
        told = network.read(values + moved, cutoffs)
        patches = replace(patches, recent=patches.recent + recent, ends=replace(patches.ends, last=last))
        patches = replace(patches, past=told.past)
    scaled = network.decode(patches, network.backbone(network.tokens(patches)), LAST)
    return (scaled.quantiles[..., 4] + scaled.anchor / scaled.scale).squeeze()


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("backbone", ["lstm", "transformer"])
def test_it_equals_bumping_every_value(fitted, backbone, whole):
    looked = drawn(fitted(backbone), None, ["2024-01-04 07:00"], 64, 0)
    one = next(iter(looked.parts(1)))
    found = mean_gradients(one, [0, 5], whole=whole)
    network = copy.deepcopy(one.network).double()
    values, step = one.values.double(), 1e-4
    with torch.no_grad():
        for lag in (0, 1, 3, 4, 11, 30, 47):
            up, down = (bumped(network, values, one.cutoffs, lag, by, whole) for by in (step, -step))
            expected = ((up - down) / (2 * step)).abs()[[0, 5]]
            np.testing.assert_allclose(found[:, lag], expected.numpy(), rtol=2e-3, atol=1e-6)


def test_series_are_looked_at_one_by_one_even_where_they_read_each_other(fitted):
    forecaster = fitted("graph_transformer")
    cutoffs = ["2024-01-03", "2024-01-04"]
    together = mean_gradients(drawn(forecaster, None, cutoffs, 64, 0), [0], whole=False)
    parts = drawn(forecaster, None, cutoffs, 64, 0).parts(1)
    alone = [mean_gradients(part, [0], whole=False) for part in parts]
    np.testing.assert_allclose(together, np.mean(alone, axis=0), rtol=1e-5, atol=1e-9)


def test_missing_values_have_no_gradient(fitted, frame):
    gone = frame.assign(y=frame["y"].where(frame["ds"] != "2024-01-04 02:00"))
    field = backbone_part(effective_receptive_field(fitted("lstm"), gone, cutoffs=["2024-01-04 07:00"]))
    assert (field.loc[field["lag"] == 5, "gradient"] == 0).all()
    assert (field.loc[field["lag"] != 5, "gradient"] > 0).all()


def test_a_decoder_that_feeds_back_is_seen_as_far_as_it_reaches(fitted):
    field = effective_receptive_field(fitted("tcn", Recursive(paths=4)), windows=4)
    assert list(field["step"].unique()) == [1, 2, 4]


def test_the_extent_counts_the_newest_steps_that_hold_a_share():
    share = [0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05]
    field = pd.DataFrame({"part": "whole", "step": 1, "lag": range(8), "gradient": share, "share": share})
    assert field_extent(field.sample(frac=1, random_state=0)).to_dict("records") == [
        {"part": "whole", "step": 1, "half": 2, "held": 7}
    ]


@pytest.mark.parametrize("kept", [0.4, 0.999])
def test_a_context_clearly_longer_than_what_is_read_is_warned_of(fitted, kept):
    forecaster = copy.deepcopy(fitted("lstm", patch_length=2))
    cell = forecaster.network_.backbone.layers[0].cell
    with torch.no_grad():  # keep as much from token to token, whatever the input
        for weights in (cell.weight_ih_l0, cell.weight_hh_l0):
            weights[16:32] = 0
        cell.bias_ih_l0[16:32] = float(np.log(kept / (1 - kept)))
        cell.bias_hh_l0[16:32] = 0
    field = effective_receptive_field(forecaster, windows=16)
    effective = field.attrs["effective"]
    assert effective == field_extent(backbone_part(field))["held"].max()
    if kept < 0.5:
        assert effective < 24
        assert field.attrs["warning"] == (
            f"the context of 48 steps exceeds the effective field: the newest {effective} hold 95% of the gradient"
        )
    else:
        assert field.attrs["warning"] == ""
