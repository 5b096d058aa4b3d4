"""The progress of an experiment: a bar on a terminal, a line for each cell elsewhere."""

import contextlib
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from forecast.cli.answers import say

if TYPE_CHECKING:
    from forecast.experiment.work import Progress


@contextlib.contextmanager
def shown_progress() -> "Iterator[Progress]":
    """Give a progress bar on a terminal, and a line for each cell elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display
    from rich.text import Text

    from forecast.experiment.work import Progress

    class Lines(Progress):
        """A line for each cell."""

        which = ""  # of several experiments

        def enter(self, label, number, of):
            self.which = f"{label}, {number} of {of}: "

        def begin(self, cells):
            self.left, self.total, self.number = list(cells), len(cells), 0
            self.seconds: dict[object, list[float]] = {}
            self.since: dict[object, float] = {}

        def at_work(self, cell):
            self.since[cell] = time.monotonic()

        def finished(self, cell, outcome, seconds):
            self.left.remove(cell)
            self.since.pop(cell, None)
            self.number += 1
            if outcome == "done":
                self.seconds.setdefault(cell.kind, []).append(seconds)
            self.tell(f"{cell}: {outcome}{'' if outcome == 'stored' else f' after {seconds:.1f} s'}")

        def tell(self, text):
            left = self.remaining()
            say(f"{self.which}[{self.number}/{self.total}] {text}{f', {left} left' if left else ''}")

        def remaining(self) -> str:
            """Say how long the rest will take, once a cell of each kind that is left has been timed; nothing before."""
            kinds = [self.seconds.get(cell.kind) for cell in self.left]
            if not kinds or not all(kinds):
                return ""
            total = sum(sum(kind) / len(kind) for kind in kinds if kind)
            total -= sum(time.monotonic() - since for since in self.since.values())
            return str(timedelta(seconds=round(max(total / self.workers, 0.0))))

    class Bar(Lines):
        """A bar, the cell at work, elapsed and remaining time."""

        def begin(self, cells):
            super().begin(cells)
            for over in display.task_ids:  # what came before: cells of one kind, or another experiment
                display.remove_task(over)
            self.task = display.add_task(f"{self.which}reading the store", total=len(cells))
            display.start()

        def at_work(self, cell):
            super().at_work(cell)
            display.update(self.task, description=self.named())

        def tell(self, text):
            if ": failed" in text:
                display.print(text, markup=False)
            display.update(self.task, completed=self.number, description=self.named())

        def named(self):
            """Name a cell at work, and say how many others are."""
            first = f"{self.which}{next(iter(self.since), '')}"
            return f"{first} and {len(self.since) - 1} more" if len(self.since) > 1 else first

        def writing(self):
            display.update(self.task, description=f"{self.which}scores, plots, report")

    class Remaining(ProgressColumn):
        """What is left, by the kind of cell."""

        def render(self, task):
            left = bar.remaining()
            return Text(f"{left} left" if left else "", style="progress.remaining")

    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines()
        return
    bar = Bar()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), Remaining()
    display = Display(*columns, console=console, transient=True)
    try:
        yield bar
    finally:
        display.stop()
