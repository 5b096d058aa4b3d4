"""What a call of the public API costs on small data: a fit on one series of 100 hours, and forecasts of 12 steps.

    python experiments/benchmarks/call_cost.py

Each forecaster has a fresh process. `import` is that of its class, `more` what its first fit imports beside, which is
lightning. `fit` is the rest of the first fit there and `again` the second one, with all steps of the default, less the
seconds within the steps of training and validation: what the door, lightning and the making of windows and network
take. Then `predict()`, `predict(frame)` and the door alone: medians of 200 calls.
All are seconds of the processor, which an idle machine's clock agrees with, and one that is shared does not spoil.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import wraps
from importlib import import_module
from statistics import median
from time import process_time
from typing import Any

HORIZON, ROWS, CALLS = 12, 100, 200
COLUMNS = ("import s", "more s", "fit s", "again s", "predict() ms", "predict(frame) ms", "door ms")
FORECASTERS = ("SeasonalNaive", "lstm", "tcn", "transformer")


def made(name: str) -> Any:
    """Give the forecaster of a name, with its defaults."""
    import forecast

    return getattr(forecast, name)(HORIZON) if name[0].isupper() else forecast.NeuralForecaster(name, HORIZON)


def counted(kind: type, names: tuple[str, ...]) -> list[float]:
    """Let methods of a class count the seconds spent in them; give the list to which every call adds its own."""
    spent: list[float] = []
    for name in names:
        method = getattr(kind, name)

        @wraps(method)
        def timed(*given, method=method):
            began = process_time()
            try:
                return method(*given)
            finally:
                spent.append(process_time() - began)

        setattr(kind, name, timed)
    return spent


def milliseconds(call: Callable[[], object]) -> float:
    """Give the median over many calls, the first ones left out."""
    taken = []
    for _ in range(CALLS + 5):
        began = process_time()
        call()
        taken.append(1e3 * (process_time() - began))
    return median(taken[5:])


def costs_of(name: str) -> list[float]:
    """Give the columns of one forecaster, in a process where nothing has been imported."""
    began = process_time()
    made(name)
    imported = process_time() - began
    import numpy as np
    import pandas as pd

    from forecast import check_frame

    values = np.random.default_rng(0).normal(size=ROWS).cumsum()
    frame = pd.DataFrame({"unique_id": "a", "ds": pd.date_range("2024-01-01", periods=ROWS, freq="h"), "y": values})
    spent: list[float] = []
    began = process_time()
    if not name[0].isupper():
        import_module("forecast.fitting")
        training = import_module("forecast.network_training").NetworkTraining
        spent = counted(training, ("training_step", "validation_step"))
    more = process_time() - began
    fits = []
    for _ in range(2):
        spent.clear()
        began = process_time()
        forecaster = made(name).fit(frame)
        fits.append(process_time() - began - sum(spent))
    calls = (forecaster.predict, lambda: forecaster.predict(frame), lambda: check_frame(frame))
    return [imported, more, *fits, *map(milliseconds, calls)]


if __name__ == "__main__":
    print(f"{'':<14}", *(f"{column:>17}" for column in COLUMNS))
    for name in FORECASTERS:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            print(f"{name:<14}", *(f"{cost:17.3f}" for cost in process.submit(costs_of, name).result()), flush=True)
