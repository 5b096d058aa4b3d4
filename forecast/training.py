"""How a network is trained: the options of a fit."""

import math
from dataclasses import dataclass
from typing import Literal

from forecast.params import plain_numbers


@dataclass(frozen=True, kw_only=True)
class Training:
    """How a network is trained.

    Attributes
    ----------
    steps: optimiser steps, if not stopped early; None for as many as the preset has, and fewer for few data.
    batch_size: windows in each step, in all processes together that share it.
    learning_rate: the highest of a OneCycle schedule (10 % warm-up, cosine to zero); five times that for what
        leads past backbone and decoder.
    weight_decay: of AdamW, on matrices only.
    clip: largest norm of the gradient.
    validations: how often the validation windows are looked at. The best weights of the second half of training are
        kept and given back at the end; earlier ones do not stand for choice, since one odd week of validation may like
        a network best that has hardly begun to learn.
    patience: validations of the second half without improvement after which training stops; None for never. "auto": 5
        where there are validations.
    validation_length: last steps of the data kept for validation; None for a tenth of the longest series, at most 14
        times the horizon, and none where that is less than two, or where most series end before; 0 for no validation,
        where the last weights are kept.
    embargo: steps before those of validation, or else before the end of the data, in which no label of training lies;
        for targets that are made of m steps each, at least m - 1.
    threads: of the processor; None leaves torch's own choice. With two, networks of the default sizes train 1.2 times
        faster on an idle machine and many times slower on a busy one, where threads wait for each other.

    Raises
    ------
    ValueError: a value that is not one of those allowed, or `patience` without validation.

    """

    steps: int | None = None
    batch_size: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    clip: float = 1.0
    validations: int = 20
    patience: int | Literal["auto"] | None = "auto"
    validation_length: int | None = None
    embargo: int = 0
    threads: int | None = 1

    def __post_init__(self) -> None:
        plain_numbers(self)
        least = {"steps": 1, "batch_size": 1, "validations": 1, "patience": 1, "threads": 1}
        least |= {"validation_length": 0, "embargo": 0}
        for name, smallest in least.items():
            value, optional = getattr(self, name), name in ("steps", "patience", "validation_length", "threads")
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= smallest
            by_word = name == "patience" and value == "auto"
            if not whole and not by_word and not (value is None and optional):
                or_none = (", 'auto'" if name == "patience" else "") + (", or None" if optional else "")
                raise ValueError(f"`{name}` is {value!r}; allowed: a whole number of {smallest} or more{or_none}")
        if self.validation_length == 0 and self.patience not in ("auto", None):
            raise ValueError(
                f"`patience` is {self.patience!r} and `validation_length` is 0: without validation there is nothing to "
                "wait for. Give a longer `validation_length`, or None for one by rule, or leave `patience` out"
            )
        for name in ("learning_rate", "weight_decay", "clip"):
            value, may_be_zero = getattr(self, name), name == "weight_decay"
            if not isinstance(value, int | float) or not 0 <= value < math.inf or not (value or may_be_zero):
                raise ValueError(f"`{name}` is {value!r}; allowed: a number above 0{', or 0' * may_be_zero}")
