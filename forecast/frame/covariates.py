"""Covariates of a panel as arrays: what is known of its series beside their values, by when it becomes known.

A number stands for itself, a category for its place in a list; NaN is what is missing. S series, C columns, F of them
forecasts themselves.
"""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

NEVER = int(np.iinfo("int32").max)  # steps until what is not there may be read


@dataclass(frozen=True, eq=False)
class Column:
    """A column with a role.

    Attributes
    ----------
    name: as the frame has it.
    categories: of a column that is not of numbers: each stands for its place here; None for numbers.
    delay: steps after its own stamp until a value becomes known; 0 but for delayed ones.
    issued: of one that is a forecast itself, the column that says when its values were issued; None for others.

    """

    name: str
    categories: pd.Index | None = None
    delay: int = 0
    issued: str | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """Columns side by side: `numbers` is (rows, C) float32."""

    columns: tuple[Column, ...]
    numbers: np.ndarray

    def rows(self, which: np.ndarray) -> "Table":
        """Give some of the rows, by position, as a copy."""
        return replace(self, numbers=self.numbers[which])

    def own_categories(self) -> "Table":
        """Give the table with the categories that its rows have, in order of appearance, and no others.

        What was cut off is then not to be told from them either.
        """
        columns, numbers = list(self.columns), self.numbers.copy()
        for at, column in enumerate(columns):
            if column.categories is not None:
                places, used = pd.factorize(numbers[:, at])
                numbers[:, at] = np.where(places < 0, np.nan, places)
                columns[at] = replace(column, categories=column.categories.take(np.asarray(used, dtype="int64")))
        return Table(tuple(columns), numbers)

    def values(self, which: np.ndarray) -> dict:
        """Give the values of some of the rows by column: numbers, or categories by value; NaN where missing."""
        values = {}
        for at, column in enumerate(self.columns):
            numbers = self.numbers[which, at]
            if column.categories is not None:
                places = np.where(np.isnan(numbers), -1, numbers).astype("int64")
                numbers = pd.Series(column.categories.array).reindex(places).array
            values[column.name] = numbers
        return values


@dataclass(frozen=True, eq=False)
class Covariates:
    """The covariates of a panel.

    Attributes
    ----------
    static: a row for each series, (S, C).
    past: a row for each row of the panel's flat arrays, at its own stamp; delayed columns too, whose value at a stamp
        may be read `delay` steps later.
    known: rows of their own, which may go on after a series' end: series s owns `known.numbers[starts[s]:stops[s]]`,
        the first of them at the calendar ordinal `first[s]`. They go as far back as the series, or further.
    starts, stops, first: (S,) int64.
    late: (rows of `known`, F) int32, of the known columns that are forecasts: how many steps after its own stamp a
        value may be read, below 0 for one that was issued before; `NEVER` where there is none. None without such
        columns.

    """

    static: Table
    past: Table
    known: Table
    starts: np.ndarray
    stops: np.ndarray
    first: np.ndarray
    late: np.ndarray | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """Every column: static, known, forecasted, past and delayed ones."""
        return self.static.columns + self.known.columns + self.past.columns

    @property
    def forecasted(self) -> list[int]:
        """The places of the columns of `known` that are forecasts, (F,)."""
        return [place for place, column in enumerate(self.known.columns) if column.issued is not None]

    def take(self, series: np.ndarray) -> "Covariates":
        """Give those of some series, by position or boolean mask; temporal ones over the same arrays."""
        return replace(
            self,
            static=self.static.rows(series),
            starts=self.starts[series],
            stops=self.stops[series],
            first=self.first[series],
        )

    def until(self, end: int | np.ndarray) -> "Covariates":
        """Give known rows up to a calendar ordinal, over the same arrays; (S,) of them for each series its own."""
        return replace(self, stops=np.clip(self.starts + (end + 1 - self.first), self.starts, self.stops))

    def since(self, begin: int | np.ndarray) -> "Covariates":
        """Give known rows from a calendar ordinal on, over the same arrays; (S,) of them for each series its own."""
        skipped = np.clip(begin - self.first, 0, self.stops - self.starts)
        return replace(self, starts=self.starts + skipped, first=self.first + skipped)
