"""The covariates of a panel as a network reads them: which columns, in which order and units, learned at the fit.

B windows, T steps, S series, C columns.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from forecast.frame import FrameError, Panel
from forecast.frame.covariates import NEVER, Column, Covariates, Table
from forecast.frame.features import calendar_features
from forecast.frame.rows import plain
from forecast.nn.covariates import Columns, Layout
from forecast.nn.covariates import Covariates as Beside


@dataclass(frozen=True)
class Number:
    """A column of numbers: mean and standard deviation at the fit, and when a value is known.

    That is so many steps after its own stamp, or, if it has issue times, when it was issued.
    """

    name: str
    location: float
    scale: float
    delay: int = 0
    issued: bool = False


@dataclass(frozen=True)
class Category:
    """A column of categories: those that were there at the fit, and when a value is known, as of a number."""

    name: str
    values: tuple[Any, ...]
    delay: int = 0
    issued: bool = False


@dataclass(frozen=True)
class Part:
    """The columns of one role: numbers, then categories."""

    numbers: tuple[Number, ...] = ()
    categories: tuple[Category, ...] = ()

    @classmethod
    def of(cls, table: Table, rows: np.ndarray) -> Self:
        """Learn the columns of a table from some of its rows, a mask."""
        numbers, categories = [], []
        for column, values in zip(table.columns, table.numbers.T, strict=True):
            values = values[rows]
            values = values[np.isfinite(values)]
            if column.categories is None:
                values = values.astype("float64") if len(values) else np.zeros(1)
                location, scale = float(values.mean()), float(values.std())
                # Of a column that does not move the spread is rounding noise, which would make a small change large.
                noise = 1e-6 * abs(location)
                scale = scale if scale > noise else 1.0
                numbers.append(Number(column.name, location, scale, column.delay, column.issued is not None))
            else:
                seen = column.categories[np.unique(values).astype("int64")]
                values = tuple(map(plain, seen))
                categories.append(Category(column.name, values, column.delay, column.issued is not None))
        return cls(tuple(numbers), tuple(categories))

    @property
    def names(self) -> list[str]:
        """Give the columns in order."""
        return [column.name for column in (*self.numbers, *self.categories)]

    @property
    def delays(self) -> list[int]:
        """Give the delay of each column."""
        return [column.delay for column in (*self.numbers, *self.categories)]

    def columns(self, plain: int = 0) -> Columns:
        """Give what a network has to know of them; `plain` numbers more stand before the categories."""
        return Columns(
            location=tuple(number.location for number in self.numbers),
            scale=tuple(number.scale for number in self.numbers),
            plain=plain,
            categories=tuple(len(category.values) for category in self.categories),
        )

    def encode(self, table: Table, role: str) -> tuple[np.ndarray, list[str]]:
        """Give the columns of a table in this order, categories as places at the fit; and what was not there, in words.

        Raises
        ------
        FrameError: a column that is not there; one that holds numbers where there were categories, or the other way
            round; one that is a forecast and was none, or the other way round.

        """
        found = {column.name: place for place, column in enumerate(table.columns)}
        if lacking := [name for name in self.names if name not in found]:
            raise FrameError(
                f"column `{lacking[0]}` was {role} at fit and is not there; got {list(found)} with this role: give it, "
                "declared as at fit"
            )
        encoded, unseen = np.empty((len(table.numbers), len(self.names)), dtype="float32"), []
        for place, column in enumerate((*self.numbers, *self.categories)):
            given, values = table.columns[found[column.name]], table.numbers[:, found[column.name]]
            if (given.categories is None) != isinstance(column, Number) and np.isfinite(values).any():
                held, holds = ("numbers", "categories")[:: 1 if isinstance(column, Number) else -1]
                raise FrameError(f"column `{column.name}` held {held} at fit and holds {holds} here: give it as at fit")
            if column.issued != (given.issued is not None):
                was, now = ("forecasted", "known")[:: 1 if column.issued else -1]
                raise FrameError(f"column `{column.name}` was {was} at fit and is {now} here: declare it as at fit")
            if isinstance(column, Category) and given.categories is not None:
                values, new = _placed(column, given, values)
                if len(new):
                    unseen.append(f"`{column.name}` {new[0]!r}{f' and {len(new) - 1} more' if len(new) > 1 else ''}")
            encoded[:, place] = values
        return encoded, unseen


def _placed(column: Category, given: Column, values: np.ndarray) -> tuple[np.ndarray, list]:
    """Give the places at the fit of categories, NaN for one that was not there; and those that were not."""
    assert given.categories is not None
    places = pd.Index(list(column.values), dtype="object").get_indexer(given.categories.astype("object"))
    here = np.isfinite(values)
    own = np.where(here, values, 0).astype("int64")
    new = np.unique(own[here & (places[own] < 0)]) if len(places) else np.empty(0, "int64")
    to = np.where(places < 0, np.nan, places).astype("float32")
    mapped = np.where(here, to[own], np.float32(np.nan)) if len(places) else np.full(len(values), np.nan, "float32")
    return mapped, [plain(name) for name in given.categories[new]]


@dataclass(frozen=True)
class Encoding:
    """Which covariates a network reads, by role, and the calendar features beside the known ones.

    `features` is how many numbers the calendar features of a step are.
    """

    static: Part = Part()
    past: Part = Part()
    known: Part = Part()
    calendar: tuple[str, ...] = ()
    features: int = 0

    @classmethod
    def of(cls, panel: Panel, calendar: tuple[str, ...], last: int | None = None) -> "Encoding | None":
        """Learn from the panel of a fit, up to the calendar ordinal `last`; None where there is nothing to read.

        What comes after it is for validation, which would be no test of what it has taught.
        """
        features = calendar_features(panel.calendar, calendar, np.zeros(1, "int64")).shape[1] if calendar else 0
        given, parts = panel.covariates, {}
        if given is not None and given.late is not None:  # what came after the last row teaches nothing
            panel = panel.detached()
            given = panel.covariates
        if given is not None:
            static = np.ones(len(given.static.numbers), dtype=bool)
            ends = panel.last if last is None else np.minimum(panel.last, last)
            stops = np.clip(panel.starts + ends + 1 - panel.first, panel.starts, panel.stops)
            past = _owned(len(given.past.numbers), panel.starts, stops)
            # Up to the last row: the units of a fit do not depend on how much is known ahead.
            stops = np.clip(given.starts + ends + 1 - given.first, given.starts, given.stops)
            known = _owned(len(given.known.numbers), given.starts, stops)
            tables = {"static": (given.static, static), "past": (given.past, past), "known": (given.known, known)}
            parts = {role: Part.of(*table) for role, table in tables.items()}
        encoding = cls(calendar=calendar, features=features, **parts)
        return None if encoding == cls() else encoding

    def layout(self) -> Layout:
        """Give what the network has to know."""
        known = self.known.columns(plain=self.features)
        return Layout(past=self.past.columns(), known=known, static=self.static.columns())


class Encoded:
    """The covariates of a panel as tensors, gathered by series and calendar ordinals.

    One warning tells of categories that were not there at the fit; they are read as unknown.

    Raises
    ------
    FrameError: columns that are not those of the fit.

    """

    def __init__(self, panel: Panel, encoding: Encoding):
        self.encoding = encoding
        self.panel = panel
        given, unseen = panel.covariates or _NOTHING, []
        arrays = {}
        for role in ("static", "past", "known"):
            arrays[role], new = getattr(encoding, role).encode(getattr(given, role), role)
            unseen += new
        if unseen:
            warnings.warn(
                f"categories that were not there to learn from are read as unknown: {'; '.join(unseen)}", stacklevel=2
            )
        self.late = None
        if given.late is not None:
            late = _late(encoding.known, given)
            arrays["known"] = _when_known(arrays["known"], late, given)
            self.late = torch.from_numpy(late if len(late) else np.full((1, late.shape[1]), NEVER, dtype="int32"))
        self.static = torch.from_numpy(_rows(arrays["static"], len(panel)))
        self.known = torch.from_numpy(_rows(arrays["known"], 1))
        delays = np.array(encoding.past.delays, dtype="int64")
        by_delay = {int(delay): np.flatnonzero(delays == delay) for delay in np.unique(delays)}
        self.past = {
            delay: (which, torch.from_numpy(_rows(arrays["past"][:, which], 1))) for delay, which in by_delay.items()
        }
        bounds = (panel.starts, panel.stops, panel.first)
        self.past_bounds = tuple(map(torch.from_numpy, bounds))
        own = (given.starts, given.stops, given.first) if panel.covariates is not None else bounds
        self.known_bounds = tuple(map(torch.from_numpy, own))
        self.table, self.begin = torch.empty(0, encoding.features, dtype=torch.float32), 0

    def gather(self, series: Tensor, cutoffs: Tensor, steps: int, ahead: int) -> Beside:
        """Give those of `steps` steps up to `cutoffs` (B,) of series (B,), and of `ahead` steps after them.

        A series of -1 is one of which nothing is known.
        """
        back = cutoffs[:, None] + torch.arange(1 - steps, 1)  # (B, T)
        past = torch.empty(*back.shape, len(self.encoding.past.names), dtype=torch.float32)
        for delay, (which, numbers) in self.past.items():
            past[..., which] = _at(numbers, self.past_bounds, series, back - delay)
        around = cutoffs[:, None] + torch.arange(1 - steps, ahead + 1)  # (B, T + A)
        known = _at(self.known, self.known_bounds, series, around)
        numbers, features = len(self.encoding.known.numbers), self._features(around)
        known = torch.cat([known[..., :numbers], features, known[..., numbers:]], dim=-1)
        static, late = torch.where(series[:, None] < 0, torch.nan, self.static[series]), None
        if self.late is not None:
            late = _at(self.late, self.known_bounds, series, around, NEVER)
            always = late.new_full(features.shape, -NEVER)
            late = torch.cat([late[..., :numbers], always, late[..., numbers:]], dim=-1)
        return Beside(past, known, static, late)

    def _features(self, ordinals: Tensor) -> Tensor:
        """Give the calendar features of ordinals (B, n), (B, n, F)."""
        if not self.encoding.calendar:
            return self.table.new_empty(*ordinals.shape, 0)
        low, high = int(ordinals.min()), int(ordinals.max()) + 1
        if low < self.begin or high > self.begin + len(self.table):
            if len(self.table):
                low, high = min(low, self.begin), max(high, self.begin + len(self.table))
            table = calendar_features(self.panel.calendar, self.encoding.calendar, np.arange(low, high))
            self.table, self.begin = torch.from_numpy(table), low
        return self.table[ordinals - self.begin]


def _late(part: Part, given: Covariates) -> np.ndarray:
    """Give how late each known value is, (rows, C) in the order of the part."""
    assert given.late is not None
    late = np.full((len(given.late), len(part.names)), -NEVER, dtype="int32")
    for at, place in enumerate(given.forecasted):
        if (name := given.known.columns[place].name) in part.names:
            late[:, part.names.index(name)] = given.late[:, at]
    return late


def _when_known(numbers: np.ndarray, late: np.ndarray, given: Covariates) -> np.ndarray:
    """Give known columns (rows, C) as they are read up to a step: at each what was known at it.

    That is the value for the step itself or, if this comes later, the newest of those for earlier steps that come right
    then, as of a delayed column; else nothing.
    """
    if not (late > 0).any():
        return numbers
    read = np.where(late > 0, np.float32(np.nan), numbers)
    for start, stop in zip(given.starts, given.stops, strict=True):
        for own, lags, values in zip(read[start:stop].T, late[start:stop].T, numbers[start:stop].T, strict=True):
            rows = np.flatnonzero((lags > 0) & (lags < len(own)) & np.isfinite(values))
            comes = rows + lags[rows]
            here = comes < len(own)
            rows, comes = rows[here], comes[here]
            free = lags[comes] > 0
            own[comes[free]] = values[rows[free]]  # of several the newest, which is the last
    return read


def _at(
    numbers: Tensor, bounds: tuple[Tensor, ...], series: Tensor, ordinals: Tensor, nothing: float = torch.nan
) -> Tensor:
    """Give the rows (B, n, C) of series at ordinals (B, n), `nothing` where there is none."""
    starts, stops, first = (bound[series, None] for bound in bounds)
    rows = starts + ordinals - first
    inside = (rows >= starts) & (rows < stops) & (series[:, None] >= 0)
    return torch.where(inside.unsqueeze(-1), numbers[torch.where(inside, rows, 0)], nothing)


def _rows(numbers: np.ndarray, least: int) -> np.ndarray:
    """Give an array with at least so many rows, so that there is one to point at."""
    return numbers if len(numbers) >= least else np.full((least, numbers.shape[1]), np.nan, dtype="float32")


def _owned(rows: int, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Give which of the flat rows belong to a series."""
    owned = np.zeros(rows, dtype=bool)
    for start, stop in zip(starts, stops, strict=True):
        owned[start:stop] = True
    return owned


_EMPTY, _NO_ROWS = Table((), np.empty((0, 0), dtype="float32")), np.empty(0, dtype="int64")
_NOTHING = Covariates(_EMPTY, _EMPTY, _EMPTY, _NO_ROWS, _NO_ROWS, _NO_ROWS)
