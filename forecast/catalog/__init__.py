"""Data sets by name.

    catalog.load("nyc_weather")   # the long frame: unique_id, ds, y, covariates
    catalog.card("nyc_weather")   # source, licence, freq, season lengths, column roles, horizon, checksums
    catalog.table()               # what there is, and where it would come from

A set is looked for in the folder named by FORECAST_DATA_HOME (a prepared parquet or csv file), then in the folder of
its card (a small embedded file), then in the download cache, and only then at its public address. Every file whose
checksum is known is checked.
"""

import difflib

import pandas as pd

from forecast.catalog.cards import Card, CardError, read_card
from forecast.catalog.files import read
from forecast.catalog.places import datasets_folder, find
from forecast.catalog.readers import with_types

__all__ = ["Card", "CardError", "card", "load", "names", "table"]


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
    """Give a data set as the long frame, with the same dtypes from whatever place and file it came.

    The columns are `unique_id` (text), `ds` (datetime64 in microseconds, or int64), `y` (float64), and covariates (text
    among them in the dtype of `unique_id`). Gaps and missing values are the source's; series are together and in time
    order. Where a set is looked for is said at the top of the package; a parquet file that cannot be read for want of
    pyarrow is passed over with a warning if there is another file here.

    Raises
    ------
    ValueError: an unknown name, a checksum that differs, a file that lacks columns, or `ds` or `y` of a wrong type.
    FileNotFoundError: the data are not here and cannot be had; says what to put where.
    ImportError: there is only a parquet file, and no pyarrow.

    """
    found = card(name)
    frame, origin = read(found)
    missing = [column for column in found.columns() if column not in frame.columns]
    if missing:
        raise ValueError(
            f"data set {name!r}: {origin} lacks the column(s) {', '.join(missing)} that its card names; "
            f"it has {', '.join(frame.columns)}"
        )
    try:
        return with_types(frame)
    except ValueError as error:
        raise ValueError(f"data set {name!r}: {origin}: {error}") from error


def table() -> pd.DataFrame:
    """Give one row for each data set: name, title, series, freq, horizon, licence, and where it would be loaded from.

    `where` is "data home", "embedded", "cached" (downloaded before), "download", or "missing": a prepared file has to
    be put into the folder named by FORECAST_DATA_HOME first. Nothing is downloaded.
    """
    fields = ["name", "title", "series", "freq", "horizon", "licence"]
    cards = [card(name) for name in names()]
    rows = [[getattr(found, field) for field in fields] + [find(found).where] for found in cards]
    return pd.DataFrame(rows, columns=[*fields, "where"])
