"""What it costs to forecast a folder of Parquet files, in seconds and memory, by how many series it has.

    python experiments/benchmarks/folder_prediction.py [SERIES ...] [--layout long rows] [--workers 2] [--fit]

The default LSTM (128 wide, as by rule for more than 200,000 values) forecasts 14 days of walks at random of 200 days.
`forecast predict` runs in processes of its own, on folders that are written to a temporary place, files of 10,000
series. `seconds` are those of the whole command on the clock, start included, and `processor` those of all its
processes, which tell the same on a machine that is shared; `memory` is the most that its processes had together at one
time, shared pages counted once; `again` is the same command where all is done. The last lines give the seconds of the
processor beside the series, and those of a million more, from the smallest and the largest folder.

`--parts` gives the microseconds of the processor that each part of the work takes for a series instead. `--fit` times a
fit of 50 steps on the largest folder, and its memory.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from forecast import NeuralForecaster, Training, check_frame
from forecast.folders import look_at_ids, source_of, tables_of
from forecast.forecaster import Forecaster
from forecast.origins import origins_of

LENGTH, HORIZON, PER_FILE, LEARNED = 200, 14, 10_000, 2_000
SIZES = (2_000, 20_000, 200_000)
PREDICT = "import sys; from forecast.cli import main; sys.argv = ['forecast', *sys.argv[1:]]; main()"
FIT = (
    "import sys, warnings; warnings.simplefilter('ignore'); from forecast import NeuralForecaster, Training; "
    f"NeuralForecaster('lstm', {HORIZON}, training=Training(steps=50)).fit(sys.argv[1], freq='D')"
)


def table(series: range, layout: str) -> pa.Table:
    """Give walks at random, long or with a row for each."""
    values = np.random.default_rng(series.start).normal(size=(len(series), LENGTH)).astype("float32").cumsum(1)
    ids, day = pa.array([f"series {number:09d}" for number in series]), np.datetime64("2024-01-01", "us")
    if layout == "rows":
        lists = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), LENGTH).cast(pa.list_(pa.float32()))
        return pa.table({"unique_id": ids, "ds": np.full(len(ids), day), "y": lists})
    days = day + np.arange(LENGTH) * np.timedelta64(1, "D")
    ids = ids.take(pa.array(np.repeat(np.arange(len(ids)), LENGTH)))
    return pa.table({"unique_id": ids, "ds": np.tile(days, len(series)), "y": values.ravel()})


def write(folder: Path, series: int, layout: str) -> Path:
    """Write a folder of walks."""
    folder.mkdir()
    for begin in range(0, series, PER_FILE):
        some = range(begin, min(begin + PER_FILE, series))
        pq.write_table(table(some, layout), folder / f"part-{begin // PER_FILE:05d}.parquet")
    return folder


def save_model(folder: Path) -> Path:
    """Fit the default LSTM, for a few steps only: what a forecast costs does not depend on it."""
    frame = table(range(LEARNED), "long").to_pandas()
    NeuralForecaster("lstm", HORIZON, training=Training(steps=20)).fit(frame).save(folder)
    return folder


@contextmanager
def watched(process: subprocess.Popen) -> Iterator[list[float]]:
    """Look ten times a second how many GB a process and its children have together."""
    seen, over = [0.0], threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            seen.append(sum(memory_of(pid) for pid in family(process.pid)))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def family(pid: int) -> list[int]:
    """Give a process and all that it has started."""
    try:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return [pid]
    return [pid, *(one for child in children for one in family(child))]


def memory_of(pid: int) -> float:
    """Give the GB of a process, a page that others share counted in parts."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1e6 for line in lines if line.startswith("Pss:")), 0.0)


def timed(program: str, *arguments: object) -> tuple[float, float, float]:
    """Run a program; give the seconds on the clock, those of the processor, and the GB it took."""
    began, used = time.perf_counter(), processor_of_children()
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, arguments)])
    with watched(process) as seen:
        status = process.wait()
    if status:
        raise SystemExit(f"the command has ended with {status}")
    return time.perf_counter() - began, processor_of_children() - used, max(seen)


def processor_of_children() -> float:
    """Give the seconds of the processor of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(sizes: list[int], layouts: list[str], workers: int, with_fit: bool) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        model = save_model(Path(scratch) / "model")
        for layout in layouts:
            rows = []
            for series in sizes:
                folder, out = write(Path(scratch) / f"{layout}-{series}", series, layout), Path(scratch) / "out"
                size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
                given = ["--model", model, "--data", folder, "--out", out / f"{layout}-{series}", "--workers", workers]
                out.mkdir(exist_ok=True)
                seconds, processor, memory = timed(PREDICT, "predict", *given, "--quiet")
                again, *_ = timed(PREDICT, "predict", *given, "--quiet")
                rows.append((layout, series, size, seconds, processor, 1e6 * processor / series, memory, again))
            names = ["layout", "series", "MB", "seconds", "processor", "us a series", "memory GB", "again"]
            print(pd.DataFrame(rows, columns=names).round(2).to_string(index=False), flush=True)
            if len(sizes) > 1:
                slope = (rows[-1][4] - rows[0][4]) / (sizes[-1] - sizes[0])
                print(f"{rows[0][4] - slope * sizes[0]:.1f} s beside the series, {1e6 * slope:.0f} s a million series")
            if with_fit:
                seconds, processor, memory = timed(FIT, folder)
                print(f"a fit on {sizes[-1]:,} series: {seconds:.1f} s, {processor:.1f} s, {memory:.2f} GB")


def parts(layouts: list[str]) -> None:
    """Print what each part of the work costs for a series, of one file, in one thread."""
    with tempfile.TemporaryDirectory() as scratch:
        forecaster = Forecaster.load(save_model(Path(scratch) / "model"))
        rows = []
        for layout in layouts:
            source = source_of(write(Path(scratch) / layout, PER_FILE, layout))
            tables = list(tables_of(source, source.files[0], "D"))
            frame = pa.concat_tables([one for one, _ in tables])
            panel = check_frame(frame)
            origins = origins_of(panel)
            forecast = forecaster.forecast(panel, origins)
            tidy = forecaster.tidy(panel, origins, forecast)
            given = panel.form.give(tidy)
            calls: dict[str, Callable[[], object]] = {
                "ids": lambda source=source: look_at_ids(source),
                "read": lambda source=source: list(tables_of(source, source.files[0], "D")),
                "check": lambda frame=frame: check_frame(frame),
                "forecast": lambda panel=panel, origins=origins: forecaster.forecast(panel, origins),
                "table": lambda panel=panel, tidy=tidy: panel.form.give(tidy),
                "write": lambda given=given: pq.write_table(
                    given,
                    Path(scratch) / "out",
                    compression="zstd",
                    use_dictionary=["unique_id", "cutoff", "ds", "step"],
                ),
            }
            rows.append({"layout": layout, **{name: spent(call) for name, call in calls.items()}})
        print(pd.DataFrame(rows).round(1).to_string(index=False))


def spent(call: Callable[[], object]) -> float:
    """Give the least microseconds of the processor for a series, of three calls."""
    times = []
    for _ in range(3):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return 1e6 * min(times) / PER_FILE


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--layout", nargs="+", choices=["long", "rows"], default=["long", "rows"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--parts", action="store_true")
    given = parser.parse_args()
    if given.parts:
        parts(given.layout)
    else:
        measure(given.series, given.layout, given.workers, given.fit)
