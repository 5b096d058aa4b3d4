"""Experiments side by side: refused where they ask something else, else as one experiment of all."""

import json

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.ledger import Ledger
from forecast.experiment import StoreError, compare_results
from forecast.experiment.store import Store


def change(path, **changes):
    note = json.loads(path.read_text())
    path.write_text(json.dumps(note | changes))
    return note


@pytest.fixture(scope="module")
def compared(results):
    return compare_results([results / "a", results / "b"])


def test_all_forecasters_of_all_are_scored_and_paired_as_in_one_experiment(results, compared):
    summary = compared.summary.drop(columns=["folder", "low", "high", "fit_seconds", "predict_seconds"])
    whole = pd.read_csv(results / "whole" / "summary.csv", keep_default_na=False, na_values=[""])
    order = ["SeasonalNaive", "own (a)", "own (b)", "WindowAverage"]
    assert list(compared.summary["forecaster"]) == order
    for column in ("skill", "mase", "wql", "coverage", "seeds", "parameters"):
        np.testing.assert_array_equal(summary[column], whole[column], column)
    skill = pd.read_csv(results / "whole" / "comparison.csv").drop(columns="dataset")
    found = compared.standings["series"].skill.reset_index(drop=True)
    pd.testing.assert_frame_equal(found, skill, check_dtype=False)
    assert compared.summary.set_index("forecaster")[["low", "high"]].notna().all(axis=None)
    assert compared.verdicts["series"].startswith("On series (2 series, 6 cutoffs, horizon 3 steps) ")


def test_a_label_that_both_have_is_told_apart_by_the_folder_and_the_same_forecasts_are_shown_once(compared):
    folders = compared.summary.set_index("forecaster")["folder"].to_dict()
    assert folders == {"SeasonalNaive": "a", "own (a)": "a", "own (b)": "b", "WindowAverage": "b"}
    assert compared.notes == ("SeasonalNaive has the same forecasts of series in a and b, and is shown once",)
    assert compared.folder is compared.report is None


def test_folders_of_one_name_are_told_apart_by_more_of_their_paths(results, copied, tmp_path):
    (copied("b") / "b").rename(tmp_path / "results" / "a")
    found = compare_results([results / "a", tmp_path / "results" / "a"])
    assert len(set(found.folders)) == 2
    assert all(name.endswith("/a") for name in found.folders)


def test_the_first_seasonal_naive_is_what_skill_is_measured_by(results, copied):
    there = copied("a")
    for path in (there / "a").glob("cells/*/ledger.json"):
        ledger = Ledger.read(path.parent)
        table = ledger.forecasts
        table[["prediction", "mean", *map(str, ledger.quantile_levels)]] += 1.0
        Ledger.of(table, ledger.scales, ledger.fits, ledger.season_length).write(path.parent, table=False)
        (path.parent / "done.json").write_text(json.dumps({"format": 2, "files": {}}))
    found = compare_results([results / "b", there / "a"])
    assert {"SeasonalNaive", "SeasonalNaive (a)", "own (a)", "own (b)"} < set(found.summary["forecaster"])
    assert found.summary.set_index("forecaster")["skill"]["SeasonalNaive"] == 0
    assert found.notes == ()


def test_a_forecaster_that_is_not_finished_keeps_its_row(results, copied):
    there = copied("a")
    note = json.loads((there / "a" / "experiment.json").read_text())
    key = next(cell["key"] for cell in note["cells"] if cell["forecaster"] == "own")
    (there / "a" / "cells" / key / "done.json").unlink()
    found = compare_results([there / "a", results / "b"]).summary.set_index("forecaster")
    assert np.isnan(found["skill"]["own (a)"])
    assert found["seeds"].to_dict() == {"SeasonalNaive": 1, "own (a)": 0, "own (b)": 1, "WindowAverage": 1}


