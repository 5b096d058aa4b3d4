"""The README says what is true: its Python runs, and the places it names are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORECAST_DATA_HOME", raising=False)


def test_the_example_has_twelve_lines_and_runs(capsys, tmp_path):
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 12
    short = re.sub(r"\bsteps=\d+", "steps=3", BLOCKS[0])
    exec(compile(short, "README.md", "exec"), {})
    said = capsys.readouterr().out
    assert re.search(r"LSTM\s+0?\d?\.\d+|LSTM\s+1\.\d+", said)
    assert (tmp_path / "results/lstm/forecaster.json").is_file()


def test_its_only_block_of_python_is_the_example():
    assert len(BLOCKS) == 1


def test_every_page_of_the_documentation_is_in_its_table():
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)\)", TEXT))
    assert linked == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


def test_every_place_in_the_tree_is_there():
    tree = TEXT.split("## Where things are")[1].split("```")[1]
    names = re.findall(r"^ *([\w<>/.]+)|([\w]+\.py|\w+/)(?=:)", tree, flags=re.M)
    for name in ("".join(found).rstrip("/") for found in names):
        if "<" not in name:
            assert (ROOT / name).exists() or (ROOT / "forecast" / name).exists(), name
