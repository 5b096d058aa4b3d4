"""A fit that goes on where it was stopped: its whole state in a folder, written after every validation.

Safetensors and JSON, as of a saved forecaster: nothing is unpickled. What goes on gives the weights of a fit that was
never stopped, bit for bit on the same processor.
"""

import hashlib
import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor

from forecast import saving
from forecast.frame import Panel
from forecast.network_training import BestWeights, NetworkTraining
from forecast.panel_files import panel_to_json

_WHAT = "checkpoint"
_FREE = ("trainer", "verbose")  # arguments that a fit may change when it goes on


class Checkpoint(Callback):
    """Writes the state of a fit when an epoch begins, and lets a fit begin with the state that is there.

    Of several processes the first one reads and writes; their own random states are none of it.

    Parameters
    ----------
    folder: where the state is, or will be.
    fit: what is fitted on what, as of `fit_of`; a state of another fit is refused.
    module, best: what has a state, beside the trainer and the random generators.

    """

    def __init__(self, folder: str | Path, fit: Mapping[str, Any], module: NetworkTraining, best: BestWeights):
        self.folder = folder
        self.fit = fit
        self.module = module
        self.best = best
        self.found: tuple[dict[str, Any], dict[str, np.ndarray]] | None = None
        self.writes = True

    def look(self) -> None:
        """Read the state that is there, if there is one.

        Raises
        ------
        ValueError: it is of another fit, naming the first argument that differs; or damaged.
        NotADirectoryError: the folder is a file.

        """
        if Path(self.folder).is_file():
            raise NotADirectoryError(
                f"`checkpoint` {str(self.folder)!r} is a file; give a folder, which is made if it is not there"
            )
        if not saving.is_there(self.folder, _WHAT):
            return
        note, arrays = saving.read(self.folder, _WHAT)
        for name in self.fit | note["fit"]:
            was, now = note["fit"].get(name), self.fit.get(name)
            if was != now:
                apart = "" if name in ("data", "weights") else f": {was!r} there, {now!r} here"
                raise ValueError(
                    f"`checkpoint` {str(self.folder)!r} holds a fit that was stopped, of other {name}{apart}. Give the "
                    f"same again to go on with it, or another folder; remove {_WHAT}.json to begin anew"
                )
        self.found = note["state"], arrays

    def remove(self) -> None:
        """Remove the state of a fit that is finished."""
        if self.writes:
            saving.remove(self.folder, _WHAT)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Let the epochs be counted from where the fit was stopped."""
        del pl_module
        self.found = trainer.strategy.broadcast(self.found)
        self.writes = trainer.is_global_zero
        if self.found is None:
            return
        epoch, loop = self.found[0]["epoch"], trainer.fit_loop
        progress: Any = loop.epoch_progress
        for counts in (progress.current, progress.total):
            counts.ready = counts.started = counts.processed = counts.completed = epoch
        loop.epoch_loop.manual_optimization.optim_step_progress.total.completed = self.found[0]["steps"]
        loop.epoch_loop._batches_that_stepped = self.found[0]["batches"]  # by which loggers count

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Take over the state that was found, or write the one that is."""
        del pl_module
        if self.found is not None:
            self._take(trainer, *self.found)
            self.found = None
        elif trainer.current_epoch and self.writes:
            note, arrays = self._state(trainer)
            saving.write(self.folder, {"fit": self.fit, "state": note}, arrays, _WHAT)

    def _state(self, trainer: Trainer) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        optimizer, schedule = trainer.optimizers[0], trainer.lr_scheduler_configs[0].scheduler
        moments = optimizer.state_dict()["state"]
        kind, keys, *rest = np.random.get_state()
        note: Any = {
            "epoch": trainer.current_epoch,
            "steps": self.module.steps,
            "batches": trainer.fit_loop.epoch_loop._batches_that_stepped,
            "best": [self.best.best, self.best.waited],
            "rates": [group["lr"] for group in optimizer.param_groups],
            "schedule": {name: schedule.state_dict()[name] for name in ("last_epoch", "_step_count")},
            "windows": _windows(trainer).bit_generator.state,
            "python": random.getstate(),
            "numpy": [kind, *rest],
            "curve": self.module.curve,
        }
        tensors = {f"network.{name}": tensor for name, tensor in self.module.network.state_dict().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.best.weights.items()}
        tensors |= {f"moments.{i}.{name}": tensor for i, state in moments.items() for name, tensor in state.items()}
        tensors |= {"random": torch.get_rng_state()}
        if self.module.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.module.device)
        arrays = {name: as_array(tensor) for name, tensor in tensors.items()} | {"numpy": np.asarray(keys)}
        return {name: saving.to_json(value, name) for name, value in note.items()}, arrays

    def _take(self, trainer: Trainer, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "best": {}, "moments": {}, "random": {}, "numpy": {}}
        for name, array in arrays.items():
            part, _, inner = name.partition(".")
            parts[part][inner] = torch.from_numpy(array)
        optimizer, schedule = trainer.optimizers[0], trainer.lr_scheduler_configs[0].scheduler
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["moments"].items():
            place, _, inner = name.partition(".")
            moments.setdefault(int(place), {})[inner] = tensor
        groups = optimizer.state_dict()["param_groups"]
        groups = [group | {"lr": rate} for group, rate in zip(groups, note["rates"], strict=True)]
        optimizer.load_state_dict({"state": moments, "param_groups": groups})
        schedule.load_state_dict(schedule.state_dict() | note["schedule"] | {"_last_lr": list(note["rates"])})
        self.module.network.load_state_dict(parts["network"])
        self.module.steps = note["steps"]
        self.module.curve = list(map(tuple, note["curve"]))
        self.best.best, self.best.waited = note["best"]
        self.best.weights = {name: tensor.to(self.module.device) for name, tensor in parts["best"].items()}
        _windows(trainer).bit_generator.state = note["windows"]
        version, numbers, gauss = note["python"]
        random.setstate((version, tuple(numbers), gauss))
        kind, *rest = note["numpy"]
        np.random.set_state((kind, arrays["numpy"], *rest))
        torch.set_rng_state(parts["random"][""])
        if "cuda" in parts["random"] and self.module.device.type == "cuda":
            torch.cuda.set_rng_state(parts["random"]["cuda"], self.module.device)


def fit_of(params: Mapping[str, Any], panel: Panel, weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """Give what tells one fit from another: arguments by name, the data and the weights at the start by checksums.

    Raises
    ------
    TypeError: an argument or an id that cannot be written.

    """
    fit = {name: saving.to_json(value, name) for name, value in params.items() if name not in _FREE}
    fit["data"] = checksum_of(panel)
    fit["weights"] = _checksum({name: as_array(tensor) for name, tensor in weights.items()}, "")
    return json.loads(json.dumps(fit))  # as it will be read


def checksum_of(panel: Panel) -> str:
    """Give by what the data of one fit are told from those of another. Raises TypeError for an id that is not plain."""
    note, arrays = panel_to_json(panel.detached())
    return _checksum(arrays, json.dumps(note))


def as_array(tensor: Tensor) -> np.ndarray:
    """Give a tensor as an array; one in half precision, which arrays do not have, in single."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _checksum(arrays: Mapping[str, np.ndarray], text: str) -> str:
    checksum = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name, array in arrays.items():
        checksum.update(f"{name} {array.dtype} {array.shape}".encode())
        checksum.update(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
    return checksum.hexdigest()


def _windows(trainer: Trainer) -> np.random.Generator:
    """Give the generator by which the windows of training are drawn."""
    loader: Any = trainer.train_dataloader
    return loader.dataset.generator
