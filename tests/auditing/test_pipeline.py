"""Planted defects of pipelines: each is found by the probe that is for it; what keeps the rules passes every one."""

import importlib.util
import sys
from pathlib import Path

import pandas as pd
import pytest

from forecast.auditing.audit import PROBES, audit
from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive, Theta, WindowAverage
from forecast.encoding import Encoding
from forecast.evaluation import label_of, score
from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES, DECODERS, LSTM
from forecast.testing.bench import frame_of

_FILE = Path(__file__).with_name("planted.py")
_SPEC = importlib.util.spec_from_file_location("planted", _FILE)
planted = sys.modules["planted"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(planted)

HORIZON = 6
PIPELINES = [probe.id for probe in PROBES]

FORECASTERS = {
    "Ahead": "P1 P2",
    "LargeAhead": "P2",
    "FromTheEnd": "P3",
    "Upset": "P4",
    "PastAhead": "P1 P14",
    "TooEarly": "P5",
    "IssuedLater": "P5",
    "OthersAhead": "P9",
    "FirstSeries": "P10",
    "FirstSeriesDrawing": "P10",
    "ByName": "P10",
    "Batched": "P11",
    "Carrying": "P11",
    "Chancy": "P0",
    "ByYear": "P12",
    "Memorised": "P13",
    "Standardised": "P16",
}
BACKTESTS = {
    "scaled_on_everything": "P1 P2 P6",
    "smoothed_before_the_split": "P1 P6",
    "filled_from_both_sides": "P1 P6",
    "labels_beyond_the_cutoff": "P1 P7",
    "newest_first_and_warm": "P1",
    "gap_in_rows": "P7",
    "gap_read": "P7",
    "stopped_on_the_test_span": "P8",
    "last_batch_dropped": "P15",
    "shortest_steps_kept": "P15",
    "scored_against_the_forecast": "P15",
}


@pytest.mark.parametrize(("name", "probes"), FORECASTERS.items())
def test_a_planted_forecaster_is_found(name, probes):
    found = audit(getattr(planted, name)(HORIZON), probes=probes.split())
    assert [finding.probe for finding in found.failed] == probes.split(), str(found)


@pytest.mark.parametrize(("name", "probes"), BACKTESTS.items())
def test_a_planted_backtest_is_found(name, probes):
    found = audit(planted.Sound(HORIZON), probes=probes.split(), backtest=getattr(planted, name))
    assert [finding.probe for finding in found.failed] == probes.split(), str(found)
    assert not any("raised" in finding.evidence for finding in found.failed), str(found)


@pytest.mark.parametrize("score", ["missing_is_skipped", "missing_is_zero"])
def test_a_score_that_rewards_silence_is_found(score):
    found = audit(planted.Sound(HORIZON), probes=["P15"], backtest=planted.unchecked, score=getattr(planted, score))
    assert "a forecaster that says NaN" in found.failed[0].evidence


def test_a_score_has_to_score_what_is_there():
    found = audit(planted.Sound(HORIZON), probes=["P15"], score=lambda ledger, metrics: score(ledger.nothing, metrics))
    assert "raised AttributeError" in found.failed[0].evidence
    found = audit(planted.Sound(HORIZON), probes=["P15"], backtest=planted.newest_first)
    assert found.passed
    assert "how they are scored is not known" in found.findings[0].evidence
    with pytest.raises(TypeError, match="`score` is 'mae'; allowed: None, or a function"):
        audit(planted.Sound(HORIZON), score="mae")


def test_data_that_never_change_or_end_soon_are_no_fault_of_a_forecaster():
    still = frame_of(HORIZON).assign(y=3.0)
    (finding,) = audit(Naive(HORIZON), still, probes=["P13"]).findings
    assert finding.passed is None
    assert "never change" in finding.evidence
    last = still.groupby("unique_id")["ds"].max().min()
    found = audit(Naive(HORIZON), frame_of(HORIZON), cutoff=last - pd.Timedelta(hours=2), probes=["P3", "P4", "P7"])
    assert found.passed, str(found)


def test_stamps_are_moved_by_28_years_or_by_seasons_where_there_is_no_room():
    told = []
    for years in (0, 75, 230):  # from 2024; 2100 is no leap year, and 2262 the end of nanoseconds
        frame = frame_of(HORIZON)
        later = frame["ds"].dt.as_unit("ns") + pd.Timedelta(days=365 * years)
        found = audit(SeasonalNaive(HORIZON), frame.assign(ds=later), probes=["P12"])
        assert found.passed
        told.append(found.findings[0].evidence.partition(":")[0])
    assert told == ["245448 steps later", "245448 steps earlier", "245448 steps earlier"]


def test_what_is_known_by_heart_is_found_where_targets_are_shuffled():
    (finding,) = audit(planted.Knowing(HORIZON), probes=["P13"], backtest=planted.labels_beyond_the_cutoff).findings
    assert finding.passed is False
    assert "it knows what it cannot know" in finding.evidence
    (finding,) = audit(planted.Knowing(HORIZON), probes=["P13"], backtest=planted.unchecked).findings
    assert finding.passed


def test_a_canary_that_is_read_too_early_is_found():
    (finding,) = audit(planted.CanaryReader(HORIZON), probes=["P14"], backtest=planted.unchecked).findings
    assert finding.passed is False
    assert "it reads values that are not yet known" in finding.evidence


@pytest.mark.parametrize(("name", "told"), [("ByHash", "a fit anew"), ("Forgetful", "what was saved")])
def test_what_another_process_says_otherwise_is_found(name, told):
    (finding,) = audit(getattr(planted, name)(HORIZON), probes=["P16"]).findings
    assert finding.passed is False
    assert finding.evidence.startswith(told)


def test_a_forecaster_by_chance_is_given_its_own_noise():
    found = audit(planted.Chancy(HORIZON), probes=["P0", "P1", "P6", "P10"])
    assert [finding.passed for finding in found.findings] == [False, True, None, True], str(found)


def test_no_probe_alone_finds_every_planted_forecaster():
    probes = [probe for expected in FORECASTERS.values() for probe in expected.split()]
    assert len(set(probes)) >= 12


# -- what keeps the rules --------------------------------------------------------------------------------------------


def network(backbone, decoder="direct"):
    """A small network."""
    config = BACKBONES[backbone](width=8) if isinstance(backbone, str) else backbone
    return NeuralForecaster(config, HORIZON, decoder=decoder, patch_length=6, context_length=24)


def checked(forecaster, **asked):
    """Give the certificate of a forecaster of which no probe fails."""
    found = audit(forecaster, **asked)
    assert found.passed, str(found)
    return found


def test_a_sound_forecaster_passes_every_probe():
    found = checked(planted.Sound(HORIZON))
    assert [finding.probe for finding in found.findings if finding.probe in PIPELINES] == PIPELINES
    assert {finding.probe: finding.evidence for finding in found.findings if finding.passed is None} == {
        "P5": "it reads no covariates",
        "P14": "it reads no covariates",
    }


@pytest.mark.parametrize(
    ("name", "probes"),
    {
        "InLogs": "P2 P11",
        "LastAsItIs": "P0 P4 P15",
        "ByDayOfYear": "P12",
        "Drawing": "P10",
    }.items(),
)
def test_an_odd_forecaster_that_keeps_the_rules_passes(name, probes):
    checked(getattr(planted, name)(HORIZON), probes=probes.split())


def test_folds_may_be_fitted_in_any_order():
    checked(planted.Sound(HORIZON), probes=["P1", "P7"], backtest=planted.newest_first)


def test_what_cannot_be_saved_is_told():
    (finding,) = checked(planted.Both(HORIZON), probes=["P16"]).findings
    assert "it cannot be saved: `other_` is a fitted WindowAverage" in finding.evidence


class ReadsUnitsToTheEnd(NeuralForecaster):
    """Takes the units of covariates from all rows of a fit, those for validation included."""

    def _take_shape(self, rows):
        super()._take_shape(rows)
        self.encoding_ = Encoding.of(rows.panel, ())


def test_units_that_are_learned_from_what_is_for_validation_are_found():
    leaking = ReadsUnitsToTheEnd(**network(LSTM(width=8)).get_params(deep=False))
    (finding,) = audit(leaking, probes=["P6"]).findings
    assert finding.passed is False
    assert "the last 13 steps, which are for validation, teach the units" in finding.evidence


def test_a_linear_map_passes():
    checked(NLinear(HORIZON), probes=["P1", "P2", "P4", "P6", "P7", "P10", "P11"])


def test_a_network_passes():
    found = checked(network(LSTM(width=8)), probes=["P5", "P6", "P7"])
    told = {finding.probe: finding.evidence for finding in found.findings}
    assert "`price` inside the horizon moves it by" in told["P5"]
    assert "the 13 steps for validation teach no units and no categories of covariates" in told["P6"]
    assert "labels of 160 training windows end at 2024-03-29 21:00:00, those of validation lie from" in told["P7"]
    assert found.facts["cut short"] == "training__steps=10, training__batch_size=16, training__validations=2"


@pytest.mark.slow
@pytest.mark.parametrize(
    "forecaster",
    [
        Naive(HORIZON),
        SeasonalNaive(30, season_length=24),
        Drift(HORIZON),
        WindowAverage(HORIZON, window=5),
        Theta(HORIZON),
        NLinear(HORIZON, context_length=12),
        *(network(backbone) for backbone in BACKBONES),
        *(network("gru", decoder) for decoder in DECODERS if decoder != "direct"),
    ],
    ids=label_of,
)
def test_every_forecaster_of_ours_passes(forecaster):
    checked(forecaster)
