"""The training of one network by lightning: its windows, its steps, its checkpoint, and what comes out of it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from lightning.pytorch import Callback

from forecast.borrowed import ONE_FIT, computing, quiet, seeded, switches
from forecast.checkpoint import Checkpoint, checksum_of, fit_of
from forecast.data import WindowDataModule
from forecast.drift import unfounded_drift
from forecast.judging import something_to_learn
from forecast.network_training import BestWeights, NetworkTraining, Told
from forecast.nn import ForecastNetwork
from forecast.processes import Processes, train
from forecast.progress import Bar
from forecast.ray_training import train_on_ray
from forecast.schedule import Schedule, trainer_arguments
from forecast.shape import Rows
from forecast.trust import trust_in

if TYPE_CHECKING:
    from forecast.neural import NeuralForecaster

_EQUAL = 0.5
_SAMPLE = 512  # training windows by which the anchor is set
_DRIFTING = 2048  # training windows by which a drift is told


@dataclass(frozen=True)
class Trained:
    """A trained network, its best loss on the validation windows, None without, and its learning curve."""

    network: ForecastNetwork
    validation_loss: float | None
    losses: np.ndarray


class Fitting:
    """Trains networks of a forecaster that has taken its shape from the rows of a fit, one after the other.

    A network starts from random weights, or from those that `weights` puts into it; `checkpoint` is the folder of its
    state, if it keeps one. It is removed by `done`.
    """

    def __init__(self, forecaster: "NeuralForecaster", rows: Rows):
        self.forecaster = forecaster
        self.rows = rows
        self.options = replace(forecaster.training, steps=forecaster.steps_)
        self.states: list[Checkpoint] = []

    def train(
        self,
        seed: int,
        label: str,
        build: Callable[[], ForecastNetwork],
        weights: Callable[[ForecastNetwork], None] | None,
        checkpoint: str | Path | None,
    ) -> Trained:
        """Train the network that `build` gives, with the seed of weights, windows and dropout."""
        forecaster, options = self.forecaster, self.options
        data, schedule = self._data(seed, in_parts=self.rows.validation > 0 or checkpoint is not None)
        bar = Bar(label, forecaster.steps_, "steps") if forecaster.verbose else None
        with ONE_FIT, seeded(seed), computing(options.threads), switches(), quiet(forecaster.verbose):
            network = build()
            module = NetworkTraining(
                network,
                options,
                horizon=forecaster.horizon,
                quantile_levels=forecaster.quantile_levels,
                steps_per_batch=schedule.steps,
            )
            if weights is None:
                module.begin(data.sample(_SAMPLE))
            else:
                weights(network)
            best = BestWeights(network, options.patience, first=schedule.epochs // 2)
            callbacks: list[Callback] = [best] if bar is None else [best, Told(bar)]
            if checkpoint is not None:
                fit = fit_of(forecaster.get_params(deep=False), self.rows.panel, network.state_dict())
                state = Checkpoint(checkpoint, fit, module, best)
                state.look()
                callbacks.append(state)
                self.states.append(state)
            arguments = trainer_arguments(forecaster.trainer, schedule.epochs, callbacks)
            processes = Processes(seed, options.threads, forecaster.verbose)
            if arguments.get("strategy") == "ray":
                train_on_ray(arguments, module, data, processes)
            else:
                train(arguments, module, data, processes, partial(self._told, seed))
            # Whatever the precision of training: it has rounded what is no weight too, such as a table of positions.
            whole = build().eval()
            whole.load_state_dict(network.cpu().float().state_dict())
        return Trained(whole, module.validation_loss, np.array(module.curve))

    def moderate(self, network: ForecastNetwork) -> None:
        """Take from a trained network the drift that is unfounded, and hear it as far as it is to be trusted."""
        data, _ = self._data(self.forecaster.seed, in_parts=False)
        with ONE_FIT, seeded(0), computing(self.options.threads):  # a loader draws a number, which nothing hangs on
            drift = unfounded_drift(network, *data.some_dataloader(_DRIFTING), self.forecaster.horizon)
        network.drift.copy_(torch.from_numpy(drift))
        network.trust.fill_(self._trust_in(network))

    def _trust_in(self, network: ForecastNetwork) -> float:
        """Give how far a trained network is to be heard, by the validation windows.

        A few blocks of them may be odd: where a linear map finds something in all that may be learned from, a network
        is heard in full. Where data had none to give up, it counts as much as an anchor that stands on its own, since
        equal weights of two forecasts are hard to beat (Bates and Granger 1969).
        """
        forecaster = self.forecaster
        if not self.rows.validation:
            return _EQUAL if network.anchor.smooths and not self.rows.asked else 1.0
        data, _ = self._data(forecaster.seed, in_parts=False)
        with ONE_FIT, seeded(0), computing(self.options.threads):
            trust = trust_in(network, data.val_dataloader(), forecaster.horizon)
        if trust == 1:
            return trust
        sizes = forecaster.season_length_, forecaster.horizon, forecaster.context_length_
        return 1.0 if something_to_learn(self.rows.training(), *sizes) else trust

    def done(self) -> None:
        """Remove the states of fits that are finished."""
        for state in self.states:
            state.remove()

    def _told(self, seed: int) -> dict[str, str]:
        """Give what tells this fit from others that another process may have begun by mistake."""
        return {"the seed": str(seed), "the training": repr(self.options), "the data": checksum_of(self.rows.panel)}

    def _data(self, seed: int, in_parts: bool) -> tuple[WindowDataModule, Schedule]:
        forecaster, options = self.forecaster, self.options
        across_series = forecaster.backbone_.across_series
        group = len(self.rows.panel) if across_series else 1
        batch_size = max(1, options.batch_size // group) * group  # whole groups
        values_per_step = batch_size * (forecaster.context_length_ + forecaster.horizon)
        schedule = Schedule.of(options, forecaster.steps_, values_per_step, in_parts)
        data = WindowDataModule(
            self.rows.panel,
            context_length=forecaster.context_length_,
            horizon=forecaster.horizon,
            patch_length=forecaster.patch_length_,
            batch_size=batch_size * schedule.steps,
            batches=schedule.batches,
            steps=schedule.steps,
            validation_length=self.rows.validation,
            embargo=options.embargo,
            seed=seed,
            across_series=across_series,
            encoding=forecaster.encoding_,
        )
        return data, schedule
