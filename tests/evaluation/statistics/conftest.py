"""Ledgers of errors given by hand, for all tests of statistics."""

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.ledger import Ledger
from forecast.evaluation.ledger.columns import FITS

DAYS = pd.date_range("2022-01-01", periods=400, freq="D")


def make_ledger(errors, *, horizon=1, stride=None, gap=0, refit="every", networks=(), scale=1.0):
    """A ledger of the absolute errors {(forecaster, seed): (series, folds)}, the same at all steps; y is 0.

    NaN is a y that was not observed, for all forecasters.
    """
    stride = stride or horizon
    rows, fits = [], []
    for (forecaster, seed), values in errors.items():
        values = np.atleast_2d(values)
        folds = values.shape[1]
        cutoffs = [10 + stride * fold for fold in range(folds)]
        fitted = (
            [cutoffs[0] if refit == "never" else cutoffs[fold - fold % refit] for fold in range(folds)]
            if (refit != "every")
            else cutoffs
        )
        for i, of_series in enumerate(values):
            for fold, error in enumerate(of_series):
                cutoff = cutoffs[fold]
                key = (forecaster, seed, f"series {i}", DAYS[cutoff])
                y, said = (np.nan, 0.0) if np.isnan(error) else (0.0, error)
                rows += [
                    (*key, DAYS[cutoff + gap + step], step, y, said, said, DAYS[fitted[fold]])
                    for step in range(1, horizon + 1)
                ]
        kind = ("latent-state", "lstm", "direct") if forecaster in networks else ("baseline", "", "")
        fits += [(forecaster, seed, DAYS[at], *kind, 10, 0.1, 0.2, len(values)) for at in dict.fromkeys(fitted)]
    names = ["forecaster", "seed", "unique_id", "cutoff", "ds", "step", "y", "prediction", "mean", "fit_cutoff"]
    forecasts = pd.DataFrame(rows, columns=names)
    scales = forecasts[["unique_id", "cutoff"]].drop_duplicates().assign(absolute=scale, squared=scale**2)
    return Ledger.of(forecasts, scales, pd.DataFrame(fits, columns=FITS[:10]), season_length=1)


@pytest.fixture(scope="session")
def ledger_of():
    return make_ledger
