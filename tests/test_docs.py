"""The pages in docs/ say what is true: their Python and commands run, in the order of the page, and print what they say.

Blocks of a page share names, files and a folder. A block marked `text` is what the block before it prints. Fits that do
not say how long they train are made short.
"""

import importlib.util
import re
import shlex
import sys
import types
from pathlib import Path

import pytest
from typer.testing import CliRunner

import forecast

ROOT = Path(__file__).resolve().parents[1]
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md"))}
TEXTS = {"README.md": (ROOT / "README.md").read_text(encoding="utf-8")} | {
    f"docs/{name}.md": text for name, text in PAGES.items()
}
_BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```$", flags=re.S | re.M)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_OPTIONAL = {
    "polars": "polars",
    "pyarrow": "pyarrow",
    "holidays:": "holidays",
    "utilsforecast": "utilsforecast",
    "onnx": "onnxruntime",
    "tensorboard": "tensorboard",
}


def missing_in(code: str) -> str | None:
    """Give the optional library that a block needs and that is not installed."""
    needed = [library for word, library in _OPTIONAL.items() if re.search(rf"\b{word}", code)]
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
def page(tmp_path, monkeypatch):
    """Give a module for the names of a page, in an empty folder, where fits are short."""
    from forecast.neural import NeuralForecaster
    from forecast.training import Training

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORECAST_DATA_HOME", raising=False)
    monkeypatch.setitem(Training.__init__.__kwdefaults__, "steps", 3)
    monkeypatch.setitem(NeuralForecaster.__init__.__kwdefaults__, "training", Training())
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    return module


@pytest.mark.parametrize("name", PAGES)
def test_what_a_page_shows_runs_and_prints_what_it_says(name, page, capsys):
    left_out, printed = [], ""
    for number, (kind, block) in enumerate(_BLOCK.findall(PAGES[name])):
        if kind == "text":
            assert printed.rstrip().splitlines() == block.rstrip().splitlines(), f"block {number} of {name}"
            continue
        if library := missing_in(block):
            left_out.append(library)
            continue
        if kind == "sh":
            run_commands(block)
        else:
            exec(compile(block, f"{name}, block {number}", "exec"), page.__dict__)
        printed = capsys.readouterr().out
    if left_out:
        pytest.skip(f"all but the blocks that need {', '.join(dict.fromkeys(left_out))} ran")