def test_ablations_are_left_out(results, copied):
    there = copied("whole")
    note = json.loads((there / "whole" / "experiment.json").read_text())
    cells = [
        {**cell, "forecaster": cell["forecaster"].replace("own (a)", "WindowAverage, no mean")}
        for cell in note["cells"]
    ]
    change(there / "whole" / "experiment.json", cells=cells, config=note["config"] | {"ablations": ["no mean"]})
    found = compare_results([results / "a", there / "whole"])
    assert "WindowAverage, no mean" not in set(found.summary["forecaster"])
    assert "ablations of whole are left out; its own report tells of them" in found.notes


def test_what_differs_in_plan_is_told_with_both_values(results):
    shorter = results / "many" / "horizon-2"
    with pytest.raises(StoreError) as caught:
        compare_results([results / "a", shorter])
    text = str(caught.value)
    opening = "a and horizon-2 do not ask the same, so that their forecasts cannot be compared. They differ in "
    assert text.startswith(opening)
    assert "`horizon` (3 in a, 2 in horizon-2); `plan.n_folds` (6 in a, 4 in horizon-2); `plan.refit` (3 in a" in text
    hashes = [json.loads((one / "setting.json").read_text())["series"]["plan"][:12] for one in (results / "a", shorter)]
    assert f"`hash of the plan of series` ('{hashes[0]}' in a, '{hashes[1]}' in horizon-2)" in text
    assert "forecasters" not in text.removeprefix(opening)


def test_other_data_are_refused_and_another_spelling_of_the_same_is_not(results, copied):
    there = copied("b")
    note = json.loads((there / "b" / "experiment.json").read_text())
    datasets = [{**note["config"]["datasets"][0], "file": "elsewhere.csv"}]
    change(there / "b" / "experiment.json", config=note["config"] | {"datasets": datasets})
    assert len(compare_results([results / "a", there / "b"]).summary) == 4
    setting = json.loads((there / "b" / "setting.json").read_text())
    change(there / "b" / "setting.json", series=setting["series"] | {"data": "0" * 64})
    with pytest.raises(StoreError) as caught:
        compare_results([results / "a", there / "b"])
    assert "'elsewhere.csv' in b)" in str(caught.value)
    assert "`hash of the data of series`" in str(caught.value)
    assert "'000000000000' in b)" in str(caught.value)


def test_another_regime_and_other_code_are_told_and_not_refused(results, copied):
    there = copied("b")
    note = json.loads((there / "b" / "experiment.json").read_text())
    change(there / "b" / "experiment.json", config=note["config"] | {"regime": {"type": "tuned"}, "standardised": True})
    setting = json.loads((there / "b" / "setting.json").read_text())
    change(there / "b" / "setting.json", series=setting["series"] | {"code": "0.0.9"})
    found = compare_results([results / "a", there / "b"])
    told = [note for note in found.notes if note.startswith("not the same: ")]
    assert told[0] == "not the same: regime (as_given in a, tuned in b)"
    assert told[1].startswith("not the same: code (")
    assert told[1].endswith(", 0.0.9 in b)")
    assert told[2] == "not the same: standardised (false in a, true in b)"


def test_data_sets_that_not_all_have_are_left_out(results, copied):
    there = copied("b")
    note = json.loads((there / "b" / "experiment.json").read_text())
    more = [*note["config"]["datasets"], {"name": "more"}]
    change(there / "b" / "experiment.json", config=note["config"] | {"datasets": more})
    found = compare_results([results / "a", there / "b"])
    assert list(found.verdicts) == ["series"]
    assert "left out, since not all have them: more of b" in found.notes


def test_other_levels_are_refused(results, copied):
    there = copied("b")
    for path in (there / "b").glob("cells/*/ledger.json"):
        ledger = Ledger.read(path.parent)
        table = ledger.forecasts.drop(columns="0.3")
        Ledger.of(table, ledger.scales, ledger.fits, ledger.season_length).write(path.parent, table=False)
        (path.parent / "done.json").write_text(json.dumps({"format": 2, "files": {}}))
    with pytest.raises(
        StoreError, match=r"differ in `quantile_levels` \(\[0\.1, .* in a, \[0\.1, 0\.2, 0\.4, .* in b\)"
    ):
        compare_results([results / "a", there / "b"])


