"""Whether a ledger may be scored: the same keys for every forecaster and seed, no hole in a forecast, no crossing."""

from itertools import pairwise

import numpy as np
import pandas as pd
from pandas.api import types

from forecast.evaluation.columns import CELL, FIT, FITS, KEY, RUN, SCALES, floats, forecast_columns, level_columns


def check_tables(forecasts: pd.DataFrame, scales: pd.DataFrame, fits: pd.DataFrame) -> None:
    """Raise ValueError unless every score of these tables of a ledger compares like with like.

    Demanded: the columns in their order and kinds; one row per key; `prediction`, `mean` and all quantiles finite, the
    quantiles not crossing; fitted no later than the cutoff, forecast after it; for every (forecaster, seed) the same
    keys with the same `ds` and `y`; a row of `scales` for each (series, cutoff) and one of `fits` for each fit. The
    message names the first offender.
    """
    _check_columns(forecasts, scales, fits)
    _check_rows(forecasts)
    _check_same_keys(forecasts)
    _check_companion("scales", scales, CELL, forecasts)
    _check_companion("fits", fits, FIT, forecasts)
    _check_scales(scales)


def _check_columns(forecasts: pd.DataFrame, scales: pd.DataFrame, fits: pd.DataFrame) -> None:
    expected = {
        "forecasts": (forecasts, forecast_columns(forecasts)),
        "scales": (scales, SCALES),
        "fits": (fits, FITS),
    }
    for name, (table, order) in expected.items():
        columns = list(table.columns)
        if columns != order:
            raise ValueError(f"`{name}` has the columns {columns}; it takes {order}, in this order. Use `Ledger.of`.")
        if table.empty:
            raise ValueError(f"`{name}` has no rows.")
    for column in [*RUN, *KEY, "ds", "fit_cutoff"]:
        empty = forecasts[column].isna().to_numpy()
        if empty.any():
            raise ValueError(f"column `{column}` is empty in row {int(empty.argmax())}; no key may be missing.")
    for column, kinds in (
        ("forecaster", "text"),
        ("seed", "integers"),
        ("step", "integers"),
    ):
        if kind_of(forecasts, column) not in kinds:
            raise ValueError(f"column `{column}` must hold {kinds}; got dtype {forecasts[column].dtype}.")
    times = {f"forecasts.{column}": kind_of(forecasts, column) for column in ("cutoff", "ds", "fit_cutoff")}
    times["scales.cutoff"] = kind_of(scales, "cutoff")
    times["fits.fit_cutoff"] = kind_of(fits, "fit_cutoff")
    if len(set(times.values())) > 1 or not times["scales.cutoff"].startswith(("integers", "timestamps")):
        raise ValueError(f"all times must be timestamps of one time zone, or all integers; got {times}.")


def _check_rows(forecasts: pd.DataFrame) -> None:
    levels = list(level_columns(forecasts).values())
    finite = "every forecast must be a finite number; mend the forecaster or score a named fallback, none is skipped"
    rules = [(column, ~np.isfinite(floats(forecasts, column)), finite) for column in ("prediction", "mean", *levels)]
    for low, high in pairwise(levels):
        crossing = floats(forecasts, high) < floats(forecasts, low)
        rules.append((high, crossing, f"it must not be below column `{low}`, for quantiles must not cross"))
    rules += [
        ("y", np.isinf(floats(forecasts, "y")), "it must be finite, or NaN where nothing was observed"),
        ("step", forecasts["step"].to_numpy() < 1, "steps count from 1"),
        ("ds", (forecasts["ds"] <= forecasts["cutoff"]).to_numpy(), "what is forecast must lie after the cutoff"),
        ("fit_cutoff", (forecasts["fit_cutoff"] > forecasts["cutoff"]).to_numpy(), "no fit may see past the cutoff"),
    ]
    for column, wrong, rule in rules:
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"column `{column}` is {forecasts[column].iloc[row]} for {_place(forecasts, row)}; {rule}."
            )


