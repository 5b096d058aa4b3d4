"""Config files: every fault at its place, in words that help; and what a sound one stands for."""

import json
import textwrap
from pathlib import Path

import pytest

from forecast import Direct, Drift, NeuralForecaster, SeasonalNaive, Training
from forecast.experiment import ConfigError, Experiment, load_experiment
from forecast.experiment.datasets import Dataset
from forecast.nn import LSTM, TCN

SOUND = """\
datasets: nyc_weather
gaps: mask
horizon: 24
plan: {n_folds: 8, stride: 72}
seeds: [0, 1]
forecasters:
  Naive:
"""


def write(folder, text):
    path = folder / "exp.yaml"
    path.write_text(textwrap.dedent(text))
    return path


def faults(path):
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    return [line.removeprefix(f"{path}:") for line in str(caught.value).splitlines()]


@pytest.mark.parametrize(
    ("sound", "faulty", "told"),
    [
        ("horizon: 24", "horizon: 0", "3:10: horizon: should be greater than or equal to 1; got 0"),
        ("horizon: 24", "horizon: 2.5", "3:10: horizon: should be a whole number; got 2.5"),
        ("horizon: 24", "horizon: yes", "3:10: horizon: should be a whole number; got True"),
        ("horizon: 24", "horizn: 24", "1:1: horizon: this key is missing"),
        ("horizon: 24", "horizn: 24", "3:1: horizn: unknown key; did you mean 'horizon'? allowed: name, datasets,"),
        ("gaps: mask", "tune: {}", "2:1: tune: unknown key; a search is a regime: `regime: {type: tuned, trials: 20}`"),
        ("forecasters:", "models:", "6:1: models: unknown key; what is compared stands under `forecasters`"),
        ("gaps: mask", "gaps: maks", "2:7: gaps: should be 'error', 'mask' or 'fill'; got 'maks'"),
        ("gaps: mask", "horizon: 3", "3:1: horizon: this key stands in line 2 already; keep one of the two"),
        ("gaps: mask", "name: a/b", "2:7: name: should be letters, digits, blanks"),
        ("nyc_weather", "nyc_wether", "1:11: datasets: unknown data set 'nyc_wether'; did you mean 'nyc_weather'?"),
        (
            "nyc_weather",
            "[weather, nyc_taxy]",
            "1:21: datasets.1: unknown data set 'nyc_taxy'; did you mean 'nyc_taxi'",
        ),
        ("nyc_weather", "{fil: a.csv}", "1:12: datasets.fil: unknown key; did you mean 'file'?"),
        ("nyc_weather", "{gaps: mask}", "1:11: datasets.name: needs a `name` of the catalogue, a `file`"),
        ("nyc_weather", "[weather, weather]", "1:11: datasets: 'weather' comes twice; give each once"),
        ("seeds: [0, 1]", "seeds: [0, 0]", "5:8: seeds: 0 comes twice; give each once"),
        ("seeds: [0, 1]", "seeds: [0, one]", "5:12: seeds.1: should be a whole number; got 'one'"),
        ("seeds: [0, 1]", "seeds: 0", "5:8: seeds: should be a list; got 0"),
        ("n_folds: 8", "n_fold: 8", "4:8: plan.n_fold: unknown key; did you mean 'n_folds'?"),
        ("n_folds: 8", "n_folds: 0", "4:17: plan.n_folds: `n_folds` is 0; allowed: a whole number of 1 or more"),
        ("n_folds: 8", "n_folds: eight", "4:17: plan.n_folds: should be a whole number, or null; got 'eight'"),
        ("n_folds: 8", "n_folds: 8, refit: nevr", "4:27: plan.refit: should be 'every', or 'never', or a whole number"),
        ("n_folds: 8", "cutoffs: [2013-06-01]", "4:39: plan.stride: `stride` belongs to `n_folds`"),
        ("n_folds: 8", "n_folds: 8, gap: two", "4:25: plan.gap: should be a whole number; got 'two'"),
        ("stride: 72", "stride: soon", "4:28: plan.stride: `stride` is 'soon'; allowed: a number of steps, or a time"),
        ("n_folds: 8, stride: 72", "split: [1, 2]", "4:15: plan.split: `split` is [1, 2]; allowed: how many rows"),
        ("n_folds: 8", "n_folds: 8, horizon: 3", "4:20: plan.horizon: is set by `horizon` of the experiment"),
        ("Naive:", "Naiv:", "7:3: forecasters.Naiv: unknown forecaster 'Naiv'; did you mean 'Naive'? known: Drift,"),
        (
            "Naive:",
            "a: {type: SesonalNaive}",
            "7:13: forecasters.a.type: unknown forecaster 'SesonalNaive'; did you mean",
        ),
        ("Naive:", "LSTM:", "7:3: forecasters.LSTM: unknown forecaster 'LSTM'"),
        ("Naive:", "Naive: {season: 7}", "7:11: forecasters.Naive.season: unknown key; did you mean 'season_length'?"),
        (
            "Naive:",
            "Naive: {season_length: x}",
            "7:26: forecasters.Naive.season_length: should be a whole number, or null",
        ),
        (
            "Naive:",
            "Naive: {season_length: yes}",
            "7:26: forecasters.Naive.season_length: should be a whole number, or",
        ),
        ("Naive:", "Naive: {horizon: 3}", "7:11: forecasters.Naive.horizon: is set by `horizon` of the experiment"),
        ("Naive:", "Naive: 3", "7:10: forecasters.Naive: should be a mapping; got 3"),
        ("Naive:", "3: {type: Naive}", "7:3: forecasters.3: should be text; got 3"),
        (
            "Naive:",
            "a: {type: 'no_such:Thing'}",
            "7:13: forecasters.a.type: 'no_such:Thing' cannot be imported: Module",
        ),
        (
            "Naive:",
            "a: {type: 'json:loads'}",
            "7:13: forecasters.a.type: 'json:loads' is no Forecaster that can be used",
        ),
        ("Naive:", "N: {type: NeuralForecaster}", "7:6: forecasters.N.backbone: NeuralForecaster needs this argument"),
        (
            "Naive:",
            "N: {type: NeuralForecaster, backbone: lstn}",
            "7:41: forecasters.N.backbone: unknown backbone 'lstn'; did you mean 'lstm'? known: ",
        ),
        (
            "Naive:",
            "N: {type: NeuralForecaster, backbone: {type: lstm, widht: 3}}",
            "7:54: forecasters.N.backbone.widht: unknown key; did you mean 'width'? allowed: width, depth, dropout",
        ),
        (
            "Naive:",
            "N: {type: NeuralForecaster, backbone: {type: lstm, width: wide}}",
            "7:61: forecasters.N.backbone.width: should be a whole number; got 'wide'",
        ),
        (
            "Naive:",
            "N: {type: NeuralForecaster, backbone: lstm, training: {step: 3}}",
            "7:58: forecasters.N.training.step: unknown key; did you mean 'steps'?",
        ),
        (
            "Naive:",
            "N: {type: NeuralForecaster, backbone: lstm, training: 300}",
            "7:57: forecasters.N.training: should be a mapping of its arguments; got 300",
        ),
        (
            "Naive:",
            "N: {type: NeuralForecaster, backbone: lstm, seed: 3}",
            "7:47: forecasters.N.seed: is set by `seeds` of the experiment",
        ),
    ],
)
def test_a_planted_fault_is_told_at_its_place(tmp_path, sound, faulty, told):
    assert sound in SOUND
    lines = faults(write(tmp_path, SOUND.replace(sound, faulty, 1)))
    assert any(line.startswith(told) for line in lines), lines


