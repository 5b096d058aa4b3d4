"""Windows gathered by index equal windows cut by hand, and never hold a label they may not."""

import numpy as np
import pandas as pd
import pytest
import torch

from forecast.data import WindowDataModule
from forecast.frame import FrameError, check_frame
from forecast.origins import origins_of
from forecast.windows import WindowIndex, Windows, groups_before, windows_before

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
    values, observed, cutoffs, _ = Windows(panel, T, H).gather(series, last)
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
    values, observed, *_ = Windows(panel, T, H).gather(np.array([0]), np.array([20]))
    assert values.isfinite().all()
    assert int((observed == 0).sum()) == 2


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


@pytest.mark.parametrize("validation_length", [0, H])
def test_no_training_label_lies_under_the_embargo_and_validation_is_as_without(validation_length):
    panel = panel_of()
    free, data = module_of(panel, validation_length), module_of(panel, validation_length, embargo=3)
    series, rows = data.training.locate(np.arange(len(data.training)))
    label_ends = panel.first[series] + rows - panel.starts[series] + H
    assert label_ends.max() == panel.last.max() - validation_length - 3
    assert data.validation.first.tolist() == free.validation.first.tolist()
    assert data.validation.counts.tolist() == free.validation.counts.tolist()


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
    _, observed, *_ = next(iter(data.val_dataloader()))
    assert observed[:, -H:].any()
    _, rows = data.training.locate(np.arange(len(data.training)))
    assert (rows + H).max() == 59 - 10 - 8


# -- groups: one window of every series, all up to the same cutoff -----------------------------------------------------


def window_by_hand(panel, name, cutoff, length, ahead=0):
    """The values of a series at `length` ordinals up to a cutoff and `ahead` after it; NaN where it has no row."""
    series = list(panel.ids).index(name) if name in panel.ids else None
    values = np.full(length + ahead, np.nan, dtype="float32")
    for place, ordinal in enumerate(range(cutoff - length + 1, cutoff + ahead + 1)):
        if series is not None and panel.first[series] <= ordinal <= panel.last[series]:
            values[place] = panel.values[panel.starts[series] + ordinal - panel.first[series]]
    return values


def test_a_batch_holds_whole_groups_each_with_every_series_in_order_at_one_cutoff():
    panel = panel_of()
    for values, observed, cutoffs, _ in module_of(panel, batch_size=12, across_series=True).train_dataloader():
        assert values.shape == observed.shape == (12, T + H)
        groups = cutoffs.reshape(4, 3)
        assert (groups == groups[:, :1]).all()
        for row, cutoff in enumerate(cutoffs.tolist()):
            expected = window_by_hand(panel, f"s{row % 3}", cutoff, T, H)
            np.testing.assert_array_equal(values[row].numpy(), expected)
            np.testing.assert_array_equal(observed[row].numpy(), np.isfinite(expected))


@pytest.mark.parametrize("validation_length", [0, H, 9])
def test_groups_stand_at_all_cutoffs_of_the_windows_of_single_series(validation_length):
    panel = panel_of()
    single = module_of(panel, validation_length)
    groups = module_of(panel, validation_length, across_series=True)
    for part in ("training", "validation"):
        series, rows = getattr(single, part).locate(np.arange(len(getattr(single, part))))
        cutoffs = panel.first[series] + rows - panel.starts[series]
        index = getattr(groups, part)
        assert len(index) == (cutoffs.max() - cutoffs.min() + 1 if len(cutoffs) else 0)
        series, rows = index.locate(np.arange(len(index)))
        assert series.tolist() == [0, 1, 2] * len(index)
        ordinals = (panel.first[series] + rows - panel.starts[series]).reshape(-1, 3)
        np.testing.assert_array_equal(ordinals, np.unique(cutoffs)[:, None].repeat(3, axis=1))


def test_all_groups_are_drawn_in_time_and_by_the_seed():
    panel = panel_of()
    first, again, other = (
        torch.cat(
            [batch.cutoffs for batch in module_of(panel, 0, 600, seed=seed, across_series=True).train_dataloader()]
        )
        for seed in (1, 1, 2)
    )
    assert len(first.unique()) == len(module_of(panel, across_series=True).training)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("most", [1, 40, 1024])
def test_every_group_of_the_validation_rows_is_looked_at_and_very_many_are_thinned_out_evenly(most, monkeypatch):
    monkeypatch.setattr(WindowDataModule, "most_validation_windows", most)
    data = module_of(panel_of(lengths=(700, 650), starts=(0, 20)), validation_length=600, across_series=True)
    cutoffs = torch.cat([batch.cutoffs for batch in data.val_dataloader()])[::2]
    assert len(cutoffs) == min(max(1, most // 2), 600 - H + 1)
    assert (cutoffs.diff() > 0).all()


def test_series_too_short_for_any_group_are_an_error_too():
    with pytest.raises(FrameError, match=r"'s0', the longest, has 4 rows"):
        module_of(panel_of(lengths=(4, 3), starts=(0, 0)), across_series=True)


# -- windows to forecast from ------------------------------------------------------------------------------------------


def asked_for(parts, count):
    """The window and the cutoff that each origin is forecast from."""
    values, cutoffs = torch.full((count, T), 7e7), torch.full((count,), -1)
    for part in parts:
        values[part.origins], cutoffs[part.origins] = part.values[part.rows], part.cutoffs[part.rows]
    return values.numpy(), cutoffs.numpy()


@pytest.mark.parametrize("most", [1, 4, 1024])
@pytest.mark.parametrize("cutoffs", [None, [35, 12, 31, 38]], ids=["own ends", "cutoffs"])
def test_origins_get_the_windows_that_end_with_them_alone_or_in_groups_of_any_size(most, cutoffs):
    panel = panel_of()
    origins = origins_of(panel, cutoffs)
    expected = [window_by_hand(panel, panel.ids[s], c, T) for s, c in zip(origins.series, origins.cutoffs, strict=True)]
    ids = panel.ids[[2, 0, 1]]
    for parts in (windows_before(panel, origins, T, most), groups_before(panel, origins, ids, T, most)):
        values, found = asked_for(parts, len(origins))
        np.testing.assert_array_equal(values, np.stack(expected))
        np.testing.assert_array_equal(found, origins.cutoffs)


def test_a_group_before_origins_holds_all_ids_in_their_order_whatever_the_panel_holds():
    panel = panel_of()
    ids = panel.ids[[2, 0, 1]].insert(1, "gone")
    some = panel.take(np.array([1, 2]))
    origins = origins_of(some, [33]).take(np.array([1]))
    (part,) = groups_before(some, origins, ids, T, 1024)
    expected = [window_by_hand(some, name, 33, T) for name in ("s2", "gone", "s0", "s1")]
    np.testing.assert_array_equal(part.values.numpy(), np.stack(expected))
    assert part.cutoffs.tolist() == [33] * 4
    assert part.rows.tolist() == [0]


def test_an_origin_in_a_series_that_the_groups_do_not_have_is_an_error_that_names_it():
    panel = panel_of()
    with pytest.raises(FrameError, match=r"'s1' was not there at fit.*fit again with it"):
        list(groups_before(panel, origins_of(panel), panel.ids[[0, 2]], T, 1024))
    others = origins_of(panel).take(np.array([0, 2]))
    assert len(list(groups_before(panel, others, panel.ids[[0, 2]], T, 1024))) == 1
