"""Changes of a frame: what comes after a cutoff made other, missing or gone, targets shuffled, canaries put in."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

SIZES = ("times 0.1", "times 100", "plus 1e4", "the sign turned", "constant")


def changed(frame: pd.DataFrame, where: np.ndarray, columns: Sequence[str], how: str = "bumped") -> pd.DataFrame:
    """Give a copy of a frame in which columns are other in some rows, a mask.

    `how` is one of `SIZES`, "bumped" (five standard deviations and chance) or "missing". Of what is no number every
    value is exchanged for another one of the column, or, if all shall be constant, for one that was never there.
    """
    new = frame.copy()
    for column in columns:
        values = pd.Series(frame[column])
        if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
            new[column] = values.where(~where) if how == "missing" else _exchanged(values, where, how == "constant")
            continue
        numbers = values.to_numpy("float64", na_value=np.nan).copy()
        numbers[where] = _other(numbers, where, how)
        new[column] = numbers
    return new


def _other(numbers: np.ndarray, where: np.ndarray, how: str) -> np.ndarray:
    """Give what stands in some places of a column after a change."""
    there = numbers[where]
    known = numbers[np.isfinite(numbers)]
    spread = float(known.std()) if len(known) else 0.0
    if how == "bumped":
        return there + (spread or 1.0) * np.random.default_rng(0).uniform(4.0, 6.0, len(there))
    if how == "missing":
        return np.full(len(there), np.nan)
    return {
        "times 0.1": there * 0.1,
        "times 100": there * 100,
        "plus 1e4": there + 1e4,
        "the sign turned": -there,
        "constant": np.where(np.isfinite(there), 7.0, np.nan),
    }[how]


def _exchanged(values: pd.Series, where: np.ndarray, new: bool) -> pd.Series:
    """Give a column of categories in which some rows have the next of those that there are, or a text that is new."""
    known = pd.Series(values.dropna().unique())
    if new and known.map(lambda value: isinstance(value, str)).all():
        return values.astype("object").mask(where & values.notna().to_numpy(dtype=bool), "never there before")
    place = pd.Index(known).get_indexer(pd.Index(values))
    following = known.reindex((place + 1) % max(len(known), 1)).array
    return values.mask(where & (place >= 0), pd.Series(following, index=values.index))


def shuffled(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Give a frame in which the observed targets of each series have changed places at random."""
    rng = np.random.default_rng(seed)
    values = frame["y"].to_numpy("float64", na_value=np.nan).copy()
    for rows in frame.groupby("unique_id", sort=False).indices.values():
        there = rows[np.isfinite(values[rows])]
        values[there] = values[rng.permutation(there)]
    return frame.assign(y=values)


def ahead(frame: pd.DataFrame, steps: int) -> pd.Series:
    """Give what the target of the same series is so many rows later; the median where there is none."""
    series = frame.groupby("unique_id", sort=False)["y"]
    return pd.Series(series.shift(-steps)).fillna(series.transform("median"))
