"""What a stream costs, and whether its forecasts stay as good as those of `predict`.

    python experiments/benchmarks/streaming.py [BACKBONE ...]
    python experiments/benchmarks/streaming.py --accuracy [BACKBONE ...]

Cost: median milliseconds of one update of one series, inside the network and through `Stream.update`, after histories
of several lengths; the size of what is carried; and of 1,000 series together one update, and the seconds that it takes
to begin after 100 values of each. One thread.

Accuracy: networks fitted on hourly temperatures (`nyc_weather`), as in experiments/default.yaml, up to 2,100 steps
before the end. MASE at each third cutoff of 2,000 further steps, streamed and by `predict` from the last context.
"""

import argparse
from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd
import torch

from forecast import NeuralForecaster, Training, check_frame, load
from forecast.frame import Panel
from forecast.nn import BACKBONES
from forecast.origins import origins_of

HORIZON = 24
LENGTHS, SERIES, UPDATES = (100, 1_000, 10_000), 1_000, 200


def walks(series: int, length: int) -> pd.DataFrame:
    """Give random walks on hours."""
    values = np.random.default_rng(0).normal(size=(series, length)).cumsum(1)
    return pd.DataFrame(
        {
            "unique_id": np.repeat([f"series {i}" for i in range(series)], length),
            "ds": np.tile(pd.date_range("2020-01-01", periods=length, freq="h").to_numpy(), series),
            "y": values.ravel(),
        }
    )


def medians(calls) -> list[float]:
    """Give the median milliseconds of each of several calls, made in turn: a machine that is shared slows all alike."""
    times = [[] for _ in calls]
    for turn in range(UPDATES):
        for call, spent in zip(calls, times, strict=True):
            began = perf_counter()
            call(turn)
            spent.append(1e3 * (perf_counter() - began))
    return [median(spent[UPDATES // 10 :]) for spent in times]


def cost(name: str) -> None:
    """Print what updates cost with one backbone under the direct decoder."""
    frame = walks(1, LENGTHS[-1] + UPDATES)
    forecaster = NeuralForecaster(name, HORIZON, training=Training(steps=1, validation_length=0)).fit(frame)
    streams = [forecaster.stream(frame.iloc[:length]) for length in LENGTHS]
    sizes = {stream.streams.nbytes for stream in streams}
    rows = [[frame.iloc[[length + turn]] for turn in range(UPDATES)] for length in LENGTHS]
    outside = medians([lambda turn, s=s, r=r: s.update(r[turn]) for s, r in zip(streams, rows, strict=True)])
    one, values = torch.tensor([0]), torch.randn(UPDATES, 1)
    inside = medians([lambda turn, s=s.streams: s.step(one, values[turn]) for s in streams])
    sizes |= {stream.streams.nbytes for stream in streams}
    told = "".join("".join(f"{ms:8.2f}" for ms in part) + f"{max(part) / min(part):7.2f}" for part in (inside, outside))
    update, begin = (float("nan"),) * 2 if BACKBONES[name].across_series else cost_of_many(forecaster)
    many = f"{update:9.1f}{begin:9.1f}"
    print(f"{name:<20}{told}{' to '.join(f'{size:,}' for size in sorted(sizes)):>11}{many}", flush=True)


def cost_of_many(forecaster: NeuralForecaster) -> tuple[float, float]:
    """Give the median milliseconds of one update of many series together, and the seconds in which they began."""
    frame = walks(SERIES, 100 + UPDATES // 5)
    hours = frame["ds"].unique()
    began, times = perf_counter(), []
    stream = forecaster.stream(frame[frame["ds"] < hours[100]])
    begin = perf_counter() - began
    for hour in hours[100:]:
        rows = frame[frame["ds"] == hour]
        began = perf_counter()
        stream.update(rows)
        times.append(1e3 * (perf_counter() - began))
    return median(times), begin


def mase(forecasts: pd.DataFrame, panel: Panel, past: Panel) -> float:
    """Give the mean absolute error in that of yesterday's value, in the past of each series; mean over series."""
    table = forecasts.merge(panel.to_frame(), on=["unique_id", "ds"])
    errors = (table["prediction"] - table["y"]).abs().groupby(table["unique_id"]).mean()
    known = past.to_frame().pivot(index="ds", columns="unique_id", values="y")
    return float((errors / known.diff(HORIZON).abs().mean()).mean())


def accuracy(name: str, decoder: str, patch_length: int | None) -> None:
    """Print how far the MASE of streamed forecasts is from that of `predict`."""
    panel = check_frame(load("nyc_weather"), gaps="mask")
    begin = int(panel.last.max()) - 2_100
    past = panel.until(begin)
    forecaster = NeuralForecaster(
        name,
        HORIZON,
        decoder=decoder,
        patch_length=patch_length,
        context_length=168,
        training=Training(steps=200, learning_rate=0.0005),
    ).fit(load("nyc_weather").pipe(lambda f: f[f["ds"] <= panel.calendar.stamp(begin)]), gaps="mask")
    stream = forecaster.stream(past)
    cutoffs = np.arange(begin + 3, begin + 2_001, 3)
    rows = panel.until(begin + 2_000).since(begin + 1).to_frame()
    streamed = [
        stream.update(rows[rows["ds"].between(*panel.calendar.stamps([cutoff - 2, cutoff]))]) for cutoff in cutoffs
    ]
    origins = origins_of(panel, cutoffs)
    recomputed = forecaster.tidy(panel, origins, forecaster.forecast(panel, origins))
    first, second = (mase(table, panel, past) for table in (pd.concat(streamed), recomputed))
    which = f"{name:<20}{decoder:<10}{forecaster.patch_length_:>3}"
    print(f"{which}{first:10.4f}{second:10.4f}{100 * (first / second - 1):+8.2f} %", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("backbones", nargs="*", default=list(BACKBONES))
    asked = parser.parse_args()
    torch.set_num_threads(1)  # as in a fit
    if asked.accuracy:
        print(f"{'backbone':<20}{'decoder':<10}{'P':>3}{'streamed':>10}{'predict':>10}")
        for name in asked.backbones:
            accuracy(name, "direct", None)
            accuracy(name, "recursive", 8)
    else:
        print(f"{'':<20}{'ms in the network':<31}{'ms of update':<31}{'bytes':>11}{'1,000 series':>18}")
        print(
            f"{'backbone':<20}"
            + 2 * ("".join(f"{n:>8,}" for n in LENGTHS) + f"{'ratio':>7}")
            + f"{'':>11}{'ms':>9}{'begin s':>9}"
        )
        for name in asked.backbones:
            cost(name)
