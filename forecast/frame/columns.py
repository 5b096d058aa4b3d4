"""Columns that have a role, read from the rows of a frame into arrays: numbers as they are, the rest as categories."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd

from forecast.frame.covariates import Column, Table
from forecast.frame.rows import FrameError, Rows, of_numbers, plain

_MOST_CATEGORIES = 1 << 24  # places that float32 can tell apart


def read_table(
    rows: Rows,
    names: Iterable,
    delays: Mapping | None = None,
    issued: Mapping | None = None,
    like: tuple[Column, ...] = (),
) -> Table:
    """Give columns of the rows as a table, a row for each.

    Parameters
    ----------
    rows: they hold the columns `names`.
    delays: column -> steps, of delayed ones.
    issued: column -> that of its issue times, of forecasted ones.
    like: columns of earlier rows. One that was of numbers there has to be of numbers here; of one that was not, the
        categories keep their places, and new ones follow.

    Raises
    ------
    FrameError: values that are neither numbers nor categories, or infinite.

    """
    names, known = tuple(names), {column.name: column for column in like}
    numbers, columns = np.empty((len(rows), len(names)), dtype="float32"), []
    for at, name in enumerate(names):
        given, before = rows.beside[name], known.get(name)
        categories = None
        if _holds_numbers(given) if before is None else before.categories is None:
            numbers[:, at] = rows.numbers(given)
        else:
            numbers[:, at], categories = _places(rows, given, before.categories if before else None)
        columns.append(Column(name, categories, (delays or {}).get(name, 0), (issued or {}).get(name)))
    return Table(tuple(columns), numbers)


def read_static(rows: Rows, begins: np.ndarray, names: Iterable) -> Table:
    """Give columns that have one value per series, a row for each series; `begins` are the series' first rows.

    Raises
    ------
    FrameError: as `read_table`; a series with two values.

    """
    table = read_table(rows, names)
    low, high = (bound.reduceat(table.numbers, begins, axis=0) for bound in (np.fmin, np.fmax))  # past any NaN
    if (differing := low < high).any():
        series, at = (int(place) for place in np.argwhere(differing)[0])
        stop = begins[series + 1] if series + 1 < len(begins) else len(rows)
        numbers, given = table.numbers[begins[series] : stop, at], rows.beside[table.columns[at].name]
        before = int(np.isfinite(numbers).argmax())
        row = int((np.isfinite(numbers) & (numbers != numbers[before])).argmax())
        row, before = row + int(begins[series]), before + int(begins[series])
        raise FrameError(
            f"column `{given.name}` is static but has two values in one series: {plain(given.iloc[row])!r} in "
            f"{rows.at(row)}, {plain(given.iloc[before])!r} at {rows.stamps[before]} "
            f"({int(differing[:, at].sum())} series differ within). Give one value per series, or another role"
        )
    return Table(table.columns, high)


def read_weights(rows: Rows, name) -> np.ndarray:
    """Give the weights of the rows.

    Raises
    ------
    FrameError: a weight that is missing, negative or no number.

    """
    given = rows.beside[name]
    weights = rows.numbers(given)
    if (wrong := ~(weights >= 0)).any():  # NaN too
        row = int(wrong.argmax())
        raise FrameError(
            f"column `{name}` holds weights, and {plain(given.iloc[row])!r} in {rows.at(row)} is none "
            f"({int(wrong.sum())} such rows in all); allowed: numbers of 0 or more in every row, 0 for what does not "
            "count"
        )
    return weights


def is_number(value) -> bool:
    """Tell whether a value in a column of objects is a number; truth values are."""
    return isinstance(value, Real | Decimal | np.bool_)


def _holds_numbers(column: pd.Series) -> bool:
    """Tell whether a column is of numbers or, if not, of categories; one without any value is of numbers."""
    if column.dtype == object:
        return all(map(is_number, column.dropna()))
    return of_numbers(column.dtype)


def _places(rows: Rows, column: pd.Series, before: pd.Index | None) -> tuple[np.ndarray, pd.Index]:
    """Give each value's place among the categories, as float32 with NaN where it is missing, and the categories."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if not isinstance(column.dtype, pd.CategoricalDtype) and (
        kind.startswith(("date", "time", "period", "interval", "complex", "mixed-integer")) or _mixes(column)
    ):
        row = int(column.notna().to_numpy().argmax())
        what = "numbers and other things" if kind.startswith("mixed") else kind
        raise FrameError(
            f"column `{column.name}` holds {what} ({column.dtype}), first {plain(column.iloc[row])!r} in "
            f"{rows.at(row)}; allowed: numbers, truth values, text and categories. Convert it to numbers, or to "
            f"categories with frame[{column.name!r}].astype(str)"
        )
    try:
        places, categories = column.factorize()
    except (TypeError, NotImplementedError) as error:  # the latter of lists of Arrow
        raise FrameError(
            f"column `{column.name}`: values that cannot be told apart ({error}); allowed: numbers, truth values, text "
            "and categories"
        ) from None
    if isinstance(categories, pd.CategoricalIndex):
        categories = categories.astype(categories.categories.dtype)
    if before is not None:
        moved = before.get_indexer(categories)
        new = moved < 0
        moved[new] = len(before) + np.arange(new.sum())
        places = np.append(moved, -1)[places]  # missing ones have the place -1
        categories = before.append(categories[new]) if new.any() else before
    if len(categories) > _MOST_CATEGORIES:
        raise FrameError(
            f"column `{column.name}` has {len(categories)} categories; allowed: {_MOST_CATEGORIES} at most"
        )
    return np.where(places < 0, np.float32(np.nan), places.astype("float32")), categories


def _mixes(column: pd.Series) -> bool:
    """Tell whether a column of objects has numbers and other things."""
    return column.dtype == object and any(map(is_number, column.dropna()))