@pytest.mark.parametrize("label", ["LSTM", "graph Transformer", "minGRU"])
def test_a_label_that_names_a_backbone_is_answered_with_what_to_write(tmp_path, label):
    (line,) = faults(write(tmp_path, SOUND.replace("Naive:", f"{label}:", 1)))
    name = label.lower().replace(" ", "_")
    assert line.startswith(f"7:3: forecasters.{label}: unknown forecaster {label!r}")
    assert line.endswith(f"for a network write {{type: NeuralForecaster, backbone: {name}}}")


def test_all_faults_are_told_at_once_in_the_order_of_the_file(tmp_path):
    text = "datasets: nowhere\nhorizon: 0\nplan: {n_folds: 0}\nforecasters:\n  Naiv:\n  Drift: {a: 1}\n"
    lines = faults(write(tmp_path, text))
    assert [line.split(": ")[0] for line in lines] == ["1:11", "2:10", "3:17", "5:3", "6:11"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plan: {n_folds: 3\nseeds: [0]\n", "2:6: file: not readable as YAML"),
        ("a: *nowhere\n", "1:4: file: not readable as YAML: found undefined alias"),
        (
            "- a\n",
            "1:1: file: an experiment is a mapping with the keys datasets, horizon, plan, forecasters; got ['a']",
        ),
        ("", "1:1: file: an experiment is a mapping"),
    ],
)
def test_what_is_no_mapping_in_yaml_is_refused(tmp_path, text, told):
    assert faults(write(tmp_path, text))[0].startswith(told)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "exp.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    assert faults(path)[0].startswith("1:1: file: not text in UTF-8")


