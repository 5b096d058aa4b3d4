"""The report is one file that needs nothing else, says what the ledger says, and fits a phone."""

import dataclasses
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from forecast.auditing import Certificate, Finding
from forecast.evaluation.effects import effects
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import coverage, score
from forecast.evaluation.skill import skill
from forecast.evaluation.statistics import standings
from forecast.experiment.effect_words import effect_rows
from forecast.experiment.report import Chapter, write_report

CHROMIUM = shutil.which("chromium")
EVIL = '<script>alert("x")</script> & co'


def summarise(ledger, dataset="waves", horizon=24):
    scores = score(ledger)
    if "SeasonalNaive" in ledger.forecasters:
        scores = scores.merge(skill(ledger)[["forecaster", "skill"]], on="forecaster")
    else:
        scores["skill"] = np.nan
    fits = ledger.fits.groupby("forecaster", as_index=False).agg(
        family=("family", "first"),
        backbone=("backbone", "first"),
        decoder=("decoder", "first"),
        seeds=("seed", "nunique"),
        fit_seconds=("fit_seconds", "sum"),
        predict_seconds=("predict_seconds", "sum"),
        parameters=("parameters", "first"),
    )
    return scores.merge(fits, on="forecaster").assign(dataset=dataset, horizon=horizon)


def certificate(name, *failed):
    """A certificate of three probes, of which some have failed."""
    findings = [
        Finding(f"P{n}", f"Thing {n} holds", "looked", f"P{n}" not in failed, "moved by 3", 5.0) for n in (0, 1, 2)
    ]
    return Certificate(name, "0.1.0", {}, findings)


@pytest.fixture(scope="module")
def chapter(synthetic):
    names = [*synthetic.FORECASTERS, EVIL]
    ledger, history = synthetic.make_ledger(cutoffs=6, forecasters=names)
    return Chapter(
        ledger=ledger,
        summary=summarise(ledger),
        plan=synthetic.make_plan(cutoffs=6),
        protocol={
            "dataset": "waves",
            "horizon": 24,
            "stride": "24 steps",
            "versions": {"numpy": "2.4.6", "pandas": "3.1.1"},
            "seeds": [0, 1],
            "config": "0123456789abcdef" * 4,
        },
        failures=[{"forecaster": EVIL, "seed": 2, "traceback": "Traceback\n  File\nValueError: `horizon` < 1\n\n"}],
        history=history,
        not_tested=["Covariates <none>."],
    )


