"""What a cell holds: what its work has found, such as a ledger; or why it failed."""

import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from forecast.evaluation.ledger import Ledger


class Content(Protocol):
    """What a finished cell holds: a ledger, or whatever else can be written to a folder."""

    def write(self, folder: Path) -> object:
        """Write it to a folder, which is made."""


@dataclass(frozen=True)
class Forecasts:
    """A ledger as a cell holds it: in files that are mapped and not read, for there may be many large ones."""

    ledger: Ledger

    def write(self, folder: Path) -> None:
        """Write it to a folder, which is made."""
        self.ledger.write(folder, table=False)


@dataclass(frozen=True)
class Failure:
    """Why a cell failed, as text: tracebacks stay in the process in which they came about."""

    type: str
    message: str
    traceback: str

    @classmethod
    def of(cls, error: Exception) -> Self:
        """Tell an exception."""
        return cls(type(error).__name__, str(error), "".join(traceback.format_exception(error)))
