"""Exponential smoothing against a loop over its definition."""

import numpy as np
import pytest
import torch

from forecast.nn.smoothing import SMOOTHING, smoothed


def by_hand(x, season, steps):
    """Give the next steps after values (T,), NaN where missing, one value at a time."""
    known = np.isfinite(x)
    index = np.zeros((len(x), season))  # what the season adds at each time, by place counted from the start
    for t in range(len(x)):
        apart = [[] for _ in range(season)]
        for s in range(season - 1, t + 1):
            last = x[s - season + 1 : s + 1]
            if season > 1 and np.isfinite(last).all():
                apart[s % season].append(x[s] - last.mean())
        seen = [np.mean(a) for a in apart if a]
        if not seen:
            continue
        count = sum(map(len, apart))
        within = sum(((np.array(a) - np.mean(a)) ** 2).sum() for a in apart if a) / max(count - len(seen), 1)
        means = np.array([np.mean(a) - np.mean(seen) if a else 0.0 for a in apart])
        between, each = (means**2).sum() / len(seen), count / len(seen)
        if each >= 1.5 and between > 0:
            index[t] = max(0.0, 1 - within / each / between) * means
    z = np.array([x[t] - index[t, t % season] for t in range(len(x))])
    levels, losses = [], []
    for share in SMOOTHING:
        level, loss = None, 0.0
        for t in np.flatnonzero(known):
            loss += 0.0 if level is None else (z[t] - level) ** 2
            ages = t - np.flatnonzero(known[: t + 1])
            level = np.average(z[: t + 1][known[: t + 1]], weights=(1 - share) ** ages.astype(float))
        levels.append(level)
        losses.append(loss)
    losses = np.array(losses)
    likely = -(known.sum() - 1) / 2 * np.log(np.maximum(losses, 1e-9 * losses.max()) + 1e-300)
    weights = np.exp(likely - likely.max()) / np.exp(likely - likely.max()).sum()
    time = np.flatnonzero(known)
    slope = 0.5 * np.polyfit(time, z[known], 1)[0] if known.sum() > 1 else 0.0
    level = weights @ levels + slope * (weights @ (1 / np.array(SMOOTHING)))
    return [level + slope * h + index[-1, (len(x) + h) % season] for h in range(steps)]


def series(season, missing=0.0):
    rng = np.random.default_rng(0)
    time = np.arange(40)
    x = 1000 + 0.5 * time + 3 * np.sin(2 * np.pi * time / max(season, 2)) + rng.normal(0, 1, (3, 40))
    return np.where(rng.random((3, 40)) < missing, np.nan, x)


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize(("season", "memory", "every"), [(1, 40, 1), (4, 40, 4), (4, 17, 3), (5, 30, 40)])
def test_smoothing_equals_its_definition_on_the_last_values(season, memory, every, missing):
    x = series(season, missing)
    read = torch.from_numpy(np.isfinite(x))
    told = smoothed(torch.from_numpy(np.nan_to_num(x)), read, season=season, memory=memory, every=every)
    steps = told.steps(7).numpy()
    for b in range(3):
        for n in range(40 // every):
            seen = x[b, max(0, (n + 1) * every - memory) : (n + 1) * every]
            if np.isfinite(seen).any():
                np.testing.assert_allclose(steps[b, n], by_hand(seen, season, 7), rtol=1e-9)


def test_a_season_of_chance_alone_is_hardly_believed_and_a_sure_one_is():
    rng = np.random.default_rng(1)
    noise, wave = rng.normal(0, 1, (50, 120)), 3 * np.sin(np.arange(120) * np.pi / 6)
    read = torch.ones(50, 120, dtype=torch.bool)
    told = [smoothed(torch.from_numpy(x), read, season=12, memory=120, every=120).season for x in (noise, noise + wave)]
    assert told[0].abs().mean() < 0.2
    assert abs(float(told[1].abs().amax(-1).mean()) - 3) < 0.5


def test_nothing_read_or_nothing_that_moves_gives_that_and_no_trend():
    values = torch.tensor([[0.0] * 12, [7.0] * 12])
    read = torch.tensor([[False] * 12, [True] * 12])
    told = smoothed(values, read, season=4, memory=12, every=12)
    assert told.steps(5)[:, 0].tolist() == [[0.0] * 5, [7.0] * 5]


def test_before_the_first_value_nothing_is_told_of_it():
    values = torch.tensor([[0.0] * 8 + [7.0] * 4])
    told = smoothed(values, values > 0, season=4, memory=12, every=4)
    assert told.steps(3)[0].tolist() == [[0.0] * 3, [0.0] * 3, [7.0] * 3]
