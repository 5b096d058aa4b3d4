"""The one LightningModule: it trains any network on every origin of every window.

Several optimiser steps are made in one `training_step`, since Lightning's own cost per call is a multiple of a small
network's step. What forecasts does not import this: lightning takes seconds to load. B batch, T time step, P patch
length, N token, H horizon.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, cast

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor, nn

from forecast.nn.losses import pinball, squared
from forecast.nn.network import ALL, LAST, ForecastNetwork, Patches
from forecast.progress import Bar
from forecast.training import Training
from forecast.windows import Batch

LEAST_READ = 8  # values that must have been read before an origin counts: a scale of fewer is mostly chance
_PATIENCE = 5  # "auto"
# Shortcuts have far to go from where they start, and too few weights to learn noise by heart.
SHORTCUT_SPEED = 5.0  # their learning rate in those of the network's


class NetworkTraining(LightningModule):
    """Trains a network by the pinball loss in scaled units, at every origin that has read enough.

    A batch holds K B windows, K = `steps_per_batch`: one optimiser step for each B of them. Logged once per epoch:
    `train_loss`, `val_loss`; `curve` keeps both, after how many steps. `validation_loss` is the best in the end.

    Of several processes each has a shard of the B windows, and its loss is such that the mean over all of them, to
    which lightning brings the gradients, is the loss of the whole: one process with B windows would make the same step.
    """

    levels: Tensor

    def __init__(
        self,
        network: ForecastNetwork,
        training: Training,
        *,
        horizon: int,
        quantile_levels: Sequence[float],
        steps_per_batch: int,
    ):
        super().__init__()
        self.automatic_optimization = False
        self.network = network
        self.training_options = training
        self.all_steps = training.steps or 1
        self.horizon = horizon
        self.steps_per_batch = steps_per_batch
        self.register_buffer("levels", torch.tensor(list(quantile_levels)), persistent=False)
        self.world_size = 1
        self.loss_sum = torch.zeros(())  # no buffer, which the first process would give to the others
        self.losses = 0
        self.steps = 0
        self.curve: list[tuple[float, float, float]] = []
        self.validation_loss: float | None = None
        self.validated: dict[int, Patches] = {}  # by batch: they are the same every time, and take long to read

    def begin(self, batch: Batch) -> None:
        """Put the anchor where least squares has it for windows of training, from all their origins."""
        network, patches = self.network, self._read(batch)
        targets, counted = self._labels(batch, ALL)
        ready = _ready(patches.ends.scale, patches.ends.count, network.context_length).unsqueeze(-1)
        weights = torch.where(ready, counted, 0.0)
        network.anchor.solve(patches.ends, patches.past, targets, weights)

    def loss(self, batch: Batch, origins: slice, patches: Patches | None = None) -> Tensor:
        """Give the mean loss of windows (B, T + H) over their origins, on the steps that the decoder reaches.

        `patches` are those of the windows, where they were read already.
        """
        network, patches = self.network, patches or self._read(batch)
        targets, counted = self._labels(batch, origins)
        led = targets if self.training else None
        scaled = network.decode(patches, network.backbone(network.tokens(patches)), origins, led)
        ready = _ready(scaled.scale.squeeze(-1), scaled.count, network.context_length).unsqueeze(-1)
        weights = torch.where(ready, counted, 0.0)
        targets = (targets - scaled.anchor) / torch.where(scaled.scale > 0, scaled.scale, 1.0)
        total = self._total(weights)
        if network.recipe.loss == "squared":
            return squared(scaled.quantiles, targets, weights, self.levels, network.median, total)
        return pinball(scaled.quantiles, targets, weights, self.levels, total)

    def _total(self, weights: Tensor) -> Tensor | None:
        """Give what counts in all shards, by which to divide a loss whose mean over the processes is taken; None in one
        process.
        """
        if self.world_size == 1:
            return None
        total = weights.sum()
        torch.distributed.all_reduce(total)
        return total.clamp(min=1) / self.world_size

    def _read(self, batch: Batch) -> Patches:
        context = batch.values[:, : batch.values.shape[1] - self.horizon]
        return self.network.read(context, batch.cutoffs, batch.covariates)

    def _labels(self, batch: Batch, origins: slice) -> tuple[Tensor, Tensor]:
        """Give the steps after the patches of origins, as the network reads them, and how much each counts, (B, n,
        reach).
        """
        network, values = self.network, batch.values
        P, reach, context = network.patch_length, network.decoder.reach, values.shape[1] - self.horizon
        after = slice(P, context + reach)
        targets, counted = (x[:, after].unfold(1, reach, P)[:, origins] for x in (values, batch.counted))
        return network.units.read(targets), counted

    def on_fit_start(self) -> None:
        """Learn how many processes share the batches, and on which device, in which precision, losses are summed up."""
        self.world_size = self.trainer.world_size
        self.loss_sum = self.levels.new_zeros(())

    def training_step(self, batch: Batch) -> None:
        """Make one optimiser step for each of the batches in a batch of batches, until all steps are made."""
        optimizer, scheduler = cast("Any", (self.optimizers(), self.lr_schedulers()))
        for part in batch.parts(self.steps_per_batch):
            if self.steps == self.all_steps:
                return
            self.network.decoder.progress = self.steps / self.all_steps
            loss = self.loss(part, self._origins(part.values))
            self.manual_backward(loss)
            nn.utils.clip_grad_norm_(self.network.parameters(), self.training_options.clip)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            scheduler.step()
            self.loss_sum += loss.detach()
            self.losses += 1
            self.steps += 1

    def on_fit_end(self) -> None:
        """Leave the decoder as one that is trained, also where training stopped early."""
        self.network.decoder.progress = 1.0

    def _origins(self, values: Tensor) -> slice:
        """Give the origins to train on: all, or as many as the decoder bears, spread evenly up to the last."""
        if self.network.recipe.origins == "last":
            return LAST
        most = self.network.trained_origins
        origins = (values.shape[1] - self.horizon) // self.network.patch_length
        if most is None or origins <= most:
            return ALL
        apart = -(-origins // most)
        return slice((origins - 1) % apart, None, apart)

    def on_train_epoch_end(self) -> None:
        """Log the mean loss of the epoch: one read from the device."""
        loss = float(self.trainer.strategy.reduce(self.loss_sum, reduce_op="mean")) / max(self.losses, 1)
        self.log("train_loss", loss, sync_dist=True)
        # The validation of an epoch comes before its end.
        validated = self.trainer.callback_metrics.get("val_loss", torch.tensor(math.nan))
        self.curve.append((float(self.steps), loss, float(validated)))
        self.loss_sum.zero_()
        self.losses = 0

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Look at the last origin of every validation window, as in a forecast."""
        patches = self.validated.get(batch_idx) or self._read(batch)
        if patches.covariates is None:  # which are read by weights, and these move
            self.validated[batch_idx] = patches
        loader: Any = self.trainer.val_dataloaders
        windows = loader.dataset.windows_in(batch_idx)  # in all shards, by which the mean of all batches weights each
        self.log("val_loss", self.loss(batch, LAST, patches), batch_size=windows, sync_dist=True)

    def get_extra_state(self) -> dict[str, Any]:
        """Give what comes back with the weights from a fit in other processes."""
        return {"curve": self.curve, "validation_loss": self.validation_loss}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Take what `get_extra_state` gave."""
        self.curve, self.validation_loss = state["curve"], state["validation_loss"]

    def configure_optimizers(self):
        """AdamW, weight decay on matrices only, one cycle of the learning rate over all steps."""
        rate, decay = self.training_options.learning_rate, self.training_options.weight_decay
        shortcuts = self.network.shortcuts()
        others = [p for p in self.network.parameters() if all(p is not shortcut for shortcut in shortcuts)]
        groups = [
            {"params": [p for p in others if p.ndim >= 2], "lr": rate, "weight_decay": decay},
            {"params": [p for p in others if p.ndim < 2], "lr": rate, "weight_decay": 0.0},
            {"params": shortcuts, "lr": SHORTCUT_SPEED * rate, "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=True)
        cycle = torch.optim.lr_scheduler.OneCycleLR(
            optimizer,
            [group["lr"] for group in groups],
            total_steps=self.all_steps + 1,
            pct_start=0.1,
            cycle_momentum=False,
        )
        return {"optimizer": optimizer, "lr_scheduler": cycle}


def _ready(scale: Tensor, count: Tensor, context_length: int) -> Tensor:
    """Whether enough was read up to each origin."""
    return (scale > 0) & (count >= min(LEAST_READ, context_length))


class BestWeights(Callback):
    """Keeps the best weights in memory, stops when they no longer get better, and gives them back at the end.

    Weights stand for choice from epoch `first` on.
    """

    def __init__(self, network: ForecastNetwork, patience: int | Literal["auto"] | None, first: int):
        self.network = network
        self.patience = _PATIENCE if patience == "auto" else patience
        self.first = first
        self.best = float("inf")
        self.weights: dict[str, Tensor] = {}
        self.waited = 0

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Compare the last validation loss with the best so far."""
        del pl_module
        if trainer.current_epoch < self.first or "val_loss" not in trainer.callback_metrics:
            return
        loss = float(trainer.callback_metrics["val_loss"])
        if loss < self.best:
            self.best, self.waited = loss, 0
            self.weights = {name: weight.clone() for name, weight in self.network.state_dict().items()}
            return
        self.waited += 1
        if self.patience is not None and self.waited >= self.patience:
            trainer.should_stop = True

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Give the best weights back to the network, and tell how good they are."""
        del trainer
        if self.weights:
            self.network.load_state_dict(self.weights)
            cast("NetworkTraining", pl_module).validation_loss = self.best


class Told(Callback):
    """Shows a bar while a network is trained, in the first process, and tells it the steps and the validation loss."""

    def __init__(self, bar: Bar):
        self.bar = bar

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Begin the line."""
        del pl_module
        if trainer.is_global_zero:
            self.bar.__enter__()

    def on_fit_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """End the line."""
        del trainer, pl_module
        self.bar.__exit__()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        """End the line of a fit that fails."""
        del trainer, pl_module, exception
        self.bar.__exit__()

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch) -> None:
        """Tell the steps."""
        del batch
        if trainer.is_global_zero:
            self.bar.update(cast("NetworkTraining", pl_module).steps)

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Tell the loss."""
        loss = float(trainer.callback_metrics.get("val_loss", math.nan))
        if trainer.is_global_zero:
            self.bar.update(cast("NetworkTraining", pl_module).steps, f"validation loss {loss:.4g}")
