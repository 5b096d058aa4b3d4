"""The work of any experiment: units that are computed each once, and stored as soon as they are finished."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

from forecast.experiment.store import Content, Failure

Outcome = Literal["stored", "done", "failed"]


class Keeper(Protocol):
    """What keeps finished work, whoever did it: the `Store` of an experiment, or another folder."""

    def is_done(self, key: str) -> bool:
        """Tell whether a unit of work is finished, and still what was written."""
        ...

    def write(self, key: str, config: Mapping[str, Any], content: Content) -> None:
        """Keep what came of it. Raises StoreError where it cannot be written."""

    def write_error(self, key: str, config: Mapping[str, Any], failure: Failure) -> None:
        """Keep why it failed. Raises StoreError where it cannot be written."""


class Work(ABC):
    """The unit of work of any experiment, a dataclass; `str` of it says which one it is.

    Attributes
    ----------
    config: all that its numbers depend on, as JSON can hold it.
    key: its place in the store.
    alone: whether it measures the machine, on which nothing else is computed then.

    """

    config: dict[str, Any]
    key: str
    alone: ClassVar[bool] = False

    @property
    def after(self) -> Sequence["Work"]:
        """What has to be finished before it begins."""
        return ()

    @property
    @abstractmethod
    def kind(self) -> object:
        """What cells have in common that take about as long."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Give what a table says of it, its `key` among them."""

    def ready(self, store: Any) -> "Work":
        """Give it with all that it takes from what is stored, so that it can be computed anywhere."""
        del store
        return self

    @abstractmethod
    def compute(self) -> Content:
        """Do it."""


class Progress:
    """What a run tells while it is at work; the methods of this one do nothing.

    Attributes
    ----------
    workers: how many cells are computed at once.

    """

    workers: int = 1

    def enter(self, label: str, number: int, of: int) -> None:
        """The first, second, ... of several experiments begins; not called where there is one alone."""

    def begin(self, cells: Sequence[Work]) -> None:
        """All cells are known, in their order; called again where those of one kind decide about the next."""

    def at_work(self, cell: Work) -> None:
        """A cell is being computed."""

    def finished(self, cell: Work, outcome: Outcome, seconds: float) -> None:
        """A cell was there already (stored), has been computed (done), or has failed."""

    def writing(self) -> None:
        """All cells are finished; scores, plots and report are being written."""


def compute(cell: Work) -> Content | Failure:
    """Give what a cell holds, or why it failed. Numbers have one thread: with more they are summed otherwise.

    Raises KeyboardInterrupt where the user wants to stop.
    """
    from threadpoolctl import threadpool_limits  # here, since it looks at all libraries that are loaded

    try:
        with threadpool_limits(1):
            return cell.compute()
    except SystemExit as stop:
        # Some trainers end the process themselves when the user presses Ctrl-C; a library does not.
        raise KeyboardInterrupt from stop
    except Exception as error:  # whatever a cell raises is its result, and no other's
        return Failure.of(error)


def keep(cell: Work, found: Content | Failure, store: Keeper) -> Outcome:
    """Store what a cell holds, or why it failed. Raises StoreError where it cannot be stored."""
    if isinstance(found, Failure):
        store.write_error(cell.key, cell.config, found)
        return "failed"
    store.write(cell.key, cell.config, found)
    return "done"
