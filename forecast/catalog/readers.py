"""How files are read into long frames: prepared files, then the public raw files, as published.

Nothing is cleaned: gaps, missing and odd values are the source's. `with_types` makes the dtypes independent of the file
that the rows came from.
"""

import importlib.util
import warnings
import zipfile
from datetime import date
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from forecast.frame import ID, TARGET, TIME

KEYS = [ID, TIME, TARGET]

# --- prepared files: the long frame itself ---------------------------------------------------------------------------


def can_read(path: Path) -> bool:
    """Say whether a prepared file can be read here: a parquet file needs pyarrow."""
    return path.suffix != ".parquet" or importlib.util.find_spec("pyarrow") is not None


def read_prepared(path: Path) -> pd.DataFrame:
    """Read a parquet or csv file that holds the long frame. Raises ImportError for parquet without pyarrow."""
    if path.suffix != ".parquet":
        return pd.read_csv(path, dtype={ID: str})
    if not can_read(path):
        raise ImportError(f'{path} needs pyarrow, which is not installed: pip install "foretell[parquet]"')
    return pd.read_parquet(path, engine="pyarrow")


def with_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Give `unique_id` and text covariates as text, `ds` as int64 or datetime64 in microseconds, `y` as float64.

    Raises ValueError, which names the column, where `ds` or `y` cannot be such.
    """
    typed = frame.copy()
    for name, column in frame.items():
        if name == TIME:
            typed[name] = _stamps(column)
        elif name == TARGET:
            typed[name] = _numbers(column)
        else:
            if isinstance(column.dtype, pd.CategoricalDtype):
                column = pd.Series(np.asarray(column), column.index)
            is_text = name == ID or pd.api.types.infer_dtype(column, skipna=True) == "string"
            typed[name] = _text(column) if is_text else column
    return typed


def _stamps(ds: pd.Series) -> pd.Series:
    if pd.api.types.is_integer_dtype(ds):
        return ds.astype("int64")
    if pd.api.types.is_numeric_dtype(ds):
        raise ValueError(f"column `ds` has numbers of dtype {ds.dtype}; give timestamps or whole numbers")
    try:
        with warnings.catch_warnings():
            # What pandas 3 refuses, stamps that differ in their offset from UTC, pandas 2 only warns about.
            warnings.simplefilter("error", FutureWarning)
            return pd.to_datetime(ds, format="ISO8601").dt.as_unit("us")
    except (FutureWarning, TypeError, ValueError) as error:
        raise ValueError(
            f"column `ds` cannot be read as timestamps ({error}); give ISO 8601, all with one offset from UTC or none"
        ) from error


def _numbers(y: pd.Series) -> pd.Series:
    try:
        return y.astype("float64")
    except (TypeError, ValueError) as error:
        raise ValueError(f"column `y` cannot be read as numbers ({error})") from error


def _text(column: pd.Series) -> pd.Series:
    """Give text the dtype that this pandas has for it, and NaN where it is missing (parquet files give None)."""
    missing = column.isna().to_numpy()
    values = np.array(column, dtype=object)
    values[~missing] = [str(value) for value in values[~missing]]
    values[missing] = np.nan
    return pd.Series(values, column.index, dtype=pd.Series([""]).dtype)


# --- public raw files ------------------------------------------------------------------------------------------------


class Strict(BaseModel):
    """A part of a card: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TableReader(Strict):
    """One csv file that holds one series: a column of stamps, the target, covariates."""

    kind: Literal["table"]
    unique_id: str
    time: str
    target: str
    files: ClassVar[int] = 1

    def read(self, paths: list[Path], freq: str) -> pd.DataFrame:
        """Read the one file; the stamps are the file's."""
        table = pd.read_csv(paths[0]).rename(columns={self.time: TIME, self.target: TARGET})
        table.insert(0, ID, self.unique_id)
        return table.reindex(columns=[*KEYS, *(column for column in table.columns if column not in KEYS)])


class WideReader(Strict):
    """One csv file without stamps: a row per step, a column per series; the header is replaced by `names`."""

    kind: Literal["wide"]
    names: list[str]
    start: date
    files: ClassVar[int] = 1

    def read(self, paths: list[Path], freq: str) -> pd.DataFrame:
        """Read the one file; stamps run from `start` in steps of `freq`."""
        table = pd.read_csv(paths[0])
        if table.shape[1] != len(self.names):
            raise ValueError(
                f"{paths[0]}: {table.shape[1]} columns, expected {len(self.names)}: {', '.join(self.names)}"
            )
        stamps = pd.date_range(self.start, periods=len(table), freq=freq)
        ids = np.repeat(self.names, len(table))
        return pd.DataFrame({ID: ids, TIME: np.tile(stamps, len(self.names)), TARGET: table.to_numpy().T.ravel()})


