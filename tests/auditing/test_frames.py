"""What an audit runs on: data of our own or the user's, cut to a few short series, and training cut short."""

import numpy as np
import pandas as pd
import pytest

from forecast.auditing.audit import audit
from forecast.auditing.frames import cut_data, own_data, shortened
from forecast.baselines import Naive, NLinear, SeasonalNaive
from forecast.frame import Roles, check_frame, from_wide
from forecast.neural import NeuralForecaster
from forecast.nn import GRU
from forecast.training import Training


def monthly(series=5, length=400):
    rng = np.random.default_rng(0)
    stamps = pd.date_range("1990-01-01", periods=length, freq="MS")
    parts = [
        pd.DataFrame(
            {
                "shop": f"shop {place}",
                "month": stamps[place:],
                "sold": 50 + 10 * np.sin(np.arange(length - place) / 12 * 2 * np.pi) + rng.normal(0, 1, length - place),
                "price": rng.choice([1.0, 2.0], length - place),
                "kind": "large" if place % 2 else "small",
                "back": rng.normal(0, 1, length - place),
            }
        )
        for place in range(series)
    ]
    return pd.concat(parts, ignore_index=True)


DOOR = {
    "columns": {"unique_id": "shop", "ds": "month", "y": "sold"},
    "roles": Roles(static=("kind",), known=("price",), delayed={"back": 2}),
}


def test_a_frame_of_the_user_is_cut_to_few_short_series_under_our_names():
    frame, door, cutoffs, told = cut_data(monthly(), Naive(6), DOOR, None, 60)
    assert list(frame.columns) == ["unique_id", "ds", "y", "kind", "price", "back"]
    assert list(frame["unique_id"].unique()) == ["shop 0", "shop 1", "shop 2"]
    assert door == {"freq": "MS", "roles": DOOR["roles"]}
    last = pd.Timestamp("1990-01-01") + pd.DateOffset(months=399)
    assert cutoffs == (last - pd.DateOffset(months=9), last - pd.DateOffset(months=6))
    assert (frame["ds"] <= cutoffs[0]).groupby(frame["unique_id"]).sum().tolist() == [60] * 3
    assert told == "3 of 5 series, up to 69 rows of each"


def test_a_cutoff_is_kept_and_what_comes_long_after_it_left_out():
    frame, _, cutoffs, _ = cut_data(monthly(), Naive(6), DOOR, "2000-01-01", 60)
    assert cutoffs == (pd.Timestamp("2000-01-01"), pd.Timestamp("2000-04-01"))
    assert frame["ds"].max() == pd.Timestamp("2000-01-01") + pd.DateOffset(months=20)


@pytest.mark.parametrize("cutoff", ["2000-13-01", "soon", 7])
def test_a_cutoff_that_is_none_is_named(cutoff):
    with pytest.raises((TypeError, ValueError), match=f"`cutoff` is {cutoff!r}: "):
        cut_data(monthly(), Naive(6), DOOR, cutoff, 60)


def test_series_that_have_begun_at_the_cutoff_are_taken_first():
    frame = monthly()
    late = frame.loc[(frame["shop"] != "shop 0") | (frame["month"] >= "2010-01-01")]
    cut, *_ = cut_data(late, Naive(6), DOOR, "2000-01-01", 60)
    assert list(cut["unique_id"].unique()) == ["shop 1", "shop 2", "shop 3"]


@pytest.mark.parametrize("kind", ["panel", "wide", "whole numbers", "one series"])
def test_data_of_every_form_are_audited(kind):
    frame, door = monthly(2, 120), DOOR
    if kind == "panel":
        frame, door = check_frame(frame, **DOOR), {}
    elif kind == "wide":
        wide = frame.pivot(index="month", columns="shop", values="sold").rename_axis(columns=None)
        frame, door = from_wide(wide.dropna()), {}
    elif kind == "whole numbers":
        frame = frame.assign(month=frame.groupby("shop").cumcount() * 10)
    else:
        frame = frame.loc[frame["shop"] == "shop 1"]
    found = audit(SeasonalNaive(6), frame, probes=["P1", "P3", "P9", "P12"], **door)
    assert found.passed, str(found)
    assert ("there is one series" in str(found)) == (kind == "one series")


def test_missing_values_and_rows_of_the_user_stay_missing():
    frame = monthly(3, 120)
    frame.loc[frame.index % 17 == 3, "sold"] = np.nan
    frame = frame.drop(index=[40, 41, 200])
    found = audit(SeasonalNaive(6), frame, probes=["P0", "P1", "P4", "P11", "P15"], gaps="mask", **DOOR)
    assert found.passed, str(found)


def test_a_forecaster_that_needs_more_rows_gets_them():
    frame = monthly(2, 400)
    found = audit(NLinear(2, context_length=250), frame, probes=["P0"], **DOOR)
    assert found.passed
    assert "rows of each" in found.facts["data"]
    with pytest.raises(ValueError, match="need"):
        audit(NLinear(2, context_length=2500), frame, probes=["P0"], **DOOR)


def test_our_own_data_have_a_column_of_each_role_where_they_are_read_and_gaps():
    network = NeuralForecaster("gru", 6)
    frame, door, cutoffs, told = own_data(network, gaps=True)
    assert door["roles"] == Roles(
        static=("region",),
        known=("price",),
        forecasted={"outlook": "issued"},
        past=("visitors",),
        delayed={"returns": 2},
    )
    assert told.endswith("with a static, a known, a forecasted, a past and a delayed column, values and rows missing")
    panel = check_frame(frame, **door)
    assert panel.lengths.sum() > len(frame)  # rows
    assert frame["y"].isna().sum() > 3  # values
    assert frame.loc[frame["ds"] == cutoffs[0], "y"].isna().tolist() == [False, True, False]
    ahead = frame.loc[(frame["ds"] > cutoffs[0]) & (frame["ds"] <= cutoffs[0] + pd.Timedelta(hours=6))]
    late = (ahead["issued"] > cutoffs[0]).groupby(ahead["ds"]).sum()
    assert late.between(1, 2).all()  # at every step one that had been issued, and one that had not
    plain, _, _, _ = own_data(Naive(6), gaps=False)
    assert list(plain.columns) == ["unique_id", "ds", "y"]
    assert plain["y"].notna().all()


def test_training_is_cut_short_in_a_copy():
    long = NeuralForecaster(GRU(width=8), 6, training=Training(steps=500, validations=30, batch_size=8), verbose=2)
    short, cut = shortened(long)
    assert cut == {"training__steps": 10, "training__validations": 2}
    assert (short.training.steps, short.training.batch_size, short.verbose) == (10, 8, 0)
    assert (long.training.steps, long.verbose) == (500, 2)
    same, cut = shortened(Naive(6))
    assert repr(same) == repr(Naive(6))
    assert cut == {}
