"""Two ways to make one number of many losses: averaged, each series alike, or pooled, each by its size."""

from dataclasses import dataclass
from typing import Literal

from forecast.evaluation.losses import Loss


@dataclass(frozen=True)
class Averaged:
    """A loss averaged in this order, every series with equal weight.

    Mean over steps and observed times within (series, cutoff, seed), the cell; over cutoffs within (series, seed), and
    only there the root; over seeds within series; across series.

    `scale` names which scale of `Points` divides the losses: that of the series at that cutoff, so it acts before
    cutoffs are averaged and before the root. A cell whose scale is zero or undefined is NaN for every forecaster, as is
    a cell with no observed `y` and one where the loss of an observed `y` is undefined for any forecaster; such cells
    are left out of the averages.

    `unit` says whether the loss itself is in the units of the series, or of their square.
    """

    loss: Loss
    scale: Literal["absolute", "squared"] | None = None
    root: bool = False
    unit: bool = True

    def __post_init__(self) -> None:
        _check_loss(self.loss)
        if self.scale not in (allowed := (None, "absolute", "squared")):
            raise ValueError(f"`scale` is {self.scale!r}; allowed: {', '.join(map(repr, allowed))}")


@dataclass(frozen=True)
class Pooled:
    """Sum of the loss over sum of |y| of all points of a group, so large series weigh more; NaN if all y are zero.

    A cell where the loss of an observed `y` is undefined for any forecaster is left out of both sums, for all.
    """

    loss: Loss

    def __post_init__(self) -> None:
        _check_loss(self.loss)


def _check_loss(loss: Loss) -> None:
    if not callable(loss):
        raise TypeError(f"`loss` is {loss!r}; allowed: a function of a run that gives a number for each point, (M, H)")
