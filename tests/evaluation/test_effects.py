"""Effects of family and decoder equal what loops over cells give, and only what is balanced is compared."""

import math
from itertools import chain, combinations

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.effects import DIRECT, LATENT, balanced, effects, is_crossed, networks_of
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.ledger.columns import FITS

STAMPS = pd.date_range("2022-01-01", periods=4, freq="D")
FAMILY = {"rnn": LATENT, "lstm": LATENT, "gru": LATENT, "tcn": DIRECT, "wavenet": DIRECT, "transformer": DIRECT}
NAMES = tuple(FAMILY)
FAMILY["identity"] = "control"


def ledger_of(errors, kinds=None):
    """A ledger of absolute errors {(forecaster, seed): one for each series}, one cutoff, one step; y is 0.

    `kinds` gives (backbone, decoder) of a forecaster; of others they are read off "lstm direct" and "Naive".
    """
    rows, fits = [], []
    for (forecaster, seed), several in errors.items():
        backbone, decoder = (kinds or {}).get(forecaster) or (*forecaster.split(" "), "")[:2]
        if not decoder:
            backbone = ""
        for i, error in enumerate(several):
            key = (forecaster, seed, f"series {i}", STAMPS[1], STAMPS[2], 1)
            rows.append((*key, np.nan if error is None else 0.0, error or 0.0, error or 0.0, STAMPS[0]))
        family = FAMILY.get(backbone, "baseline")
        fits.append((forecaster, seed, STAMPS[0], family, backbone, decoder, 10, 0.1, 0.2, len(several)))
    names = ["forecaster", "seed", "unique_id", "cutoff", "ds", "step", "y", "prediction", "mean", "fit_cutoff"]
    forecasts = pd.DataFrame(rows, columns=names)
    scales = forecasts[["unique_id", "cutoff"]].drop_duplicates().assign(absolute=1.0, squared=1.0)
    return Ledger.of(forecasts, scales, pd.DataFrame(fits, columns=FITS), season_length=1)


def one_seed(cells, base=1.0):
    """A ledger of one series and seed: {"lstm direct": its error}, beside a seasonal naive."""
    return ledger_of({("SeasonalNaive", 0): [base]} | {(name, 0): [error] for name, error in cells.items()})


def contrast(found, effect, decoder="", family=None):
    table = found.contrasts
    if family is None:
        family = {"family": LATENT, "decoder": "", "interaction": LATENT}[effect]
    rows = table[(table["effect"] == effect) & (table["decoder"] == decoder) & (table["family"] == family)]
    assert len(rows) == 1
    return rows.iloc[0]


TWO_BY_TWO = {"lstm direct": 0.5, "lstm recursive": 0.6, "tcn direct": 0.4, "tcn recursive": 0.8}


def test_two_by_two_gives_the_effects_of_a_textbook():
    found = effects(one_seed(TWO_BY_TWO))
    assert list(found.contrasts["effect"]) == ["family", "decoder", "decoder", "decoder", "interaction"]
    family, decoder, interaction = (
        contrast(found, *which)["change"]
        for which in (("family",), ("decoder", "recursive"), ("interaction", "recursive"))
    )
    # By hand: the factors of the error are 0.5/0.4 and 0.6/0.8 between families, 0.6/0.5 and 0.8/0.4 between decoders.
    assert family == pytest.approx(math.sqrt(1.25 * 0.75) - 1)
    assert decoder == pytest.approx(math.sqrt(1.2 * 2.0) - 1)
    assert interaction == pytest.approx(1.2 / 2.0 - 1)
    assert contrast(found, "decoder", "recursive", LATENT)["change"] == pytest.approx(0.2)
    assert contrast(found, "decoder", "recursive", DIRECT)["change"] == pytest.approx(1.0)
    assert (found.contrasts["cells"].tolist(), set(found.contrasts["reason"])) == ([4, 4, 2, 2, 4], {""})


def test_what_a_decoder_changes_in_one_family_is_its_main_effect_and_half_the_interaction():
    found = effects(one_seed(TWO_BY_TWO | {"rnn direct": 0.9, "rnn recursive": 0.7}))
    main, half = contrast(found, "decoder", "recursive")["log"], contrast(found, "interaction", "recursive")["log"] / 2
    assert contrast(found, "decoder", "recursive", LATENT)["log"] == pytest.approx(main + half)
    assert contrast(found, "decoder", "recursive", DIRECT)["log"] == pytest.approx(main - half)


