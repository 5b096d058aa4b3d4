"""Covariates of a panel as arrays: what is known of its series beside their values, by when it becomes known.

A number stands for itself, a category for its place in a list; NaN is what is missing. S series, C columns.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd


@dataclass(frozen=True, eq=False)
class Column:
    """A column with a role.

    Attributes
    ----------
    name: as the frame has it.
    categories: of a column that is not of numbers: each stands for its place here; None for numbers.
    delay: steps after its own stamp until a value becomes known; 0 but for delayed ones.

    """

    name: str
    categories: pd.Index | None = None
    delay: int = 0


@dataclass(frozen=True, eq=False)
class Table:
    """Columns side by side: `numbers` is (rows, C) float32."""

    columns: tuple[Column, ...]
    numbers: np.ndarray

    def rows(self, which: np.ndarray) -> "Table":
        """Give some of the rows, by position, as a copy."""
        return replace(self, numbers=self.numbers[which])


@dataclass(frozen=True, eq=False)
class Covariates:
    """The covariates of a panel.

    Attributes
    ----------
    static: a row for each series, (S, C).
    past: a row for each row of the panel's flat arrays, at its own stamp; delayed columns too, whose value at a stamp
        may be read `delay` steps later.
    known: rows of their own, which may go on after a series' end: series s owns `known.numbers[starts[s]:stops[s]]`,
        the first of them at the calendar ordinal `first[s]`.
    starts, stops, first: (S,) int64.

    """

    static: Table
    past: Table
    known: Table
    starts: np.ndarray
    stops: np.ndarray
    first: np.ndarray

    def take(self, series: np.ndarray) -> "Covariates":
        """Give those of some series, by position or boolean mask; temporal ones over the same arrays."""
        return replace(
            self,
            static=self.static.rows(series),
            starts=self.starts[series],
            stops=self.stops[series],
            first=self.first[series],
        )
