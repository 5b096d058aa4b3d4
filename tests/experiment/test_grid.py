"""What several data sets say together: each counts once, and who is not in all of them is left out."""

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.effects import effects
from forecast.experiment import grid_report, pictures, rebuild_suite, run_experiment, run_suite
from forecast.experiment.grid import CONTRASTS, contrasts_of, grid_of
from forecast.experiment.grid_report import grid_pictures, grid_section, grid_verdict
from forecast.experiment.pictures import write_pictures

NONE = pd.DataFrame(columns=CONTRASTS)


def summary_of(skills):
    """One row for each data set and forecaster of `skills`: data set -> forecaster -> skill, or a list by horizon."""
    rows = [
        {"dataset": dataset, "forecaster": name, "family": "baseline", "skill": skill, "mase": 1 - skill, "wql": 0.1}
        | {"coverage": 0.8, "fit_seconds": seconds, "parameters": 10}
        for dataset, own in skills.items()
        for name, several in own.items()
        for skill, seconds in zip(np.atleast_1d(several), (1.0, 4.0), strict=False)
    ]
    return pd.DataFrame(rows)


def test_a_data_set_counts_once_however_many_horizons_it_has():
    one = summary_of({"a": {"SeasonalNaive": [0.0, 0.0], "good": [0.1, 0.3]}, "b": {"SeasonalNaive": 0.0, "good": 0.5}})
    leaders = grid_of(one, NONE).leaders.set_index("forecaster")
    assert leaders.loc["good", "skill"] == pytest.approx(1 - ((0.9 * 0.7) ** 0.5 * 0.5) ** 0.5)
    assert leaders.loc["good", "mase"] == pytest.approx((0.8 + 0.5) / 2)
    assert leaders.loc["good", "fit_seconds"] == pytest.approx((2.0 * 1.0) ** 0.5)
    assert leaders.loc["good", "data_sets"] == 2


def test_who_is_not_in_all_data_sets_is_left_out_and_named():
    table = summary_of(
        {"a": {"SeasonalNaive": 0.0, "good": 0.1, "only": 0.9}, "b": {"SeasonalNaive": 0.0, "good": 0.2}}
    )
    grid = grid_of(table, NONE)
    assert list(grid.absent) == ["only"]
    assert grid.leaders["forecaster"].tolist() == ["good", "SeasonalNaive"]
    assert "Not in all data sets, and left out here: only." in grid_section(grid, [])["notes"]


@pytest.mark.parametrize(
    "skills", [{"a": {"SeasonalNaive": 0.0, "good": 0.1}}, {"a": {"good": 0.1}, "b": {"good": 0.1}}]
)
def test_one_data_set_or_no_baseline_makes_no_grid(skills):
    assert grid_of(summary_of(skills), NONE) is None


def test_effects_are_averaged_over_data_sets():
    table = summary_of({name: {"SeasonalNaive": 0.0, "good": 0.1} for name in "abcde"})
    logs = np.log([1.1, 1.2, 0.9, 1.3, 1.0])
    contrasts = pd.DataFrame({"dataset": list("abcde"), "effect": "family", "log": logs})
    mean = grid_of(table, contrasts).contrasts.query("dataset == ''").iloc[0]
    assert mean["change"] == pytest.approx(np.expm1(logs.mean()))
    assert mean["low"] < mean["change"] < mean["high"]


def test_contrasts_are_the_effects_of_a_ledger_without_those_of_one_family_alone(config, tmp_path, undrawn, own_models):
    kinds = {
        f"{backbone} {decoder}": f'{{type: "lab_models:LikeANetwork", backbone: {backbone}, decoder: {decoder}}}'
        for backbone in ("lstm", "tcn")
        for decoder in ("direct", "recursive")
    }
    forecasters = "{SeasonalNaive: , " + ", ".join(f"{name}: {told}" for name, told in kinds.items()) + "}"
    results = run_experiment(config(forecasters=forecasters), tmp_path / "out")
    found = contrasts_of("series", results.ledger)
    assert found["effect"].tolist() == [
        "latent-state against direct-prediction",
        "recursive against direct",
        "family × recursive",
    ]
    expected = effects(results.ledger).contrasts.query("effect != 'decoder' or family == ''")["log"]
    np.testing.assert_allclose(found["log"], expected)
    pd.testing.assert_frame_equal(results.contrasts, found)


