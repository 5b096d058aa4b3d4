"""Which Ray cluster work runs on: the one that the program has joined, or one of its own that ends with the work."""

import logging
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cluster(cores: int) -> Iterator[None]:
    """Have a Ray cluster: the one that `ray.init` has joined, else one on this machine with so many cores."""
    keep_to_oneself()
    import ray

    if ray.is_initialized():
        yield
        return
    ray.init(address="local", num_cpus=cores, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


def keep_to_oneself() -> None:
    """Let nobody join a cluster of one's own who does not know a word that is made up for it.

    Ray reads the word once, when it is imported, and its processes from the environment, where it therefore stays. Who
    has imported Ray before has chosen himself.
    """
    if "ray" not in sys.modules:
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
