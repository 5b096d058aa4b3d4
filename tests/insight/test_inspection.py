"""An inspection: all that a network has, in one folder, and a sentence for what it has not."""

import subprocess
import sys

import pandas as pd
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from forecast.baselines import Naive
from forecast.cli import app
from forecast.insight import inspect

ALWAYS = {"receptive_field", "gradient_reach", "occlusion"}
CASES = {
    ("lstm", "direct"): {"gates"},
    ("rnn", "direct"): set(),
    ("tcn", "attention"): {"alignment"},
    ("transformer", "direct"): {"attention", "attention_by_lag"},
    ("graph_transformer", "cross_attention"): {
        "attention",
        "attention_by_lag",
        "attention_across_series",
        "alignment",
    },
    ("attentive_rnn", "recursive"): {"attention", "attention_by_lag", "gates"},
}


@pytest.mark.parametrize(("backbone", "decoder"), CASES)
def test_a_folder_holds_what_the_network_has_and_says_what_it_has_not(fitted, tmp_path, backbone, decoder):
    index = inspect(fitted(backbone, decoder), tmp_path / "seen", windows=4)
    assert index == tmp_path / "seen" / "README.md"
    names = ALWAYS | CASES[backbone, decoder]
    assert {path.stem for path in index.parent.glob("*.png")} == names
    assert {path.stem for path in index.parent.glob("*.csv")} == names | {"receptive_field_extent"}
    text = index.read_text()
    for path in [*index.parent.glob("*.png"), *index.parent.glob("*.csv")]:
        assert f"]({path.name})" in text
    for name in names:
        assert len(pd.read_csv(index.parent / f"{name}.csv"))
        assert imread(index.parent / f"{name}.png").std() > 0.01
    lacks = {
        "attends to nothing along time": "attention",
        "attends to no other series": "attention_across_series",
        "reads the state at the origin alone": "alignment",
        "has no gate": "gates",
    }
    for sentence, name in lacks.items():
        assert (sentence in text) == (name not in names)


def test_what_an_earlier_inspection_wrote_goes(fitted, tmp_path):
    inspect(fitted("lstm"), tmp_path, windows=4)
    (tmp_path / "mine.csv").write_text("kept")
    inspect(fitted("tcn"), tmp_path, windows=4)
    assert {path.stem for path in tmp_path.glob("*.png")} == ALWAYS
    assert (tmp_path / "mine.csv").exists()


def test_a_readme_of_ones_own_is_not_written_over(fitted, tmp_path):
    (tmp_path / "README.md").write_text("# My notes\n")
    with pytest.raises(FileExistsError, match="was not written by an inspection: give another folder"):
        inspect(fitted("lstm"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_a_map_of_very_many_tokens_is_left_out_with_a_word(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr("forecast.insight.inspection._MOST_TOKENS", 8)
    text = inspect(fitted("transformer"), tmp_path, windows=4).read_text()
    assert "The map itself is left out: it has 12 tokens" in text
    assert not (tmp_path / "attention.png").exists()
    assert (tmp_path / "attention_by_lag.png").exists()


@pytest.fixture(autouse=True)
def _coarse(monkeypatch, unlaid):
    """Draw small and as it comes: most of the time goes into layout and dots of pictures."""
    monkeypatch.setattr("forecast.insight.inspection._DPI", 40)


def command(*arguments):
    result = CliRunner().invoke(app, ["inspect", *(str(argument) for argument in arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


@pytest.fixture
def saved(fitted, frame, tmp_path, monkeypatch):
    """A current folder with a saved model, its data as a file, and the same with a row missing."""
    fitted("lstm").save(tmp_path / "model")
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.drop(index=50).to_csv(tmp_path / "gaps.csv", index=False)
    frame.iloc[::2].to_csv(tmp_path / "other.csv", index=False)
    (tmp_path / "(1).csv").write_text("")
    Naive(3).fit(frame).save(tmp_path / "naive")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_the_folder_and_says_where(saved):
    status, said = command("model", "--windows", 4)
    assert (status, said) == (0, "model/inspection/README.md\n")
    status, said = command("model", "--data", "data.csv", "--windows", 4, "--out", "again")
    assert (status, said) == (0, "again/README.md\n")
    for name in ("receptive_field.csv", "gates.csv"):
        assert (saved / "again" / name).read_text() == (saved / "model/inspection" / name).read_text()
    status, said = command("model", "--data", "gaps.csv", "--gaps", "mask", "--windows", 4, "--out", "masked")
    assert status == 0
    assert "1 missing" in (saved / "masked/README.md").read_text()


def test_the_command_looks_at_a_data_set_of_the_catalogue(saved):
    status, _ = command("model", "--data", "nyc_weather", "--gaps", "mask", "--windows", 4, "--out", "weather")
    assert status == 0
    assert "EWR" not in (saved / "model/forecaster.json").read_text()
    assert "3 series, 26,190 rows" in (saved / "weather/README.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere"], "error: `folder` 'nowhere' has no forecaster.json"),
        (["naive"], "error: naive holds a Naive; only a NeuralForecaster has a network to look into"),
        (["model", "--data", "nyc_wether"], "no data set of that name is known; did you mean 'nyc_weather'?"),
        (["model", "--data", "gaps.csv"], "1 rows are missing before series 's0'"),
        (["model", "--data", "gaps.csv"], "; `--gaps mask` reads missing rows as missing values"),
        (["model", "--data", "(1).csv"], "error: (1).csv: No columns to parse from file"),
        (["model", "--data", "data.csv", "--gaps", "skip"], "error: `gaps` is 'skip'; allowed: error, mask, fill"),
        (["model", "--data", "data.csv", "--freq", "fortnight"], "error: data.csv: `freq`"),
        (["model", "--data", "other.csv", "--freq", "2h"], "error: other.csv: `frame` has frequency '2h'"),
        (["model", "--gaps", "mask"], "error: `freq` and `gaps` are for `data`, which is not given"),
        (["model", "--out", "data.csv"], "error: "),
        (["model", "--windows", "0"], "should be greater than or equal to 1"),
    ],
)
def test_what_the_command_cannot_use_is_told_and_ends_with_two(saved, arguments, told):
    status, said = command(*arguments)
    assert status == 2
    assert told in " ".join(said.split())


def test_naming_a_look_loads_no_other():
    from forecast import insight

    assert all(callable(getattr(insight, name)) for name in insight.__all__)
    program = "import sys, forecast.insight; assert not {'torch', 'matplotlib', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
    with pytest.raises(AttributeError, match="has no attribute 'dream'"):
        __import__("forecast.insight", fromlist=["x"]).dream  # noqa: B018