def _check_same_keys(forecasts: pd.DataFrame) -> None:
    run = forecasts.groupby(RUN, sort=False, observed=True).ngroup().to_numpy()
    key = forecasts.groupby(KEY, sort=False, observed=True).ngroup().to_numpy()
    row = np.arange(len(forecasts))
    rows = np.full((run.max() + 1, key.max() + 1), -1)  # (runs, keys): the row that holds it
    rows[run, key] = row
    overwritten = rows[run, key] != row
    if overwritten.any():
        raise ValueError(
            f"{_place(forecasts, int(overwritten.argmax()))} has more than one row; each forecast is entered once."
        )
    if (rows < 0).any():
        lacking, missing = np.argwhere(rows < 0)[0]
        holder = rows[:, missing].max()
        lacks = forecasts.iloc[rows[lacking].max()]
        raise ValueError(
            f"forecaster {lacks['forecaster']!r}, seed {lacks['seed']} lacks the row of {_place(forecasts, holder)}; "
            "all forecasters and seeds must forecast the same (unique_id, cutoff, step). Backtest them with one plan."
        )
    # Codes stand for the stamps: a column with a time zone has no fast numpy form.
    for column, values in (("y", floats(forecasts, "y")), ("ds", pd.factorize(forecasts["ds"])[0])):
        table = values[rows]  # (runs, keys)
        differs = (table != table[0]) & ~(np.isnan(table) & np.isnan(table[0]))
        if differs.any():
            other, where = np.argwhere(differs)[0]
            first, second = int(rows[0, where]), int(rows[other, where])
            raise ValueError(
                f"column `{column}` disagrees: {forecasts[column].iloc[first]} for {_place(forecasts, first)}, but "
                f"{forecasts[column].iloc[second]} for {_place(forecasts, second)}. Score them against the same data."
            )


def _check_companion(name: str, table: pd.DataFrame, on: list[str], forecasts: pd.DataFrame) -> None:
    repeated = table.duplicated(on).to_numpy()
    if repeated.any():
        spelled = _spelled(table, on, int(repeated.argmax()))
        raise ValueError(f"`{name}` has more than one row for {spelled}; it takes one.")
    needed = pd.DataFrame(forecasts[on]).drop_duplicates()
    lacking = (needed.merge(table[on], how="left", on=on, indicator=True)["_merge"] == "left_only").to_numpy()
    if lacking.any():
        spelled = _spelled(needed, on, int(lacking.argmax()))
        raise ValueError(f"`{name}` lacks the row for {spelled}, which `forecasts` has.")


def _check_scales(scales: pd.DataFrame) -> None:
    for column in ("absolute", "squared"):
        scale = floats(scales, column)
        if (wrong := (scale < 0) | np.isinf(scale)).any():
            row = int(wrong.argmax())
            raise ValueError(
                f"column `{column}` of `scales` is {scales[column].iloc[row]} for {_spelled(scales, CELL, row)}; "
                "it must be finite and not negative, or NaN where undefined."
            )


def kind_of(table: pd.DataFrame, column: str) -> str:
    """Say what a column holds: integers, timestamps, text, or its dtype."""
    values = table[column]
    if types.is_integer_dtype(values):
        return "integers"
    if types.is_datetime64_any_dtype(values):
        return f"timestamps, time zone {values.dt.tz}"
    return "text" if types.is_string_dtype(values) else str(values.dtype)


def _place(forecasts: pd.DataFrame, row: int) -> str:
    return _spelled(forecasts, [*RUN, *KEY], row)


def _spelled(table: pd.DataFrame, columns: list[str], row: int) -> str:
    """Name what a row is of, for messages: forecaster 'LSTM', seed 0, series 3, cutoff 2024-01-09 01:00:00."""
    parts = []
    for column in columns:
        value = table[column].iloc[row]
        plain = value.item() if isinstance(value, np.generic) else value
        noun = {"unique_id": "series"}.get(column, column)
        parts.append(f"{noun} {plain!r}" if isinstance(plain, str | int) else f"{noun} {plain}")
    return ", ".join(parts)
