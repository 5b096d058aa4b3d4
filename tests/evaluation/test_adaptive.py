"""Adaptive conformal intervals over a ledger, against the published recursion written out, one tracker at a time."""

import math

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation import Ledger
from forecast.evaluation.adaptive import adapt

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9, 0.95)


def ledger_of(y, quantiles, *, stride=1, levels=LEVELS, dates=False, seeds=(0,)):
    """Series s, cutoff f * stride, step h from `y` (S, F, H) and quantiles (S, F, H, Q); NaN rows are left out."""
    series, fold, step = (index.ravel() for index in np.indices(y.shape))
    cutoff = fold * stride
    table = pd.DataFrame(quantiles.reshape(-1, len(levels)), columns=[str(level) for level in levels])
    table = table.assign(
        forecaster="model",
        seed=0,
        unique_id=np.array(["a", "b", "c"])[series],
        cutoff=cutoff,
        ds=cutoff + step + 1,
        step=step + 1,
        y=y.ravel(),
        prediction=table["0.5"],
        mean=table["0.5"] + 0.01,
        fit_cutoff=0,
    )
    table = table[table["0.5"].notna()]
    if dates:
        for column in ("cutoff", "ds", "fit_cutoff"):
            table[column] = pd.Timestamp("2024-01-01") + pd.to_timedelta(table[column], unit="h")
    table = pd.concat([table.assign(seed=seed) for seed in seeds])
    scales = table[["unique_id", "cutoff"]].drop_duplicates().assign(absolute=1.0, squared=1.0)
    fits = pd.DataFrame({"forecaster": "model", "seed": list(seeds), "fit_cutoff": table["fit_cutoff"].iloc[0]})
    fits = fits.assign(family="linear", backbone="", decoder="", parameters=0)
    fits = fits.assign(fit_seconds=0.0, predict_seconds=0.0, forecasts=y.shape[1])
    return Ledger.of(table, scales, fits, season_length=1)


def cube(ledger, column):
    """Give a column as (S, F, H)."""
    table = ledger.forecasts.sort_values(["unique_id", "cutoff", "step"])
    S, F, H = (table[name].nunique() for name in ("unique_id", "cutoff", "step"))
    return table[column].to_numpy("float64").reshape(S, F, H)


def twin(y, low, high, step, share, gamma, stride, delay, window):
    """One tracker (F,) of one series and step: bounds as they are written, (F, 2), and how many were infinite or empty.

    The recursion of MAPIE, `alpha_t + gamma * (alpha - err)`, without its clipping to [0, 1], on the interval of split
    conformal prediction that is `ceil((n + 1) * (1 - alpha_t))` scores wide; step h (from 1) of cutoff f is known at
    f * stride + h.
    """
    y, low, high = ([*map(float, values)] for values in (y, low, high))
    alpha, bounds, infinite, empty, scores, corrections, waiting = share, [], 0, 0, [], [], []
    for fold in range(len(y)):
        while waiting and waiting[0][0] + delay <= fold * stride:
            _, at = waiting.pop(0)
            if math.isnan(y[at]):
                scores.append(math.nan)
                continue
            score = max(low[at] - y[at], y[at] - high[at])
            err = 0.0 if score <= corrections[at] else 1.0
            alpha = alpha + gamma * (share - err)
            scores.append(score)
        known = sorted(score for score in scores[-window:] if not math.isnan(score))
        k = math.ceil((len(known) + 1) * (1 - alpha) - 1e-9)
        correction = math.inf if k > len(known) else -math.inf if k < 1 else known[k - 1]
        corrections.append(correction)
        infinite += correction == math.inf
        empty += correction == -math.inf or low[fold] - correction > high[fold] + correction
        written = max([0.0, *known]) if correction == math.inf else correction
        bounds.append((low[fold] - written, high[fold] + written))
        waiting.append((fold * stride + step, fold))
    return bounds, infinite, empty


def random_case(seed=0, S=2, F=40, H=3, drift=0.1):
    rng = np.random.default_rng(seed)
    quantiles = np.sort(rng.normal(0, 1, (S, F, H, len(LEVELS))), axis=-1)
    y = rng.normal(0, 1, (S, F, H)) * (1 + drift * np.arange(F)[:, None])
    y[0, 5:8, 1] = np.nan
    return y, quantiles


