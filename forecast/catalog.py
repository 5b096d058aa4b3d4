"""Data sets by name: the cards, where their files are looked for, and the readers of the public raw files.

    catalog.load("nyc_weather")   # the long frame: unique_id, ds, y, covariates
    catalog.card("nyc_weather")   # source, licence, freq, season lengths, column roles, horizon, checksums
    catalog.table()               # what there is, and where it would come from

A set is looked for in the folder named by FORECAST_DATA_HOME (a prepared parquet or csv file), then in the folder of
its card (a small embedded file), then in the download cache, and only then at its public address. Every file whose
checksum is known is checked. Nothing is cleaned: gaps, missing and odd values are the source's.
"""

import difflib
import hashlib
import importlib.util
import os
import warnings
import zipfile
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

KEYS = ["unique_id", "ds", "y"]
PREPARED_ENDINGS = [".parquet", ".csv.gz", ".csv"]
Where = Literal["data home", "embedded", "cached", "download", "missing"]

# --- readers: from public raw files, as published, to the long frame -------------------------------------------------


class Strict(BaseModel):
    """A part of a card: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TableReader(Strict):
    """One csv file that holds one series: a column of stamps, the target, covariates."""

    kind: Literal["table"]
    unique_id: str
    time: str
    target: str

    def read(self, paths: list[Path], freq: str) -> pd.DataFrame:
        """Read the one file; the stamps are the file's."""
        table = pd.read_csv(paths[0]).rename(columns={self.time: "ds", self.target: "y"})
        table["ds"] = pd.to_datetime(table["ds"])
        table.insert(0, "unique_id", self.unique_id)
        return table.reindex(columns=[*KEYS, *(column for column in table.columns if column not in KEYS)])


class WideReader(Strict):
    """One csv file without stamps: a row per step, a column per series; the header is replaced by `names`."""

    kind: Literal["wide"]
    names: list[str]
    start: date

    def read(self, paths: list[Path], freq: str) -> pd.DataFrame:
        """Read the one file; stamps run from `start` in steps of `freq`."""
        table = pd.read_csv(paths[0])
        if table.shape[1] != len(self.names):
            raise ValueError(
                f"{paths[0]}: {table.shape[1]} columns, expected {len(self.names)}: {', '.join(self.names)}"
            )
        stamps = pd.date_range(self.start, periods=len(table), freq=freq)
        ids = np.repeat(np.array(self.names, dtype=object), len(table))
        return pd.DataFrame({"unique_id": ids, "ds": np.tile(stamps, len(self.names)), "y": table.to_numpy().T.ravel()})


class TsfReader(Strict):
    """A zip file with one .tsf file, the text form of the Monash archive (Godahewa et al. 2021); `?` means missing.

    Monthly, quarterly and yearly stamps are moved to the first day of their period. Attributes of a series other than
    its name and start become columns.
    """

    kind: Literal["tsf"]

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
        return pd.DataFrame({"unique_id": fields.pop("series_name"), "ds": stamps, "y": y, **fields})


class M4Reader(Strict):
    """The train and the test file of one frequency of the M4 competition: a row per series, padded at the right.

    There are no stamps in them: `ds` counts 1, 2, ... in each series. Column `split` says which file a row came from.
    """

    kind: Literal["m4"]

    def read(self, paths: list[Path], freq: str) -> pd.DataFrame:
        """Read the train file and the test file, in this order."""
        frame = pd.concat([self._long(paths[0], "train"), self._long(paths[1], "test")])
        # Test rows go behind the train rows of their own series.
        frame = frame.iloc[np.argsort(pd.factorize(frame["unique_id"])[0], kind="stable")].reset_index(drop=True)
        frame.insert(1, "ds", frame.groupby("unique_id", sort=False).cumcount() + 1)
        return frame

    @staticmethod
    def _long(path: Path, split: str) -> pd.DataFrame:
        table = pd.read_csv(path)
        values = table.iloc[:, 1:].to_numpy(dtype=float)
        there = ~np.isnan(values)
        ids = np.repeat(table.iloc[:, 0].to_numpy(dtype=object), there.sum(axis=1))
        return pd.DataFrame({"unique_id": ids, "y": values[there], "split": split})


