"""What folders of results hold: listed, cell by cell, what is not needed any more, all forecasts as one table."""

import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.ledger import Ledger
from forecast.experiment import (
    ConfigError,
    StoreError,
    beside_table,
    cell_table,
    clear_results,
    compare_results,
    export_forecasts,
    list_results,
)
from forecast.experiment.store import Failure, Store, write_json
from forecast.experiment.stored import facts_of


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def note_of(folder, **changes):
    """Change what an experiment says of itself."""
    note = json.loads((folder / "experiment.json").read_text())
    (folder / "experiment.json").write_text(json.dumps(note | changes))
    return note


# -- list and show -----------------------------------------------------------------------------------------------------


def test_all_experiments_in_a_folder_are_listed_with_what_has_become_of_their_cells(results):
    table = list_results(results).set_index("folder")
    assert list(table.index) == ["a", "b", "counted", "many/horizon-2", "many/horizon-3", "whole"]
    counts = table[["done", "failed", "unfinished"]].to_numpy("int64").tolist()
    assert counts == [[4, 0, 0], [6, 0, 0], [2, 2, 0], [2, 0, 0], [2, 0, 0], [8, 0, 0]]
    assert table.loc["many/horizon-2", ["suite", "name", "datasets"]].tolist() == ["many", "many horizon-2", "series"]
    assert table.loc["a", ["suite", "name", "fault"]].tolist() == ["", "a", ""]
    assert [table["bytes"][name] for name in table.index] == [size_of(results / name) for name in table.index]
    newest = max(path.stat().st_mtime for path in (results / "a").rglob("*") if path.is_file())
    assert table["written"]["a"].timestamp() == int(newest)


def test_one_experiment_is_listed_by_the_name_of_its_folder(results, monkeypatch):
    monkeypatch.chdir(results / "a")
    assert list(list_results(".")["folder"]) == ["a"]
    assert list(list_results(results / "many")["folder"]) == ["horizon-2", "horizon-3"]
    assert list(list_results(results / "many" / "horizon-2")["folder"]) == ["horizon-2"]


def test_what_has_not_begun_of_a_suite_is_listed_without_counts(copied):
    there = copied("many")
    shutil.rmtree(there / "many" / "horizon-3")
    row = list_results(there / "many").set_index("folder").loc["horizon-3"]
    assert row["name"] == "many horizon-3"
    assert row[["done", "bytes", "written", "format"]].isna().all()


def test_an_experiment_that_cannot_be_read_is_listed_with_its_fault(copied):
    there = copied("a", "b")
    (there / "b" / "experiment.json").write_text("{")
    table = list_results(there).set_index("folder")
    assert "cannot be read" in table["fault"]["b"]
    assert pd.isna(table["done"]["b"])
    assert table["done"]["a"] == 4


@pytest.mark.parametrize(
    ("place", "told"), [("none", "there is no such folder"), (".", "there is no experiment in it")]
)
def test_a_folder_without_experiments_is_told(tmp_path, place, told):
    with pytest.raises(StoreError, match=f"{told}; give one that `forecast run` has written"):
        list_results(tmp_path / place)


def test_each_cell_has_a_row_with_what_has_become_of_it(results):
    table = cell_table(results / "counted")
    assert list(table["forecaster"]) == ["Drift", "Drift", "bad", "bad"]
    assert list(table["folds"]) == ["1 to 3", "4 to 6"] * 2
    assert list(table["status"]) == ["done", "done", "failed", "failed"]
    assert table["error"][2] == "RuntimeError: the lid is stuck"
    assert "Traceback" in table["traceback"][2]
    assert table["context_length"].isna().all()
    spent = Store(results / "counted").read(table["key"][0]).fits
    assert table["seconds"][0] == pytest.approx(float(spent[["fit_seconds", "predict_seconds"]].sum().sum()))
    assert table["seconds"].isna().tolist() == [False, False, True, True]