@pytest.mark.parametrize(
    ("folders", "told"),
    [
        (["a"], "one folder is no comparison; give two or more, beside .*a"),
        ([], "one folder is no comparison"),
        (["a", "b", "./a"], "comes twice; give each folder once"),
        (["a", "many"], "holds several experiments; give the folder of one of them, such as .*horizon-2"),
        (["a", "none"], r"has no experiment\.json: give a folder that `forecast run` has written"),
        (["a", "counted"], "no data set in common, .*: a has series; counted has counted"),
    ],
)
def test_folders_that_cannot_be_compared_are_told(results, folders, told):
    with pytest.raises(StoreError, match=told):
        compare_results([results / name for name in folders])


def test_an_experiment_on_costs_is_refused(results, tmp_path):
    with Store(tmp_path / "costs").opened({"kind": "cost", "name": "price"}, []):
        pass
    with pytest.raises(StoreError, match="holds an experiment on costs, which has no forecasts to compare"):
        compare_results([results / "a", tmp_path / "costs"])


def test_a_run_that_was_stopped_before_it_knew_its_data_is_told(results, copied):
    there = copied("b")
    (there / "b" / "setting.json").unlink()
    with pytest.raises(StoreError, match=r"b: setting\.json does not tell the hashes of data and plan on series"):
        compare_results([results / "a", there / "b"])


def test_where_nothing_is_finished_there_is_no_comparison(copied):
    there = copied("a", "b")
    for path in there.glob("*/cells/*/done.json"):
        path.unlink()
    with pytest.raises(StoreError, match="no forecaster got through all folds of series; go on with the runs first"):
        compare_results([there / "a", there / "b"])


def test_a_comparison_is_written_like_an_experiment(results, compared, tmp_path, monkeypatch):
    written = {}
    monkeypatch.setattr("forecast.experiment.pictures.pictures", lambda *given: [])
    monkeypatch.setattr(
        "forecast.experiment.pictures.write_pictures", lambda store, name, drawn: written.setdefault(name)
    )
    folder = tmp_path / "new" / "compared"
    found = compare_results([results / "a", results / "b"], folder)
    assert found.report == folder / "report.html"
    page = found.report.read_text()
    assert compared.verdicts["series"].split("(")[0] in page
    assert "own (b)" in page
    assert "SeasonalNaive has the same forecasts" in page
    tables = ["compared.json", "comparison.csv", "pairs.csv", "report.html", "summary.csv", "win_rates.csv"]
    assert sorted(path.name for path in folder.iterdir() if path.name != ".lock") == tables
    assert list(written) == ["plots/series"]
    assert pd.read_csv(folder / "summary.csv")["folder"].tolist() == ["a", "a", "b", "b"]
    note = json.loads((folder / "compared.json").read_text())
    assert note["folders"] == {name: str(results / name) for name in ("a", "b")}
    assert note["datasets"]["series"].keys() == {"data", "plan"}
    compare_results([results / "b", results / "a"], folder)  # again, into the same folder
    assert pd.read_csv(folder / "summary.csv")["folder"].tolist()[:2] == ["b", "b"]


def test_a_folder_with_other_things_in_it_is_refused_and_a_comparison_of_a_later_format_too(results, tmp_path):
    folders = [results / "a", results / "b"]
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(StoreError, match=r"holds other files and no compared\.json; name a new or an empty folder"):
        compare_results(folders, tmp_path)
    with pytest.raises(StoreError, match=r"cannot be written to .*--out FOLDER"):
        compare_results(folders, tmp_path / "thesis.txt" / "below")
    (tmp_path / "compared.json").write_text('{"format": 99}')
    with pytest.raises(StoreError, match="is of format 99, which another version of foretell has written"):
        compare_results(folders, tmp_path)
