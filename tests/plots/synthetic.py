"""A ledger with known noise, for the tests of plots and report: better forecasters have less of it."""

import numpy as np
import pandas as pd

from forecast.evaluation.ledger import Ledger

LEVELS = [f"{level / 10:.1f}" for level in range(1, 10)]
Z = np.array([-1.2816, -0.8416, -0.5244, -0.2533, 0.0, 0.2533, 0.5244, 0.8416, 1.2816])
# name -> family, backbone, decoder, noise (in units of the season's amplitude), parameters
FORECASTERS = {
    "Naive": ("baseline", "", "", 1.3, 0),
    "SeasonalNaive": ("baseline", "", "", 0.6, 0),
    "Drift": ("baseline", "", "", 1.35, 0),
    "WindowAverage": ("baseline", "", "", 0.9, 0),
    "NLinear": ("linear", "", "", 0.42, 12_312),
    "LSTM direct": ("latent-state", "lstm", "direct", 0.40, 41_230),
    "LSTM recursive": ("latent-state", "lstm", "recursive", 0.52, 39_914),
    "TCN direct": ("direct-prediction", "tcn", "direct", 0.37, 40_880),
    "Transformer direct": ("direct-prediction", "transformer", "direct", 0.405, 42_004),
}
NETWORKS = ("latent-state", "direct-prediction")
LATENT = ("rnn", "lstm", "gru", "min_gru", "attentive_rnn")
DIRECT = ("tcn", "wave_net", "transformer", "post_norm_transformer", "learned_positions", "graph_attention", "identity")
DECODERS = ("direct", "recursive", "context_vector", "attention", "cross_attention")


def crossed(latent=LATENT, direct=DIRECT, decoders=DECODERS, among=("lstm", "transformer"), full=2):
    """Forecasters for `make_ledger`: every backbone under the `full` first decoders, those `among` under all."""
    rng = np.random.default_rng(1)
    found = {name: FORECASTERS[name] for name in ("Naive", "SeasonalNaive", "NLinear")}
    for family, backbones in zip(NETWORKS, (latent, direct), strict=True):
        for backbone in backbones:
            level = rng.uniform(0.35, 0.45)
            for decoder in decoders if backbone in among else decoders[:full]:
                noise = level * rng.uniform(0.9, 1.0 + 0.3 * (decoder != "direct"))
                found[f"{backbone} {decoder}"] = (family, backbone, decoder, noise, 40_000)
    return found


def make_ledger(series=3, cutoffs=20, horizon=24, seeds=2, clock="dates", zone=None, forecasters=None):
    """A ledger with random forecasts around a daily wave; `forecasters` are names, or a mapping like FORECASTERS."""
    rng = np.random.default_rng(0)
    known = forecasters if isinstance(forecasters, dict) else FORECASTERS
    chosen = {name: known.get(name, FORECASTERS["TCN direct"]) for name in forecasters or FORECASTERS}
    n = 24 * 14 + cutoffs * horizon
    stamps = pd.date_range("2017-06-01", periods=n, freq="h", tz=zone) if clock == "dates" else pd.RangeIndex(n)
    hours = np.arange(n)
    ids = [f"plant {chr(65 + s)}" for s in range(series)]
    y = np.stack(
        [40 + 5 * s + (8 + s) * np.sin(hours * 2 * np.pi / 24) + rng.normal(0, 2, n) for s in range(series)]
    )  # (S, T)
    starts = 24 * 14 - 1 + horizon * np.arange(cutoffs)
    at = starts[:, None] + np.arange(1, horizon + 1)  # (M, H)
    actual = y[:, at].reshape(-1, horizon)  # (S * M, H)
    # Rows of a block: the points of one forecaster and seed, by series, cutoff and step.
    points = pd.DataFrame(
        {
            "unique_id": np.repeat(ids, cutoffs * horizon),
            "cutoff": np.tile(stamps[starts].repeat(horizon), series),
            "ds": np.tile(stamps[at.ravel()], series),
            "step": np.tile(np.arange(1, horizon + 1), series * cutoffs),
            "y": actual.ravel(),
            "fit_cutoff": stamps[starts[0]],
        }
    )
    fits, runs, middles, quantiles = [], [], [], []
    for name, (family, backbone, decoder, noise, parameters) in chosen.items():
        for seed in range(seeds if family in NETWORKS else 1):
            spread = noise * 8 * np.sqrt(1 + np.arange(horizon) / horizon) * (1 + 0.05 * seed)
            middle = 0.3 * actual + 0.7 * (actual + rng.normal(0, 1, actual.shape) * spread)
            runs.append((name, seed))
            middles.append(middle.ravel())
            quantiles.append((middle[..., None] + Z * spread[:, None] * 0.8).reshape(-1, len(Z)))
            fits.append(
                {
                    "forecaster": name,
                    "seed": seed,
                    "fit_cutoff": stamps[starts[0]],
                    "family": family,
                    "backbone": backbone,
                    "decoder": decoder,
                    "parameters": parameters,
                    "fit_seconds": 0.01 if parameters == 0 else parameters / 1500,
                    "predict_seconds": 0.1 + parameters / 50_000,
                    "forecasts": series * cutoffs,
                }
            )
    forecasts = pd.concat([points] * len(runs), ignore_index=True)
    names, numbers = zip(*runs, strict=True)
    forecasts["forecaster"], forecasts["seed"] = np.repeat(names, len(points)), np.repeat(numbers, len(points))
    forecasts["prediction"] = forecasts["mean"] = np.concatenate(middles)
    forecasts = forecasts.join(pd.DataFrame(np.concatenate(quantiles), columns=LEVELS))
    changes = [(own[24 : c + 1] - own[: c + 1 - 24], s, c) for s, own in enumerate(y) for c in starts]
    scales = [(ids[s], stamps[c], np.abs(change).mean(), (change**2).mean()) for change, s, c in changes]
    ledger = Ledger.of(
        forecasts=forecasts,
        scales=pd.DataFrame(scales, columns=["unique_id", "cutoff", "absolute", "squared"]),
        fits=pd.DataFrame(fits),
        season_length=24,
    )
    return ledger, pd.DataFrame({"unique_id": np.repeat(ids, n), "ds": np.tile(stamps, series), "y": y.ravel()})


def make_plan(cutoffs=20, refit=5, clock="dates", validation=True, zone=None, horizon=24):
    """The folds that belong to `make_ledger`: a fit every `refit` folds."""
    n = 24 * 14 + cutoffs * horizon
    stamps = pd.date_range("2017-06-01", periods=n, freq="h", tz=zone) if clock == "dates" else pd.RangeIndex(n)
    rows = []
    for k in range(cutoffs):
        c, fit = 24 * 14 - 1 + k * horizon, k - k % refit
        fit_cutoff = 24 * 14 - 1 + fit * horizon
        rows.append(
            {
                "fold": k,
                "cutoff": stamps[c],
                "train_start": stamps[0],
                "train_end": stamps[fit_cutoff - 48] if validation else stamps[fit_cutoff],
                "validation_start": stamps[fit_cutoff - 47] if validation else (pd.NaT if clock == "dates" else np.nan),
                "test_start": stamps[c + 1],
                "test_end": stamps[c + horizon],
                "fit_fold": fit,
            }
        )
    return pd.DataFrame(rows)


def with_forecasts(ledger, table):
    """Give a ledger with another table of forecasts."""
    return Ledger.of(table.drop(columns="status"), ledger.scales, ledger.fits, ledger.season_length)