@pytest.mark.parametrize(("name", "hint"), [("defualt", "did you mean 'default'?"), ("here/none.yaml", "no such file")])
def test_a_file_that_is_not_there_leads_to_those_that_are_shipped(name, hint):
    with pytest.raises(
        ConfigError, match=r"shipped with the library, and run by name: .*default.*experiments"
    ) as caught:
        load_experiment(name)
    assert hint in str(caught.value)


def test_the_shipped_default_compares_all_three_networks_with_the_baselines():
    experiment = load_experiment("default")
    forecasters = experiment.build_forecasters()
    assert experiment.horizon == 24
    assert experiment.seeds == [0, 1]
    assert experiment.build_plan().n_folds >= 8
    assert {type(one).__name__ for one in forecasters.values()} == {
        *("Naive", "SeasonalNaive", "Drift", "WindowAverage", "NLinear", "NeuralForecaster")
    }
    families = {one.family for one in forecasters.values()}
    assert families == {"baseline", "linear", "latent-state", "direct-prediction"}


def test_arguments_reach_the_objects(tmp_path):
    path = write(
        tmp_path,
        """\
        datasets: nyc_weather
        horizon: 12
        plan: {cutoffs: [2013-06-01, 2013-07-01 12:00:00], window: 500, refit: never}
        forecasters:
          weekly: {type: SeasonalNaive, season_length: 168}
          Drift:
          net:
            type: NeuralForecaster
            backbone: {type: tcn, width: 32, dropout: 0}
            decoder: {type: direct, dropout: 0.3}
            training: {steps: 30, learning_rate: 1e-3, patience: null}
            trainer: {accelerator: cpu}
          named: {type: NeuralForecaster, backbone: lstm}
        """,
    )
    experiment = load_experiment(path)
    forecasters = experiment.build_forecasters()
    assert repr(forecasters["weekly"]) == repr(SeasonalNaive(12, season_length=168))
    assert repr(forecasters["Drift"]) == repr(Drift(12))
    wanted = NeuralForecaster(
        TCN(width=32, dropout=0.0),
        12,
        decoder=Direct(dropout=0.3),
        training=Training(steps=30, learning_rate=0.001, patience=None),
        trainer={"accelerator": "cpu"},
    )
    assert repr(forecasters["net"]) == repr(wanted)
    assert forecasters["named"].get_params()["backbone"] == "lstm"  # as wide as it finds right
    plan = experiment.build_plan()
    assert (plan.horizon, plan.window, plan.refit) == (12, 500, "never")
    # As written: the calendar of the data reads them, in its own time zone.
    assert list(plan.cutoffs) == ["2013-06-01", "2013-07-01 12:00:00"]
    assert experiment.name == "exp"


def test_the_canonical_form_spells_out_every_default(tmp_path):
    text = SOUND + "  LSTM: {type: NeuralForecaster, backbone: {type: lstm}}\n"
    found = load_experiment(write(tmp_path, text)).canonical()
    assert json.loads(json.dumps(found)) == found
    assert found["plan"]["refit"] == "every"
    network = found["forecasters"]["LSTM"]
    assert network["backbone"]["width"] == LSTM().width
    assert network["decoder"]["dropout"] == Direct().dropout
    assert network["training"]["steps"] == Training().steps


def test_a_class_of_ones_own_carries_a_hash_of_its_file(config, data, own_models):
    found = load_experiment(config(forecasters='{mine: {type: "lab_models:Slow"}}')).canonical()
    assert found["forecasters"]["mine"]["type"] == "lab_models:Slow"
    assert len(found["forecasters"]["mine"]["code"]) == 64


