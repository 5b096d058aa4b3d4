"""foretell beside its peers: error against seconds, all in turn, each in a process of its own.

    FORECAST_DATA_HOME=DATA python experiments/benchmarks/peers/run.py VENVS

VENVS holds one virtual environment for each library, named by it (see experiments/README.md). A round runs every
library on every task and family once, ours first, whose steps the peers' second runs take; then the next round follows,
with another seed. Rows go to runs.csv as they are made; a run that is there, also one that failed, is not made again
until its row is deleted. table.md and plot.png are written anew at the end. Use a machine that does nothing else.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from drawing import draw, table_of
from peer import FAMILIES

HERE = Path(__file__).parent
PEERS = {
    "neuralforecast": "neuralforecast_run.py",
    "darts": "darts_run.py",
    "gluonts": "gluonts_run.py",
    "pytorch-forecasting": "pytorch_forecasting_run.py",
}
LACKING = {("pytorch-forecasting", "tcn")}
KEY = ("data", "family", "library", "setting", "seed")
COLUMNS = (
    *(*KEY, "version", "model", "steps", "parameters"),
    *("import_seconds", "fit_seconds", "predict_seconds", "wall_seconds", "peak_mb"),
    *("windows", "all_windows", "mse", "mae", "mase", "smape", "cap", "failure"),
)


def jobs(asked: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Give the runs in the order in which they are made."""
    for seed in range(asked.rounds):
        for data in asked.data:
            if seed == 0:
                for rule in ("seasonal naive", "nlinear"):
                    yield {"data": data, "family": rule, "library": "foretell", "setting": "fast", "seed": 0}
            for family in asked.families:
                kinds = [("foretell", setting) for setting in asked.presets]
                kinds += [
                    (library, setting)
                    for setting in ("defaults", "equal steps")
                    for library in asked.libraries
                    if (library, family) not in LACKING
                ]
                for library, setting in kinds:
                    yield {"data": data, "family": family, "library": library, "setting": setting, "seed": seed}


def run(job: dict[str, Any], steps: int | None, asked: argparse.Namespace) -> dict[str, Any]:
    """Make one run, and give its row; one that fails says why under `failure`."""
    ours = job["library"] == "foretell"
    python = sys.executable if ours else str(python_of(asked.venvs, job["library"]))
    script = HERE / ("ours.py" if ours else PEERS[job["library"]])
    options = [f"--{name}={job[name]}" for name in ("data", "family", "setting", "seed")] + [f"--cap={asked.cap}"]
    if steps is not None:
        options.append(f"--steps={steps}")
    command, on_processor = [python, str(script), *options], os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    began = perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=asked.timeout, env=on_processor, check=False
        )
    except subprocess.TimeoutExpired:
        return {**job, "cap": asked.cap, "failure": f"stopped after {asked.timeout:g} s"}
    wall = perf_counter() - began
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return {**job, "cap": asked.cap, "wall_seconds": wall, "failure": said[-1][:200]}
    return {**json.loads(done.stdout.splitlines()[-1]), "cap": asked.cap, "wall_seconds": wall}


def python_of(venvs: Path, library: str) -> Path:
    """Give the interpreter of a library's environment."""
    return venvs / library / "bin" / "python"


def key_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Give what tells a run from all others, as it stands in the file."""
    return tuple(str(row[name]) for name in KEY)


def read(path: Path) -> list[dict[str, str]]:
    """Read the rows that are there."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, row: dict[str, Any]) -> None:
    """Write one more row."""
    is_new = not path.is_file()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if is_new:
            writer.writeheader()
        writer.writerow({name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()})


def main() -> None:
    """Make all runs that are not there yet, then the table and the plot."""
    asked = _parser().parse_args()
    if not os.environ.get("FORECAST_DATA_HOME"):
        raise SystemExit(
            "FORECAST_DATA_HOME is not set; name the folder that holds etth1.parquet and m4_hourly.parquet"
        )
    if missing := [library for library in asked.libraries if not python_of(asked.venvs, library).exists()]:
        raise SystemExit(
            f"`VENVS` is {str(asked.venvs)!r}, which has no {python_of(Path(), missing[0])}; make it from "
            f"{HERE / 'versions' / missing[0]}.txt, or leave it out with `--libraries`"
        )
    asked.out.mkdir(parents=True, exist_ok=True)
    path = asked.out / "runs.csv"
    known = {key_of(row): row for row in read(path)}
    todo = list(jobs(asked))
    for number, job in enumerate(todo, start=1):
        if key_of(job) in known:
            continue
        steps = asked.steps
        if steps is None and job["setting"] == "equal steps":
            first = known.get(key_of(job | {"library": "foretell", "setting": asked.presets[0]}))
            if first is None or not first["steps"]:
                continue  # ours failed, so that there are no steps to be equal to
            steps = int(first["steps"])
        print(f"{number}/{len(todo)} {' '.join(map(str, job.values()))}", end=": ", flush=True)
        row = run(job, steps, asked)
        append(path, row)
        known[key_of(row)] = {name: str(row.get(name, "")) for name in COLUMNS}
        print(row.get("failure") or f"{row['wall_seconds']:.1f} s", flush=True)
    rows = read(path)
    (asked.out / "table.md").write_text(table_of(rows), encoding="utf-8")
    draw(rows).savefig(asked.out / "plot.png", dpi=150)
    print(table_of(rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("venvs", type=Path, help="folder of virtual environments, one for each library")
    parser.add_argument("--data", nargs="+", choices=("etth1", "m4_hourly"), default=["etth1", "m4_hourly"])
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--libraries", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument(
        "--presets", nargs="+", default=["fast", "balanced"], help="of ours; the first sets equal steps"
    )
    parser.add_argument("--cap", type=float, default=90.0, help="seconds of a peer's fit after which training is ended")
    parser.add_argument("--steps", type=int, help="optimiser steps of all, to see whether everything runs")
    parser.add_argument("--rounds", type=int, default=1, help="how often, with one seed after another")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds after which a run counts as failed")
    parser.add_argument("--out", type=Path, default=Path("results/peers"))
    return parser


if __name__ == "__main__":
    main()
