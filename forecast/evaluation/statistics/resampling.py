"""Resamples as counts: how often each series, fold or seed is drawn, with replacement, in each resample."""

import zlib
from collections.abc import Sequence

import numpy as np

from forecast.params import check_positive

STATIONARY_FROM = 50  # folds


def fold_counts(rng: np.random.Generator, resamples: int, folds: int, block: int) -> np.ndarray:
    """Draw blocks of consecutive folds: (resamples, folds) counts, each row of sum `folds`.

    Blocks run on from the last fold to the first, so that every fold is drawn as often. Below 50 folds each has
    `block` of them (circular blocks, Politis and Romano 1992): lengths drawn by chance would often fill a good part of
    so short a time. From 50 on, lengths are geometric with mean `block` (stationary bootstrap, Politis and Romano
    1994), which depends less on the length being the right one.
    """
    time = np.arange(folds)
    if folds < STATIONARY_FROM:
        starts = rng.integers(folds, size=(resamples, -(-folds // block), 1))
        drawn = (starts + np.arange(block)).reshape(resamples, -1)[:, :folds]
    else:
        starts = rng.integers(folds, size=(resamples, folds))
        begins = rng.random((resamples, folds)) < 1 / block
        since = np.maximum.accumulate(np.where(begins, time, 0), axis=1)  # where the block of each draw began
        drawn = np.take_along_axis(starts, since, axis=1) + time - since
    return counts(drawn % folds, folds)


def group_counts(rng: np.random.Generator, resamples: int, group: np.ndarray) -> np.ndarray:
    """Draw whole groups: (resamples, len(group)) counts, all members of a group having that of their group.

    `group` numbers the group of each member from 0. Groups of one member each are plain draws.
    """
    groups = int(group.max()) + 1
    return counts(rng.integers(groups, size=(resamples, groups)), groups)[:, group]


def seed_weights(seed: int, resamples: int, names: Sequence[str], seeds: Sequence[int]) -> np.ndarray:
    """Draw the seeds of each forecaster: (resamples, sum of `seeds`) weights of sum 1 within each.

    A forecaster's draws depend on its name alone, not on who else is compared.
    """
    drawn = []
    for name, number in zip(names, seeds, strict=True):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        drawn.append(counts(rng.integers(number, size=(resamples, number)), number) / number)
    return np.concatenate(drawn, axis=1)


def counts(drawn: np.ndarray, number: int) -> np.ndarray:
    """Count how often each of `number` things stands in each row: (rows, draws) -> (rows, number) float64."""
    rows = len(drawn)
    cells = (drawn + number * np.arange(rows)[:, None]).ravel()
    return np.bincount(cells, minlength=rows * number).reshape(rows, number).astype("float64")


def checked_block(folds: int, overlap: int, block: int | None) -> int:
    """Give how many consecutive folds are drawn together, for None as `block_of` says.

    Raises TypeError for what is no whole number, ValueError for fewer than overlap.
    """
    if block is None:
        return block_of(folds, overlap)
    check_positive(block=block)
    if block < overlap:
        raise ValueError(f"`block` is {block}, but each forecast overlaps with others: at least {overlap}")
    return block


def block_of(folds: int, overlap: int) -> int:
    """Give how many consecutive folds are drawn together where each overlaps with `overlap` - 1 of those after it.

    At least `overlap`; from 50 folds on also the cube root of their number, which catches what lasts longer.
    """
    return overlap if folds < STATIONARY_FROM else max(overlap, round(folds ** (1 / 3)))