class BikeSharingReader(Strict):
    """The zip file of the UCI bike sharing set: `hour.csv` has day and hour in two columns; `cnt` is the target."""

    kind: Literal["bike_sharing"]

    def read(self, paths: list[Path], freq: str) -> pd.DataFrame:
        """Read the one file; columns that only spell out the stamp are left out."""
        with zipfile.ZipFile(paths[0]) as archive, archive.open("hour.csv") as member:
            table = pd.read_csv(member)
        stamps = pd.to_datetime(table["dteday"]) + table["hr"] * pd.Timedelta(hours=1)
        rest = table.drop(columns=["instant", "dteday", "yr", "mnth", "hr", "cnt"])
        rest.insert(0, "unique_id", "capital_bikeshare")
        rest.insert(1, "ds", stamps)
        rest.insert(2, "y", table["cnt"].astype(float))
        return rest


Reader = Annotated[
    TableReader | WideReader | TsfReader | M4Reader | BikeSharingReader,
    Field(discriminator="kind"),
]

# --- the card --------------------------------------------------------------------------------------------------------

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Periods = Annotated[int, Field(ge=1)]


class Source(Strict):
    """Where the data come from, in words and as an address."""

    text: str
    address: str = Field(pattern="^https?://")


class Roles(Strict):
    """What a column may be used for; a column without a role is carried along, never read by a model."""

    static: list[str] = []
    known: list[str] = []
    past: list[str] = []
    delayed: dict[str, Periods] = {}

    def columns(self) -> list[str]:
        """All columns that have a role."""
        return [*self.static, *self.known, *self.past, *self.delayed]

    @model_validator(mode="after")
    def _one_role_each(self) -> "Roles":
        columns = self.columns()
        twice = sorted({column for column in columns if columns.count(column) > 1 or column in KEYS})
        if twice:
            raise ValueError(f"one role for one column, and none for {', '.join(KEYS)}; got {', '.join(twice)} again")
        return self


class Embedded(Strict):
    """A small file beside the card."""

    file: str
    sha256: Sha256


class PublicFile(Strict):
    """A file at a public address; `sha256: null` where nobody has published one."""

    url: str = Field(pattern="^https://")
    sha256: Sha256 | None

    @property
    def file(self) -> str:
        """The file's own name."""
        return self.url.rsplit("/", 1)[-1]


class Download(Strict):
    """Public raw files and the reader that understands them."""

    files: list[PublicFile]
    reader: Reader

    @model_validator(mode="after")
    def _as_many_as_read(self) -> "Download":
        needed = 2 if self.reader.kind == "m4" else 1
        if len(self.files) != needed:
            raise ValueError(f"reader {self.reader.kind!r} reads {needed} file(s); got {len(self.files)}")
        return self


class Prepared(Strict):
    """The long frame as one parquet file, made by hand for the folder named by FORECAST_DATA_HOME."""

    sha256: Sha256


class Card(Strict):
    """What is known about a data set; see datasets/README.md for every field."""

    name: str = Field(pattern="^[a-z0-9_]+$")
    title: str
    source: Source
    licence: str
    freq: str
    season_lengths: list[Periods] = Field(min_length=1)
    horizon: Periods
    series: Periods
    roles: Roles = Roles()
    embedded: Embedded | None = None
    download: Download | None = None
    prepared: Prepared | None = None
    notes: str = ""


class CardError(ValueError):
    """A card.yaml that does not follow the schema; says the file, the field and what is wrong."""


def read_card(path: Path) -> Card:
    """Read one card.yaml. Raises CardError with one line for each fault."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = Card.model_validate(content)
    except yaml.YAMLError as error:
        raise CardError(f"{path}: not readable as YAML: {error}") from error
    except ValidationError as error:
        faults = [f"{path}: {'.'.join(map(str, fault['loc'])) or 'card'}: {fault['msg']}" for fault in error.errors()]
        raise CardError("\n".join(faults)) from error
    if found.name != path.parent.name:
        raise CardError(f"{path}: name: {found.name!r} must be the name of its folder, {path.parent.name!r}")
    return found


# --- where things are ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where the files of a set are, or would be put by a download."""

    where: Where
    paths: list[Path]


