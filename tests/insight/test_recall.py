"""Tasks of pure memory: what they ask, that their answers can be had from what was read, and who learns them."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from forecast.insight import RecallPlan, longest_solved, recall_curves
from forecast.insight.recall import COLUMNS, recall_at
from forecast.nn import LSTM, TCN, GraphTransformer, Identity
from forecast.synthetic.recall import TASKS

SMALL = TCN(width=16, depth=2, kernel_size=4, dropout=0)


def plan(**given):
    named = {"backbones": {"tcn": SMALL}, "tasks": ["adding"], "lengths": [8], "examples": 64, **given}
    return RecallPlan(**named)


# -- the tasks ---------------------------------------------------------------------------------------------------------


def test_a_sum_is_that_of_the_two_numbers_that_are_marked():
    inputs, answers = TASKS["adding"].draw(np.random.default_rng(0), 500, 12)
    assert inputs.shape == (500, 12, 2)
    numbers, marks = inputs[..., 0], inputs[..., 1]
    assert (marks.sum(axis=1) == 2).all()
    np.testing.assert_allclose((numbers * marks).sum(axis=1, keepdims=True), answers, rtol=1e-6)
    assert marks.mean(axis=0) == pytest.approx(np.full(12, 1 / 6), abs=0.06)  # anywhere alike
    assert np.mean((answers - 1) ** 2) == pytest.approx(TASKS["adding"].memoryless, rel=0.15)


def test_what_has_to_be_copied_is_shown_first_and_asked_for_last():
    task, length = TASKS["copy"], 30
    inputs, answers = task.draw(np.random.default_rng(0), 40, length)
    kinds = inputs.argmax(axis=2)
    assert inputs.shape == (40, length + 20, 10)
    assert (inputs.sum(axis=2) == 1).all()
    np.testing.assert_array_equal(kinds[:, :10], answers)
    assert set(answers.ravel().tolist()) == set(range(8))
    assert (kinds[:, 10:-11] == 8).all()
    assert kinds[:, 10:-11].shape[1] == length - 1
    assert (kinds[:, -11:] == 9).all()


# -- training ----------------------------------------------------------------------------------------------------------


def test_a_task_that_is_solved_ends_the_training_and_one_that_cannot_be_takes_all_steps():
    backbones = {"tcn": TCN(width=16, depth=3, kernel_size=4, dropout=0), "identity": Identity(width=16)}
    table = recall_curves(plan(backbones=backbones, steps=150, every=15, learning_rate=0.01, solved=0.5)).set_index(
        "backbone"
    )
    assert list(table.reset_index().columns) == ["backbone", *[name for name in COLUMNS if name != "backbone"]]
    assert table.loc["tcn", "solved"]
    assert table.loc["tcn", "error"] < 0.5
    assert table.loc["tcn", "steps"] < 150
    assert table.loc["tcn", "reach"] == 43
    assert not table.loc["identity", "solved"]  # it sees the last token alone
    assert table.loc["identity", "error"] == pytest.approx(1, abs=0.25)
    assert table.loc["identity", "steps"] == 150
    assert (table["error"] == table["loss"] * 6).all()


def test_the_same_seed_gives_the_same_numbers_and_leaves_the_process_as_it_was():
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    given = plan(backbones={"lstm": LSTM(width=8)}, tasks=["copy"], steps=4, every=2, seeds=[0, 1])
    one, other = recall_curves(given), recall_curves(given)
    numbers = ["loss", "error", "steps"]
    pd.testing.assert_frame_equal(one[numbers], other[numbers])
    assert one["loss"][0] != one["loss"][1]
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.get_num_threads() == threads
    assert one["reach"].isna().all()


def test_longer_tasks_are_left_out_once_as_many_in_a_row_were_not_solved():
    curve = recall_curves(plan(lengths=[4, 6, 8, 10], steps=1, misses=2))
    assert curve["left_out"].tolist() == ["", "", "not solved at 4 and 6", "not solved at 4 and 6"]
    assert curve["loss"].isna().tolist() == [False, False, True, True]
    assert not curve["solved"].any()
    solved = curve.assign(solved=[True, False, False, False]).head(2)
    assert recall_at(plan(steps=1), "adding", "tcn", 0, 8, solved)["left_out"].tolist() == [""]


def test_a_loss_that_is_no_number_ends_the_training_as_an_infinite_one():
    found = recall_curves(plan(learning_rate=1e30, steps=50, every=5)).iloc[0]
    assert math.isinf(found["loss"])
    assert found["steps"] < 50
    assert not found["solved"]


def test_the_longest_task_is_that_of_all_seeds_and_that_of_some():
    rows = [
        ("adding", "a", "latent-state", length, seed, length <= limit)
        for seed, limit in enumerate([100, 400])
        for length in (50, 100, 400, 600)
    ]
    table = pd.DataFrame(rows, columns=["task", "backbone", "family", "length", "seed", "solved"])
    table = pd.concat([table, table.assign(backbone="b", solved=False)]).assign(parameters=7)
    found = longest_solved(table).set_index("backbone")
    assert found.loc["a", ["by_all", "by_some", "seeds", "longest"]].tolist() == [100, 400, 2, 600]
    assert found.loc["b", ["by_all", "by_some"]].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"backbones": {}}, "`backbones` is empty"),
        ({"backbones": {"g": GraphTransformer()}}, "`backbones` holds 'g', which reads across series"),
        ({"tasks": ["ading"]}, "`tasks` is ['ading']; allowed: one or more of adding, copy, each once"),
        ({"lengths": [50, 20]}, "`lengths` is [50, 20]; allowed: whole numbers of 2 or more, each larger"),
        ({"seeds": []}, "`seeds` is []; allowed: one or more"),
        ({"seeds": [-1]}, "`seed` is -1; allowed: a whole number of 0 or more"),
        ({"steps": 0}, "`steps` is 0; allowed: a whole number of 1 or more"),
        ({"learning_rate": 0}, "`learning_rate` is 0; allowed: a number above 0"),
        ({"solved": 1}, "`solved` is 1; allowed: a number inside (0, 1)"),
    ],
)
def test_what_makes_no_plan_is_named(given, told):
    with pytest.raises(ValueError) as caught:
        plan(**given)
    assert str(caught.value).startswith(told)
