"""Frames as a plot is given them: checked for what it draws, and cut down to the one window that it shows."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from forecast.plots.style import shorten


def check_columns(table: pd.DataFrame, name: str, columns: Sequence[str]) -> None:
    """Refuse a frame that lacks a column or has no row. Raises ValueError."""
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise ValueError(f"`{name}` lacks the columns {missing}; it needs {list(columns)}")
    if table.empty:
        raise ValueError(f"`{name}` has no row; there is nothing to draw")


def first_window(table: pd.DataFrame, name: str, columns: Sequence[str]) -> pd.DataFrame:
    """Give the rows of the first series and cutoff. Raises ValueError as `check_columns`."""
    check_columns(table, name, ["unique_id", "cutoff", *columns])
    first = table.iloc[0]
    return table.loc[(table["unique_id"] == first["unique_id"]) & (table["cutoff"] == first["cutoff"])]


def window_name(one: pd.DataFrame) -> str:
    """Name the cutoff of a window, with its time zone, and its series."""
    cutoff = one["cutoff"].iloc[0]
    zone = getattr(cutoff, "tzinfo", None)
    return f"{cutoff}{'' if zone is None else f' ({zone})'}: {shorten(one['unique_id'].iloc[0])}"