def datasets_folder(package: Path = Path(__file__).parent) -> Path:
    """Find the folder of cards: FORECAST_DATASETS_DIR, else inside the installed package, else beside the sources."""
    named = os.environ.get("FORECAST_DATASETS_DIR")
    if named:
        return _existing_folder("FORECAST_DATASETS_DIR", named)
    bundled, beside = package / "_bundled" / "datasets", package.parent / "datasets"
    if bundled.is_dir():
        return bundled
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise FileNotFoundError(
        f"no folder of data set cards: FORECAST_DATASETS_DIR is not set, {bundled} does not exist, and {beside} is not "
        "a folder beside a pyproject.toml; install the package again, or set FORECAST_DATASETS_DIR"
    )


def _existing_folder(variable: str, named: str) -> Path:
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise NotADirectoryError(f"{variable} names {folder}, which is not a folder; correct it or unset it")
    return folder


def _data_home() -> Path | None:
    named = os.environ.get("FORECAST_DATA_HOME")
    return _existing_folder("FORECAST_DATA_HOME", named) if named else None


def _cache_folder(name: str) -> Path:
    # Here, not at the top: `import forecast` and embedded sets do without it.
    import pooch

    return Path(pooch.os_cache("foretell")) / name


def _place(found: Card) -> Place:
    home = _data_home()
    candidates = [home / f"{found.name}{ending}" for ending in PREPARED_ENDINGS] if home else []
    for path in candidates:
        if path.is_file():
            return Place("data home", [path])
    if found.embedded:
        return Place("embedded", [datasets_folder() / found.name / found.embedded.file])
    if found.download:
        folder = _cache_folder(found.name)
        paths = [folder / public.file for public in found.download.files]
        return Place("cached" if all(path.is_file() for path in paths) else "download", paths)
    return Place("missing", [])


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- getting and reading files ---------------------------------------------------------------------------------------


def _what_to_put_where(found: Card) -> str:
    home = os.environ.get("FORECAST_DATA_HOME")
    names = " or ".join(found.name + ending for ending in PREPARED_ENDINGS)
    columns = ", ".join(KEYS + found.roles.columns())
    advice = (
        f"put a prepared {names} (columns {columns}) into the folder named by FORECAST_DATA_HOME "
        f"({home or 'not set now'}); the data are from {found.source.text}, {found.source.address}"
    )
    if found.download:
        folder = _cache_folder(found.name)
        advice += "".join(f"; or put {public.url} into {folder} as {public.file}" for public in found.download.files)
    return advice


def _fetch(found: Card, public: PublicFile, path: Path) -> None:
    """Have the public file at `path`, with its checksum verified; without a published one, trust on first use."""
    import pooch

    record = path.with_name(path.name + ".sha256")
    expected = public.sha256 or (record.read_text().strip() if record.is_file() else None)
    try:
        pooch.retrieve(public.url, known_hash=expected and f"sha256:{expected}", fname=path.name, path=path.parent)
    except OSError as error:  # what requests raises without network, and what a full disk raises
        reason = f"{type(error).__name__}: {error}"
        raise FileNotFoundError(
            f"data set {found.name!r}: {public.file} is not on this machine and could not be downloaded ({reason}). "
            f"Without network: {_what_to_put_where(found)}"
        ) from error
    except ValueError as error:  # what pooch raises when the checksum differs; it keeps no such file
        raise ValueError(
            f"data set {found.name!r}: {public.url} does not have sha256 {expected} "
            f"({'of its card' if public.sha256 else f'recorded at its first download in {record}'}): the public file "
            f"has changed or was damaged on its way; that copy was not kept. {error}"
        ) from error
    if expected is None:
        record.write_text(_sha256(path) + "\n")
        warnings.warn(
            f"data set {found.name!r}: nobody has published a checksum of {public.url}, so this first copy is trusted "
            f"as it came; its sha256 is now in {record} and later loads are checked against it",
            stacklevel=4,
        )