def test_errors_are_averaged_over_seeds_and_ratios_over_series_by_their_logarithms():
    errors = {
        ("SeasonalNaive", 0): [1.0, 10.0],
        ("lstm direct", 0): [0.2, 2.0],
        ("lstm direct", 1): [0.6, 6.0],
        ("tcn direct", 0): [0.4, 1.0],
        ("tcn direct", 1): [0.4, 1.0],
    }
    found = effects(ledger_of(errors))
    cells = found.cells.set_index("backbone")
    assert cells["skill"].tolist() == pytest.approx([1 - 0.4, 1 - math.sqrt(0.4 * 0.1)])
    assert cells["skill_low"].tolist() == pytest.approx([1 - 0.6, 1 - math.sqrt(0.4 * 0.1)])
    assert cells["skill_high"].tolist() == pytest.approx([1 - 0.2, 1 - math.sqrt(0.4 * 0.1)])
    assert cells["seeds"].tolist() == [2, 2]
    family = contrast(found, "family")
    assert family["change"] == pytest.approx(0.4 / 0.2 - 1)
    assert (family["low"], family["high"], family["seeds"]) == pytest.approx((0.2 / 0.2 - 1, 0.6 / 0.2 - 1, 2))


UNBALANCED = {
    **{f"{name} direct": 0.3 + 0.05 * i for i, name in enumerate(NAMES)},
    **{f"{name} recursive": 0.7 - 0.08 * i for i, name in enumerate(NAMES) if name != "gru"},
    "lstm context_vector": 0.9,
    "gru context_vector": 0.45,
    "lstm attention": 0.21,
    "tcn attention": 0.52,
}


def test_each_contrast_takes_the_balanced_part_alone_and_names_it():
    found = effects(one_seed(UNBALANCED))
    family = contrast(found, "family")
    # The gru has no recursive decoder: 5 backbones x 2 decoders are more cells than 6 x 1, and than 2 x 3.
    assert (family["backbones"], family["decoders"], family["cells"]) == (
        ("rnn", "lstm", "tcn", "wavenet", "transformer"),
        ("direct", "recursive"),
        10,
    )
    assert contrast(found, "decoder", "context_vector")["backbones"] == ("lstm", "gru")
    assert contrast(found, "decoder", "attention")["cells"] == 4
    assert contrast(found, "interaction", "attention")[["backbones", "decoders"]].tolist() == [
        ("lstm", "tcn"),
        ("direct", "attention"),
    ]
    lacking = contrast(found, "interaction", "context_vector")
    assert math.isnan(lacking["change"])
    assert (lacking["cells"], lacking["seeds"], lacking["backbones"], lacking["decoders"]) == (0, 0, (), ())
    assert lacking["reason"] == "no direct-prediction backbone has both context_vector and direct"
    assert len(found.cells) == len(UNBALANCED)


def test_a_third_family_is_told_apart_and_has_no_part_in_the_effects():
    controls = {f"identity {decoder}": 0.9 + 0.1 * i for i, decoder in enumerate(("direct", "recursive", "attention"))}
    alone, beside = (effects(one_seed(cells)).contrasts for cells in (TWO_BY_TWO, TWO_BY_TWO | controls))
    told = beside[(beside["decoder"] != "attention") & (beside["family"] != "control")].reset_index(drop=True)
    pd.testing.assert_frame_equal(told, alone)
    own = contrast(effects(one_seed(TWO_BY_TWO | controls)), "decoder", "recursive", "control")
    assert own["change"] == pytest.approx(1.0 / 0.9 - 1)
    lacking = contrast(effects(one_seed(TWO_BY_TWO | controls)), "decoder", "attention")
    assert lacking["reason"] == "no backbone of the two families has both attention and direct"


