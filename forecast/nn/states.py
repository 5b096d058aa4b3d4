"""States are nested tuples and dicts of tensors, batch first; this walks through them."""

from collections.abc import Callable
from typing import Any

from torch import Tensor


def map_state(change: Callable[..., Any], state: Any, *others: Any) -> Any:
    """Give the state with each tensor changed; beside it may go others of the same nesting."""
    if isinstance(state, Tensor):
        return change(state, *others)
    if isinstance(state, dict):
        return {name: map_state(change, part, *(other[name] for other in others)) for name, part in state.items()}
    parts = zip(state, *others, strict=True)
    return tuple(map_state(change, *part) for part in parts)


def tensors_of(state: Any, name: str = "") -> dict[str, Tensor]:
    """Give the tensors by names that say where they are, such as `0.1.hidden`."""
    if isinstance(state, Tensor):
        return {name: state}
    parts = state.items() if isinstance(state, dict) else enumerate(state)
    return {n: t for key, part in parts for n, t in tensors_of(part, f"{name}.{key}" if name else str(key)).items()}
