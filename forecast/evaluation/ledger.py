"""The ledger: one row per forecast step, the only source of every score, comparison and plot.

Holds the column names, `level_columns` and `floats` to read them by, the `Ledger` of three tables, and `check`, which
decides whether it may be scored: the same keys for every forecaster and seed, no hole in a forecast, no crossing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.api import types

RUN = ["forecaster", "seed"]  # who forecasts
KEY = ["unique_id", "cutoff", "step"]  # what is forecast
CELL = ["unique_id", "cutoff"]
FIT = [*RUN, "fit_cutoff"]
SCALES = [*CELL, "absolute", "squared"]
FITS = [*FIT, "family", "decoder", "parameters", "fit_seconds", "predict_seconds", "forecasts"]
BEFORE_LEVELS = [*RUN, "unique_id", "cutoff", "ds", "step", "y", "prediction", "mean"]
TABLES = ("forecasts", "scales", "fits")
# From 3.1 on pandas reads every float to its last bit, and warns who asks for it.
EXACT: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)


def level_columns(forecasts: pd.DataFrame) -> dict[float, str]:
    """Quantile level -> name of its column, in the order of the columns (`"0.1"` is the column of level 0.1)."""
    levels = {}
    for column in forecasts.columns:
        try:
            level = float(column)
        except (TypeError, ValueError):
            continue
        if 0 < level < 1:
            levels[level] = column
    return levels


def floats(table: pd.DataFrame, column: str) -> np.ndarray:
    """A column as float64, whatever its kind of number; NaN where nothing stands."""
    return table[column].to_numpy(dtype="float64", na_value=np.nan)


@dataclass(frozen=True, eq=False)
class Ledger:
    """Everything a backtest has forecast, with what came true, what it cost and what it is measured against.

    Build it with `Ledger.of`, which puts the columns in order and runs `check`.

    Attributes
    ----------
    forecasts
        One row per (forecaster, seed, unique_id, cutoff, step): `forecaster, seed, unique_id, cutoff, ds, step, y,
        prediction, mean, 0.1 ... 0.9, fit_cutoff`. `y` is NaN where nothing was observed; `prediction` is the median;
        the level columns are strings; all values are in the units of the series.
    scales
        One row per (unique_id, cutoff): `absolute` and `squared`, the mean of |y_t - y_{t-m}| and of its square over
        the history observed up to the cutoff, m being `season_length`. NaN where undefined.
    fits
        One row per (forecaster, seed, fit_cutoff): `family, decoder` ("" for none)`, parameters, fit_seconds,
        predict_seconds, forecasts`, the last being the number of (series, cutoff) pairs predicted.
    season_length
        m, in time steps; one value for the whole data set.
    """

    forecasts: pd.DataFrame
    scales: pd.DataFrame
    fits: pd.DataFrame
    season_length: int

    @classmethod
    def of(cls, forecasts: pd.DataFrame, scales: pd.DataFrame, fits: pd.DataFrame, season_length: int) -> Ledger:
        """Put the columns in order, spell categories out, check, and return the ledger. Raises what `check` raises."""
        ledger = cls(
            _ordered(forecasts, _order(forecasts), "forecasts"),
            _ordered(scales, SCALES, "scales"),
            _ordered(fits, FITS, "fits"),
            season_length,
        )
        check(ledger)
        return ledger

    @classmethod
    def concat(cls, ledgers: Sequence[Ledger]) -> Ledger:
        """Join ledgers over the same data: of more forecasters, seeds or cutoffs.

        Equal rows of `scales` and `fits` are kept once. Raises ValueError when there is no ledger to join, when
        `season_length` differs and when the whole fails `check`.
        """
        if not ledgers:
            raise ValueError("`ledgers` is empty: give at least one ledger to join.")
        seasons = list(dict.fromkeys(ledger.season_length for ledger in ledgers))
        if len(seasons) > 1:
            raise ValueError(
                f"`season_length` must be one value in all ledgers; got {seasons}. Backtest with one season."
            )
        forecasts, scales, fits = (
            pd.concat([getattr(ledger, name) for ledger in ledgers], ignore_index=True) for name in TABLES
        )
        return cls.of(forecasts, scales.drop_duplicates(), fits.drop_duplicates(), seasons[0])

    @property
    def forecasters(self) -> tuple[str, ...]:
        """Names in order of appearance."""
        return tuple(self.forecasts["forecaster"].unique())

    @property
    def quantile_levels(self) -> tuple[float, ...]:
        """Levels in (0, 1), ascending."""
        return tuple(level_columns(self.forecasts))

    def write(self, folder: str | Path) -> None:
        """Write the tables as `*.csv.gz` and `ledger.json` beside them; the same ledger gives the same bytes."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        dtypes = {}
        for name in TABLES:
            table = getattr(self, name)
            # No time of writing in the file. Level 6 would take twice as long for a twentieth less.
            compression = {"method": "gzip", "compresslevel": 1, "mtime": 0}
            path = folder / f"{name}.csv.gz"
            _with_text_stamps(table).to_csv(path, index=False, lineterminator="\n", compression=compression)
            dtypes[name] = {column: str(dtype) for column, dtype in table.dtypes.items()}
        note = {"season_length": int(self.season_length), "dtypes": dtypes}
        (folder / "ledger.json").write_text(json.dumps(note, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: str | Path) -> Ledger:
        """Read what `write` wrote: the same numbers to the last bit, the same dtypes; checked again."""
        folder = Path(folder)
        note = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))
        tables = [_read_table(folder / f"{name}.csv.gz", note["dtypes"][name]) for name in TABLES]
        return cls.of(*tables, season_length=note["season_length"])


def _order(forecasts: pd.DataFrame) -> list[str]:
    levels = level_columns(forecasts)
    return [*BEFORE_LEVELS, *(levels[level] for level in sorted(levels)), "fit_cutoff"]