@pytest.fixture(scope="module")
def page(chapter, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "deep" / "report.html"
    assert write_report(path, chapter, title="Latent state & direct prediction") == path
    return path


class Reader(HTMLParser):
    """Collects tags, attributes and table rows; complains about a tag that is closed without having been opened."""

    VOID = frozenset({"meta", "br", "wbr", "hr", "img", "input", "link"})

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.rows, self.cell = [], [], [], None

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell = ""

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            self.rows[-1].append(self.cell)
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data


@pytest.fixture(scope="module")
def read(page):
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == []
    return reader


def test_the_report_is_one_file_that_refers_to_nothing_outside(page, read):
    assert [path.name for path in page.parent.iterdir()] == ["report.html"]
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    tags = {tag for tag, _ in read.tags}
    assert not tags & {"script", "img", "iframe", "object", "embed", "link"}
    for _, attributes in read.tags:
        assert "src" not in attributes
        assert all(not name.startswith("on") for name in attributes)
        for name in ("href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith("#")


def test_every_id_is_used_once_and_every_reference_has_its_target(page, read):
    ids = [attributes["id"] for _, attributes in read.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    references = {attributes["href"][1:] for _, attributes in read.tags if "href" in attributes}
    references |= set(re.findall(r"url\(#([^)]+)\)", page.read_text(encoding="utf-8")))
    assert references
    assert references <= set(ids)


def test_every_forecaster_has_its_row_baselines_first(chapter, read):
    rows = {row[0]: row for row in read.rows if len(row) == 12}
    fits = chapter.ledger.fits
    parts = zip(fits["forecaster"], fits["backbone"], fits["decoder"], strict=True)
    named = {f"{name}{f'{backbone}, {decoder}' if decoder else ''}" for name, backbone, decoder in parts}
    assert set(rows) == {"forecasterbackbone, decoder", *named}
    names = [row[0] for row in read.rows]
    order = [names.index(name) for name in ("baseline", "linear", "latent-state", "direct-prediction")]
    assert order == sorted(order)
    summary, found = chapter.summary.set_index("forecaster"), standings(chapter.ledger).skill.set_index("forecaster")
    own = fits[fits["forecaster"] == "TCN direct"]
    interval = " to ".join(f"{100 * found[edge]['TCN direct']:+.1f}\N{NO-BREAK SPACE}%" for edge in ("low", "high"))
    expected = [
        "TCN directtcn, direct",
        f"+{100 * summary['skill']['TCN direct']:.1f}\N{NO-BREAK SPACE}%{interval.replace('-', '−')}",
        f"{summary['mase']['TCN direct']:.3f}",
        f"{summary['wql']['TCN direct']:.4f}",
        f"{100 * summary['coverage']['TCN direct']:.1f}\N{NO-BREAK SPACE}%",
        "40,880",
        f"{own['fit_seconds'].mean():.1f}",
        f"{1000 * own['predict_seconds'].sum() / own['forecasts'].sum():.1f}",
        *("–", "–", "2", "0"),
    ]
    assert rows["TCN directtcn, direct"] == expected
    assert rows[f"{EVIL}tcn, direct"][-1] == "1"  # a cell of it failed


def test_whatever_a_user_named_is_escaped(page):
    text = page.read_text(encoding="utf-8")
    assert "<script" not in text
    assert text.count("&lt;script&gt;alert(") >= 4
    assert "Covariates &lt;none&gt;." in text
    assert "<title>Latent state &amp; direct prediction</title>" in text


def test_all_plots_have_a_caption_and_a_description(page, read):
    figures = [attributes["aria-label"] for tag, attributes in read.tags if tag == "svg"]
    assert len(figures) == 11
    assert len(set(figures)) == 11
    text = page.read_text(encoding="utf-8")
    for label in figures:
        assert f"<figcaption>{html.escape(label)}</figcaption>" in text


def test_protocol_failures_and_what_was_not_tested_are_told(page):
    text = page.read_text(encoding="utf-8")
    for fact in ("numpy 2.4.6, pandas 3.1.1", "24 steps", "0123456789abcdef" * 4, "432 per forecaster and seed"):
        assert fact in text
    assert "<code>ValueError: `horizon` &lt; 1</code>" in text
    assert "seed 2" in text
    assert "The spread over seeds: 2 seeds per network, fewer than 3." in text
    assert "no forecaster was audited" in text
    assert "Whether 90 % intervals hold 90 %: the quantile levels reach from 0.1 to 0.9." in text
    assert "Other series: 3 cannot tell" in text
    assert (
        "Intervals of 95 %: 2,000 paired resamples of time, and of seeds. An interval holds for its pair alone" in text
    )


def test_the_same_input_gives_the_same_bytes(chapter, page, tmp_path):
    again = write_report(tmp_path / "again.html", chapter, title="Latent state & direct prediction")
    assert again.read_bytes() == page.read_bytes()


def test_chapters_stand_in_one_page_with_a_list_of_contents(synthetic, tmp_path):
    names = ["SeasonalNaive", "LSTM direct", "TCN direct"]
    waves, _ = synthetic.make_ledger(series=1, cutoffs=2, horizon=2, forecasters=[*names, "LSTM recursive"])
    numbers, _ = synthetic.make_ledger(series=1, cutoffs=1, seeds=1, horizon=2, clock="int", forecasters=names)
    both = pd.concat([summarise(waves, "waves", 2), summarise(numbers, "numbers", 2)], ignore_index=True)
    first = Chapter(waves, both, synthetic.make_plan(cutoffs=2), {"dataset": "waves", "horizon": 2})
    second = Chapter(numbers, both, None, {"dataset": "numbers", "horizon": 2})
    reader = Reader()
    text = write_report(tmp_path / "two.html", [first, second]).read_text(encoding="utf-8")
    reader.feed(text)
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert '<a href="#c2">numbers, 2 steps ahead</a>' in text
    assert sum(tag == "svg" for tag, _ in reader.tags) == 11 + 9
    assert "Another period: 1 cutoff cannot tell; intervals do not cover it." in text
    assert text.count("there is no verdict: too few cutoffs") == 2
    assert "<p>None.</p>" in text


def test_backbone_and_decoder_are_told_with_a_second_decoder(synthetic, tmp_path, unfigured):
    for names, told in ((["LSTM direct", "TCN direct"], ""), (["LSTM direct", "LSTM recursive"], "lstm, direct")):
        ledger, _ = synthetic.make_ledger(series=1, cutoffs=1, horizon=2, forecasters=["SeasonalNaive", *names])
        reader = parsed(write_report(tmp_path / "r.html", Chapter(ledger, summarise(ledger), None, {})))
        assert any(row and row[0] == f"LSTM direct{told}" for row in reader.rows)


@pytest.fixture
def unfigured(monkeypatch):
    """A report without its pictures."""
    monkeypatch.setattr("forecast.experiment.report.pictures", lambda *given: [])


def parsed(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return reader


def test_the_table_is_as_wide_as_its_headings_whatever_it_tells(synthetic, tmp_path, unfigured):
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=1, horizon=2, forecasters=["SeasonalNaive", "TCN direct"])
    budgets = {"TCN direct": {"steps": 200, "trials": 30}}
    for more in ({}, {"audits": {"TCN direct": certificate("TCN")}}, {"budgets": budgets}):
        reader = parsed(write_report(tmp_path / "r.html", Chapter(ledger, summarise(ledger), None, {}, **more)))
        (width,) = {len(row) for row in reader.rows if row and row[0] in ("forecaster", "SeasonalNaive", "TCN direct")}
        spans = {attributes["colspan"] for tag, attributes in reader.tags if tag == "td" and "colspan" in attributes}
        assert spans == {str(width)}


def test_one_whose_audit_failed_is_grey_and_left_out_of_the_verdict(synthetic, tmp_path):
    ledger, _ = synthetic.make_ledger(
        series=6, cutoffs=6, horizon=2, forecasters=["SeasonalNaive", "WindowAverage", "LSTM direct", "TCN direct"]
    )
    audits = {name: certificate(name) for name in ("SeasonalNaive", "LSTM direct")}
    audits |= {"TCN direct": certificate("TCN", "P1"), "WindowAverage": "could not be audited: FrameError: too short"}
    text = write_report(
        tmp_path / "r.html", Chapter(ledger, summarise(ledger, horizon=2), None, {}, audits=audits)
    ).read_text(encoding="utf-8")
    told = re.search(r'<div class="verdict">(.*?)</div>', text, re.DOTALL).group(1)
    assert "TCN direct" not in told.partition("</p>")[0]
    assert "no direct-prediction network was fit to be compared" in told
    assert "2 of 4 forecasters passed every probe" in told
    assert "Left out of the verdict, for a probe failed: TCN direct: P1 thing 1 holds" in told
    failed = re.findall(r'<tr class="failed">(.*?)</tr>', text, re.DOTALL)
    assert len(failed) == 1
    assert "TCN direct" in failed[0]
    assert "2/3, failed: P1" in failed[0]
    assert "WindowAverage (could not be audited: FrameError: too short)" in text
    assert '<td class="badge">none</td>' in text


def test_only_one_that_is_separated_from_all_others_is_bold(synthetic, tmp_path, unfigured):
    kinds = {"SeasonalNaive": synthetic.FORECASTERS["SeasonalNaive"]}
    kinds |= {"good": ("direct-prediction", "tcn", "direct", 0.1, 9), "bad": ("latent-state", "lstm", "direct", 0.5, 9)}
    ledger, _ = synthetic.make_ledger(series=6, cutoffs=10, horizon=4, seeds=1, forecasters=kinds)
    text = write_report(tmp_path / "r.html", Chapter(ledger, summarise(ledger), None, {})).read_text(encoding="utf-8")
    assert len(re.findall("<b>", text)) == 1
    assert re.search(r'<td class="name">good</td>\s*<td><b>', text)
    kinds["as good"] = kinds["good"]
    ledger, _ = synthetic.make_ledger(series=6, cutoffs=10, horizon=4, seeds=1, forecasters=kinds)
    text = write_report(tmp_path / "r.html", Chapter(ledger, summarise(ledger), None, {})).read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "Nothing is set in bold" in text


def test_unequal_budgets_are_flagged_and_shown(synthetic, tmp_path, unfigured):
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=1, horizon=2, forecasters=["SeasonalNaive", "TCN direct"])
    chapter = Chapter(
        ledger,
        summarise(ledger),
        None,
        {},
        budgets={"TCN direct": {"steps": 1200, "trials": 0}},
        unequal=["steps (TCN direct 1,200, LSTM 300)"],
    )
    text = write_report(tmp_path / "r.html", chapter).read_text(encoding="utf-8")
    assert "Budgets are not equal: steps (TCN direct 1,200, LSTM 300)." in text
    assert "<td>1,200</td>" in text
    assert "trials<small>" not in text


def test_coverage_at_90_is_there_with_the_levels_of_it(synthetic, tmp_path, unfigured):
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=2, horizon=2, forecasters=["SeasonalNaive", "NLinear"])
    table = ledger.forecasts.drop(columns="status")
    table["0.05"], table["0.95"] = table["0.1"] - 1, table["0.9"] + 1
    wide = Ledger.of(table, ledger.scales, ledger.fits, ledger.season_length)
    text = write_report(tmp_path / "r.html", Chapter(wide, summarise(wide), None, {})).read_text(encoding="utf-8")
    assert "coverage<small>of 80 %</small>" in text
    assert "coverage<small>of 90 %</small>" in text
    assert "Whether 90 % intervals" not in text
    (own,) = {row[5] for row in parsed(tmp_path / "r.html").rows if row and row[0] == "NLinear"}
    share = score(wide, {"inside": coverage(0.05, 0.95)}).set_index("forecaster").loc["NLinear", "inside"]
    assert own == f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def test_effects_and_their_plot_stand_in_the_report_where_networks_are_crossed(chapter, read):
    told = {row[0]: row for row in read.rows if len(row) == 5}
    assert list(told) == ["effect", FAMILY, "recursive against direct", "family × recursive"]
    found = effects(chapter.ledger).contrasts.set_index("effect")
    row = told[FAMILY]
    change = found.loc["family", "change"]
    amount = f"{100 * abs(change):.1f}\N{NO-BREAK SPACE}%"
    word = "less" if change < 0 else "more"
    assert row[1].startswith(f"latent-state networks have {amount} {word} error than direct-prediction networks")
    assert row[2] == f"{'−' if change < 0 else '+'}{amount}"
    assert row[4] == "4"
    assert told["family × recursive"][1:] == [
        "no direct-prediction backbone has both recursive and direct",
        "–",
        "–",
        "0",
    ]
    assert any(attributes.get("id", "").startswith("c1-effects-") for _, attributes in read.tags)


FAMILY = "latent-state against direct-prediction"
TWO_BY_TWO = {
    "SeasonalNaive": [1.0],
    "LSTM direct": [0.5],
    "LSTM recursive": [0.6],
    "TCN direct": [0.4],
    "TCN recursive": [0.8],
}


def test_effects_are_said_in_words(synthetic):
    kinds = dict(synthetic.FORECASTERS)
    kinds["TCN recursive"] = ("direct-prediction", "tcn", "recursive", 0.4, 40_000)
    family, decoder, interaction = effect_rows(effects(with_skills(synthetic, TWO_BY_TWO, kinds)))
    percent = "\N{NO-BREAK SPACE}%"
    # sqrt(0.5 * 0.6) / sqrt(0.4 * 0.8), sqrt(0.6 * 0.8) / sqrt(0.5 * 0.4) and (0.6 / 0.5) / (0.8 / 0.4)
    assert family["words"] == f"latent-state networks have 3.2{percent} less error than direct-prediction networks"
    assert family["over"] == "LSTM, TCN under direct, recursive"
    assert decoder["words"] == (
        f"recursive has 54.9{percent} more error than direct (latent-state +20.0{percent}, "
        f"direct-prediction +100.0{percent})"
    )
    assert interaction["words"] == (
        f"recursive in place of direct changes the error by +20.0{percent} for latent-state and +100.0{percent} for "
        f"direct-prediction: 40.0{percent} less for latent-state"
    )
    assert [row["change"] for row in (family, decoder, interaction)] == [
        f"{text}{percent}" for text in ("−3.2", "+54.9", "−40.0")
    ]
    assert {row["seeds"] for row in (family, decoder, interaction)} == {"–"}
    assert [row["effect"] for row in (family, decoder, interaction)] == [
        *(FAMILY, "recursive against direct", "family × recursive")
    ]


def test_equal_errors_are_called_the_same(synthetic):
    kinds = {**synthetic.FORECASTERS, "TCN recursive": ("direct-prediction", "tcn", "recursive", 0.4, 40_000)}
    rows = effect_rows(effects(with_skills(synthetic, {name: [1.0, 1.0] for name in TWO_BY_TWO}, kinds)))
    assert all("the same" in row["words"] for row in rows)
    assert {row["change"] for row in rows} == {"0.0\N{NO-BREAK SPACE}%"}
    assert {row["seeds"] for row in rows} == {"0.0\N{NO-BREAK SPACE}% to 0.0\N{NO-BREAK SPACE}%"}


def test_many_backbones_are_told_by_those_that_are_missing(synthetic):
    kinds = synthetic.crossed(decoders=("direct", "recursive", "context_vector"), among=("lstm", "transformer"))
    del kinds["rnn recursive"]
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=1, horizon=2, seeds=1, forecasters=kinds)
    over = {row["effect"]: row["over"] for row in effect_rows(effects(ledger))}
    assert over[FAMILY] == "all 12 backbones but rnn under direct, recursive"
    assert over["recursive against direct"] == "all 12 backbones but rnn under direct, recursive"
    assert over["family × context_vector"] == "lstm, transformer under direct, context_vector"


