"""What Lightning costs: time per optimiser step of `NeuralForecaster.fit` beside a bare loop over the same tensors.

    python experiments/benchmarks/step_cost.py

Both train the same network with the same loss, optimiser, schedule and clipping on windows of one random panel. They
run in turn, several times; the median of the ratios is what counts, since a machine that is shared makes both slower.
"""

from statistics import median
from time import perf_counter

import numpy as np
import pandas as pd
import torch

from forecast import NeuralForecaster, Training, check_frame
from forecast.data import WindowDataModule
from forecast.nn.network import ALL
from forecast.training import NetworkTraining

STEPS, HORIZON, ROUNDS = 200, 24, 3


def random_panel():
    """Give seven series of 8,640 hours, the size of ETTh1's training rows."""
    values = np.random.default_rng(0).normal(size=(7, 8640)).cumsum(1)
    stamps = pd.date_range("2024-01-01", periods=8640, freq="h")
    parts = [pd.DataFrame({"unique_id": f"series {i}", "ds": stamps, "y": y}) for i, y in enumerate(values)]
    return check_frame(pd.concat(parts, ignore_index=True))


def seconds_of_fit(backbone, panel) -> float:
    """Give the seconds per step of the public API, without what a fit of one step takes."""
    options = {"validation_length": 0, "patience": None}

    def fit(steps):
        began = perf_counter()
        NeuralForecaster(backbone, HORIZON, training=Training(steps=steps, **options)).fit(panel)
        return perf_counter() - began

    return (fit(STEPS + 1) - fit(1)) / STEPS


def seconds_of_bare_loop(backbone, panel) -> float:
    """Give the seconds per step of a plain loop over tensors gathered beforehand."""
    options = Training(steps=STEPS, validation_length=0)
    forecaster = NeuralForecaster(backbone, HORIZON, training=Training(steps=1, validation_length=0)).fit(panel)
    module = NetworkTraining(
        forecaster.network_.train(),
        options,
        horizon=HORIZON,
        quantile_levels=forecaster.quantile_levels,
        steps_per_batch=1,
    )
    data = WindowDataModule(
        panel,
        context_length=forecaster.context_length_,
        horizon=HORIZON,
        patch_length=forecaster.patch_length_,
        batch_size=options.batch_size,
        batches=STEPS,
        validation_length=0,
        seed=0,
    )
    made = module.configure_optimizers()
    optimizer, scheduler = made["optimizer"], made["lr_scheduler"]
    batches = list(data.train_dataloader())
    began = perf_counter()
    for batch in batches:
        loss = module.loss(batch, ALL)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.network.parameters(), options.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        scheduler.step()
    return (perf_counter() - began) / STEPS


if __name__ == "__main__":
    torch.set_num_threads(1)  # as in a fit
    panel = random_panel()
    print(f"{'backbone':<12} {'fit ms/step':>12} {'bare ms/step':>13} {'ratio':>6}")
    for backbone in ("lstm", "tcn", "transformer"):
        pairs = [(seconds_of_fit(backbone, panel), seconds_of_bare_loop(backbone, panel)) for _ in range(ROUNDS)]
        fit, bare = (median(column) for column in zip(*pairs, strict=True))
        ratio = median(fit / bare for fit, bare in pairs)
        print(f"{backbone:<12} {1e3 * fit:12.2f} {1e3 * bare:13.2f} {ratio:6.2f}")
