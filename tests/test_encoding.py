"""Covariates of a panel as a network reads them, against one look after another by stamp."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from forecast import NeuralForecaster, Training
from forecast.encoding import Category, Encoded, Encoding, Number, Part
from forecast.frame import FrameError, Roles, check_frame
from forecast.frame.features import calendar_features
from forecast.windows import Windows

ROLES = Roles(static=("size", "city"), known=("price", "kind"), past=("rain",), delayed={"returns": 3, "mood": 1})
STEPS, AHEAD = 7, 4


def frame_of(ids=("a", "b", "c"), lengths=(30, 18, 25), seed=0) -> pd.DataFrame:
    rng, parts = np.random.default_rng(seed), []
    for place, (name, length) in enumerate(zip(ids, lengths, strict=True)):
        part = pd.DataFrame(
            {
                "unique_id": name,
                "ds": pd.date_range("2024-01-01", periods=length) + pd.Timedelta(days=2 * place),
                "y": rng.normal(size=length),
                "price": rng.normal(20, 5, length),
                "kind": rng.choice(["sale", "plain"], length),
                "rain": rng.normal(size=length),
                "returns": rng.normal(size=length),
                "mood": rng.choice(["good", "bad", "none"], length),
                "size": float(place),
                "city": ["Rome", "Oslo", "Rome"][place],
            }
        )
        part.loc[[4, 9], "rain"] = np.nan
        part.loc[5, "kind"] = None
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def encoding_of(panel, calendar=()) -> Encoding:
    encoding = Encoding.of(panel, calendar)
    assert encoding is not None
    return encoding


def test_the_fit_learns_the_spread_of_numbers_and_the_categories_that_are_there():
    frame = frame_of()
    encoding = encoding_of(check_frame(frame, roles=ROLES))
    (price,) = encoding.known.numbers
    assert (price.name, price.delay) == ("price", 0)
    assert price.location == pytest.approx(frame["price"].mean(), rel=1e-5)
    assert price.scale == pytest.approx(frame["price"].std(ddof=0), rel=1e-5)
    assert encoding.known.categories[0].name == "kind"
    assert set(encoding.known.categories[0].values) == {"sale", "plain"}
    assert [(c.name, c.delay) for c in (*encoding.past.numbers, *encoding.past.categories)] == [
        ("rain", 0),
        ("returns", 3),
        ("mood", 1),
    ]


def test_the_fit_reads_only_rows_of_its_series():
    frame = frame_of()
    panel = check_frame(frame, roles=ROLES)
    half = panel.until(int(panel.first[0]) + 9).take(np.array([0]))
    (rain, returns) = encoding_of(half).past.numbers
    own = frame[frame["unique_id"] == "a"].head(10)
    assert rain.location == pytest.approx(own["rain"].mean(), rel=1e-5)
    assert returns.location == pytest.approx(own["returns"].mean(), rel=1e-5)


def test_rows_for_validation_teach_neither_units_nor_categories():
    """Poisoned in the last rows, which a fit holds back, a column is learned as it was."""
    frame = frame_of(lengths=(30, 30, 30))
    late = frame["ds"] > frame["ds"].max() - pd.Timedelta(days=6)
    poisoned = frame.assign(price=frame["price"].mask(late, 1e6), kind=frame["kind"].mask(late, "odd"))
    forecaster = NeuralForecaster("identity", 3, training=Training(steps=1, validation_length=6))
    learned = [forecaster.fit(frame, roles=ROLES).encoding_]
    with pytest.warns(UserWarning, match="not there to learn from are read as unknown: `kind` 'odd'"):
        learned.append(forecaster.fit(poisoned, roles=ROLES).encoding_)
    assert learned[0] == learned[1]
    other = frame.assign(price=frame["price"] + 1.0)
    assert forecaster.fit(other, roles=ROLES).encoding_ != learned[0]


def test_a_number_that_does_not_move_has_a_scale_to_divide_by():
    frame = frame_of().assign(price=0.1)
    assert encoding_of(check_frame(frame, roles=ROLES)).known.numbers[0].scale == 1.0


def test_nothing_to_read_is_none():
    assert Encoding.of(check_frame(frame_of()), ()) is None
    assert Encoding.of(check_frame(frame_of()), ("weekday",)) is not None


def test_gathered_covariates_are_those_of_their_stamps():
    frame = frame_of()
    panel = check_frame(frame, roles=ROLES)
    encoding = encoding_of(panel, ("weekday", "weekend"))
    series, cutoffs = torch.tensor([0, 1, 2, 2]), torch.from_numpy(panel.first[[0, 1, 2, 2]] + [29, 3, 24, 12])
    found = Encoded(panel, encoding).gather(series, cutoffs, STEPS, AHEAD)
    rows = frame.set_index(["unique_id", "ds"])
    places = {c.name: c.values for part in vars(encoding).values() if isinstance(part, Part) for c in part.categories}

    def told(name, stamp, column):
        value = rows[column].get((name, stamp), np.nan)
        return np.nan if pd.isna(value) else places[column].index(value) if column in places else value

    for row, (which, cutoff) in enumerate(zip(series.tolist(), cutoffs.tolist(), strict=True)):
        name = panel.id_of(which)
        for step in range(STEPS):
            stamp, day = panel.calendar.stamp(cutoff - STEPS + 1 + step), pd.Timedelta(days=1)
            expected = [
                told(name, stamp, "rain"),
                told(name, stamp - 3 * day, "returns"),
                told(name, stamp - day, "mood"),
            ]
            np.testing.assert_allclose(found.past[row, step], expected, rtol=1e-6)
        for step in range(STEPS + AHEAD):
            ordinal = cutoff - STEPS + 1 + step
            stamp = panel.calendar.stamp(ordinal)
            features = calendar_features(panel.calendar, encoding.calendar, np.array([ordinal]))[0]
            expected = [told(name, stamp, "price"), *features, told(name, stamp, "kind")]
            np.testing.assert_allclose(found.known[row, step], expected, rtol=1e-6)
        own = frame[frame["unique_id"] == name].iloc[0]
        np.testing.assert_allclose(found.static[row], [own["size"], places["city"].index(own["city"])])


def test_past_covariates_after_the_rows_of_a_panel_are_not_there():
    panel = check_frame(frame_of(), roles=ROLES)
    cut = panel.until(int(panel.last.min()) - 5)
    encoding = encoding_of(panel)
    last = torch.from_numpy(panel.last[:1])
    whole, known = (Encoded(some, encoding).gather(torch.tensor([0]), last, 10, 0) for some in (panel, cut))
    after = int(panel.last[0] - cut.last[0])
    assert after > 0
    assert known.past[0, -after:, 0].isnan().all()
    assert not whole.past[0, -after:, 0].isnan().all()
    torch.testing.assert_close(known.past[0, :-after], whole.past[0, :-after], equal_nan=True)
    assert torch.equal(known.known.nan_to_num(-7), whole.known.nan_to_num(-7))


def test_of_a_series_that_is_not_there_nothing_is_known():
    panel = check_frame(frame_of(), roles=ROLES)
    found = Encoded(panel, encoding_of(panel)).gather(torch.tensor([-1]), torch.tensor([19740]), STEPS, AHEAD)
    assert all(part.isnan().all() for part in found[:3])


def test_categories_that_were_not_there_at_the_fit_are_unknown_with_one_warning():
    frame = frame_of()
    encoding = encoding_of(check_frame(frame, roles=ROLES))
    new = check_frame(frame.replace({"sale": "flood", "Oslo": "Bonn"}), roles=ROLES)
    with pytest.warns(UserWarning, match=r"not there to learn from .*`city` 'Bonn'; `kind` 'flood'") as warned:
        encoded = Encoded(new, encoding)
    assert len(warned) == 1
    found = encoded.gather(torch.tensor([0, 1]), torch.from_numpy(new.last[:2]), STEPS, 0)
    own = frame[frame["unique_id"] == "a"]["kind"].tail(STEPS).to_numpy()
    assert (found.known[0, :, -1].isnan().numpy() == (own == "sale")).all()
    assert found.static[:, -1].isnan().tolist() == [False, True]


def test_categories_go_by_their_names_whatever_their_order():
    frame = frame_of()
    encoding = encoding_of(check_frame(frame, roles=ROLES))
    other = frame.assign(mood=pd.Categorical(frame["mood"], categories=["none", "odd", "bad", "good"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panels = [check_frame(one, roles=ROLES) for one in (frame, other)]
        found = [
            Encoded(panel, encoding).gather(torch.arange(3), torch.from_numpy(panel.last), STEPS, 0) for panel in panels
        ]
    for one, two in list(zip(*found, strict=True))[:3]:
        assert torch.equal(one.nan_to_num(-7), two.nan_to_num(-7))


def test_columns_that_are_not_those_of_the_fit_are_refused():
    frame = frame_of()
    encoding = encoding_of(check_frame(frame, roles=ROLES))
    with pytest.raises(FrameError, match="column `size` was static at fit and is not there"):
        Encoded(check_frame(frame), encoding)
    with pytest.raises(FrameError, match="column `rain` held numbers at fit and holds categories here"):
        Encoded(check_frame(frame.assign(rain="wet"), roles=ROLES), encoding)
    with pytest.raises(FrameError, match="column `kind` held categories at fit and holds numbers here"):
        Encoded(check_frame(frame.assign(kind=1.0), roles=ROLES), encoding)
    Encoded(check_frame(frame.assign(kind=np.nan), roles=ROLES), encoding)  # nothing given, nothing contradicted


def test_an_encoding_is_plain_values():
    encoding = encoding_of(check_frame(frame_of(), roles=ROLES), ("weekday",))
    for part in (encoding.static, encoding.past, encoding.known):
        for column in (*part.numbers, *part.categories):
            assert isinstance(column, Number | Category)
            assert all(type(value) in (str, float, int, bool, tuple) for value in vars(column).values())


def test_weights_say_how_much_values_count_beside_each_other():
    frame = frame_of()
    weighted = check_frame(frame.assign(w=np.arange(len(frame)) % 3), roles=Roles(weight="w"))
    series, last = np.array([0, 2]), weighted.starts[[0, 2]] + [10, 24]
    plain, found = (Windows(panel, STEPS, AHEAD).gather(series, last) for panel in (check_frame(frame), weighted))
    assert weighted.weights is not None
    mean = weighted.weights[weighted.observed].mean()
    for row in range(2):
        for place, at in enumerate(range(last[row] - STEPS + 1, last[row] + AHEAD + 1)):
            inside = at < weighted.stops[series[row]]
            expected = (at % 3) / mean if inside else 0.0
            assert float(found.counted[row, place]) == pytest.approx(expected)
            assert float(plain.counted[row, place]) == float(inside)


def test_equal_weights_are_none():
    frame = frame_of()
    series, last = np.array([0, 2]), np.array([20, 60])
    panels = check_frame(frame), check_frame(frame.assign(w=0.125), roles=Roles(weight="w"))
    one, two = (Windows(panel, STEPS, AHEAD).gather(series, last).counted for panel in panels)
    assert torch.equal(one, two)
