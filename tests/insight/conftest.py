"""Small networks, trained for a step or two, to look into; each is fitted once."""

import functools

import numpy as np
import pandas as pd
import pytest

from forecast.neural import NeuralForecaster
from forecast.nn import BACKBONES
from forecast.training import Training

HORIZON = 6


def waves(series=3, length=120, zone=None) -> pd.DataFrame:
    """Daily waves of different level, size and phase, with noise."""
    rng = np.random.default_rng(0)
    hours = np.arange(length)
    parts = [
        pd.DataFrame(
            {
                "unique_id": f"s{i}",
                "ds": pd.date_range("2024-01-01", periods=length, freq="h", tz=zone),
                "y": 10 * i + (1 + i) * (np.sin(2 * np.pi * (hours + 5 * i) / 24) + 0.1 * rng.normal(size=length)),
            }
        )
        for i in range(series)
    ]
    return pd.concat(parts, ignore_index=True)


@functools.cache
def _fitted(backbone, decoder, patch_length, context_length, **more):
    config = BACKBONES[backbone](width=16, **more) if isinstance(backbone, str) else backbone
    network = NeuralForecaster(
        config,
        HORIZON,
        decoder=decoder,
        patch_length=patch_length,
        context_length=context_length,
        training=Training(steps=3, batch_size=8, learning_rate=0.01, validation_length=0),
    )
    return network.fit(waves())


@pytest.fixture(scope="session")
def frame():
    return waves()


@pytest.fixture(scope="session")
def fitted():
    """Give a forecaster with a backbone (a name or a config) and a decoder, fitted on `frame`."""

    def fit(backbone, decoder="direct", *, patch_length=4, context_length=48, **more):
        return _fitted(backbone, decoder, patch_length, context_length, **more)

    return fit
