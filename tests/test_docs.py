"""docs/lectures.md says what is true: its Python runs, in the order of the page, and what it links to is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/lectures.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)


def test_the_snippets_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORECAST_DATA_HOME", raising=False)
    names: dict = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"lectures-{number}", "exec"), names)
    said = capsys.readouterr().out.splitlines()
    # Permutation: attention bears it, a recurrence does not. Mask: before the softmax nothing leaks, after it, it does.
    assert [line for line in said if line in ("True", "False")] == ["True", "False", "True", "False"]
    assert {path.name for path in tmp_path.glob("*.png")} == {"gradient_reach.png", "attention.png"}


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_every_file_that_is_linked_is_there(path):
    assert (PAGE.parent / path).is_file()
