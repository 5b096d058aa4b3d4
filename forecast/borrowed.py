"""What a fit borrows of the process and gives back: random states, threads, switches of torch, Ctrl-C, messages."""

import logging
import os
import random
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:  # a forecast borrows too, and has no trainer
    from lightning.pytorch import Trainer

ONE_FIT = RLock()  # what a fit borrows is shared by all threads: fits of the others wait


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch, numpy and Python inside, and give their states back afterwards."""
    outside = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(outside[0])
            np.random.set_state(outside[1])


@contextmanager
def computing(threads: int | None) -> Iterator[None]:
    """Let torch compute with so many threads inside, None leaves them as they are; in single precision by default."""
    before = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(threads or before[0])
    torch.set_default_dtype(torch.float32)
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_default_dtype(before[1])


@contextmanager
def switches() -> Iterator[None]:
    """Give back what lightning's `deterministic` and `benchmark` set for the whole process; let gradients be there."""
    before = _determinism()
    benchmark, workspace = torch.backends.cudnn.benchmark, os.environ.get("CUBLAS_WORKSPACE_CONFIG")
    try:
        with torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        if _determinism() != before:  # since torch imports its compiler to set them, which takes a second
            torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        torch.backends.cudnn.benchmark = benchmark
        if workspace is None:
            os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)


def _determinism() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


@contextmanager
def interruptible(trainer: "Trainer") -> Iterator[None]:
    """Let Ctrl-C through as what it is: lightning would exit the process with it, and leave the signal ignored."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as stop:
        if not trainer.interrupted:
            raise
        signal.signal(signal.SIGINT, handler)
        raise KeyboardInterrupt from stop


@contextmanager
def quiet(verbose: int) -> Iterator[None]:
    """Keep lightning's hints to itself: they speak of choices that are made here on purpose."""
    if verbose > 1:
        yield
        return
    loggers = [logging.getLogger(f"lightning.{part}") for part in ("pytorch", "fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning.*")
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            # Of no concern: in half precision torch computes this norm in another way.
            warnings.filterwarnings("ignore", message="Mismatch dtype between input and weight")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
