"""What a worker does, whichever engine it is of."""

import warnings

from forecast.experiment.engine.contract import Answer
from forecast.experiment.store import Content, Failure
from forecast.experiment.work import Keeper, Work, compute, keep


def heard(work: Work) -> tuple[Content | Failure, tuple[Warning, ...]]:
    """Compute a cell, and give what it warned of too: whoever runs the experiment is to see it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        found = compute(work)
    said = (one.message for one in caught)
    return found, tuple(one for one in said if isinstance(one, Warning))


def answer(work: Work, store: Keeper) -> Answer:
    """Compute a cell and store it."""
    found, said = heard(work)
    return Answer(keep(work, found, store), said)
