"""The certificate: what it says of itself, as text, table, page and file."""

import numpy as np
import pandas as pd
import pytest

import forecast
from forecast.auditing.certificate import Certificate, Finding

FINDINGS = (
    Finding("P1", "nothing moves", "the future is bumped", True, "moved by 0 in 36 numbers", 12.3),
    Finding("P5", "covariates are read in time", "they are changed", None, "it reads no covariates", 0.1),
    Finding("P9", "others do not matter", "they are changed", False, "moved by <3> for series 'b'", 1234.5),
)


def certificate(*findings):
    return Certificate("Naive(horizon=6)", "0.1.0", {"data": "3 series", "cutoffs": ["2024-01-01"]}, findings)


@pytest.mark.parametrize(
    ("findings", "passed", "badge"),
    [
        (FINDINGS, False, "1/2 probes passed, failed: P9"),
        (FINDINGS[:2], True, "1/1 probes passed"),
        (FINDINGS[1:2], False, "0/0 probes passed"),
        ((), False, "0/0 probes passed"),
    ],
)
def test_it_passes_where_some_probe_applied_and_none_failed(findings, passed, badge):
    assert certificate(*findings).passed is passed
    assert certificate(*findings).badge == badge


def test_its_table_has_a_row_per_probe_with_true_false_or_none():
    table = certificate(*FINDINGS).table()
    assert list(table.columns) == ["probe", "name", "asks", "passed", "evidence", "milliseconds"]
    assert [value is want for value, want in zip(table["passed"], (True, None, False), strict=True)] == [True] * 3
    assert table["milliseconds"].dtype == np.float64
    assert certificate().table().empty


def test_its_text_tells_each_probe_with_evidence_and_how_it_was_made():
    lines = str(certificate(*FINDINGS)).splitlines()
    assert lines[:2] == ["audit of Naive(horizon=6)", "1/2 probes passed, failed: P9 (foretell 0.1.0)"]
    assert "P9  FAILED          others do not matter (1,234 ms)" in lines
    assert "                    moved by <3> for series 'b'" in lines
    assert lines[-2:] == ["data: 3 series", "cutoffs: ['2024-01-01']"]
    assert max(map(len, lines)) <= 120


def test_its_page_is_escaped():
    page = certificate(*FINDINGS)._repr_html_()
    assert "moved by &lt;3&gt; for series &#x27;b&#x27;" in page
    assert "<3>" not in page


def test_what_is_written_is_read_again(tmp_path):
    written = certificate(*FINDINGS)
    written.write(tmp_path / "audit.json")
    assert Certificate.read(tmp_path / "audit.json") == written


FOUND = b'{"probe": "P1", "name": "", "asks": "", "passed": "yes", "evidence": "", "milliseconds": 1}'


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format": 9}',
        b'{"format": 1, "findings": [{"probe": 1}]}',
        b'{"format": 1, "forecaster": "", "version": "", "facts": {}, "findings": [%s]}' % FOUND,
        b"\xff\xfe\xff",
    ],
)
def test_what_is_no_certificate_is_refused(tmp_path, text):
    (tmp_path / "audit.json").write_bytes(text)
    with pytest.raises(ValueError, match=r"`path` '.*audit\.json' holds no certificate that can be read"):
        Certificate.read(tmp_path / "audit.json")
    with pytest.raises(FileNotFoundError):
        Certificate.read(tmp_path / "none.json")


def test_audit_is_the_function_whatever_was_imported_before():
    import forecast.auditing.certificate

    with pytest.raises(TypeError, match=r"`forecaster` is 3; allowed: a Forecaster"):
        forecast.audit(3)  # type: ignore[arg-type]
    assert forecast.Certificate is forecast.auditing.Certificate is Certificate
    with pytest.raises(AttributeError, match="has no attribute 'probe'"):
        _ = forecast.auditing.probe


def test_wrong_arguments_are_refused():
    audit, naive = forecast.audit, forecast.Naive(6)
    with pytest.raises(TypeError, match=r"is the class Naive; give one, Naive\(\.\.\.\)"):
        audit(forecast.Naive)
    for probes in ("P1", [], ["P99"], 3):
        with pytest.raises(ValueError, match=r"`probes` is .*; allowed: a list of some of P0, P1"):
            audit(naive, probes=probes)
    with pytest.raises(TypeError, match="`gaps` is for a `frame`, and none is given"):
        audit(naive, gaps="mask")
    frame = pd.DataFrame({"unique_id": "a", "ds": pd.date_range("2024-01-01", periods=8), "y": np.arange(8.0)})
    with pytest.raises(ValueError, match=r"the series to audit on are all there from 2024-01-01.* give longer series"):
        audit(naive, frame)
    with pytest.raises(ValueError, match=r"`cutoff` is 2030-01-01, at which no series is under way"):
        audit(naive, frame, cutoff="2030-01-01")