@pytest.mark.parametrize(
    ("skills", "told"),
    [
        ([0.3, 0.31, 0.29, 0.3, 0.3], "and 30.0 % less error than SeasonalNaive, the next (95 % interval"),
        ([0.3, -0.31, 0.29, -0.2, 0.1], "no detectable difference to SeasonalNaive, the next"),
        ([0.3, 0.2], "Too few data sets to say whether that would hold on others."),
    ],
)
def test_a_verdict_names_a_leader_and_says_whether_the_next_one_is_behind(skills, told):
    table = summary_of({f"{n}": {"SeasonalNaive": 0.0, "good": one} for n, one in enumerate(skills)})
    verdict = grid_verdict(grid_of(table, NONE)).replace("\N{NO-BREAK SPACE}", " ")
    assert verdict.startswith(f"Over {len(skills)} data sets good has the lowest error")
    assert told in verdict


def test_skill_has_an_interval_but_for_what_all_are_held_against():
    table = summary_of({f"{n}": {"SeasonalNaive": 0.0, "good": 0.1 + 0.01 * n} for n in range(5)})
    rows = grid_section(grid_of(table, NONE), [])["rows"]
    assert {row["name"]: bool(row["interval"]) for row in rows} == {"good": True, "SeasonalNaive": False}


def test_all_there_is_to_see_is_drawn():
    table = summary_of({f"{n}": {"SeasonalNaive": 0.0, "good": 0.1 + 0.01 * n, "bad": -0.1} for n in range(10)})
    contrasts = pd.DataFrame({"dataset": list("ab"), "effect": "family", "log": [0.1, 0.2]})
    drawn = {one.name: one.figure for one in grid_pictures(grid_of(table, contrasts))}
    assert list(drawn) == ["pairs", "contrasts", "pareto", "ranks"]
    (pairs,) = drawn["pairs"].axes
    told = {text.get_text() for text in pairs.texts}
    assert {"10 of 10", "0 of 10"} <= told
    (pareto,) = drawn["pareto"].axes
    assert {"good", "bad", "SeasonalNaive"} <= {text.get_text() for text in pareto.texts}


def test_a_suite_of_two_data_sets_tells_what_they_say_together_also_when_it_is_rebuilt(
    data, tmp_path, undrawn, monkeypatch
):
    monkeypatch.setattr(grid_report, "grid_pictures", grid_pictures)
    monkeypatch.setattr(grid_report, "write_pictures", write_pictures)
    path = tmp_path / "two.yaml"
    path.write_text(
        f"datasets: {{file: {data}/series.csv, freq: D}}\nhorizon: 2\nplan: {{n_folds: 2}}\naudit: false\n"
        "forecasters: {SeasonalNaive: , Drift: }\nexperiments:\n  one: {}\n"
        f"  other: {{datasets: {{file: {data}/counted.csv}}}}\n"
    )
    results = run_suite(path, tmp_path / "out")
    page = results.report.read_text()
    assert "<h2>2 data sets together</h2>" in page
    assert (tmp_path / "out" / "plots" / "data_sets_together" / "pareto.png").is_file()
    leaders = pd.read_csv(tmp_path / "out" / "leaders.csv")
    assert set(leaders["forecaster"]) == {"SeasonalNaive", "Drift"}
    assert rebuild_suite(tmp_path / "out").report.read_text() == page


def test_an_experiment_on_two_data_sets_tells_it_too(config, data, tmp_path, unplotted, monkeypatch):
    monkeypatch.setattr(pictures, "pictures", lambda *given: [])
    datasets = f"[{{file: {data}/series.csv, freq: D}}, {{file: {data}/counted.csv}}]"
    results = run_experiment(config(datasets=datasets, plan="{n_folds: 1}"), tmp_path / "out")
    assert "<h2>2 data sets together</h2>" in results.report.read_text()
    assert (tmp_path / "out" / "data_set_pairs.csv").is_file()
