"""How values of the data are read, and forecasts given back in their units."""

from dataclasses import dataclass

from torch import Tensor

_LARGEST_EXPONENT = 80.0  # of what float32 can hold


@dataclass(frozen=True)
class Units:
    """Values as they are, or as logarithms; forecasts as they come, or none below zero.

    Attributes
    ----------
    floor: a number above 0 to read logarithms, those of values below it as that of it; None for values as they are.
    nonnegative: whether what is given back is at least 0.

    """

    floor: float | None = None
    nonnegative: bool = False

    def read(self, values: Tensor) -> Tensor:
        """Give values of the data as a network reads them."""
        return values if self.floor is None else values.clamp(min=self.floor).log()

    def give(self, values: Tensor) -> Tensor:
        """Give what a network says in the units of the data."""
        if self.floor is not None:
            return values.clamp(max=_LARGEST_EXPONENT).exp()
        return values.clamp(min=0.0) if self.nonnegative else values