def test_a_csv_file_of_ones_own_is_read_by_its_own_names(tmp_path):
    (tmp_path / "sales.csv").write_text("shop,day,sold\n007,2024-01-01,1\n007,2024-01-02,2\n007,2024-01-04,3\n")
    text = """\
    datasets: {file: sales.csv, columns: {unique_id: shop, ds: day, y: sold}, freq: D, gaps: mask}
    horizon: 1
    plan: {n_folds: 1}
    forecasters: {Naive: }
    """
    experiment = load_experiment(write(tmp_path, text))
    panel = experiment.panels()["sales"]
    assert list(panel.ids) == ["007"]  # a leading zero is part of an id
    assert panel.observed.tolist() == [True, True, False, True]


def test_covariates_of_a_file_of_ones_own_have_roles(tmp_path):
    (tmp_path / "sales.csv").write_text("unique_id,ds,y,price,rain\na,2024-01-01,1,2,3\na,2024-01-02,2,4,5\n")
    text = """\
    datasets: {file: sales.csv, freq: D, roles: {known: [price], delayed: {rain: 2}}}
    horizon: 1
    plan: {n_folds: 1}
    forecasters: {Naive: }
    """
    experiment = load_experiment(write(tmp_path, text))
    covariates = experiment.panels()["sales"].covariates
    assert [column.name for column in covariates.known.columns] == ["price"]
    assert [(column.name, column.delay) for column in covariates.past.columns] == [("rain", 2)]
    assert experiment.canonical()["datasets"][0]["roles"]["known"] == ["price"]


def test_a_card_tells_the_roles_of_its_data_set():
    dataset = Dataset.model_validate({"name": "bike_sharing", "roles": "card"})
    assert dataset.roles == "card"
    with pytest.raises(ValueError, match="a file has no card"):
        Dataset(name="x", file=__file__, roles="card").panel("error", Path())


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        (
            "cart",
            "should be 'card', or a mapping with any of static, known, past, delayed, forecasted, weight; got 'cart'",
        ),
        ("{knwn: [a]}", "unknown role 'knwn'; did you mean 'known'?"),
        ("{known: price}", "known is the text 'price'; allowed: several names"),
        ("{delayed: {rain: 0}}", "column `rain` is delayed by 0; allowed: whole steps, 1 or more"),
    ],
)
def test_roles_that_cannot_be_are_told_at_their_place(tmp_path, roles, told):
    path = write(tmp_path, SOUND.replace("nyc_weather", "{file: a.csv, roles: " + roles + "}"))
    with pytest.raises(ConfigError, match=r"1:\d+: datasets.roles: ") as caught:
        load_experiment(path)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("datasets", "told"),
    [
        ("{file: nowhere.csv}", "1:11: datasets: "),
        ("{file: gap.csv}", "1:11: datasets: "),
        ("[nyc_weather, {file: gap.csv}]", "1:12: datasets.0: "),  # hours are missing there too
    ],
)
def test_data_that_cannot_be_used_are_told_at_their_place(tmp_path, datasets, told):
    (tmp_path / "gap.csv").write_text("unique_id,ds,y\na,2024-01-01,1\na,2024-01-02,2\na,2024-01-04,3\n")
    path = write(tmp_path, SOUND.replace("nyc_weather", datasets).replace("gaps: mask\n", ""))
    experiment = load_experiment(path)
    with pytest.raises(ConfigError) as caught:
        experiment.panels()
    assert str(caught.value).startswith(f"{path}:{told}")


def test_an_experiment_made_in_python_needs_no_file():
    experiment = Experiment(
        name="mine", datasets="nyc_weather", horizon=2, plan={"n_folds": 1}, forecasters={"Naive": {"seasn": 1}}
    )
    with pytest.raises(ConfigError, match=r"^forecasters.Naive.seasn: unknown key"):
        experiment.build_forecasters()


@pytest.mark.parametrize(
    ("fallback", "told"),
    [
        ("SesonalNaive", ": fallback: unknown forecaster 'SesonalNaive'; did you mean 'SeasonalNaive'?"),
        ("{type: Naiv}", ": fallback.type: unknown forecaster 'Naiv'; did you mean 'Naive'?"),
        ("{season_length: 7}", ": fallback: should be {type: ...}, a forecaster with its arguments"),
        ("{type: Naive, season: 7}", ": fallback.season: unknown key; did you mean 'season_length'?"),
        ("[Naive]", ": fallback: should be "),
    ],
)
def test_a_fallback_that_cannot_be_is_told_at_its_place(tmp_path, fallback, told):
    path = write(tmp_path, f"{SOUND}fallback: {fallback}\n")
    with pytest.raises(ConfigError) as caught:
        load_experiment(path)
    assert all(told in line for line in str(caught.value).splitlines())
