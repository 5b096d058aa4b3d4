"""What the library refuses is told in the words of the command: a person who knows no Python can act on it."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from forecast.cli import app
from forecast.experiment import wording

DAYS = pd.date_range("2024-01-01", periods=60)
TABLE = pd.DataFrame(
    {
        "store": np.repeat(["a", "b"], 60),
        "date": np.tile(DAYS, 2),
        "sales": np.tile(np.arange(60.0) % 7, 2),
        "price": 1.0,
    }
)
FUTURE = pd.DataFrame({"store": "a", "date": pd.date_range("2024-03-01", periods=3), "price": 1.0})
PYTHON = (
    r"""\w\(|\w=["'(\d]|\bNaN\b|\bNone\b|\bframe\b"""
    r"|`(?:freq|gaps|horizon|future|cutoffs|stride|n_folds|min_history)`"  # options have dashes
)
MISTAKES = {
    "a gap": (TABLE.drop(index=10), [], "`--gaps mask` (missing values) or `--gaps fill`"),
    "twice": (pd.concat([TABLE, TABLE.iloc[:1]]), [], "Keep one of each, or add them up"),
    "too large": (TABLE.assign(sales=1e40), [], "leave the field empty where a value is unknown"),
    "nothing": (TABLE.assign(sales=TABLE["sales"].where(TABLE["store"] == "a")), [], "take the short ones out of the"),
    "too far apart": (TABLE, ["--freq", "us", "--gaps", "mask"], "Give the right `--freq`"),
    "no frequency": (TABLE, ["--freq", "fortnight"], "`--freq` is 'fortnight'; allowed"),
    "no such way": (TABLE, ["--gaps", "drop"], "`--gaps` is 'drop'; allowed"),
    "nothing known ahead": (TABLE, ["--known", "price", "--model", "lstm"], "Give them in `--future`"),
    "too little known ahead": (
        TABLE,
        ["--known", "price", "--model", "lstm", "--future", "future.csv"],
        "series 'b': `price` is not known at 2024-03-01",
    ),
    "only the past": (
        TABLE,
        ["--known", "price", "--model", "lstm", "--future", "table.csv"],
        "`--future` has no row after the end of its series",
    ),
    "too many folds": (TABLE, ["--folds", "90"], "`--folds` is 90"),
    "no such cutoff": (TABLE, ["--cutoffs", "2023-01-01"], "`--cutoffs`: 2023-01-01"),
    "strides beyond": (
        TABLE,
        ["--folds", "9", "--stride", "30"],
        "but the data hold 2: no series is under way at fold",
    ),
    "nothing that is known": (TABLE, ["--model", "kept", "--future", "future.csv"], "declare some at fit, `--known`"),
    "another frequency": (
        TABLE,
        ["--model", "kept", "--freq", "h"],
        "`--freq` is 'h', that of the saved forecaster 'D'",
    ),
    "other columns": (
        TABLE,
        ["--model", "kept", "--known", "price"],
        "those of its fit, here none: leave other `--known`",
    ),
    "a way to read nothing": (TABLE, ["--model", "kept", "--gaps", "fill"], "or name one with `--data`"),
}


@pytest.fixture
def refused(tmp_path, monkeypatch):
    """Give what the command says of a mistake."""
    monkeypatch.chdir(tmp_path)
    FUTURE.to_csv("future.csv", index=False)

    def refuse(mistake):
        table, options, _ = MISTAKES[mistake]
        table.to_csv("table.csv", index=False)
        command = "backtest" if {"--folds", "--cutoffs"} & set(options) else "predict"
        options = options if "--model" in options else ["--model", "Naive", *options]
        fixed = ["--data", "table.csv", "--id", "store", "--time", "date", "--target", "sales", "--horizon", "3"]
        if "kept" in options:
            CliRunner().invoke(app, ["predict", *fixed, "--model", "Naive", "--save", "kept"])
            fixed = []
        result = CliRunner().invoke(app, [command, *fixed, *options, "--json"])
        assert result.exit_code == 2, result.output
        return json.loads(result.stdout)["error"]

    return refuse


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_with_a_remedy_that_the_command_has(refused, mistake):
    said = refused(mistake)
    assert MISTAKES[mistake][-1] in said
    assert not re.search(PYTHON, said), "a person cannot do this with the command"


def test_nothing_is_fitted_before_what_is_known_ahead_is_there(refused, monkeypatch):
    monkeypatch.setattr("forecast.forecaster.Forecaster.fit", lambda *given, **options: pytest.fail("it was fitted"))
    assert "`price` is not known" in refused("too little known ahead")


def test_what_is_told_in_other_words_is_still_said_by_the_library(refused, monkeypatch):
    said, as_options = [], wording.as_options
    monkeypatch.setattr(wording, "as_options", lambda message: said.append(message) or as_options(message))
    for mistake in MISTAKES:
        refused(mistake)
    unsaid = [pattern for pattern in wording._IN_A_COMMAND if not any(re.search(pattern, one) for one in said)]
    assert unsaid == []


def test_warnings_are_told_in_the_words_of_the_command_too():
    said = []
    with wording.Notes(said.append).of_warnings():
        warnings.warn('two gaps were found: gaps="mask"\n reads them as missing', stacklevel=1)
    assert said == ["two gaps were found: `--gaps mask` reads them as missing"]
