"""The format of a folder of results: said, of old without a number, and refused where it is to come."""

import json

import pytest

from forecast import __version__
from forecast.experiment import StoreError, cell_table, list_results, rebuild, rebuild_suite, run_suite
from forecast.experiment.results import publish
from forecast.experiment.store import FORMAT, Store, read_json

NEWER = (
    rf"is of format {FORMAT + 1}, which foretell 9\.9 has written; foretell .* reads formats up to {FORMAT}\. Take the"
)


def rewrite(path, change):
    note = json.loads(path.read_text())
    change(note)
    path.write_text(json.dumps(note))


def as_newer(note):
    note |= {"format": FORMAT + 1, "foretell": "9.9"}


def as_of_old(note):
    note.pop("format")


def test_an_experiment_and_each_of_its_cells_say_their_format_and_version(results):
    done = next((results / "a" / "cells").glob("*/done.json"))
    for note in (results / "a" / "experiment.json", done, results / "many" / "suite.json"):
        told = read_json(note)
        assert (told["format"], told["foretell"]) == (FORMAT, __version__)
    assert {path.name for path in done.parent.iterdir()} == {"done.json", *read_json(done)["files"]}


def test_a_folder_without_a_format_is_read_as_ever(copied):
    there = copied("a")
    folder = there / "a"
    rewrite(folder / "experiment.json", as_of_old)
    for path in folder.glob("cells/*/done.json"):
        path.write_text(json.dumps(json.loads(path.read_text())["files"]))
    assert set(cell_table(folder, check=True)["status"]) == {"done"}
    assert len(publish(Store(folder), page=False).ledger.forecasters) == 2
    next(folder.glob("cells/*/fits.csv")).write_text("")
    assert list(cell_table(folder, check=True)["status"]).count("unfinished") == 1
    assert list_results(there).set_index("folder")["format"]["a"] == 1


def test_an_experiment_of_a_later_format_is_refused_with_the_remedy(copied):
    there = copied("a")
    rewrite(there / "a" / "experiment.json", as_newer)
    store = Store(there / "a")
    config = json.loads((there / "a" / "experiment.json").read_text())["config"]
    for work in (store.experiment, lambda: rebuild(store.folder), lambda: store.opened(config, []).__enter__()):
        with pytest.raises(StoreError, match=NEWER) as caught:
            work()
        assert "pip install --upgrade foretell" in str(caught.value)


def test_a_cell_of_a_later_format_is_refused_and_not_done_again(copied):
    there = copied("a")
    path = next((there / "a").glob("cells/*/done.json"))
    rewrite(path, as_newer)
    with pytest.raises(StoreError, match=NEWER):
        Store(there / "a").is_done(path.parent.name)


def test_a_suite_of_a_later_format_is_refused(copied, data):
    there = copied("many")
    rewrite(there / "many" / "suite.json", as_newer)
    with pytest.raises(StoreError, match=NEWER):
        rebuild_suite(there / "many")
    path = there / "many.yaml"
    path.write_text(
        f"datasets: {{file: {data}/series.csv, freq: D}}\nhorizon: [2, 3]\nplan: {{n_folds: 2}}\n"
        "forecasters: {SeasonalNaive: }\naudit: false\n"
    )
    with pytest.raises(StoreError, match=NEWER):
        run_suite(path, there / "many", page=False)


@pytest.mark.parametrize("found", ["two", 0, None, 1.5])
def test_a_format_that_is_no_number_of_one_is_refused(copied, found):
    there = copied("a")
    rewrite(there / "a" / "experiment.json", lambda note: note.update(format=found, foretell="0.1"))
    with pytest.raises(StoreError, match=rf"is of format {found!r}, which foretell 0\.1 has written"):
        Store(there / "a").experiment()


@pytest.mark.parametrize(
    ("text", "told"), [("[1]", "it holds list"), ('{"config": {}}', "it lacks `cells`"), ("{", "cannot be read")]
)
def test_an_experiment_json_that_is_none_is_told(tmp_path, text, told):
    (tmp_path / "experiment.json").write_text(text)
    with pytest.raises(StoreError, match=f"{told}.*; delete it and run again"):
        Store(tmp_path).experiment()