@pytest.mark.parametrize(
    ("cells", "effect", "decoder", "reason"),
    [
        ({"lstm direct": 1, "lstm recursive": 1}, "family", "", "no decoder has backbones of both families"),
        ({"lstm direct": 1, "tcn recursive": 1}, "family", "", "no decoder has backbones of both families"),
        (
            {"lstm direct": 1, "tcn recursive": 1},
            "decoder",
            "recursive",
            "no backbone of the two families has both recursive and direct",
        ),
        ({"lstm recursive": 1, "tcn recursive": 1}, "decoder", "recursive", "no backbone of the two families has both"),
        (
            {"lstm direct": 1, "tcn recursive": 1},
            "interaction",
            "recursive",
            "no latent-state and no direct-prediction backbone has both recursive and direct",
        ),
    ],
)
def test_an_effect_that_is_not_defined_says_why(cells, effect, decoder, reason):
    row = contrast(effects(one_seed(cells)), effect, decoder)
    assert row["reason"].startswith(reason)
    assert row[["log", "change", "low", "high"]].isna().all()


def test_without_a_ratio_everything_is_undefined_and_says_so():
    found = effects(one_seed(TWO_BY_TWO, base=0.0))
    assert found.cells[["log", "skill"]].isna().all(axis=None)
    assert set(found.contrasts["reason"]) == {"skill against SeasonalNaive is not defined: no series is left"}
    assert found.contrasts["change"].isna().all()


# The naive twin: logs of single cells in a mapping, loops over pairs, all subsets tried for the balanced block.


def average(values):
    values = list(values)
    return sum(values) / len(values)


def subsets(items):
    return [set(chosen) for chosen in chain.from_iterable(combinations(items, n) for n in range(1, len(items) + 1))]


def logs_twin(errors, seeds):
    """{(backbone, decoder): mean log ratio} from these seeds."""
    base, logs = errors["SeasonalNaive", 0], {}
    for name in {name for name, _ in errors if " " in name}:
        series = [average(errors[name, seed][i] for seed in seeds) for i in range(len(base))]
        logs[tuple(name.split(" "))] = average(math.log(mae / base[i]) for i, mae in enumerate(series))
    return logs


def family_twin(logs):
    backbones, decoders = sorted({b for b, _ in logs}), sorted({d for _, d in logs})
    blocks = [
        (rows, columns)
        for rows in subsets(backbones)
        for columns in subsets(decoders)
        if all((b, d) in logs for b in rows for d in columns) and {FAMILY[b] for b in rows} == {LATENT, DIRECT}
    ]
    rows, columns = max(blocks, key=lambda block: (len(block[0]) * len(block[1]), len(block[1])))
    mean = {f: average(logs[b, d] for b in rows for d in columns if FAMILY[b] == f) for f in (LATENT, DIRECT)}
    return mean[LATENT] - mean[DIRECT]


def decoder_twin(logs, decoder, family):
    return average(
        logs[b, d] - logs[b, "direct"]
        for b, d in logs
        if d == decoder and FAMILY[b] == family and (b, "direct") in logs
    )


@pytest.mark.parametrize("holes", [0, 4, 9])
@pytest.mark.parametrize("seed", range(3))
def test_every_contrast_equals_its_naive_twin(holes, seed):
    rng = np.random.default_rng([seed, holes])
    names = [f"{backbone} {decoder}" for backbone in NAMES for decoder in ("recursive", "direct", "attention")]
    gone = set(rng.choice([name for name in names if "lstm" not in name and "tcn" not in name], holes, replace=False))
    runs = [("SeasonalNaive", 0), *((name, s) for name in names if name not in gone for s in (3, 7))]
    errors = {run: rng.uniform(0.5, 2, size=3) for run in runs}
    found, logs = effects(ledger_of(errors)), logs_twin(errors, (3, 7))
    each = [logs_twin(errors, (s,)) for s in (3, 7)]
    assert {(b, d): log for b, d, log in found.cells[["backbone", "decoder", "log"]].to_numpy()} == pytest.approx(logs)
    twins = {("family", ""): family_twin}
    for decoder in ("recursive", "attention"):
        twins["decoder", decoder] = lambda logs, d=decoder: average(decoder_twin(logs, d, f) for f in (LATENT, DIRECT))
        twins["interaction", decoder] = lambda logs, d=decoder: (
            decoder_twin(logs, d, LATENT) - decoder_twin(logs, d, DIRECT)
        )
    for which, twin in twins.items():
        row = contrast(found, *which)
        assert row["log"] == pytest.approx(twin(logs), abs=1e-12), which
        alone = [math.exp(twin(one)) - 1 for one in each]
        assert (row["low"], row["high"]) == pytest.approx((min(alone), max(alone)), abs=1e-12), which


