"""Windows gathered by index equal windows cut by hand, and never hold a label they may not."""

import numpy as np
import pandas as pd
import pytest
import torch

from forecast.data import WindowDataModule, WindowIndex, Windows
from forecast.frame import FrameError, check_frame

T, H, P = 12, 4, 4


def panel_of(lengths=(40, 9, 25), starts=(0, 30, 10)):
    rng = np.random.default_rng(0)
    rows = [
        pd.DataFrame({"unique_id": f"s{i}", "ds": np.arange(start, start + length), "y": rng.normal(size=length)})
        for i, (length, start) in enumerate(zip(lengths, starts, strict=True))
    ]
    frame = pd.concat(rows)
    frame.loc[frame["ds"] == 15, "y"] = np.nan
    return check_frame(frame)


def module_of(panel, validation_length=0, batch_size=50, **changes):
    options = {"context_length": T, "horizon": H, "patch_length": P, "batches": 3, "seed": 1} | changes
    return WindowDataModule(panel, batch_size=batch_size, validation_length=validation_length, **options)


def by_hand(panel, series, last):
    values = np.full(T + H, np.nan, dtype="float32")
    for place, row in enumerate(range(last - T + 1, last + H + 1)):
        if panel.starts[series] <= row < panel.stops[series]:
            values[place] = panel.values[row]
    return values


def test_gathered_windows_equal_windows_cut_by_hand():
    panel = panel_of()
    series = np.array([0, 0, 1, 2, 2])
    last = np.array([0, 35, 44, 49, 73])
    values, observed, cutoffs = Windows(panel, T, H).gather(series, last)
    expected = np.stack([by_hand(panel, s, row) for s, row in zip(series, last, strict=True)])
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(observed.numpy(), np.isfinite(expected))
    assert cutoffs.tolist() == [0, 35, 34, 10, 34]


def test_windows_are_views_of_the_panel_not_copies():
    panel = panel_of()
    assert np.shares_memory(Windows(panel, T, H).values.numpy(), panel.values)


def test_filled_values_can_be_read_but_are_not_observed():
    frame = pd.DataFrame({"unique_id": "a", "ds": [*range(10), *range(12, 30)], "y": 1.0})
    panel = check_frame(frame, gaps="fill")
    values, observed, _ = Windows(panel, T, H).gather(np.array([0]), np.array([20]))
    assert values.isfinite().all()
    assert int((~observed).sum()) == 2


def test_window_numbers_count_through_the_series_in_order():
    index = WindowIndex(first=np.array([5, 0, 100]), counts=np.array([2, 0, 3]))
    series, rows = index.locate(np.arange(len(index)))
    assert series.tolist() == [0, 0, 2, 2, 2]
    assert rows.tolist() == [5, 6, 100, 101, 102]


@pytest.mark.parametrize("validation_length", [0, H, 9])
def test_training_labels_end_before_the_validation_rows_and_validation_labels_lie_in_them(validation_length):
    panel = panel_of()
    data = module_of(panel, validation_length)
    split = panel.last.max() - validation_length
    series, rows = data.training.locate(np.arange(len(data.training)))
    label_ends = panel.first[series] + rows - panel.starts[series] + H
    assert label_ends.max() == split
    assert set(series) == ({0, 1, 2} if validation_length < 9 else {0, 2})
    series, rows = data.validation.locate(np.arange(len(data.validation)))
    cutoffs = panel.first[series] + rows - panel.starts[series]
    assert (cutoffs >= split).all()
    assert (cutoffs + H <= panel.last[series]).all()
    assert (len(cutoffs) > 0) == (validation_length >= H)


def test_every_window_of_the_validation_rows_is_looked_at_once():
    data = module_of(panel_of(lengths=(700,), starts=(0,)), validation_length=600)
    loader = data.val_dataloader()
    assert sum(len(values) for values, *_ in loader) == len(data.validation) == 600 - H + 1


def test_all_training_windows_are_drawn_in_time():
    data = module_of(panel_of(), batch_size=2000)
    drawn = torch.cat([values for values, *_ in data.train_dataloader()])
    distinct = {tuple(np.nan_to_num(row, nan=-9.0)) for row in drawn.numpy()}
    assert len(distinct) == len(data.training)


def test_the_same_seed_draws_the_same_windows_and_another_does_not():
    panel = panel_of()
    first, again, other = (
        torch.cat([values for values, *_ in module_of(panel, seed=seed).train_dataloader()]) for seed in (1, 1, 2)
    )
    torch.testing.assert_close(first, again, rtol=0, atol=0, equal_nan=True)
    assert not torch.equal(first.nan_to_num(), other.nan_to_num())


def test_a_series_shorter_than_a_window_is_padded_on_the_left():
    data = module_of(panel_of(lengths=(9,), starts=(0,)))
    values, *_ = next(iter(data.train_dataloader()))
    assert values[:, :4].isnan().all()
    assert values[:, -H:].isfinite().all()


def test_series_too_short_for_any_window_are_an_error_that_says_what_is_needed():
    with pytest.raises(FrameError, match=r"'s0', the longest, has 4 rows.* horizon of 4 needs at least 5"):
        module_of(panel_of(lengths=(4, 3), starts=(0, 0)))


def test_rows_at_the_end_without_a_value_are_no_validation():
    panel = panel_of(lengths=(60,), starts=(0,))
    panel.values[-10:], panel.observed[-10:] = np.nan, False
    data = module_of(panel, validation_length=8)
    _, observed, _ = next(iter(data.val_dataloader()))
    assert observed[:, -H:].any()
    _, rows = data.training.locate(np.arange(len(data.training)))
    assert (rows + H).max() == 59 - 10 - 8