@pytest.mark.parametrize(
    ("gamma", "stride", "delay", "window"),
    [(0.05, 1, 0, 200), (0.3, 2, 0, 200), (0.05, 3, 0, 10), (0.1, 1, 2, 200), (0.1, 2, 5, 15)],
)
def test_every_tracker_follows_the_recursion(gamma, stride, delay, window):
    y, quantiles = random_case()
    ledger = ledger_of(y, quantiles, stride=stride)
    adapted = adapt(ledger, gamma=gamma, delay=delay, window=window)
    inner = {}
    for low, high in ((0, 4), (1, 3)):  # positions of levels 0.1 and 0.9, 0.3 and 0.7
        share = LEVELS[low] + 1 - LEVELS[high]
        infinite = empty = 0
        for s, h in np.ndindex(2, 3):
            case = (y[s, :, h], quantiles[s, :, h, low], quantiles[s, :, h, high], h + 1)
            found, *counts = twin(*case, share, gamma, stride, delay, window)
            infinite, empty = infinite + counts[0], empty + counts[1]
            inner[low, s, h] = np.array(found)
        row = adapted.counts[adapted.counts["lower"] == LEVELS[low]].iloc[0]
        assert (row["infinite"], row["empty"], row["intervals"]) == (infinite, empty, y.size)
        assert infinite > 0
    for s, h in np.ndindex(2, 3):  # levels that would cross move outwards
        median = quantiles[s, :, h, 2]
        within = np.minimum(inner[1, s, h][:, 0], median), np.maximum(inner[1, s, h][:, 1], median)
        outer = np.minimum(inner[0, s, h][:, 0], within[0]), np.maximum(inner[0, s, h][:, 1], within[1])
        for level, expected in (("0.1", outer[0]), ("0.3", within[0]), ("0.7", within[1]), ("0.9", outer[1])):
            np.testing.assert_allclose(cube(adapted.ledger, level)[s, :, h], expected, rtol=1e-6, atol=1e-6)


def test_the_ledger_is_another_with_the_same_points_medians_and_means():
    y, quantiles = random_case()
    ledger = ledger_of(y, quantiles, seeds=(0, 3))
    adapted = adapt(ledger).ledger
    assert adapted.forecasters == ("model adaptive",)
    assert [run.seed for run in adapted.runs] == [0, 3]
    for column in ("y", "prediction", "mean", "0.5"):
        np.testing.assert_array_equal(
            cube(adapt(ledger_of(y, quantiles)).ledger, column), cube(ledger_of(y, quantiles), column)
        )
    quantiles = adapted.runs[0].quantiles
    assert (np.diff(quantiles) >= 0).all()
    assert set(Ledger.concat([ledger, adapted]).forecasters) == {"model", "model adaptive"}
    np.testing.assert_array_equal(adapted.runs[0].quantiles, adapted.runs[1].quantiles)


def test_nothing_is_learned_before_it_is_known():
    y, quantiles = random_case(drift=0)
    base = adapt(ledger_of(y, quantiles, stride=2)).ledger
    changed = y.copy()
    changed[:, 20] += 100  # cutoff 40: step 1 is known at 41, 3 at 43
    moved = adapt(ledger_of(changed, quantiles, stride=2)).ledger
    differs = np.stack([cube(base, str(level)) != cube(moved, str(level)) for level in LEVELS]).any(axis=0)
    assert not differs[:, :21].any()
    assert not differs[:, 21, 2].any()
    assert differs[:, 21, :2].all()
    assert differs[:, 22].all()
    late = adapt(ledger_of(changed, quantiles, stride=2), delay=6).ledger
    early = adapt(ledger_of(y, quantiles, stride=2), delay=6).ledger
    differs = np.stack([cube(late, str(level)) != cube(early, str(level)) for level in LEVELS]).any(axis=0)
    assert not differs[:, :24].any()
    assert differs[:, 24, 0].all()


