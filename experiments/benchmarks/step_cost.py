"""Where an optimiser step of `NeuralForecaster.fit` spends its time, beside a bare loop over the same tensors.

    python experiments/benchmarks/step_cost.py

Both train the same network with the same loss, optimiser, schedule and clipping on windows of one random panel, at the
sizes that the rules give it: of the size of ETTh1's training rows, and a small one. They run in turn, several times;
all is in seconds of the processor, medians of the rounds, and the ratio is the median of their ratios.

`fit` is a step of the public API, without what a fit of one step takes. `bare` is a step of the plain loop, of which
`forward`, `backward`, `clip` and `update` are the parts. `data` is the gathering of the windows of a step, and
`lightning` what is left of `fit` without `bare` and `data`.
"""

from statistics import median
from time import process_time

import numpy as np
import pandas as pd
import torch

from forecast import NeuralForecaster, Training, check_frame
from forecast.data import WindowDataModule
from forecast.frame import Panel
from forecast.network_training import NetworkTraining
from forecast.nn.network import ALL
from forecast.schedule import Schedule
from forecast.windows import Batch

ROUNDS = 5
SIZES = {"ETTh1": (7, 8640, 96, 60), "small": (3, 500, 12, 200)}  # series, hours, horizon, steps that are timed
PARTS = ("forward", "backward", "clip", "update")
COLUMNS = ("fit", "bare", "ratio", *PARTS, "data", "lightning", "data/fit")


def random_panel(series: int, hours: int) -> Panel:
    """Give walks at random."""
    values = np.random.default_rng(0).normal(size=(series, hours)).cumsum(1)
    stamps = pd.date_range("2024-01-01", periods=hours, freq="h")
    parts = [pd.DataFrame({"unique_id": f"series {i}", "ds": stamps, "y": y}) for i, y in enumerate(values)]
    return check_frame(pd.concat(parts, ignore_index=True))


def training(steps: int) -> Training:
    """Give training without validation."""
    return Training(steps=steps, validation_length=0)


def seconds_of_fit(backbone: str, horizon: int, panel: Panel, steps: int) -> float:
    """Give the seconds per step of the public API."""

    def fit(count: int) -> float:
        began = process_time()
        NeuralForecaster(backbone, horizon, training=training(count)).fit(panel)
        return process_time() - began

    return (fit(steps + 1) - fit(1)) / steps


class Bare:
    """A plain loop over tensors gathered beforehand, for a network of the sizes of a forecaster that was fitted."""

    def __init__(self, forecaster: NeuralForecaster, panel: Panel, steps: int):
        self.forecaster = forecaster
        self.panel = panel
        self.steps = steps

    def data(self) -> tuple[WindowDataModule, Schedule]:
        """Give the windows as a fit of so many steps gathers them, those of several steps at once."""
        fitted, size = self.forecaster, self.forecaster.training.batch_size
        values = size * (fitted.context_length_ + fitted.horizon)
        schedule = Schedule.of(training(self.steps), self.steps, values, in_parts=False)
        data = WindowDataModule(
            self.panel,
            context_length=fitted.context_length_,
            horizon=fitted.horizon,
            patch_length=fitted.patch_length_,
            batch_size=size * schedule.steps,
            batches=schedule.batches,
            validation_length=0,
            seed=0,
        )
        return data, schedule

    def gathered(self) -> tuple[list[Batch], float]:
        """Give the batches of all steps, and the seconds per step to gather them."""
        data, schedule = self.data()
        began = process_time()
        batches = [part for batch in data.train_dataloader() for part in batch.parts(schedule.steps)]
        return batches[: self.steps], (process_time() - began) / len(batches)

    def run(self) -> dict[str, float]:
        """Give the seconds per step of the loop, of its parts and of gathering the data."""
        fitted, options = self.forecaster, training(self.steps)
        levels = fitted.quantile_levels
        module = NetworkTraining(
            fitted.network_.train(), options, horizon=fitted.horizon, quantile_levels=levels, steps_per_batch=1
        )
        made = module.configure_optimizers()
        optimizer, scheduler = made["optimizer"], made["lr_scheduler"]
        batches, data = self.gathered()
        marks = []
        for batch in batches:
            marks.append([process_time()])
            loss = module.loss(batch, ALL)
            marks[-1].append(process_time())
            loss.backward()
            marks[-1].append(process_time())
            torch.nn.utils.clip_grad_norm_(module.network.parameters(), options.clip)
            marks[-1].append(process_time())
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            scheduler.step()
            marks[-1].append(process_time())
        spent = np.diff(np.array(marks), axis=1).mean(axis=0)
        return {"bare": float(spent.sum()), **dict(zip(PARTS, spent.tolist(), strict=True)), "data": data}


def measured(backbone: str, horizon: int, panel: Panel, steps: int) -> dict[str, float]:
    """Give the medians of all columns but the shares in milliseconds."""
    bare = Bare(NeuralForecaster(backbone, horizon, training=training(1)).fit(panel), panel, steps)
    rounds = []
    for _ in range(ROUNDS):
        found = {"fit": seconds_of_fit(backbone, horizon, panel, steps), **bare.run()}
        found["lightning"] = found["fit"] - found["bare"] - found["data"]
        rounds.append(found)
    medians = {name: 1e3 * median(found[name] for found in rounds) for name in rounds[0]}
    medians["ratio"] = median(found["fit"] / found["bare"] for found in rounds)
    medians["data/fit"] = median(found["data"] / found["fit"] for found in rounds)
    return medians


if __name__ == "__main__":
    torch.set_num_threads(1)  # as in a fit
    print(f"{'ms a step':<19}", *(f"{column:>9}" for column in COLUMNS))
    for size, (series, hours, horizon, steps) in SIZES.items():
        panel = random_panel(series, hours)
        for backbone in ("lstm", "tcn", "transformer"):
            found = measured(backbone, horizon, panel, steps)
            print(f"{size:<6} {backbone:<12}", *(f"{found[column]:9.2f}" for column in COLUMNS), flush=True)