def _ordered(table: pd.DataFrame, order: list[str], name: str) -> pd.DataFrame:
    missing = [column for column in order if column not in table.columns]
    unknown = [column for column in table.columns if column not in order]
    if missing or unknown:
        raise ValueError(
            f"`{name}` lacks columns {missing} and has unknown columns {unknown}; it takes exactly {order}."
        )
    categories = {
        column: dtype.categories.dtype
        for column, dtype in table.dtypes.items()
        if isinstance(dtype, pd.CategoricalDtype)
    }
    return table.loc[:, order].astype(categories).reset_index(drop=True)


def _with_text_stamps(table: pd.DataFrame) -> pd.DataFrame:
    table = table.copy()
    for column in table.columns[[types.is_datetime64_any_dtype(dtype) for dtype in table.dtypes]]:
        # Few stamps stand in many rows, and writing out one with a time zone is slow.
        code, stamps = pd.factorize(table[column])
        table[column] = stamps.astype(str).take(code)
    return table


def _read_table(path: Path, dtypes: dict[str, str]) -> pd.DataFrame:
    stamps = [column for column, dtype in dtypes.items() if dtype.startswith("datetime64")]
    numbers = [column for column, dtype in dtypes.items() if dtype.lower().startswith(("int", "uint", "float"))]
    table = pd.read_csv(
        path,
        dtype={column: dtypes[column] if column in numbers else "str" for column in dtypes},
        # Only in a column of numbers does nothing mean NaN: a series may be called "NA", and no decoder is "".
        keep_default_na=False,
        na_values={column: [""] for column in numbers},
        **EXACT,
    )
    for column in stamps:
        zone = getattr(types.pandas_dtype(dtypes[column]), "tz", None)
        # Local stamps carry two offsets a year; only UTC gives them one dtype on the way in.
        parsed = pd.to_datetime(table[column], format="ISO8601", utc=zone is not None)
        table[column] = parsed if zone is None else parsed.dt.tz_convert(zone)
    return table.astype(dtypes)


def check(ledger: Ledger) -> None:
    """Raise ValueError unless every score of this ledger compares like with like.

    Demanded: the columns in their order and kinds; one row per key; `prediction`, `mean` and all quantiles finite, the
    quantiles not crossing; fitted no later than the cutoff, forecast after it; for every (forecaster, seed) the same
    keys with the same `ds` and `y`; a row of `scales` for each (series, cutoff) and one of `fits` for each fit. The
    message names the first offender.
    """
    _check_columns(ledger)
    _check_rows(ledger.forecasts)
    _check_same_keys(ledger.forecasts)
    _check_companion("scales", ledger.scales, CELL, ledger.forecasts)
    _check_companion("fits", ledger.fits, FIT, ledger.forecasts)
    for column in ("absolute", "squared"):
        scale = floats(ledger.scales, column)
        wrong = (scale < 0) | np.isinf(scale)
        if wrong.any():
            row = ledger.scales.loc[wrong].iloc[0]
            raise ValueError(
                f"column `{column}` of `scales` is {row[column]} for series {row['unique_id']!r}, "
                f"cutoff {row['cutoff']}; it must be finite and not negative, or NaN where undefined."
            )


def _check_columns(ledger: Ledger) -> None:
    forecasts = ledger.forecasts
    for name, order in (("forecasts", _order(forecasts)), ("scales", SCALES), ("fits", FITS)):
        columns = list(getattr(ledger, name).columns)
        if columns != order:
            raise ValueError(f"`{name}` has the columns {columns}; it takes {order}, in this order. Use `Ledger.of`.")
        if getattr(ledger, name).empty:
            raise ValueError(f"`{name}` has no rows.")
    for column in [*RUN, *KEY, "ds", "fit_cutoff"]:
        empty = forecasts[column].isna().to_numpy()
        if empty.any():
            raise ValueError(f"column `{column}` is empty in row {int(empty.argmax())}; no key may be missing.")
    for column, kinds in (
        ("forecaster", "text"),
        ("unique_id", "text or integers"),
        ("seed", "integers"),
        ("step", "integers"),
    ):
        if _kind(forecasts, column) not in kinds:
            raise ValueError(f"column `{column}` must hold {kinds}; got dtype {forecasts[column].dtype}.")
    times = {f"forecasts.{column}": _kind(forecasts, column) for column in ("cutoff", "ds", "fit_cutoff")}
    times["scales.cutoff"] = _kind(ledger.scales, "cutoff")
    times["fits.fit_cutoff"] = _kind(ledger.fits, "fit_cutoff")
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
        raise ValueError(
            f"`{name}` has more than one row for {dict(table.loc[repeated, on].iloc[0])}; it takes one per {tuple(on)}."
        )
    needed = forecasts[on].drop_duplicates()
    lacking = (needed.merge(table[on], how="left", on=on, indicator=True)["_merge"] == "left_only").to_numpy()
    if lacking.any():
        raise ValueError(f"`{name}` lacks the row for {dict(needed.loc[lacking].iloc[0])}, which `forecasts` has.")


def _kind(table: pd.DataFrame, column: str) -> str:
    values = table[column]
    if types.is_integer_dtype(values):
        return "integers"
    if types.is_datetime64_any_dtype(values):
        return f"timestamps, time zone {values.dt.tz}"
    return "text" if types.is_string_dtype(values) else str(values.dtype)


def _place(forecasts: pd.DataFrame, row: int) -> str:
    at = forecasts.iloc[row]
    return (
        f"forecaster {at['forecaster']!r}, seed {at['seed']}, series {at['unique_id']!r}, "
        f"cutoff {at['cutoff']}, step {at['step']}"
    )
