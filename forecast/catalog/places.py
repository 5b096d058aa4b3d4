"""Where the cards are, and where the files of a data set are or would be put. Nothing is read or downloaded here."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from forecast.catalog.cards import Card
from forecast.catalog.readers import can_read

PREPARED_ENDINGS = [".parquet", ".csv.gz", ".csv"]
Where = Literal["data home", "embedded", "cached", "download", "missing"]


@dataclass(frozen=True)
class Place:
    """Where the files of a set are, or would be put by a download.

    `passed_over` is a parquet file that would go first if pyarrow were installed.
    """

    where: Where
    paths: list[Path]
    passed_over: Path | None = None


def datasets_folder(package: Path = Path(__file__).parent.parent) -> Path:
    """Find the folder of cards: FORECAST_DATASETS_DIR, else inside the installed package, else beside the sources."""
    named = _named_folder("FORECAST_DATASETS_DIR")
    if named:
        return named
    bundled, beside = package / "_bundled" / "datasets", package.parent / "datasets"
    if bundled.is_dir():
        return bundled
    if beside.is_dir() and (package.parent / "pyproject.toml").is_file():
        return beside
    raise FileNotFoundError(
        f"no folder of data set cards: FORECAST_DATASETS_DIR is not set, {bundled} does not exist, and {beside} is not "
        "a folder beside a pyproject.toml; install the package again, or set FORECAST_DATASETS_DIR"
    )


def _named_folder(variable: str) -> Path | None:
    named = os.environ.get(variable)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise NotADirectoryError(f"{variable} names {folder}, which is not a folder; correct it or unset it")
    return folder


def _cache_folder(name: str) -> Path:
    # Here, not at the top: embedded and prepared sets do without it.
    import pooch

    return Path(pooch.os_cache("foretell")) / name


def find(card: Card) -> Place:
    """Find a set: a prepared file in the data home, the embedded file, the download cache, the public address."""
    home = _named_folder("FORECAST_DATA_HOME")
    prepared = [home / f"{card.name}{ending}" for ending in PREPARED_ENDINGS] if home else []
    here: list[tuple[Where, Path]] = [("data home", path) for path in prepared if path.is_file()]
    if card.embedded:
        here.append(("embedded", datasets_folder() / card.name / card.embedded.file))
    if here:
        first = here[0]
        where, path = next((one for one in here if can_read(one[1])), first)
        return Place(where, [path], passed_over=None if path == first[1] else first[1])
    if card.download:
        folder = _cache_folder(card.name)
        paths = [folder / public.file for public in card.download.files]
        return Place("cached" if all(path.is_file() for path in paths) else "download", paths)
    return Place("missing", [])


def what_to_put_where(card: Card) -> str:
    """Say how a person gets a set that is not here onto this machine."""
    home = os.environ.get("FORECAST_DATA_HOME")
    names = " or ".join(card.name + ending for ending in PREPARED_ENDINGS)
    advice = (
        f"put a prepared {names} (columns {', '.join(card.columns())}) into the folder named by FORECAST_DATA_HOME "
        f"({home or 'not set now'}); the data are from {card.source.text}, {card.source.address}"
    )
    if card.download:
        folder = _cache_folder(card.name)
        advice += "".join(f"; or put {public.url} into {folder} as {public.file}" for public in card.download.files)
    return advice
