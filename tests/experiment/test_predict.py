"""`forecast predict`: a table of one's own in, forecasts out."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from forecast import Plan, check_frame
from forecast.cli import app, main
from forecast.evaluation.statistics import standings
from forecast.experiment.choosing import compare, comparison_plan, model_named
from forecast.experiment.faults import ConfigError
from forecast.experiment.verdict import lead
from forecast.forecaster import Forecaster
from forecast.frame import Roles

WEEKS = pd.date_range("2023-01-01", periods=80, freq="W-SUN")
COLUMNS = ["--id", "Shop", "--time", "Week", "--target", "Units"]
RULE = ["--model", "SeasonalNaive"]
ROLES = ["--known", "Price,Promo", "--past", "Temp", "--static", "Region", "--delayed", "Returns:2"]


def shop(name, region, seed):
    random = np.random.default_rng(seed)
    sale = np.arange(80) % 4 == 0
    return pd.DataFrame(
        {
            "Week": WEEKS.strftime("%Y-%m-%d"),
            "Shop": name,
            "Units": np.round(20 + 5 * sale + random.normal(0, 1, 80), 2),
            "Price": np.where(sale, 0.8, 1.0),
            "Promo": np.where(sale, "yes", "no"),
            "Temp": np.round(random.normal(10, 3, 80), 1),
            "Returns": random.poisson(3, 80),
            "Region": region,
        }
    )


@pytest.fixture(scope="module")
def shops():
    return pd.concat([shop("b", "north", 0), shop("NA", "south", 1)], ignore_index=True)


@pytest.fixture
def folder(tmp_path, monkeypatch, shops):
    """A current folder with tables: by series, by time, and with a future whose values are still empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    shops.to_csv("shops.csv", index=False)
    shops.sort_values("Week", kind="stable").to_csv("by_time.csv", index=False)
    ahead = shops["Week"] >= WEEKS[-8].strftime("%Y-%m-%d")
    shops[~ahead].to_csv("history.csv", index=False)
    shops.loc[ahead, ["Shop", "Week", "Price", "Promo"]].to_csv("future.csv", index=False)
    emptied = shops.assign(**{name: shops[name].where(~ahead) for name in ("Units", "Temp", "Returns")})
    emptied.to_csv("emptied.csv", index=False)
    shops.loc[shops["Shop"] == "b", ["Week", "Units"]].to_csv("one.csv", index=False)
    return tmp_path


