"""What a rolling test of published size costs: 2,785 origins x 7 series x 96 steps, without a second fit.

    python experiments/benchmarks/rolling_test.py [lstm | tcn | transformer]

Each network, of the default sizes and after five steps, has a process of its own, so that its memory is its own. The
data are random, and of the size of ETTh1: 8,640 hours to train, 2,880 to validate and 2,880 to test. Seconds are told
by the clock and by the processor, since a machine that is shared makes the first longer. `fit` is what the test leaves
out, lightning's import with it; `forecast` are all forecasts, as a forecaster gives them; `ledger` is the rest of the
backtest, and `score` all metrics of the default. The most memory that the process had is told with the ledger made,
and in the end.
"""

import subprocess
import sys
from functools import wraps
from resource import RUSAGE_SELF, getrusage
from time import perf_counter, process_time

SERIES, TRAIN, VALIDATION, TEST, HORIZON = 7, 8640, 2880, 2880, 96
COLUMNS = ("import", "fit", "forecast", "ledger", "score", "all but fit")
FAMILIES = ("lstm", "tcn", "transformer")


def random_panel():
    """Give walks at random."""
    import numpy as np
    import pandas as pd

    from forecast import check_frame

    rows = TRAIN + VALIDATION + TEST
    values = np.random.default_rng(0).normal(size=(SERIES, rows)).cumsum(1)
    stamps = pd.date_range("2016-07-01", periods=rows, freq="h")
    parts = [pd.DataFrame({"unique_id": f"series {i}", "ds": stamps, "y": y}) for i, y in enumerate(values)]
    return check_frame(pd.concat(parts, ignore_index=True))


def megabytes() -> float:
    """Give the most memory that this process has had so far."""
    peak = getrusage(RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def timed(kind: type, name: str) -> list[tuple[float, float]]:
    """Let a method of a class add the seconds of each call, of the clock and of the processor, to the list given."""
    spent: list[tuple[float, float]] = []
    method = getattr(kind, name)

    @wraps(method)
    def call(*given, **named):
        began = now()
        try:
            return method(*given, **named)
        finally:
            spent.append(since(began))

    setattr(kind, name, call)
    return spent


def now() -> tuple[float, float]:
    """Give the time by the clock and by the processor."""
    return perf_counter(), process_time()


def since(began: tuple[float, float]) -> tuple[float, float]:
    """Give the seconds since then by both."""
    return perf_counter() - began[0], process_time() - began[1]


def measure(family: str) -> None:
    """Print what the rolling test of one network takes."""
    began = now()
    from forecast import NeuralForecaster, Plan, Training, backtest, score

    forecaster = NeuralForecaster(family, HORIZON, training=Training(steps=5))
    panel = random_panel()
    imported = since(began)
    fits, forecasts = timed(NeuralForecaster, "fit"), timed(NeuralForecaster, "_forecast")
    began = now()
    ledger = backtest(panel, {family: forecaster}, Plan.fixed_split(HORIZON, TRAIN, VALIDATION, TEST))
    tested, before = since(began), megabytes()
    began = now()
    score(ledger)
    scored = since(began)
    for which, clock in enumerate(("clock", "processor")):
        fit, forecast = sum(one[which] for one in fits), sum(one[which] for one in forecasts)
        rest = tested[which] - fit - forecast
        seconds = imported[which], fit, forecast, rest, scored[which], forecast + rest + scored[which]
        print(f"{family:<12} {clock:<10}", *(f"{cell:10.2f}" for cell in seconds), f"{before:8.0f} {megabytes():8.0f}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        print(f"{'':<23}", *(f"{column:>10}" for column in COLUMNS), "MB ledger", "MB all", flush=True)
        for family in FAMILIES:
            subprocess.run([sys.executable, __file__, family], check=True)
