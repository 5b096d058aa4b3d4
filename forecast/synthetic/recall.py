"""Tasks of pure memory: what was shown long ago has to be said at the end, and nothing in between helps.

As Bai, Kolter and Koltun (2018, arXiv 1803.01271) set them; both are older (Hochreiter and Schmidhuber 1997).
B examples, N tokens, C channels, K answers at the end.
"""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

_SYMBOLS = 8  # of the copy task; the next kind is the blank, and the last the signal


class Examples(NamedTuple):
    """What is read, (B, N, C) float32, and what is to be said after the last K tokens, (B, K)."""

    inputs: np.ndarray
    answers: np.ndarray


class Task(ABC):
    """A task of some length.

    Attributes
    ----------
    channels: C of what is read.
    asked: K, after how many of the last tokens something is to be said.
    symbols: how many symbols an answer may be; None where it is a number, judged by its squared error.
    memoryless: the loss of whoever remembers nothing, at best: a mean squared error, or a cross-entropy in nats.

    """

    channels: ClassVar[int]
    asked: ClassVar[int]
    symbols: ClassVar[int | None]
    memoryless: ClassVar[float]

    @abstractmethod
    def tokens(self, length: int) -> int:
        """Give N."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, count: int, length: int) -> Examples:
        """Draw so many examples."""


class Adding(Task):
    """Numbers between 0 and 1, two of which are marked, anywhere: what is their sum?

    Whoever says 1 has a mean squared error of 1/6.
    """

    channels, asked, symbols, memoryless = 2, 1, None, 1 / 6

    def tokens(self, length: int) -> int:
        """Give the length itself."""
        return length

    def draw(self, rng: np.random.Generator, count: int, length: int) -> Examples:
        """Draw numbers and marks; the sums are (B, 1) float32."""
        numbers = rng.random((count, length), dtype="float32")
        marked = np.argsort(rng.random((count, length)), axis=1)[:, :2]  # two different places, all pairs alike
        marks = np.zeros_like(numbers)
        np.put_along_axis(marks, marked, 1.0, axis=1)
        sums = np.take_along_axis(numbers, marked, axis=1).sum(axis=1, keepdims=True)
        return Examples(np.stack([numbers, marks], axis=2), sums)


class Copy(Task):
    """Ten symbols of eight kinds, then `length` - 1 blanks, then a signal, eleven times: which were they, in order?

    With each of the last ten signals one symbol is to be said, `length` + 10 tokens after it was shown. Whoever guesses
    has a cross-entropy of ln 8.
    """

    channels, asked, symbols, memoryless = _SYMBOLS + 2, 10, _SYMBOLS, math.log(_SYMBOLS)

    def tokens(self, length: int) -> int:
        """Give the length with the ten symbols and the ten tokens that ask for them."""
        return length + 2 * self.asked

    def draw(self, rng: np.random.Generator, count: int, length: int) -> Examples:
        """Draw symbols, one channel for each kind, the blank and the signal; the answers are (B, 10) int64."""
        symbols = rng.integers(_SYMBOLS, size=(count, self.asked))
        read = np.full((count, self.tokens(length)), _SYMBOLS)
        read[:, : self.asked] = symbols
        read[:, -self.asked - 1 :] = _SYMBOLS + 1
        return Examples(np.eye(self.channels, dtype="float32")[read], symbols)


TASKS: dict[str, Task] = {"adding": Adding(), "copy": Copy()}