def test_a_delay_is_a_length_of_time_where_stamps_are_dates():
    y, quantiles = random_case()
    dated = adapt(ledger_of(y, quantiles, stride=2, dates=True), delay="3h").ledger
    numbered = adapt(ledger_of(y, quantiles, stride=2), delay=3).ledger
    np.testing.assert_array_equal(dated.runs[0].quantiles, numbered.runs[0].quantiles)


def test_in_the_long_run_it_covers_what_it_promises_whatever_the_data_do():
    """Spread that grows tenfold, under forecasts that do not know it."""
    rng = np.random.default_rng(4)
    F = 1500
    y = rng.normal(size=(1, F, 1)) * np.linspace(1, 10, F)[:, None]
    levels = (0.1, 0.5, 0.9)
    quantiles = np.broadcast_to([-1.0, 0.0, 1.0], (1, F, 1, 3))
    gamma = 0.02
    adapted = adapt(ledger_of(y, quantiles.copy(), levels=levels), gamma=gamma)
    before = (np.abs(y) <= 1).mean()
    low, high = cube(adapted.ledger, "0.1"), cube(adapted.ledger, "0.9")
    # Gibbs and Candès 2021, proposition 4.1, and what stands in place of infinite intervals.
    bound = (0.8 + gamma) / (gamma * F) + adapted.counts["infinite"].sum() / F
    assert before < 0.25
    assert ((low <= y) & (y <= high)).mean() == pytest.approx(0.8, abs=bound)
    assert bound < 0.04


def test_infinite_and_empty_intervals_are_finite_in_the_ledger_and_said():
    y, quantiles = random_case(F=60)
    y[:, 20:40] = quantiles[:, 20:40, :, 2]  # nothing is missed any more
    adapted = adapt(ledger_of(y, quantiles), gamma=0.5)
    assert np.isfinite(adapted.ledger.runs[0].quantiles).all()
    assert adapted.counts["empty"].sum() > 0
    told = str(adapted)
    infinite, empty = int(adapted.counts["infinite"].sum()), int(adapted.counts["empty"].sum())
    assert f"{infinite:,} were infinite" in told
    assert f"{empty:,} were empty" in told
    lone = adapted.counts[adapted.counts["lower"].isna()]
    assert lone["upper"].tolist() == [0.95]


def test_cells_that_are_not_there_teach_nothing():
    y, quantiles = random_case()
    alone = adapt(ledger_of(y[1:], quantiles[1:])).ledger
    quantiles[0, ::3] = np.nan
    both = adapt(ledger_of(y, quantiles)).ledger
    own = both.points.ids[both.points.series] == "b"
    np.testing.assert_array_equal(both.runs[0].quantiles[own], alone.runs[0].quantiles)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"gamma": 0}, "`gamma` is 0; allowed: a number over 0"),
        ({"gamma": "fast"}, "`gamma` is 'fast'"),
        ({"window": 0}, "`window` is 0"),
        ({"delay": -1}, "`delay` is -1; allowed: None, or a number from 0 on"),
        ({"delay": "2h"}, "`delay` is '2h'; allowed: None, or a number"),
    ],
)
def test_arguments_that_are_not_allowed_are_named(options, told):
    with pytest.raises((TypeError, ValueError), match=told):
        adapt(ledger_of(*random_case(F=3)), **options)


@pytest.mark.parametrize("delay", [3, "NaT", "-1h"])
def test_a_delay_that_is_no_length_of_time_is_refused_where_stamps_are_dates(delay):
    with pytest.raises((TypeError, ValueError), match=f"`delay` is '?{delay}'?; allowed: None, or a length of time"):
        adapt(ledger_of(*random_case(F=3), dates=True), delay=delay)


def test_what_has_no_intervals_is_refused():
    with pytest.raises(TypeError, match="`ledger` is a DataFrame"):
        adapt(pd.DataFrame())  # type: ignore[arg-type]
    y, quantiles = random_case(F=3)
    with pytest.raises(ValueError, match=r"`ledger` has the levels \[0.5\]; needed are 0.5"):
        adapt(ledger_of(y, quantiles[..., 2:3], levels=(0.5,)))
