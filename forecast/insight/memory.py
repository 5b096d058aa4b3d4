"""How many bytes a computation holds: what it keeps for its backward pass, and the most that it holds at once.

Both are counted, not sampled: the same computation gives the same number on every run.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.profiler import ProfilerActivity, profile

_QUIET = "KINETO_LOG_LEVEL"  # torch's profiler, which otherwise prints a line whenever it starts or stops


def saved_bytes(forward: Callable[[], Any], besides: Iterable[Tensor] = ()) -> int:
    """Give the bytes that a forward pass keeps for its backward pass.

    Tensors that share memory count once, those that share it with `besides`, such as the weights, not at all.
    """
    known = {tensor.untyped_storage().data_ptr() for tensor in besides}
    kept = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        # Held until the end: freed memory would be given out again, and its second use not be counted.
        kept.setdefault(storage.data_ptr(), storage)
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        result = forward()  # held too: with its result all that was kept would go
    del result
    return sum(storage.nbytes() for place, storage in kept.items() if place not in known)


def peak_bytes(run: Callable[[], Any]) -> int:
    """Give the most bytes that a computation on the CPU holds at once, beyond what was there before."""
    with _quiet_profiler(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    recorded: Any = profiler.profiler
    events = [event for event in recorded.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak


@contextmanager
def _quiet_profiler() -> Iterator[None]:
    before = os.environ.get(_QUIET)
    os.environ.setdefault(_QUIET, "99")
    try:
        yield
    finally:
        if before is None:
            del os.environ[_QUIET]