def test_a_damaged_cell_is_found_where_every_file_is_read(copied):
    there = copied("a")
    path = next((there / "a").glob("cells/*/points.npz"))
    os.truncate(path, path.stat().st_size // 2)
    assert set(cell_table(there / "a")["status"]) == {"done"}
    assert list(cell_table(there / "a", check=True)["status"]).count("unfinished") == 1
    path.with_name("fits.csv").unlink()
    assert cell_table(there / "a")["seconds"].isna().sum() == 1


def test_what_is_done_beside_the_cells_is_counted_by_kind(copied):
    there = copied("a", "counted")
    keys = [cell["key"] for cell in note_of(there / "counted")["cells"]]
    beside = [{"kind": "audit", "key": keys[0]}, {"kind": "audit", "key": keys[2]}, {"kind": "cost", "key": "none"}]
    note_of(there / "counted", beside=beside)
    told = beside_table(there / "counted").to_dict("records")
    assert told == [
        {"kind": "audit", "done": 1, "failed": 1, "unfinished": 0},
        {"kind": "cost", "done": 0, "failed": 0, "unfinished": 1},
    ]
    assert beside_table(there / "a").empty


def test_an_experiment_says_what_it_is(results):
    told = facts_of(results / "a")
    assert told["data sets"] == "series"
    assert told["plan"].startswith("n_folds 6, gap 0, window expanding, refit 3")
    assert told["forecasters"] == "SeasonalNaive, own"
    setting = json.loads((results / "a" / "setting.json").read_text())["series"]
    assert told["hashes of series"] == f"data {setting['data'][:12]}, plan {setting['plan'][:12]}"
    assert "report" not in told  # there is no page


@pytest.fixture
def on_costs(tmp_path):
    return on_curves(tmp_path / "costs", "cost", patch_length=1)


def on_curves(folder, kind, **told):
    """An experiment on curves with one point measured, one that failed, one to come."""
    config = {"name": "price", "kind": kind, "backbones": {"lstm": {}}, "lengths": [8, 16, 32]}
    cells = [{"backbone": "lstm", **told, "length": n, "key": f"{n:064}"} for n in config["lengths"]]
    with Store(folder).opened(config, cells) as store:
        store.write(cells[0]["key"], {"kind": kind, "label": "lstm"}, Table())
        store.write_error(cells[1]["key"], {}, Failure("RuntimeError", "the lid is stuck", "Traceback"))
    return folder


class Table:
    def write(self, folder):
        folder.mkdir()
        (folder / "point.csv").write_text("seconds\n1\n")


@pytest.mark.parametrize(
    ("kind", "told", "subject"), [("cost", {"patch_length": 1}, "costs"), ("recall", {"task": "copy"}, "memory")]
)
def test_an_experiment_on_curves_is_told_by_its_own_columns(tmp_path, kind, told, subject):
    folder = on_curves(tmp_path / "curves", kind, **told)
    table = cell_table(folder)
    assert table.columns[:4].tolist() == ["backbone", *told, "length", "status"]
    assert list(table["status"]) == ["done", "failed", "unfinished"]
    assert facts_of(folder)[f"{subject} of"] == "lstm"
    assert list_results(folder)["datasets"].tolist() == [""]
    with pytest.raises(StoreError, match=f"holds an experiment on {subject}, which has no forecasts to compare"):
        compare_results([folder, on_curves(tmp_path / "others", kind, **told)])


# -- what is not needed ------------------------------------------------------------------------------------------------


@pytest.fixture
def littered(copied):
    """An experiment that asks for one of its forecasters no more, with an unfinished cell and half-written files."""
    there = copied("a")
    folder = there / "a"
    note = note_of(folder)
    note_of(folder, cells=[cell for cell in note["cells"] if cell["forecaster"] == "SeasonalNaive"])
    (folder / "cells" / note["cells"][0]["key"] / "done.json").unlink()
    (folder / ".writing-abc").mkdir()
    (folder / ".writing-abc" / "table.csv").write_text("12345")
    return folder


def test_what_is_not_needed_is_told_and_nothing_removed(littered):
    before = {path: path.stat().st_size for path in littered.rglob("*")}
    left = clear_results(littered.parent)
    assert set(left["experiment"]) == {"a"}
    assert left["path"][0] == ".writing-abc"
    assert left["what"].value_counts().to_dict() == {"half written": 2, "cell of own": 2}
    assert left["bytes"][0] == 5
    assert all(size_of(littered / path) == size for path, size in zip(left["path"], left["bytes"], strict=True))
    assert {path: path.stat().st_size for path in littered.rglob("*")} == before


def test_what_is_not_needed_is_removed_and_all_else_stays(littered):
    kept = {path.name for path in (littered / "cells").iterdir()} - {
        Path(path).name for path in clear_results(littered)["path"]
    }
    told = clear_results(littered, remove=True)
    assert len(told) == 4
    assert {path.name for path in (littered / "cells").iterdir()} == kept
    assert len(kept) == 1
    assert clear_results(littered).empty
    assert not list(littered.glob(".writing-*"))
    assert list(cell_table(littered, check=True)["status"]) == ["unfinished", "done"]


def test_a_failed_cell_that_is_asked_for_stays(results):
    assert clear_results(results).empty


def test_nothing_is_removed_while_another_run_writes(littered):
    pytest.importorskip("fcntl", reason="files are locked on POSIX only")
    with Store(littered).locked(clearing=False):
        for remove in (False, True):
            with pytest.raises(StoreError, match="another run is writing"):
                clear_results(littered, remove=remove)
    assert len(clear_results(littered)) == 4


def test_where_it_is_not_known_what_is_asked_for_nothing_is_removed(littered):
    note_of(littered, settled={}, cells=[])
    with pytest.raises(StoreError, match=r"the regime of series is not settled.*go on with the run first"):
        clear_results(littered, remove=True)
    assert len(list((littered / "cells").iterdir())) == 4


def test_what_cannot_be_removed_is_told(littered, monkeypatch):
    def refused(self, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(StoreError, match=r"cannot be removed: Permission denied"):
        clear_results(littered, remove=True)


def test_what_is_left_of_a_removal_is_told(littered, monkeypatch):
    monkeypatch.setattr("forecast.experiment.store.folder.remove", lambda path: None)
    with pytest.raises(StoreError, match=r"not all of it may be deleted; look at .*\.writing-abc"):
        clear_results(littered, remove=True)


# -- all forecasts as one table ----------------------------------------------------------------------------------------


def read_back(path):
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


def expected(folder, experiment, dataset="series"):
    """Give what the ledger of an experiment has, with the columns before it."""
    store = Store(folder)
    keys = [cell["key"] for cell in store.experiment()["cells"] if store.status(cell["key"]) == "done"]
    forecasts = Ledger.concat([store.read(key) for key in keys]).forecasts
    return forecasts.assign(experiment=experiment, dataset=dataset)


KEYS = ["experiment", "dataset", "forecaster", "seed", "unique_id", "cutoff", "step"]


@pytest.mark.parametrize("name", ["all.csv", "all.csv.gz", "all.parquet"])
def test_all_forecasts_of_all_experiments_are_one_table(copied, tmp_path, name, monkeypatch):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    there = copied("counted", "many")
    monkeypatch.setattr("forecast.experiment.exporting._ROWS", 8)  # more parts than one
    found = export_forecasts(there, tmp_path / name)
    table = read_back(found.path)
    assert found.rows == len(table)
    assert list(dict.fromkeys(table["experiment"])) == ["counted", "many/horizon-2", "many/horizon-3"]
    assert found.notes == (
        "counted: 2 of 4 cells of counted are not finished",
        "times are of several kinds, and stand as text",
    )
    own = table[table["experiment"] == "many/horizon-3"].sort_values(KEYS, ignore_index=True)
    twin = expected(there / "many" / "horizon-3", "many/horizon-3").sort_values(KEYS, ignore_index=True)
    assert own["context_length"].isna().all()
    for column in ("seed", "step", "y", "prediction", "mean", "0.1", "0.5", "0.9", "staleness"):
        np.testing.assert_array_equal(own[column].astype("float32"), twin[column].astype("float32"))
    assert own["ds"].tolist() == [str(stamp) for stamp in twin["ds"]]
    assert own["status"].tolist() == twin["status"].astype("str").tolist()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "results"])


