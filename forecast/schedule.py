"""How many optimiser steps go into what lightning calls a batch and an epoch, and the Trainer's arguments for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from lightning.pytorch import Callback

from forecast.training import Training

_VALUES_PER_BATCH = 4_000_000  # bounds the memory of the batches that are gathered together


@dataclass(frozen=True)
class Schedule:
    """The steps of a fit in parts: epochs end with a look at the validation windows.

    Attributes
    ----------
    epochs: how many there are.
    batches: to an epoch, as many as memory asks for.
    steps: to a batch.

    """

    epochs: int
    batches: int
    steps: int

    @classmethod
    def of(cls, training: Training, steps: int, values_per_step: int, in_parts: bool) -> Self:
        """Give that of so many steps of training; `in_parts` if something has to be done between its epochs."""
        per_epoch = _parts(steps, training.validations if in_parts else 1)
        batches = min(per_epoch, _parts(per_epoch * values_per_step, _VALUES_PER_BATCH))
        return cls(epochs=_parts(steps, per_epoch), batches=batches, steps=_parts(per_epoch, batches))


def trainer_arguments(asked: Mapping[str, Any] | None, epochs: int, own: Sequence[Callback]) -> dict[str, Any]:
    """Give the arguments of a Trainer that is silent and leaves nothing behind, unless asked otherwise.

    Raises
    ------
    TypeError: callbacks that are none.

    """
    given = dict(asked or {})
    callbacks = given.pop("callbacks", None) or []
    callbacks = list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]
    if wrong := [one for one in callbacks if not isinstance(one, Callback)]:
        raise TypeError(f"`trainer` has among its `callbacks` {wrong[0]!r}; allowed: lightning's Callbacks")
    return {
        "max_epochs": epochs,
        "devices": 1,
        "logger": False,
        "enable_checkpointing": False,
        "enable_model_summary": False,
        "enable_progress_bar": False,
        "num_sanity_val_steps": 0,
        "log_every_n_steps": 1,
        "callbacks": [*own, *callbacks],
        **given,
    }


def _parts(whole: int, part: int) -> int:
    """Give how many parts of a size hold the whole."""
    return -(-whole // part)
