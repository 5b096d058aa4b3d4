"""The work of any experiment: units that are computed in a stated order, each once, and stored as soon as finished."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any, Literal, Protocol

from forecast.experiment.store import Content, Store

Outcome = Literal["stored", "done", "failed"]


class Work(Protocol):
    """The unit of work of any experiment; `str` of it says which one it is."""

    @property
    def config(self) -> dict[str, Any]:
        """All that its numbers depend on, as JSON can hold it."""
        ...

    @property
    def key(self) -> str:
        """Its place in the store."""
        ...

    @property
    def kind(self) -> object:
        """What cells have in common that take about as long."""
        ...

    def facts(self) -> dict[str, Any]:
        """Give what a table says of it, its `key` among them."""
        ...

    def compute(self) -> Content:
        """Do it."""
        ...


class Progress:
    """What a run tells while it is at work; the methods of this one do nothing."""

    def begin(self, cells: Sequence[Work]) -> None:
        """All cells are known, in their order; called again where those of one kind decide about the next."""

    def at_work(self, cell: Work) -> None:
        """A cell is being computed."""

    def finished(self, cell: Work, outcome: Outcome, seconds: float) -> None:
        """A cell was there already (stored), has been computed (done), or has failed."""

    def writing(self) -> None:
        """All cells are finished; scores, plots and report are being written."""


def run_cells(cells: Sequence[Work], store: Store, progress: Progress) -> None:
    """Compute and store the cells that are not stored, in their order."""
    progress.begin(cells)
    for cell in cells:
        if store.is_done(cell.key):
            progress.finished(cell, "stored", 0.0)
            continue
        progress.at_work(cell)
        began = perf_counter()
        outcome = _run(cell, store)
        progress.finished(cell, outcome, perf_counter() - began)


def _run(cell: Work, store: Store) -> Outcome:
    try:
        content = cell.compute()
    except SystemExit as stop:
        # Some trainers end the process themselves when the user presses Ctrl-C; a library does not.
        raise KeyboardInterrupt from stop
    except Exception as error:  # whatever a cell raises is its result, and no other's
        store.write_error(cell.key, cell.config, error)
        return "failed"
    store.write(cell.key, cell.config, content)
    return "done"
