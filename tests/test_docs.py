"""The pages in docs/ say what is true: their Python and commands run, in their order, and print what is said.

Blocks of a page share names, files and a folder. A block marked `text` is what the block before it prints. Fits that do
not say how long they train are made short, and so are all of the lectures.
"""

import importlib.util
import re
import shlex
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import forecast

ROOT = Path(__file__).resolve().parents[1]
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
TEXTS = {"README.md": (ROOT / "README.md").read_text(encoding="utf-8")} | {
    f"docs/{name}.md": text for name, text in PAGES.items()
}
_BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", flags=re.S | re.M)
_STEPS = re.compile(r"\bsteps=\d+")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_OPTIONAL = {"import polars": "polars", "holidays:": "holidays", "parquet": "pyarrow"}


def missing_in(code: str) -> str | None:
    """Give the optional library that a block needs and that is not installed."""
    needed = [library for words, library in _OPTIONAL.items() if words in code]
    return next((library for library in needed if importlib.util.find_spec(library) is None), None)


def run_commands(lines: str) -> None:
    """Run the lines of a shell block that call `forecast`; each has to end well, or as a comment behind it says."""
    from forecast.cli import app

    for line in lines.replace("\\\n", " ").splitlines():
        name, *arguments = shlex.split(line, comments=True) or [""]
        if name == "forecast":
            told = re.search(r"# exit status (\d+)", line)
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == (int(told[1]) if told else 0), f"{line}\n{result.output}"
            print(result.output if told else result.stdout, end="")


@pytest.fixture
def page(tmp_path, monkeypatch, unlaid):
    """Give a module for the names of a page, in an empty folder, where fits are short and pictures come as they are."""
    from forecast.neural import NeuralForecaster
    from forecast.training import Training

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORECAST_DATA_HOME", raising=False)
    monkeypatch.setitem(Training.__init__.__kwdefaults__, "steps", 3)
    monkeypatch.setitem(NeuralForecaster.__init__.__kwdefaults__, "training", Training())
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    return module


@pytest.mark.parametrize("name", [name for name in PAGES if name != "lectures"])
def test_what_a_page_shows_runs_and_prints_what_it_says(name, page, capsys):
    left_out, printed = [], ""
    for number, (kind, block) in enumerate(_BLOCK.findall(PAGES[name])):
        if kind == "text":
            if printed is None:
                continue
            assert printed.rstrip().splitlines() == block.rstrip().splitlines(), f"block {number} of {name}"
            continue
        if library := missing_in(block):
            left_out.append(library)
            printed = None
            continue
        if kind == "sh":
            run_commands(block)
        else:
            exec(compile(block, f"{name}, block {number}", "exec"), page.__dict__)
        printed = capsys.readouterr().out
    if left_out:
        pytest.skip(f"all but the blocks that need {', '.join(dict.fromkeys(left_out))} ran")


def test_the_lectures_show_what_leaks_and_what_knows_no_order(page, capsys, tmp_path):
    for kind, block in _BLOCK.findall(PAGES["lectures"]):
        if kind == "python":
            exec(compile(_STEPS.sub("steps=2", block), "lectures", "exec"), page.__dict__)
    said = capsys.readouterr().out.splitlines()
    # Permutation: attention bears it, a recurrence does not. Mask: before the softmax nothing leaks, after it, it does.
    assert [line for line in said if line in ("True", "False")] == ["True", "False", "True", "False"]
    assert {path.name for path in tmp_path.glob("*.png")} == {"gradient_reach.png", "attention.png"}


@pytest.mark.parametrize("file", TEXTS)
def test_every_link_leads_somewhere(file):
    for link in _LINK.findall(_without_code(TEXTS[file])):
        path, _, anchor = link.partition("#")
        if ":" in path:
            continue
        target = (ROOT / file).parent / path if path else ROOT / file
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target.read_text(encoding="utf-8")), link


@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_with_its_name_and_what_it_is_about(name):
    title, empty, opening = PAGES[name].splitlines()[:3]
    assert title.startswith("# ")
    assert not empty
    assert opening
    assert not opening.startswith(("#", "`"))


@pytest.mark.parametrize("name", sorted(set(forecast.__all__) - {"__version__"}))
def test_every_public_name_is_in_the_documentation(name):
    assert any(re.search(rf"\b{name}\b", _code(text)) for text in TEXTS.values())


def test_every_backbone_and_decoder_is_in_a_table_with_its_config_and_whether_it_streams():
    from forecast.nn import BACKBONES, DECODERS

    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \|(?:.*\|)? ([^|]+) \|$", PAGES["choosing-a-model"], flags=re.M)
    kinds = {name: kind.__name__ for name, kind in {**BACKBONES, **DECODERS}.items()}
    assert {name: config for name, config, _ in rows} == kinds
    streaming = {name for name, _, last in rows if last == "yes"}
    assert streaming == {name for name, kind in DECODERS.items() if kind.streams}


def test_sizes_by_rule_are_those_of_the_table():
    from forecast.sizes import width_by_rule

    number = r" ([\d,]+) \|"
    rows = re.findall(rf"^\| [^|]+ \| `(\w+)` \| ([\d,]+) x{number}{5 * number}", PAGES["choosing-a-model"], flags=re.M)
    assert len(rows) > 10
    for freq, *numbers in rows:
        series, length, horizon, *sizes = (int(number.replace(",", "")) for number in numbers)
        ds = np.tile(pd.date_range("1970-01-01", periods=length, freq=freq), series)
        frame = pd.DataFrame({"unique_id": np.repeat(np.arange(series), length), "ds": ds, "y": 0.0})
        panel = forecast.check_frame(frame)
        told = forecast.NeuralForecaster("lstm", horizon).outline(panel)
        assert sizes == [told.context_length, told.patch_length, width_by_rule(panel) or 64, told.steps], freq


def test_every_backbone_and_decoder_says_where_it_comes_from():
    from forecast.nn import BACKBONES, DECODERS

    for kind in (*BACKBONES.values(), *DECODERS.values()):
        assert re.search(r"arXiv \d{4}\.\d{4,5}|\((?:\w+ )+\d{4}\)", " ".join(kind.__doc__.split())), kind


def test_every_command_is_in_a_table():
    from forecast.cli import app

    told = set(re.findall(r"^\| `forecast (\w+)", PAGES["command"], flags=re.M))
    groups = {group.name for group in app.registered_groups}
    assert told == {command.callback.__name__ for command in app.registered_commands} | groups
    rows = set(re.findall(r"^\| `forecast results (\w+)", PAGES["command"], flags=re.M))
    (results,) = app.registered_groups
    assert rows == {command.callback.__name__ for command in results.typer_instance.registered_commands}


def test_every_metric_is_in_a_table():
    from forecast.evaluation import METRICS

    rows = [line.split("|")[1] for line in PAGES["backtesting"].splitlines() if line.startswith("| `")]
    assert set(METRICS) <= set(re.findall(r"`(\w+)`", "".join(rows)))


def _without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


def _code(text: str) -> str:
    """Give what stands between backticks, in blocks and in lines."""
    return "\n".join(re.findall(r"^```python\n.*?^```$|`[^`\n]+`", text, flags=re.S | re.M))


def _anchors(text: str) -> set[str]:
    """Give the anchors of headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", _without_code(text), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