def test_times_of_one_kind_stay_times_in_parquet(results, tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.read_parquet(export_forecasts(results / "a", tmp_path / "a.parquet").path)
    twin = expected(results / "a", "a")
    assert table["cutoff"].dtype.kind == table["ds"].dtype.kind == "M"
    assert table["ds"].tolist() == twin["ds"].tolist()
    assert set(table["experiment"]) == {"a"}


def test_levels_and_names_of_several_kinds_stand_beside_each_other(copied, tmp_path):
    there = copied("a", "counted")
    for path in (there / "counted").glob("cells/*/ledger.json"):
        ledger = Ledger.read(path.parent)
        forecasts = ledger.forecasts.assign(unique_id=ledger.forecasts["unique_id"].map({"a": 7, "b": 8}))
        scales = ledger.scales.assign(unique_id=ledger.scales["unique_id"].map({"a": 7, "b": 8}))
        Ledger.of(forecasts.drop(columns="0.3"), scales, ledger.fits, 1).write(path.parent, table=False)
        write_json(path.parent / "done.json", {"format": 2, "files": {}})
    found = export_forecasts(there, tmp_path / "all.csv")
    table = pd.read_csv(found.path)
    assert set(table.loc[table["dataset"] == "counted", "unique_id"]) == {"7", "8"}
    assert table["0.3"].isna().sum() == (table["dataset"] == "counted").sum() > 0
    assert "series are called by names of several kinds, which stand as text" in found.notes
    assert "not all have the same quantile levels: one that is not there is empty" in found.notes


def test_units_of_stamps_are_brought_to_the_finest():
    from forecast.experiment.exporting import _one_of, _plain

    kinds = ["datetime64[s]", "datetime64[us]", "datetime64[ns]"]
    assert _one_of({_plain(kind) for kind in kinds[:2]}) == np.dtype("M8[us]")
    assert _one_of({_plain(kind) for kind in kinds}) == np.dtype("M8[ns]")
    assert _one_of({_plain("int64"), _plain("int32")}) == np.dtype("int64")
    assert _one_of({_plain("datetime64[ns, UTC]"), _plain("datetime64[ns]")}) is None
    assert _one_of({_plain("int64"), _plain("str")}) is None


def test_forecasts_of_a_sweep_have_their_context_length(copied, tmp_path):
    there = copied("a")
    cells = note_of(there / "a")["cells"]
    note_of(there / "a", cells=[*cells, {**cells[0], "context_length": 24}])
    table = pd.read_csv(export_forecasts(there / "a", tmp_path / "a.csv").path)
    assert (table["context_length"] == 24).sum() == len(table) / 5


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("all.xlsx", "allowed endings: .csv, .csv.gz, .parquet, .pq"),
        ("none/all.csv", "there is no folder"),
        ("", "is a folder; give the name of a file"),
    ],
)
def test_a_table_that_cannot_be_written_is_told_before_anything_is_read(results, tmp_path, name, told):
    with pytest.raises(ConfigError, match=re.escape(told)):
        export_forecasts(results, tmp_path / name)


def test_parquet_without_pyarrow_is_told_by_its_remedy(results, tmp_path, monkeypatch):
    monkeypatch.setattr("forecast.experiment.exporting.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"Parquet needs pyarrow: pip install 'foretell\[parquet\]', or use CSV"):
        export_forecasts(results / "a", tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []
    assert export_forecasts(results / "a", tmp_path / "a.csv").rows == 72


def test_a_folder_on_costs_alone_has_nothing_to_export(on_costs, tmp_path):
    with pytest.raises(StoreError, match="no cell of its experiments is finished"):
        export_forecasts(on_costs, tmp_path / "all.csv")


def test_what_fails_in_between_leaves_the_old_table(results, tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("old")

    def full(*given, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("forecast.experiment.exporting.forecasts_of", full)
    with pytest.raises(OSError, match="No space left"):
        export_forecasts(results / "a", tmp_path / "a.csv")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.csv", "old")]
