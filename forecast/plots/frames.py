"""Frames as a plot is given them: of any kind, checked for what it draws, cut down to what it shows."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.ledger import Ledger
from forecast.frame import Panel
from forecast.plots.style import shorten


def as_pandas(table: Any, name: str, *, stamps: Sequence[str] = ()) -> pd.DataFrame:
    """Give a frame of any kind, or a panel, as a pandas frame; its `stamps` as timestamps or whole numbers.

    Periods become their first moments, and text is read as ISO 8601. Raises TypeError for what is no frame.
    """
    if isinstance(table, Panel):
        table = table.to_frame()
    elif not isinstance(table, pd.DataFrame):
        table = _from_another_kind(table, name)
    found = {column: _times(pd.Series(table[column])) for column in stamps if column in table.columns}
    return table.assign(**found) if found else table


def check_ledger(ledger: Any) -> None:
    """Refuse what is no ledger. Raises TypeError."""
    if not isinstance(ledger, Ledger):
        came = f"{type(ledger).__module__}.{type(ledger).__name__}"
        raise TypeError(f"`ledger` must be a Ledger, as backtest gives it; got {came}")


def check_columns(table: pd.DataFrame, name: str, columns: Sequence[str]) -> None:
    """Refuse a frame that lacks a column or has no row. Raises ValueError."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise ValueError(f"`{name}` lacks the columns {missing}; it needs {list(columns)}")
    if table.empty:
        raise ValueError(f"`{name}` has no row; there is nothing to draw")


def chosen(argument: str, wanted: Sequence | None, there: list, most: int, where: str) -> list:
    """Give the members that are asked for, or the first `most` of those there.

    Raises TypeError for a text instead of a list, ValueError for none, or one that is not there.
    """
    if wanted is None:
        return there[:most]
    if isinstance(wanted, str):
        raise TypeError(f"`{argument}` must be a list of names, got the string {wanted!r}; pass [{wanted!r}]")
    unknown = [one for one in wanted if one not in there]
    if unknown:
        raise ValueError(f"`{argument}` {unknown[0]!r} is not in {where}; it holds {_some(there)}")
    if not len(wanted):
        raise ValueError(f"`{argument}` is empty; leave it out or name at least one")
    return list(wanted)


def is_series(table: pd.DataFrame, unique_id) -> np.ndarray:
    """Tell which rows are those of a series, (rows,) bool."""
    if isinstance(unique_id, Sized) and not isinstance(unique_id, str):
        # A tuple would be taken for one value per row.
        return np.array([one == unique_id for one in table["unique_id"]], dtype=bool)
    return (table["unique_id"] == unique_id).to_numpy(dtype=bool)


def tail_before(past: pd.DataFrame, unique_id, cutoff, tail: int) -> pd.DataFrame:
    """Give the last `tail` rows of a series up to a cutoff, in order of time, each stamp once."""
    rows = past.loc[is_series(past, unique_id) & (past["ds"] <= cutoff)]
    rows = rows.drop_duplicates(subset=["ds"]).sort_values(by=["ds"])
    return rows.iloc[max(len(rows) - tail, 0) :]


def first_window(table: pd.DataFrame, name: str, columns: Sequence[str]) -> pd.DataFrame:
    """Give the rows of the first series and cutoff. Raises ValueError as `check_columns`."""
    check_columns(table, name, ["unique_id", "cutoff", *columns])
    first = table.iloc[0]
    return table.loc[(table["unique_id"] == first["unique_id"]) & (table["cutoff"] == first["cutoff"])]


def window_name(one: pd.DataFrame) -> str:
    """Name the cutoff of a window, with its time zone, and its series."""
    return f"{moment(one['cutoff'].iloc[0])}: {shorten(one['unique_id'].iloc[0])}"


def moment(stamp) -> str:
    """Name a stamp, with its time zone; midnight goes without saying."""
    zone = getattr(stamp, "tzinfo", None)
    if zone is None and isinstance(stamp, pd.Timestamp) and stamp == stamp.normalize():
        return f"{stamp.date()}"
    return f"{stamp}{'' if zone is None else f' ({zone})'}"


def _some(values: list) -> str:
    shown = ", ".join(str(value) for value in values[:5])
    return shown if len(values) <= 5 else f"{shown}, ... ({len(values)} in all)"


def _from_another_kind(table: Any, name: str) -> pd.DataFrame:
    try:
        import narwhals.stable.v2 as nw

        frame = nw.from_native(table)
    except (ImportError, TypeError) as error:
        kind = type(table).__name__
        raise TypeError(f"`{name}` is a {kind}; give a frame of pandas or polars, or a panel") from error
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    # Column by column: a whole frame may need pyarrow on the way.
    return pd.DataFrame({column: pd.Series(frame[column].to_list()) for column in frame.columns})


def _times(column: pd.Series) -> pd.Series:
    kind = column.dtype
    if isinstance(kind, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if isinstance(kind, pd.DatetimeTZDtype) or pd.api.types.is_datetime64_any_dtype(kind):
        return column
    if pd.api.types.is_numeric_dtype(kind):
        return column
    if len(column) and isinstance(column.iloc[0], pd.Period):
        return pd.PeriodIndex(column).to_timestamp().to_series(index=column.index)
    return pd.to_datetime(column)
