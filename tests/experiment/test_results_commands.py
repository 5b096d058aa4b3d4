"""The commands on folders of results: what they print, where, and with which exit status."""

import re

import pytest
from typer.testing import CliRunner

from forecast.cli import app


def forecast(*arguments):
    """Run the command, and give its exit status and what it said on stdout and on stderr, blanks as one."""
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found.exit_code, *(" ".join(text.split()) for text in (found.stdout, found.stderr))


def test_ls_prints_a_row_for_each_experiment(results):
    status, said, _ = forecast("results", "ls", results)
    assert status == 0
    assert re.search(r"a a series 4 0 0 \d+\.\d kB 20\d\d-\d\d-\d\d \d\d:\d\d 2 0\.1\.0 b b series 6 0 0", said)
    assert "many/horizon-3 many horizon-3 series 2 0 0" in said


def test_ls_looks_into_results_and_says_where_there_are_none(copied, monkeypatch, tmp_path):
    copied("a")
    monkeypatch.chdir(tmp_path)
    assert "a a series 4 0 0" in forecast("results", "ls")[1]
    monkeypatch.chdir(tmp_path / "results" / "a" / "history")
    status, said, fault = forecast("results", "ls")
    assert (status, said) == (2, "")
    assert fault == (
        "error: results: there is no such folder; give one that `forecast run` has written, or a folder of such"
    )


def test_ls_tells_faults_beside_the_table(copied):
    there = copied("a", "b")
    (there / "b" / "experiment.json").write_text("{")
    status, said, fault = forecast("results", "ls", there)
    assert status == 1
    assert "a a series 4 0 0" in said
    assert re.search(r" b - - - ", said)
    assert "experiment.json cannot be read" in fault


def test_show_tells_what_an_experiment_is_and_its_cells(results):
    status, said, _ = forecast("results", "show", results / "counted", "--check")
    assert status == 0
    assert "experiment: counted folder: " in said
    assert "forecasters: Drift, bad" in said
    assert "dataset forecaster seed folds status seconds error" in said
    assert "counted bad 0 1 to 3 failed - RuntimeError: the lid is stuck" in said
    assert forecast("results", "show", results / "many")[1].count("experiment: many horizon-") == 2


def test_show_failed_gives_the_tracebacks_alone(results):
    status, said, _ = forecast("results", "show", results / "counted", "--failed")
    assert status == 0
    assert "dataset counted, forecaster bad, seed 0, folds 1 to 3 Traceback (most recent call last)" in said
    assert "RuntimeError: the lid is stuck" in said
    assert said.endswith(" 2 of 4 cells failed")
    assert "status seconds" not in said


def test_gc_tells_what_it_would_remove_and_removes_it_only_when_told(copied):
    there = copied("a")
    status, said, beside = forecast("results", "gc", there)
    assert (status, said, beside) == (0, "there is nothing that is not needed", "")
    (there / "a" / ".writing-abc").mkdir()
    (there / "a" / ".writing-abc" / "table").write_text("12345")
    status, said, beside = forecast("results", "gc", there)
    assert status == 0
    assert said.endswith("a half written 1 5 B 5 B in all")
    assert beside == "nothing was removed: give --yes for that"
    assert (there / "a" / ".writing-abc").is_dir()
    status, said, beside = forecast("results", "gc", there, "--yes")
    assert (status, beside) == (0, "")
    assert said.endswith("1 was removed, 5 B")
    assert not (there / "a" / ".writing-abc").exists()


def test_export_says_what_it_wrote_and_left_out(results, tmp_path):
    status, said, beside = forecast("results", "export", results, "--out", tmp_path / "all.csv")
    assert status == 0
    assert re.search(r"all\.csv: \d+ rows$", said)
    assert "note: counted: 2 of 4 cells of counted are not finished" in beside
    status, _, beside = forecast("results", "export", results, "--out", tmp_path / "all.txt")
    assert status == 2
    assert "error: `--out`" in beside


def test_compare_prints_the_verdict_and_a_table_with_intervals(results):
    status, said, beside = forecast("compare", results / "a", results / "b")
    assert status == 0
    assert "On series (2 series, 6 cutoffs, horizon 3 steps) " in said
    assert "forecaster folder family skill low high mase wql coverage parameters fit seconds seeds" in said
    assert re.search(r"own \(b\) b baseline -?\d\.\d{3} -?\d\.\d{3} -?\d\.\d{3} ", said)
    assert beside == "note: SeasonalNaive has the same forecasts of series in a and b, and is shown once"


def test_compare_refuses_another_plan_with_what_differs(results):
    status, said, beside = forecast("compare", results / "a", results / "many" / "horizon-2")
    assert (status, said) == (2, "")
    assert "`horizon` (3 in a, 2 in horizon-2)" in beside


@pytest.mark.parametrize("arguments", [["results"], ["results", "gc"], ["compare"]])
def test_a_command_without_what_it_needs_says_how_it_is_called(arguments):
    status, said, beside = forecast(*arguments)
    assert status == 2 or not arguments[1:]
    assert "Usage" in said + beside
