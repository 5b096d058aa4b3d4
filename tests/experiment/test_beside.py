"""What an experiment does beside its comparison: audits, other context lengths, costs by history; stored like cells."""

import json
import re

import pandas as pd
import pytest

from forecast.auditing import Certificate
from forecast.experiment import ConfigError, audits, load_experiment, rebuild, run_experiment
from forecast.experiment.audits import Certified, write_audits
from forecast.experiment.store import Store
from forecast.experiment.sweeps import at_context
from forecast.experiment.work import Progress
from forecast.forecaster import Forecaster

NETWORK = "{type: NeuralForecaster, backbone: {type: lstm, width: 4}, training: {steps: 2, batch_size: 4}}"


class Noted(Progress):
    """Remembers what it was told."""

    def __init__(self):
        self.told = {}

    def finished(self, cell, outcome, seconds):
        self.told[str(cell)] = outcome


def run(path, out):
    noted = Noted()
    return run_experiment(path, out, noted), noted.told


@pytest.fixture
def quick_audit(monkeypatch):
    """An audit of the two probes that take the least; `Failing` of the tests cannot be audited."""

    def quick(forecaster, panel, probes):
        from forecast.auditing.audit import audit

        return audit(forecaster, panel, probes=["P3", "P15"])

    monkeypatch.setattr(audits, "audit", quick)


def test_forecasters_are_audited_once_however_often_they_are_named_and_stored(config, tmp_path, undrawn, quick_audit):
    forecasters = "{SeasonalNaive: , again: {type: SeasonalNaive}, Drift: }"
    path, out = config("audit: true", forecasters=forecasters), tmp_path / "out"
    results, told = run(path, out)
    assert {name: outcome for name, outcome in told.items() if name.startswith("audit")} == {
        "audit of SeasonalNaive on series": "done",
        "audit of Drift on series": "done",
    }
    found = results.audits["series"]
    assert list(found) == ["SeasonalNaive", "again", "Drift"]
    assert found["again"].badge == "2/2 probes passed"
    assert found["SeasonalNaive"] == found["again"]
    table = pd.read_csv(out / "audits.csv")
    assert table["passed"].tolist() == [True] * 3
    assert Certificate.read(out / table["file"].iloc[2]).forecaster.startswith("Drift(")
    assert set(run(path, out)[1].values()) == {"stored"}
    assert rebuild(out).audits == results.audits


def test_an_audit_that_cannot_be_made_is_a_badge_and_no_failed_cell(config, tmp_path, own_models, undrawn, quick_audit):
    forecasters = '{SeasonalNaive: , half: {type: "lab_models:FailingWithSeedOne"}}'
    results, told = run(config("audit: true", forecasters=forecasters), tmp_path / "out")
    assert told["audit of half on series"] == "done"
    assert results.audits["series"]["half"].badge == "2/2 probes passed"
    forecasters = '{SeasonalNaive: , bad: {type: "lab_models:Failing"}}'
    results, told = run(config("audit: true", forecasters=forecasters), tmp_path / "other")
    assert told["audit of bad on series"] == "failed"
    assert results.audits["series"]["bad"] == "could not be audited: RuntimeError: the lid is stuck"
    assert {row["forecaster"] for row in results.failures} == {"bad"}
    assert len(results.failures) == 2  # its cells


def test_a_forecaster_that_reads_the_future_is_no_leader(config, tmp_path, monkeypatch, undrawn):
    def planted(forecaster, panel, probes):
        from forecast.auditing import Finding

        passed = type(forecaster).__name__ != "Drift"
        return Certificate("it", "0.1.0", {}, (Finding("P1", "Nothing moves", "looked", passed, "moved by 3", 1.0),))

    monkeypatch.setattr(audits, "audit", planted)
    results, _ = run(config("audit: true", forecasters="{SeasonalNaive: , Drift: , Naive: }"), tmp_path / "out")
    assert "Drift" not in results.verdicts["series"]
    assert results.standings["series"].skill["forecaster"].tolist() == ["SeasonalNaive", "Naive"]
    assert set(results.summary["forecaster"]) == {"SeasonalNaive", "Drift", "Naive"}
    assert pd.read_csv(tmp_path / "out" / "comparison.csv")["forecaster"].tolist() == ["SeasonalNaive", "Naive"]


def test_no_audit_is_made_where_none_is_asked_for_and_may_be_asked_for_later(config, tmp_path, undrawn, quick_audit):
    results, told = run(config("audit: false"), tmp_path / "out")
    assert results.audits == {"series": {}}
    assert not [name for name in told if name.startswith("audit")]
    results, told = run(config("audit: true"), tmp_path / "out")
    assert list(told.values()) == ["stored"] * 4 + ["done"] * 2


