"""One bar for all of a long piece of work, on stderr: a line that fills in a terminal or notebook, tenths in a log."""

import sys
from io import StringIO
from time import monotonic
from typing import ClassVar, Self

_WIDTH = 30  # signs of the bar
_LEAST_APART = 0.1  # seconds between two drawings


class Bar:
    """Tells how far a work has come; used as a context, which ends the line, whatever happens inside.

    In a log, which cannot take a line back, one line grows by a tenth at a time. A bar inside another, as of a fit in a
    backtest, stays silent.

    Parameters
    ----------
    label: what is done.
    total: how many units it has.
    unit: what they are called.

    """

    _shown: ClassVar["Bar | None"] = None

    def __init__(self, label: str, total: int, unit: str):
        self.label = label
        self.total = total
        self.unit = unit

    def __enter__(self) -> Self:
        self._stream = sys.stderr or StringIO()  # there is none in a program without a console
        self._live = self._stream.isatty() or type(self._stream).__module__.startswith("ipykernel")
        self._began = self._drawn = monotonic()
        self._done, self._tenths, self._length, self._note = 0, 0, 0, ""
        if Bar._shown is None:
            Bar._shown = self
            self._write(self._line() if self._live else f"{self.label}:")
        return self

    def __exit__(self, *failure) -> None:
        if Bar._shown is not self:
            return
        Bar._shown = None
        self._write(self._line() if self._live else f" {self._counted()}")
        self._stream.write("\n")
        self._stream.flush()

    def update(self, done: int, note: str = "") -> None:
        """Tell how many units are done, and what else may be of interest."""
        self._done, self._note = done, note or self._note
        if Bar._shown is not self:
            return
        if self._live and monotonic() - self._drawn >= _LEAST_APART:
            self._drawn = monotonic()
            self._write(self._line())
        elif not self._live and (tenths := 10 * done // self.total) > self._tenths:
            self._tenths = tenths
            self._write(f" {10 * tenths}%")

    def _line(self) -> str:
        filled = _WIDTH * self._done // self.total
        line = f"{self.label} |{'#' * filled}{'.' * (_WIDTH - filled)}| {self._counted()}"
        self._length, blank = len(line), max(0, self._length - len(line))
        return f"\r{line}{' ' * blank}"

    def _counted(self) -> str:
        seconds = monotonic() - self._began
        note = f", {self._note}" if self._note else ""
        return f"{self._done}/{self.total} {self.unit}, {seconds:.0f} s{note}"

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