def forecast(*arguments):
    """Run the command here; give its status, and what it said on stdout and on stderr."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result.exit_code, result.stdout, result.stderr


def read(path):
    return pd.read_csv(path, keep_default_na=False)


def test_forecasts_have_dates_after_the_last_row_in_the_names_and_units_of_the_table(folder):
    status, out, err = forecast(
        *(
            "predict",
            "--data",
            "shops.csv",
            *COLUMNS,
            *RULE,
            "--horizon",
            4,
            "--out",
            "forecasts.csv",
            "--plot",
            "f.png",
        )
    )
    assert (status, out) == (0, "")
    assert err.endswith("8 forecasts by SeasonalNaive: forecasts.csv\n")
    table = read("forecasts.csv")
    deciles = [f"0.{level}" for level in range(1, 10)]
    assert list(table.columns) == ["Shop", "cutoff", "Week", "step", "prediction", "mean", *deciles]
    assert table["Shop"].tolist() == ["b"] * 4 + ["NA"] * 4
    assert set(table["cutoff"]) == {WEEKS[-1].strftime("%Y-%m-%d")}
    after = pd.date_range(WEEKS[-1], periods=5, freq="W-SUN")[1:].strftime("%Y-%m-%d").tolist()
    assert table["Week"].tolist() == after * 2
    assert table["prediction"].between(15, 30).all()
    assert (folder / "f.png").read_bytes().startswith(b"\x89PNG")


def test_units_times_a_thousand_give_forecasts_times_a_thousand_and_the_same_mase(folder, shops):
    shops.assign(Units=shops["Units"] * 1000).to_csv("large.csv", index=False)
    told = {}
    for name in ("shops", "large"):
        arguments = [f"{name}.csv", *COLUMNS, "--horizon", 4]
        assert forecast("predict", "--data", *arguments, *RULE, "--out", f"{name}_f.csv")[0] == 0
        out = forecast("backtest", "--data", *arguments, *RULE, "--folds", 2, "--json")[1]
        told[name] = json.loads(out)["scores"][0]
    small, large = read("shops_f.csv"), read("large_f.csv")
    np.testing.assert_allclose(large["prediction"], small["prediction"] * 1000, rtol=1e-6)
    assert told["large"]["mae"] == pytest.approx(1000 * told["shops"]["mae"], rel=1e-5)
    for scaled in ("mase", "wql"):
        assert told["large"][scaled] == pytest.approx(told["shops"][scaled], rel=1e-5)


def test_rows_in_any_order_give_the_same_forecasts_and_sorting_is_told(folder):
    arguments = [*COLUMNS, *RULE, "--horizon", 3]
    _, one, _ = forecast("predict", "--data", "shops.csv", *arguments, "-q")
    status, other, err = forecast("predict", "--data", "by_time.csv", *arguments)
    assert status == 0
    assert other == one
    assert "by_time.csv: rows were sorted by series and time" in err


def test_one_series_needs_no_column_of_series_and_stdout_is_nothing_but_the_table(folder):
    status, out, err = forecast(
        *("predict", "--data", "one.csv", "--time", "Week", "--target", "Units", *RULE, "--horizon", 2, "--out", "-"),
        *("--levels", "0.05,0.95", "--quiet"),
    )
    assert (status, err) == (0, "")
    assert out.splitlines()[0] == "cutoff,Week,step,prediction,mean,0.05,0.95"
    assert len(out.splitlines()) == 3


def test_a_network_reads_covariates_from_the_table_and_is_kept(folder):
    options = [*COLUMNS, "--horizon", 8, *ROLES, "--model", "lstm", "--steps", 4]
    status, _, err = forecast("predict", "--data", "emptied.csv", *options, "--out", "f1.csv", "--save", "kept")
    assert status == 0, err
    assert "16 rows without a value at the ends of series are taken as the future" in err
    assert "read as categories: Region, Promo" in err
    first = read("f1.csv")
    for given in (
        ["--data", "history.csv", "--future", "future.csv", *options],
        ["--model", "kept", "--data", "emptied.csv", "--horizon", 3],
        ["--model", "kept", "--future", "future.csv"],
    ):
        status, _, err = forecast("predict", *given, "--out", "again.csv")
        assert status == 0, err
        steps = 3 if 3 in given else 8
        pd.testing.assert_frame_equal(read("again.csv"), first[first["step"] <= steps].reset_index(drop=True))
    cheap = read("future.csv").assign(Price=0.5)
    cheap.to_csv("cheap.csv", index=False)
    forecast("predict", "--model", "kept", "--future", "cheap.csv", "--out", "other.csv")
    assert not np.allclose(read("other.csv")["prediction"], first["prediction"])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (slice(0, 0), "there are no rows"),
        (slice(1, None), "series 'b': `Price` is not known at 2024-05-19"),
        (slice(0, 7), "series 'b': `Price` is not known at 2024-07-07"),
        (slice(0, 8), "series 'NA': `Price` is not known at 2024-05-19"),
    ],
    ids=["none", "one step late", "one step short", "one of two series"],
)
def test_a_future_that_does_not_reach_is_told_by_series_and_stamp(folder, rows, told):
    read("future.csv").iloc[rows].to_csv("short.csv", index=False)
    status, _, err = forecast(
        *("predict", "--data", "history.csv", "--future", "short.csv", *COLUMNS, *ROLES, "--horizon", 8),
        *("--model", "tcn", "--steps", 1, "-q"),
    )
    assert status == 2
    assert told in err
    assert len(err.splitlines()) == 1


def test_a_rule_says_that_it_reads_no_covariates(folder):
    status, _, err = forecast("predict", "--data", "emptied.csv", *COLUMNS, "--horizon", 8, *ROLES, *RULE)
    assert status == 0
    assert "SeasonalNaive reads no covariates" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--data", "shops.csv", *COLUMNS], "`--horizon` is missing"),
        (["--horizon", 4], "`--data` is missing"),
        (["--data", "shop.csv", *COLUMNS, "--horizon", 4], "no such file; did you mean 'shops.csv'?"),
        (["--data", ".", *COLUMNS, "--horizon", 4], "is a folder"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, "--model", "lsmt"], "did you mean 'lstm'?"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, "--model", "lstm,tcn"], "no model of that name"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, "--model", "no.where:Model"], "cannot be imported"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 80], "the longest series has 80 values: ask for fewer steps"),
        (["--data", "shops.csv", *COLUMNS[2:], "--horizon", 4, *RULE], "is named with `--id`"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--freq", "D"], "`--gaps mask`"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--freq", "3x"], "`--freq` is '3x'; allowed"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--gaps", "maks"], "`--gaps` is 'maks'; allowed"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--decimal", "x"], "`--decimal` is 'x'; allowed"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--levels", "0.9,0.1"], "`--levels` is '0.9,0.1'"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--levels", "80"], "`--levels` is '80'; allowed"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--delayed", "Temp"], "as in returns:2"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--forecasted", "Temp"], "as in rain:issued"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--known", "Prise"], "did you mean 'Price'?"),
        (
            ["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--future", "future.csv"],
            "name some with `--known`",
        ),
        (["--data", "none", *COLUMNS, "--horizon", 4, *RULE, "--out", "folder"], "none: there is no such file"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--out", "f.xlsx"], "allowed endings: .csv"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--out", "no/f.csv"], "there is no folder no"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--plot", "f.gif"], "allowed endings: .png"),
        (["--data", "shops.csv", *COLUMNS, "--horizon", 4, *RULE, "--json", "--out", "-"], "both write to stdout"),
        (["--model", ".", "--horizon", 4], "has no forecaster.json"),
    ],
)
def test_what_cannot_be_had_is_one_line_and_ends_with_two(folder, arguments, told):
    before = sorted(folder.iterdir())
    status, out, err = forecast("predict", *arguments, "-q")
    assert status == 2
    assert told in out + err
    if "--json" not in arguments:
        assert out == ""
        assert len(err.splitlines()) == 1
        assert json.loads(forecast("predict", *arguments, "--json")[1])["status"] == 2
    assert sorted(folder.iterdir()) == before


def test_json_tells_a_program_all_of_it(folder):
    status, out, err = forecast("predict", "--data", "shops.csv", *COLUMNS, *RULE, "--horizon", 2, "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told["model"] == "SeasonalNaive"
    assert (told["series"], told["rows"], told["forecasts"], told["steps"]) == (2, 160, 4, 2)
    assert told["freq"] == "W-SUN"
    assert [row["Week"] for row in told["table"]] == ["2024-07-14", "2024-07-21"] * 2
    out = forecast("predict", "--data", "shops.csv", *COLUMNS, *RULE, "--horizon", 2, "--json", "--out", "f.csv")[1]
    assert "table" not in json.loads(out)
    assert json.loads(out)["out"] == "f.csv"


@pytest.mark.parametrize("arguments", [["predict", "--horizon", "x", "--json"], ["predict", "--jsn", "--json"]])
def test_a_wrong_call_is_answered_in_json_too(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["forecast", *arguments])
    with pytest.raises(SystemExit) as raised:
        main()
    assert raised.value.code == 2
    assert json.loads(capsys.readouterr().out)["status"] == 2


def test_the_best_is_chosen_by_a_backtest_that_says_what_it_cannot_tell(folder):
    status, out, err = forecast("predict", "--data", "one.csv", *COLUMNS[2:], "--horizon", 4, "--steps", 2, "--json")
    assert status == 0, err
    told = json.loads(out)
    assert told["comparison"][0]["model"] == told["model"]
    assert {row["model"] for row in told["comparison"]} == {"SeasonalNaive", "NLinear", "lstm", "tcn", "transformer"}
    skills = [row["skill"] for row in told["comparison"]]
    assert skills == sorted(skills, reverse=True)
    assert told["model"] in told["verdict"].partition(" and ")[0]
    assert "no detectable difference between" in told["verdict"] or "is ahead" in told["verdict"]
    assert told["verdict"] in told["notes"]


def wave(rows, series=1):
    ids = np.repeat([f"s{number}" for number in range(series)], rows)
    stamps = np.tile(pd.date_range("2024-01-01", periods=rows), series)
    noise = np.random.default_rng(0).normal(0, 1, rows * series)
    return check_frame(
        pd.DataFrame({"unique_id": ids, "ds": stamps, "y": np.tile(np.arange(rows) % 7, series) + noise})
    )


@pytest.mark.parametrize(
    ("rows", "horizon", "folds"), [(200, 7, 5), (60, 14, 5), (40, 14, 5), (31, 14, 4), (28, 14, 1), (20, 14, None)]
)
def test_the_comparison_takes_as_many_cutoffs_as_the_data_hold(rows, horizon, folds):
    plan = comparison_plan(wave(rows), horizon)
    if folds is None:
        assert plan is None
        return
    panel = wave(rows)
    found = plan.folds(panel)
    assert len(found) == folds
    assert found[0].cutoff + 1 >= horizon
    assert found[-1].test_end == panel.last.max()


def test_a_lead_that_may_be_chance_is_no_lead_and_a_failure_is_told():
    panel, said = wave(100, series=3), []
    plan = comparison_plan(panel, 7)
    models = {name: model_named(name, 7) for name in ("SeasonalNaive", "NLinear", "Naive")}
    found = compare(panel, models, plan, said.append)
    assert found.verdict == lead(standings(found.ledger))
    assert found.scores["model"].iloc[0] in found.verdict
    assert said[0] == "[1/3] SeasonalNaive: done"
    models["broken"] = model_named("WindowAverage", 7).set_params(window=-1)
    found = compare(panel, models, plan, said.append)
    assert list(found.failed) == ["broken"]
    assert "`window` is -1" in found.failed["broken"]
    few = compare(panel, models, Plan(horizon=7, n_folds=2), said.append)
    assert few.verdict.startswith("there is no verdict: too few cutoffs (2; 5 are needed)")
    with pytest.raises(ConfigError, match="every model failed; broken: "):
        compare(panel, {"broken": models["broken"]}, plan, said.append)


@pytest.mark.parametrize("name", ["SeasonalNaive", "seasonal_naive", "Seasonal Naive", "seasonal-naive"])
def test_a_model_is_found_however_its_name_is_spelled(name):
    assert type(model_named(name, 3, levels=(0.05,))).__name__ == "SeasonalNaive"
    assert model_named(name, 3, levels=(0.05,)).quantile_levels[0] == 0.05


def test_data_too_short_to_compare_are_forecast_by_the_rule_and_it_is_said(folder):
    pd.DataFrame({"Week": WEEKS[:12], "Units": np.arange(12)}).to_csv("short.csv", index=False)
    status, _, err = forecast("predict", "--data", "short.csv", "--time", "Week", "--target", "Units", "--horizon", 6)
    assert status == 0
    assert "too short to compare models 6 steps ahead: SeasonalNaive is used" in err


def test_a_forecast_leaves_nothing_behind_and_says_nothing_but_what_is_asked_for(folder, capfd):
    before = sorted(folder.iterdir())
    options = ["--horizon", 3, "--model", "gru", "--steps", 2, "-q"]
    status, out, err = forecast("predict", "--data", "one.csv", *COLUMNS[2:], *options)
    assert (status, err) == (0, "")
    assert len(out.splitlines()) == 4
    assert capfd.readouterr() == ("", "")
    assert sorted(folder.iterdir()) == before


def test_roles_of_the_command_are_those_of_the_library(folder):
    status, _, err = forecast(
        "predict", "--data", "emptied.csv", *COLUMNS, "--horizon", 8, *ROLES, *RULE, "--save", "kept"
    )
    assert status == 0, err
    roles = Forecaster.load(folder / "kept").door_["roles"]
    assert roles == Roles(known=("Price", "Promo"), past=("Temp",), static=("Region",), delayed={"Returns": 2})


def test_stopping_is_told_and_ends_with_130(folder, monkeypatch):
    def stopped(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("forecast.experiment.predicting.check_frame", stopped)
    arguments = ["predict", "--data", "one.csv", *COLUMNS[2:], "--horizon", 4, *RULE]
    assert forecast(*arguments) == (130, "", "stopped; nothing was written\n")
    assert json.loads(forecast(*arguments, "--json")[1]) == {"error": "stopped; nothing was written", "status": 130}