class TsfReader(Strict):
    """A zip file with one .tsf file, the text form of the Monash archive (Godahewa et al. 2021); `?` means missing.

    Monthly, quarterly and yearly stamps are moved to the first day of their period. Attributes of a series other than
    its name and start become columns.
    """

    kind: Literal["tsf"]
    files: ClassVar[int] = 1

    def read(self, paths: list[Path], freq: str) -> pd.DataFrame:
        """Read the one file; stamps run from each series' own start in steps of `freq`."""
        with zipfile.ZipFile(paths[0]) as archive:
            members = [name for name in archive.namelist() if name.endswith(".tsf")]
            if len(members) != 1:
                raise ValueError(f"{paths[0]}: expected one .tsf file inside, found {members or 'none'}")
            lines = archive.read(members[0]).decode("cp1252").splitlines()
        attributes = [line.split()[1] for line in lines if line.startswith("@attribute")]
        series = []
        for line in lines[lines.index("@data") + 1 :]:
            if line.strip():
                *fields, values = line.split(":")
                series.append(self._series(dict(zip(attributes, fields, strict=True)), values, freq))
        return pd.concat(series, ignore_index=True)

    @staticmethod
    def _series(fields: dict[str, str], values: str, freq: str) -> pd.DataFrame:
        y = np.array([np.nan if value.strip() == "?" else float(value) for value in values.split(",")])
        start = pd.to_datetime(fields.pop("start_timestamp"), format="%Y-%m-%d %H-%M-%S")
        if freq in ("MS", "QS", "YS"):
            start = start.to_period(freq[0]).start_time
        stamps = pd.date_range(start, periods=len(y), freq=freq)
        return pd.DataFrame({ID: fields.pop("series_name"), TIME: stamps, TARGET: y, **fields})


class M4Reader(Strict):
    """The train and the test file of one frequency of the M4 competition: a row per series, padded at the right.

    There are no stamps in them: `ds` counts 1, 2, ... in each series. Column `split` says which file a row came from.
    """

    kind: Literal["m4"]
    files: ClassVar[int] = 2

    def read(self, paths: list[Path], freq: str) -> pd.DataFrame:
        """Read the train file and the test file, in this order."""
        frame = pd.concat([self._long(paths[0], "train"), self._long(paths[1], "test")])
        # Test rows go behind the train rows of their own series.
        frame = frame.iloc[np.argsort(pd.factorize(frame[ID])[0], kind="stable")].reset_index(drop=True)
        frame.insert(1, TIME, frame.groupby(ID, sort=False).cumcount() + 1)
        return frame

    @staticmethod
    def _long(path: Path, split: str) -> pd.DataFrame:
        table = pd.read_csv(path)
        values = table.iloc[:, 1:].to_numpy(dtype=float)
        there = ~np.isnan(values)
        ids = np.repeat(table.iloc[:, 0].to_numpy(dtype=object), there.sum(axis=1))
        return pd.DataFrame({ID: ids, TARGET: values[there], "split": split})


class BikeSharingReader(Strict):
    """The zip file of the UCI bike sharing set: `hour.csv` has day and hour in two columns; `cnt` is the target."""

    kind: Literal["bike_sharing"]
    files: ClassVar[int] = 1

    def read(self, paths: list[Path], freq: str) -> pd.DataFrame:
        """Read the one file; columns that only spell out the stamp are left out."""
        with zipfile.ZipFile(paths[0]) as archive, archive.open("hour.csv") as member:
            table = pd.read_csv(member)
        stamps = pd.to_datetime(table["dteday"]) + table["hr"] * pd.Timedelta(hours=1)
        rest = table.drop(columns=["instant", "dteday", "yr", "mnth", "hr", "cnt"])
        keys = pd.DataFrame({ID: "capital_bikeshare", TIME: stamps, TARGET: table["cnt"]})
        return pd.concat([keys, rest], axis=1)


Reader = Annotated[
    TableReader | WideReader | TsfReader | M4Reader | BikeSharingReader,
    Field(discriminator="kind"),
]