def with_skills(synthetic, errors, kinds=None):
    """A ledger of one point per series in which the absolute error of each (forecaster, seed) is given."""
    chosen = list(errors) if kinds is None else {name: kinds[name] for name in errors}
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=1, horizon=1, seeds=3, forecasters=chosen)
    table = ledger.forecasts.copy()
    for name, several in errors.items():
        for seed, error in enumerate(several):
            where = (table["forecaster"] == name) & (table["seed"] == seed)
            table.loc[where, "prediction"] = table.loc[where, "y"] + error
    runs = {(name, seed) for name, several in errors.items() for seed in range(len(several))}
    keep = [pair in runs for pair in zip(table["forecaster"], table["seed"], strict=True)]
    fits = ledger.fits
    kept = [pair in runs for pair in zip(fits["forecaster"], fits["seed"], strict=True)]
    return Ledger.of(table[keep], ledger.scales, fits[kept], 24)


def test_a_report_without_seasonal_naive_or_any_actual_is_still_written(synthetic, tmp_path):
    ledger, _ = synthetic.make_ledger(series=1, cutoffs=2, horizon=2, forecasters=["Naive", "TCN direct"])
    empty = Ledger.of(
        ledger.forecasts.assign(y=np.nan).drop(columns="status"), ledger.scales, ledger.fits, ledger.season_length
    )
    chapters = [Chapter(one, summarise(one, horizon=2), None, {}) for one in (ledger, empty)]
    text = write_report(tmp_path / "r.html", chapters).read_text(encoding="utf-8")
    assert text.count("there is no verdict: too few cutoffs") == 1
    assert text.count("there is no verdict: for no series is the ratio to") == 1
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL).lower().replace("finance", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda summary: summary.drop(columns="wql"), r"`summary` lacks the columns \['wql'\]"),
        (lambda summary: summary.iloc[1:], "`summary` has 0 rows for forecaster 'Naive'"),
        (lambda summary: pd.concat([summary, summary]), "`summary` has 2 rows for forecaster 'Naive'"),
    ],
)
def test_a_summary_that_does_not_fit_the_ledger_is_refused(chapter, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        write_report(tmp_path / "r.html", dataclasses.replace(chapter, summary=change(chapter.summary)))
    assert not (tmp_path / "r.html").exists()


def test_a_report_of_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match="`chapters` is empty"):
        write_report(tmp_path / "r.html", [])


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine to open the page with")
@pytest.mark.parametrize("width", [390, 1200])
def test_no_page_is_wider_than_its_screen(page, tmp_path, width):
    # A frame gives the page exactly this width; a window of a browser without a screen may be held to a wider minimum.
    probe = """
    const frame = document.querySelector('iframe');
    frame.onload = () => {
      const root = frame.contentDocument.documentElement;
      const boxes = [...frame.contentDocument.querySelectorAll('.scroll')];
      document.querySelector('pre').textContent = JSON.stringify({
        view: root.clientWidth, page: root.scrollWidth, body: frame.contentDocument.body.scrollWidth,
        scrolling: boxes.filter(box => box.scrollWidth > box.clientWidth + 1).length,
        tall: [...frame.contentDocument.querySelectorAll('svg')].every(svg => svg.getBoundingClientRect().height > 80),
      });
    };
    frame.srcdoc = JSON.parse(document.querySelector('template').innerHTML
      .replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'));
    """
    text = html.escape(json.dumps(page.read_text(encoding="utf-8")), quote=False)
    wrapper = tmp_path / "wrapper.html"
    wrapper.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><pre></pre><iframe style="width:{width}px;height:900px;border:0">'
        "</iframe>"
        f"<template>{text}</template><script>{probe}</script>",
        encoding="utf-8",
    )
    flags = "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking"
    flags += " --disable-component-update --disable-sync --virtual-time-budget=8000 --window-size=1400,1000 --dump-dom"
    command = [str(CHROMIUM), *flags.split(), f"--user-data-dir={tmp_path / 'profile'}", wrapper.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    seen = re.search(r"<pre>(\{.*?\})</pre>", done.stdout)
    assert seen, done.stderr[-2000:]
    measured = json.loads(seen.group(1))
    assert width - 20 <= measured["view"] <= width
    assert measured["page"] <= measured["view"]
    assert measured["body"] <= measured["view"]
    assert measured["tall"]
    # On the phone the table and the plots scroll in their own boxes; on a desk nothing needs to.
    assert (measured["scrolling"] > 0) == (width == 390)