# Which networks there are, and what they are called.


def test_forecasters_without_backbone_or_decoder_are_no_networks():
    ledger = one_seed(TWO_BY_TWO | {"Drift": 1.0})
    assert networks_of(ledger)["forecaster"].tolist() == list(TWO_BY_TWO)
    alone = one_seed({"Drift": 1.0})
    assert not is_crossed(alone)
    with pytest.raises(ValueError, match=r"no forecaster with a backbone and a decoder.*'SeasonalNaive', 'Drift'"):
        effects(alone)
    with pytest.raises(ValueError, match="`baseline` 'Theta' is not in the ledger"):
        effects(ledger, "Theta")


@pytest.mark.parametrize(
    ("names", "crossed"),
    [
        (["lstm direct", "tcn direct"], False),
        (["lstm direct", "tcn recursive"], True),
        (["lstm direct", "lstm recursive"], True),
        (["lstm direct", "gru direct", "tcn direct"], True),
    ],
)
def test_two_decoders_or_two_backbones_of_a_family_make_a_crossed_comparison(names, crossed):
    assert is_crossed(one_seed(dict.fromkeys(names, 1.0))) == crossed


def test_one_backbone_in_two_forms_becomes_two_that_are_told_apart_by_label():
    kinds = {
        "Lecture Transformer, direct": ("transformer", "direct"),
        "Lecture Transformer, recursive": ("transformer", "recursive"),
        "Transformer": ("transformer", "direct"),
        "recursive Transformer": ("transformer", "recursive"),
        "direct-prediction TCN (direct)": ("tcn", "direct"),
        "TCN": ("tcn", "direct"),
        "LSTM": ("lstm", "direct"),
        "LSTM context vector": ("lstm", "context_vector"),
        "my GRU": ("gru", "direct"),
        "your GRU": ("gru", "recursive"),
    }
    errors = {("SeasonalNaive", 0): [1.0]} | {(name, 0): [0.5] for name in kinds}
    cells = effects(ledger_of(errors, kinds)).cells
    assert cells[["backbone", "decoder"]].to_numpy().tolist() == [
        ["Lecture Transformer", "direct"],
        ["Lecture Transformer", "recursive"],
        ["Transformer", "direct"],
        ["Transformer", "recursive"],
        ["direct-prediction TCN", "direct"],
        ["TCN", "direct"],
        ["LSTM", "direct"],
        ["LSTM", "context_vector"],
        ["gru", "direct"],
        ["gru", "recursive"],
    ]
    assert (cells["forecasters"] == 1).all()


def test_labels_that_say_the_same_share_a_cell_which_is_averaged_and_counted():
    kinds = {"LSTM": ("lstm", "direct"), "LSTM (direct)": ("lstm", "direct"), "tcn": ("lstm", "direct")}
    errors = {("SeasonalNaive", 0): [1.0], ("LSTM", 0): [0.2], ("LSTM (direct)", 0): [0.8], ("tcn", 0): [1.0]}
    errors |= {("tcn direct", 0): [0.7]}
    cells = effects(ledger_of(errors, kinds)).cells.set_index("backbone")
    assert cells["forecasters"].to_dict() == {"LSTM": 2, "tcn": 1, "tcn (tcn)": 1}
    assert cells.loc["LSTM", "skill"] == pytest.approx(1 - math.sqrt(0.2 * 0.8))
    assert cells.loc["tcn (tcn)", "skill"] == pytest.approx(0.3)


def test_the_balanced_block_can_be_had_of_one_family_too():
    cells = effects(one_seed({"lstm direct": 1, "lstm recursive": 1, "gru direct": 1, "tcn direct": 1})).cells
    assert balanced(cells) == (["lstm", "gru", "tcn"], ["direct"])
    assert balanced(cells, [LATENT]) == (["lstm", "gru", "tcn"], ["direct"])
    assert balanced(cells[cells["family"] == LATENT], [LATENT]) == (["lstm"], ["direct", "recursive"])
    assert balanced(cells[cells["family"] == LATENT]) == ([], [])
