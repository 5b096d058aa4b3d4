"""foretell: neural time-series forecasting, latent state against direct prediction, compared honestly.

The public names are imported when they are first used, so that `import forecast` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "forecast.auditing.audit": ["audit"],
    "forecast.auditing.certificate": ["Certificate"],
    "forecast.catalog": ["load"],
    "forecast.frame": ["FrameError", "Panel", "Roles", "check_frame", "from_wide"],
    "forecast.forecaster": ["Forecaster"],
    "forecast.baselines": ["Drift", "NLinear", "Naive", "SeasonalNaive", "Theta", "WindowAverage"],
    "forecast.calibrated": ["Calibrated"],
    "forecast.neural": ["NeuralForecaster"],
    "forecast.streaming": ["Stream"],
    "forecast.training": ["Training"],
    "forecast.nn": [
        "RNN",
        "LSTM",
        "GRU",
        "MinGRU",
        "AttentiveRNN",
        "TCN",
        "WaveNet",
        "VanillaTransformer",
        "Transformer",
        "GraphTransformer",
        "Identity",
        "Linear",
        "Direct",
        "Recursive",
        "ContextVector",
        "AttentionDecoder",
        "CrossAttention",
        "Recipe",
    ],
    "forecast.evaluation": ["Ledger", "Plan", "backtest", "score", "skill"],
    "forecast.experiment": ["predict_folder", "run_experiment"],
    "forecast.searching": ["Searchable", "folds_of"],
    "forecast.synthetic": ["Oracle"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME_OF, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:
    from forecast.auditing.audit import audit
    from forecast.auditing.certificate import Certificate
    from forecast.baselines import Drift, Naive, NLinear, SeasonalNaive, Theta, WindowAverage
    from forecast.calibrated import Calibrated
    from forecast.catalog import load
    from forecast.evaluation import Ledger, Plan, backtest, score, skill
    from forecast.experiment import predict_folder, run_experiment
    from forecast.forecaster import Forecaster
    from forecast.frame import FrameError, Panel, Roles, check_frame, from_wide
    from forecast.neural import NeuralForecaster
    from forecast.nn import (
        GRU,
        LSTM,
        RNN,
        TCN,
        AttentionDecoder,
        AttentiveRNN,
        ContextVector,
        CrossAttention,
        Direct,
        GraphTransformer,
        Identity,
        Linear,
        MinGRU,
        Recipe,
        Recursive,
        Transformer,
        VanillaTransformer,
        WaveNet,
    )
    from forecast.searching import Searchable, folds_of
    from forecast.streaming import Stream
    from forecast.synthetic import Oracle
    from forecast.training import Training


def __getattr__(name: str):
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(sorted(_HOME_OF))}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
