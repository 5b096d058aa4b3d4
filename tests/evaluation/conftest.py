"""Small ledgers of arrays given by hand, for tests of metrics."""

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.ledger.columns import FITS

LEVELS = [f"{tenth / 10}" for tenth in range(1, 10)]
STAMPS = pd.date_range("2022-01-01", periods=40, freq="D")
RUNS = (("SeasonalNaive", 0), ("lstm", 4), ("lstm", 5), ("lstm", 6), ("tcn", 4), ("tcn", 5))


def make_ledger(actuals, runs, scales=(1.0, 1.0)):
    """A ledger of arrays: actuals (S, C, H); runs {(forecaster, seed): {column: (S, C, H) or a number}}; scales (S, C).

    A run that gives `prediction` alone has it for the mean and every quantile too.
    """
    actuals = np.asarray(actuals, dtype=float)
    series, cutoffs = actuals.shape[:2]
    place = np.indices(actuals.shape).reshape(3, -1)  # (3, S * C * H)
    blocks, fits = [], []
    for (forecaster, seed), given in runs.items():
        columns = dict.fromkeys(("prediction", "mean", *LEVELS), given["prediction"]) | given
        block = pd.DataFrame(
            {
                "forecaster": forecaster,
                "seed": seed,
                "unique_id": [f"series {i}" for i in place[0]],
                "cutoff": STAMPS[2 * place[1]],
                "ds": STAMPS[2 * place[1] + place[2] + 1],
                "step": place[2] + 1,
                "y": actuals.ravel(),
            }
        )
        for column, values in columns.items():
            block[column] = np.broadcast_to(np.asarray(values, dtype=float), actuals.shape).ravel()
        block["fit_cutoff"] = STAMPS[0]
        blocks.append(block)
        fits.append((forecaster, seed, STAMPS[0], "latent-state", "lstm", "direct", 10, 0.1, 0.2, series * cutoffs))
    table = blocks[0][["unique_id", "cutoff"]].drop_duplicates().reset_index(drop=True)
    for column, values in zip(("absolute", "squared"), scales, strict=True):
        table[column] = np.broadcast_to(np.asarray(values, dtype=float), (series, cutoffs)).ravel()
    fitted = pd.DataFrame(fits, columns=FITS)
    return Ledger.of(pd.concat(blocks, ignore_index=True), table, fitted, season_length=1)


def make_random_ledger():
    """Holes in the actuals, one (series, cutoff) with none, scales that are zero and undefined; all columns differ."""
    rng = np.random.default_rng(3)
    shape = (3, 4, 5)
    actuals = rng.normal(1, 2, shape)
    actuals[rng.random(shape) < 0.2] = np.nan
    actuals[1, 2] = np.nan
    scales = rng.uniform(0.5, 2, (2, 3, 4))
    scales[:, 0, 1] = 0
    scales[0, 2, 3] = np.nan
    runs = {
        run: {"prediction": rng.normal(1, 2, shape), "mean": rng.normal(1, 2, shape)}
        | dict(zip(LEVELS, np.sort(rng.normal(1, 2, (9, *shape)), axis=0), strict=True))
        for run in RUNS
    }
    return make_ledger(actuals, runs, scales)


@pytest.fixture(name="ledger_of")
def _ledger_of():
    return make_ledger


@pytest.fixture(name="random_ledger")
def _random_ledger():
    return make_random_ledger
