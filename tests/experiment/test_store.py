"""The store: keys that are stable and sensitive, and a folder that holds whole cells only, of one experiment."""

import json
import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from forecast import Naive, Plan, Roles, check_frame
from forecast.evaluation import groups, run_group
from forecast.experiment.store import Failure, Store, StoreError, checksum_of, code_version, key_of

CONFIG = {"horizon": 3, "plan": {"n_folds": 2, "stride": None}, "seeds": [0], "forecasters": {"Naive": {}}}
KEY = "0" * 64


@pytest.fixture(scope="module")
def panel():
    frame = pd.DataFrame({"unique_id": ["a"] * 30 + ["b"] * 30, "ds": [*range(30)] * 2, "y": np.arange(60.0)})
    return check_frame(frame)


@pytest.fixture(scope="module")
def ledger(panel):
    plan = Plan(horizon=3, n_folds=2, refit="never")
    return run_group(panel, Naive(3), "Naive", 0, plan, groups(plan.folds(panel))[0])


def test_a_key_is_the_same_in_every_process_and_for_every_order_of_keys():
    assert key_of({"b": [1, 2.5], "a": None}) == key_of({"a": None, "b": [1, 2.5]})
    assert key_of({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"


@pytest.mark.parametrize("other", [{"a": 2}, {"a": 1.0}, {"a": "1"}, {"b": 1}, {"a": 1, "b": None}, {"a": [1]}])
def test_a_key_changes_with_the_content(other):
    assert key_of({"a": 1}) != key_of(other)


def test_the_checksum_of_a_panel_changes_with_all_that_a_forecaster_can_see(panel):
    values, observed = panel.values.copy(), panel.observed.copy()
    values[3] += 1
    observed[3] = False
    frame = panel.to_frame()
    others = [
        replace(panel, values=values),
        replace(panel, observed=observed),
        replace(panel, ids=pd.Index(["a", "c"])),
        replace(panel, first=panel.first + 1),
        check_frame(frame.assign(ds=frame["ds"] * 2)),
        check_frame(frame.assign(ds=pd.Timestamp("2024-01-01") + pd.to_timedelta(frame["ds"], unit="D"))),
    ]
    told = frame.assign(w=1.0, price=2.0, kind="plain")
    others += [
        check_frame(told, roles=Roles(weight="w")),
        check_frame(told.assign(w=np.arange(len(told))), roles=Roles(weight="w")),
        check_frame(told, roles=Roles(known=("price",))),
        check_frame(told.assign(price=3.0), roles=Roles(known=("price",))),
        check_frame(told, roles=Roles(past=("price",))),
        check_frame(told, roles=Roles(delayed={"price": 1})),
        check_frame(told, roles=Roles(static=("kind",))),
        check_frame(told.assign(kind="other"), roles=Roles(static=("kind",))),
    ]
    assert checksum_of(check_frame(frame)) == checksum_of(panel)
    assert len({checksum_of(one) for one in [panel, *others]}) == 15


def test_the_checksum_knows_every_stamp_of_an_axis_that_is_listed():
    days = pd.DatetimeIndex(["2024-01-01", "2024-01-04", "2024-01-05", "2024-01-10"])
    frame = pd.DataFrame({"unique_id": "a", "ds": days, "y": range(4)})
    other = frame.assign(ds=days.where(days != "2024-01-05", pd.Timestamp("2024-01-06")))
    assert len({checksum_of(check_frame(one, freq="steps")) for one in (frame, other)}) == 2


def test_two_kinds_of_nan_are_one_for_the_checksum(panel):
    values = panel.values.copy()
    values[3] = np.nan
    other = values.copy()
    other.view("uint32")[3] ^= 1
    assert checksum_of(replace(panel, values=values)) == checksum_of(replace(panel, values=other))


def test_the_version_of_the_code_goes_with_its_text():
    version, _, digest = code_version().partition("+")
    assert version.count(".") == 2
    assert len(digest) == 12


def test_a_finished_cell_comes_back_as_it_was(tmp_path, ledger):
    with Store(tmp_path / "out").opened(CONFIG, []) as store:
        assert not store.is_done(KEY)
        store.write(KEY, {"seed": 0}, ledger)
        assert store.is_done(KEY)
        pd.testing.assert_frame_equal(store.read(KEY).forecasts, ledger.forecasts)
        assert store.read_error(KEY) is None
    assert [path.name for path in (tmp_path / "out" / "cells").iterdir()] == [KEY]


def test_a_cell_of_another_version_is_told_with_the_remedy(tmp_path, ledger):
    with Store(tmp_path / "out").opened(CONFIG, []) as store:
        store.write(KEY, {}, ledger)
        folder = tmp_path / "out" / "cells" / KEY
        note = json.loads((folder / "ledger.json").read_text())
        (folder / "ledger.json").write_text(json.dumps(note | {"format": 1}))
        with pytest.raises(StoreError, match=r"is of format 1.*another version .*run the experiment again"):
            store.read(KEY)


@pytest.mark.parametrize("damage", ["truncate", "remove", "no marker", "half a marker", "no folder"])
def test_a_damaged_cell_is_not_finished_and_can_be_written_again(tmp_path, ledger, damage):
    with Store(tmp_path / "out").opened(CONFIG, []) as store:
        store.write(KEY, {}, ledger)
        folder = tmp_path / "out" / "cells" / KEY
        table, marker = next(folder.glob("forecasts.*")), folder / "done.json"
        if damage == "truncate":
            os.truncate(table, table.stat().st_size // 2)
        elif damage == "remove":
            table.unlink()
        elif damage == "no marker":
            marker.unlink()
        elif damage == "half a marker":
            os.truncate(marker, 20)
        else:
            folder.rename(tmp_path / "elsewhere")
        assert not store.is_done(KEY)
        store.write(KEY, {}, ledger)
        assert store.is_done(KEY)


def test_what_a_killed_run_has_left_half_written_is_cleared_away(tmp_path, ledger):
    folder = tmp_path / "out"
    with Store(folder).opened(CONFIG, []) as store:
        store.write(KEY, {}, ledger)
    (folder / "cells" / KEY).rename(folder / ".writing-abc")  # killed before the rename, and before the marker
    (folder / ".writing-abc" / "done.json").unlink()
    with Store(folder).opened(CONFIG, []) as store:
        assert not store.is_done(KEY)
        assert not list(folder.glob(".writing-*"))


def test_an_interrupt_while_writing_leaves_the_old_file_and_nothing_else(tmp_path):
    with Store(tmp_path / "out").opened(CONFIG, []) as store:
        (tmp_path / "out" / "table.csv").write_text("old")

        def interrupted():
            with store.replacing("table.csv") as path:
                path.write_text("ne")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
    assert (tmp_path / "out" / "table.csv").read_text() == "old"
    assert not list((tmp_path / "out").glob(".writing-*"))


def test_a_failed_cell_keeps_its_traceback_and_is_not_finished(tmp_path, ledger):
    with Store(tmp_path / "out").opened(CONFIG, []) as store:
        try:
            raise RuntimeError("the lid is stuck")
        except RuntimeError as error:
            store.write_error(KEY, {}, Failure.of(error))
        assert not store.is_done(KEY)
        found = store.read_error(KEY)
        assert found
        assert found["type"] == "RuntimeError"
        assert found["message"] == "the lid is stuck"
        assert "test_store.py" in found["traceback"]
        store.write(KEY, {}, ledger)
        assert store.read_error(KEY) is None


def test_another_experiment_is_refused_with_the_keys_that_differ(tmp_path):
    with Store(tmp_path / "out").opened(CONFIG, []):
        pass
    other = {**CONFIG, "horizon": 4, "plan": {"n_folds": 2, "stride": 5}}
    with pytest.raises(StoreError) as caught, Store(tmp_path / "out").opened(other, []):
        pass
    text = str(caught.value)
    assert "`horizon` (3 there, 4 now); `plan.stride` (None there, 5 now)" in text
    assert "n_folds" not in text
    assert "--out" in text


def test_an_experiment_keeps_its_folder_when_only_forecasters_or_seeds_change(tmp_path):
    with Store(tmp_path / "out").opened(CONFIG, []):
        pass
    other = {**CONFIG, "seeds": [0, 1], "forecasters": {"Drift": {}}}
    with Store(tmp_path / "out").opened(other, [{"key": KEY}]) as store:
        assert store.experiment()["config"] == other
        assert store.experiment()["cells"] == [{"key": KEY}]


def test_a_folder_with_other_things_in_it_is_refused(tmp_path):
    (tmp_path / "thesis.txt").write_text("all of it")
    with (
        pytest.raises(StoreError, match=r"holds other files and no experiment\.json"),
        Store(tmp_path).opened(CONFIG, []),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_that_a_killed_run_had_only_just_made_is_taken_up(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / ".writing-abc").mkdir()
    with Store(tmp_path).opened(CONFIG, []) as store:
        assert store.experiment()["config"] == CONFIG


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/none", "/sys/kernel"])
def test_a_place_that_cannot_be_written_to_is_told_with_the_remedy(tmp_path, place):
    # Not by permission bits: they do not bind the administrator, as whom tests may run.
    (tmp_path / "file").write_text("")
    told = r"(cannot be written to|other files).*--out FOLDER"
    with pytest.raises(StoreError, match=told), Store(tmp_path / place).opened(CONFIG, []):
        pass


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    pytest.importorskip("fcntl", reason="files are locked on POSIX only")
    with (
        Store(tmp_path / "out").opened(CONFIG, []),
        pytest.raises(StoreError, match="another run is writing"),
        Store(tmp_path / "out").opened(CONFIG, []),
    ):
        pass
    with Store(tmp_path / "out").opened(CONFIG, []):
        pass


def test_an_experiment_json_that_is_damaged_is_told(tmp_path):
    (tmp_path / "experiment.json").write_text(json.dumps(CONFIG)[:20])
    with pytest.raises(StoreError, match="cannot be read"):
        Store(tmp_path).experiment()