def _read_prepared(path: Path, found: Card) -> pd.DataFrame:
    if path.suffix != ".parquet":
        frame = pd.read_csv(path, dtype={"unique_id": str})
        if "ds" in frame and not pd.api.types.is_integer_dtype(frame["ds"]):
            frame["ds"] = pd.to_datetime(frame["ds"], format="ISO8601")
        return frame
    if importlib.util.find_spec("pyarrow") is None:
        raise ImportError(f'{path} needs pyarrow, which is not installed: pip install "foretell[parquet]"')
    if found.prepared and (sha256 := _sha256(path)) != found.prepared.sha256:
        warnings.warn(
            f"data set {found.name!r}: {path} is not the prepared file that the card knows (sha256 {sha256}, card: "
            f"{found.prepared.sha256}); it is used all the same, but scores may not be comparable with published ones",
            stacklevel=4,
        )
    return pd.read_parquet(path, engine="pyarrow")


def _read(found: Card) -> tuple[pd.DataFrame, str]:
    """Give the frame as read, and the name of what it was read from."""
    place = _place(found)
    if place.where == "data home":
        return _read_prepared(place.paths[0], found), str(place.paths[0])
    if found.embedded:
        path = place.paths[0]
        if (sha256 := _sha256(path)) != found.embedded.sha256:
            raise ValueError(
                f"data set {found.name!r}: {path} has sha256 {sha256}, its card says {found.embedded.sha256}: the "
                "file was changed or damaged; install the package again, or make it anew with prepare.py"
            )
        return _read_prepared(path, found), str(path)
    if found.download:
        for public, path in zip(found.download.files, place.paths, strict=True):
            _fetch(found, public, path)
        return found.download.reader.read(place.paths, found.freq), " and ".join(map(str, place.paths))
    raise FileNotFoundError(
        f"data set {found.name!r} has no public file that can be read here: {_what_to_put_where(found)}"
    )


# --- the catalogue ---------------------------------------------------------------------------------------------------


def names() -> list[str]:
    """Give the names of all data sets, sorted."""
    return sorted(path.parent.name for path in datasets_folder().glob("*/card.yaml"))


def card(name: str) -> Card:
    """Give the card of a data set. Raises ValueError for an unknown name, CardError for a faulty card."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"`name`: no data set {name!r}; {hint}known: {', '.join(known)}")
    return read_card(datasets_folder() / name / "card.yaml")


def load(name: str) -> pd.DataFrame:
    """Give a data set as the long frame: `unique_id` (text), `ds` (timestamp or integer), `y` (float), covariates.

    Gaps and missing values are the source's; series are together and in time order. The lookup order is at the top of
    this file. Raises ValueError for an unknown name, a checksum that differs or a file that lacks columns,
    FileNotFoundError (which says what to put where) if the data are not here and cannot be had, ImportError for a
    parquet file without pyarrow.
    """
    found = card(name)
    frame, origin = _read(found)
    missing = [column for column in KEYS + found.roles.columns() if column not in frame.columns]
    if missing:
        raise ValueError(
            f"data set {name!r}: {origin} lacks the column(s) {', '.join(missing)} that its card names; "
            f"it has {', '.join(frame.columns)}"
        )
    return frame.astype({"y": "float64"})


def table() -> pd.DataFrame:
    """Give one row for each data set: name, title, series, freq, horizon, licence, and where it would be loaded from.

    `where` is "data home", "embedded", "cached" (downloaded before), "download", or "missing": a prepared file has to
    be put into the folder named by FORECAST_DATA_HOME first. Nothing is downloaded.
    """
    cards = [card(name) for name in names()]
    fields = ["name", "title", "series", "freq", "horizon", "licence"]
    rows = [[getattr(found, field) for field in fields] + [_place(found).where] for found in cards]
    return pd.DataFrame(rows, columns=[*fields, "where"])
