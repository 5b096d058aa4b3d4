"""What goes into and comes out of modules while a network runs, by forward hooks: the network knows nothing of it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch import nn


@dataclass
class Call:
    """The last call of a module: what it was given, and what it gave."""

    inputs: tuple[Any, ...] = ()
    output: Any = None


@contextmanager
def calls(modules: Sequence[nn.Module]) -> Iterator[list[Call]]:
    """Keep the last call of each module inside; the hooks are gone afterwards."""
    seen = [Call() for _ in modules]
    with ExitStack() as stack:
        for module, call in zip(modules, seen, strict=True):

            def keep(_, inputs, output, call=call):
                call.inputs, call.output = inputs, output

            stack.callback(module.register_forward_hook(keep).remove)
        yield seen