def test_files_of_certificates_have_names_that_any_folder_takes(tmp_path):
    certificate = Certificate("it", "0.1.0")
    table = write_audits(Store(tmp_path), {"waves": dict.fromkeys(["a/b", "a:b", "A b", "ü"], certificate)})
    assert table["file"].tolist() == [
        *("audits/waves a_b.json", "audits/waves a_b 2.json", "audits/waves A_b 3.json", "audits/waves ü.json")
    ]
    assert all((tmp_path / name).is_file() for name in table["file"])
    Certified(certificate).write(tmp_path / "one")
    assert json.loads((tmp_path / "one" / "certificate.json").read_text())["forecaster"] == "it"


def test_every_forecaster_with_a_context_is_fitted_anew_at_each_length(config, tmp_path, undrawn):
    forecasters = "{SeasonalNaive: , NLinear: {context_length: 14}}"
    path, out = config("context_lengths: [7, 14]", forecasters=forecasters), tmp_path / "out"
    results, told = run(path, out)
    assert told["NLinear with a context of 7, seed 0, folds 1 to 2 of 4"] == "done"
    assert told["NLinear with a context of 14, seed 0, folds 1 to 2 of 4"] == "stored"  # it is that of the comparison
    table = results.contexts
    assert table["context_length"].tolist() == [7, 14]
    assert set(table["forecaster"]) == {"NLinear"}
    summary = results.summary.set_index("forecaster")
    assert table["skill"].iloc[1] == pytest.approx(summary.loc["NLinear", "skill"])
    assert table["skill"].iloc[0] != pytest.approx(summary.loc["NLinear", "skill"])
    assert results.ledger.forecasters == ("SeasonalNaive", "NLinear")
    assert summary.loc["NLinear", "seeds"] == 1
    cells = pd.read_csv(out / "cells.csv")
    assert cells["context_length"].isna().sum() == 4
    again, told = run(config("context_lengths: [7]", forecasters=forecasters), out)
    assert set(told.values()) == {"stored"}
    assert again.contexts["context_length"].tolist() == [7]


def test_a_context_that_cannot_be_had_is_a_failed_cell_of_the_sweep_alone(config, tmp_path, undrawn):
    path = config("context_lengths: [7, 5000]", forecasters="{SeasonalNaive: , NLinear: {context_length: 14}}")
    results, _ = run(path, tmp_path / "out")
    assert {(row["forecaster"], row["context_length"]) for row in results.failures} == {("NLinear", 5000)}
    assert results.contexts["context_length"].tolist() == [7]
    assert results.ledger.forecasters == ("SeasonalNaive", "NLinear")


def test_contexts_inside_a_forecaster_are_set_too():
    from forecast import Calibrated, Drift, NLinear

    wrapped = {"c": Calibrated(NLinear(3, context_length=9)), "n": NLinear(3), "d": Drift(3)}
    found = at_context(wrapped, 5)
    assert list(found) == ["c", "n"]
    assert found["c"].get_params()["forecaster__context_length"] == 5
    assert found["n"].context_length == 5
    assert all(isinstance(one, Forecaster) for one in found.values())
    assert wrapped["n"].context_length != 5


def test_the_cost_by_history_is_measured_of_each_distinct_backbone(config, tmp_path, undrawn):
    forecasters = f"{{SeasonalNaive: , one: {NETWORK}, other: {NETWORK}}}"
    path, out = config("history_lengths: [32, 16]", forecasters=forecasters), tmp_path / "out"
    results, told = run(path, out)
    assert sum("values" in name for name in told) == 2
    costs = results.costs
    assert set(costs["backbone"]) == {"one"}
    assert costs["length"].unique().tolist() == [16, 32]
    assert set(costs["mode"]) == {"train", "recompute", "stream"}
    assert pd.read_csv(out / "costs.csv")["dataset"].tolist() == ["series"] * len(costs)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("audit: perhaps", "audit: should be true or false"),
        ("context_lengths: [48, 48]", "context_lengths: 48 comes twice"),
        ("context_lengths: [0]", "context_lengths.0: "),
        ("history_lengths: [a]", "history_lengths.0: should be a whole number"),
    ],
)
def test_what_cannot_be_asked_for_is_told_at_its_place(config, text, told):
    with pytest.raises(ConfigError, match=re.escape(told)):
        load_experiment(config(text))
