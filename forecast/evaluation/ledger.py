"""The ledger: one row per forecast step, the only source of every score, comparison and plot.

Holds the `Ledger` of three tables, which joins with others, goes to disk and comes back, and `check`, which decides
whether it may be scored.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api import types

from forecast.evaluation.columns import FITS, SCALES, forecast_columns, level_columns
from forecast.evaluation.ledger_check import check_tables, kind_of
from forecast.params import check_positive

TABLES = ("forecasts", "scales", "fits")
# From 3.1 on pandas reads every float to its last bit, and warns who asks for it.
EXACT: dict[str, Any] = (
    {} if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1) else {"float_precision": "round_trip"}
)


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
        One row per (forecaster, seed, fit_cutoff): `family, backbone` and `decoder` ("" for none), `parameters,
        fit_seconds, predict_seconds, forecasts`, the last being the number of (series, cutoff) pairs predicted.
    season_length
        m, in time steps; one value for the whole data set.
    """

    forecasts: pd.DataFrame
    scales: pd.DataFrame
    fits: pd.DataFrame
    season_length: int

    @classmethod
    def of(cls, forecasts: pd.DataFrame, scales: pd.DataFrame, fits: pd.DataFrame, season_length: int) -> Ledger:
        """Put the columns in order, spell categories out, check, and return the ledger.

        Raises TypeError for what is no DataFrame and what `check` raises.
        """
        ledger = cls(
            _ordered(forecasts, forecast_columns, "forecasts"),
            _ordered(scales, lambda _: SCALES, "scales"),
            _ordered(fits, lambda _: FITS, "fits"),
            season_length,
        )
        check(ledger)
        return ledger

    @classmethod
    def concat(cls, ledgers: Sequence[Ledger]) -> Ledger:
        """Join ledgers over the same data: of more forecasters, seeds or cutoffs.

        Equal rows of `scales` and `fits` are kept once. Raises ValueError when there is no ledger to join, when
        `season_length` differs and when the whole fails `check`; TypeError for what is no list of ledgers.
        """
        if not isinstance(ledgers, Sequence) or not all(isinstance(ledger, Ledger) for ledger in ledgers):
            raise TypeError(f"`ledgers` is {reprlib.repr(ledgers)}; allowed: a list of Ledgers")
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
        """Write the tables as `*.csv.gz` and `ledger.json` beside them; the same ledger gives the same bytes.

        Raises ValueError for series called by what a text file cannot hold: text, integers and timestamps it can.
        """
        if not (held := kind_of(self.forecasts, "unique_id")).startswith(("text", "integers", "timestamps")):
            raise ValueError(
                f"column `unique_id` holds {held}, which cannot be written: allowed are text, integers and timestamps. "
                "Backtest with frame.assign(unique_id=frame['unique_id'].astype(str)) to keep its ledger"
            )
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
        """Read what `write` wrote: the same numbers to the last bit, the same dtypes; checked again.

        Raises FileNotFoundError where a file is not there, and what `check` raises.
        """
        folder = Path(folder)
        for name in ("ledger.json", *(f"{name}.csv.gz" for name in TABLES)):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"`folder` {str(folder)!r} has no {name}: give a folder that write wrote")
        note = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))
        tables = [_read_table(folder / f"{name}.csv.gz", note["dtypes"][name]) for name in TABLES]
        return cls.of(*tables, season_length=note["season_length"])


def check(ledger: Ledger) -> None:
    """Refuse a ledger unless every score of it compares like with like: what `check_tables` demands.

    Raises
    ------
    TypeError
        No ledger, or a `season_length` that is no whole number.
    ValueError
        For the first offender in its tables.
    """
    if not isinstance(ledger, Ledger):
        raise TypeError(f"`ledger` is a {type(ledger).__name__}; give the Ledger that `backtest` gives")
    check_positive(season_length=ledger.season_length)
    check_tables(ledger.forecasts, ledger.scales, ledger.fits)


def _ordered(table: pd.DataFrame, order_of: Callable[[pd.DataFrame], list[str]], name: str) -> pd.DataFrame:
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"`{name}` is a {type(table).__name__}; give a pandas DataFrame")
    order = order_of(table)
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
