"""What a statistic is a statistic of: said first, before any number, and what it needs to be made at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import pandas as pd


@dataclass(frozen=True)
class Estimand:
    """What is averaged over what.

    Attributes
    ----------
    quantity: of what, such as "difference in mae".
    series, cutoffs: how many.
    refit: the policy of refitting, in words.

    """

    quantity: str
    series: int
    cutoffs: int
    refit: str

    def __str__(self) -> str:
        series = "this one series" if self.series == 1 else f"these {self.series} series"
        cutoffs = "this one cutoff" if self.cutoffs == 1 else f"these {self.cutoffs} cutoffs"
        return f"{self.quantity}, averaged over {series}, for {cutoffs}, refit {self.refit}"


def page(estimand: object, table: pd.DataFrame, notes: Sequence[str]) -> str:
    """Write a result out: the estimand, the table, then a line for each note."""
    rows = "" if table.empty else table.to_string(index=False, float_format="{:.4g}".format, na_rep="-")
    return "\n".join([f"estimand: {estimand}", *filter(None, [rows]), *notes])


def from_extra(module: str) -> ModuleType:
    """Import what the extra `stats` installs. Raises ImportError with the remedy where it is not there."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0].replace("_", "-")
        raise ImportError(f"this statistic needs {library}: pip install 'foretell[stats]'") from error
