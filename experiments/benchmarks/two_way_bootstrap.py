"""What the intervals of a comparison cost: seconds and memory of the two-way bootstrap.

    python experiments/benchmarks/two_way_bootstrap.py [--series 100] [--folds 20] [--forecasters 10] [--seeds 5]

Errors are random; one row for each number of resamples: seconds to draw and compare them, seconds for intervals of all
pairs, and the most memory held by arrays on the way. Run it on one thread: OMP_NUM_THREADS=1.
"""

import argparse
import tracemalloc
from time import perf_counter

import numpy as np

from forecast.evaluation.statistics.bootstrap import two_way
from forecast.evaluation.statistics.errors import Errors


def random_errors(series: int, folds: int, forecasters: int, seeds: int) -> Errors:
    """Give errors of as many forecasters, each with as many seeds but the first, which has one."""
    numbers = (1, *[seeds] * (forecasters - 1))
    values = np.random.default_rng(0).gamma(9.0, size=(sum(numbers), series, folds))
    names = tuple(f"forecaster {place}" for place in range(forecasters))
    return Errors(values, names, numbers, tuple(range(series)))


def main() -> None:
    """Print a row for each number of resamples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=100)
    parser.add_argument("--folds", type=int, default=20)
    parser.add_argument("--forecasters", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--resamples", type=int, nargs="+", default=[2_000, 10_000])
    options = parser.parse_args()
    errors = random_errors(options.series, options.folds, options.forecasters, options.seeds)
    group = np.arange(options.series)
    runs, series, folds = errors.values.shape
    print(f"{runs} runs, {series} series, {folds} folds: {errors.values.nbytes / 2**20:.1f} MiB of errors")
    print("resamples   compare s   intervals s   peak MiB")
    for resamples in options.resamples:
        start = perf_counter()
        logs, _ = two_way(errors, group=group, block=1, resamples=resamples)
        compared = perf_counter()
        pairs = logs.apply(lambda mean: mean[:, :, None] - mean[:, None, :])
        pairs.interval()
        pairs.apart()
        done = perf_counter()
        tracemalloc.start()  # apart from the clock, which it would slow down
        two_way(errors, group=group, block=1, resamples=resamples)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"{resamples:9d} {compared - start:11.2f} {done - compared:13.2f} {peak / 2**20:10.0f}", flush=True)


if __name__ == "__main__":
    main()
