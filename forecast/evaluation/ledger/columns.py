"""The columns of a ledger's tables: what they are called, in which order they stand, and how to read them."""

import numpy as np
import pandas as pd

RUN = ["forecaster", "seed"]  # who forecasts
KEY = ["unique_id", "cutoff", "step"]  # what is forecast
CELL = ["unique_id", "cutoff"]
FIT = [*RUN, "fit_cutoff"]
SCALES = [*CELL, "absolute", "squared"]
FITS = [*FIT, "family", "backbone", "decoder", "parameters", "fit_seconds", "predict_seconds", "forecasts"]
# What need not be given, and what then stands there.
OF_FITS = {"context": np.nan, "fallbacks": 0, "fit_id": ""}
BEFORE_LEVELS = [*RUN, "unique_id", "cutoff", "ds", "step", "y", "prediction", "mean"]
AFTER_LEVELS = ["fit_cutoff", "staleness", "status"]


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
    """A column as float64, whatever its kind of number; NaN where nothing stands. Raises ValueError for text."""
    try:
        return table[column].to_numpy(dtype="float64", na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column `{column}` must hold numbers; got dtype {table[column].dtype} ({error}).") from error


def as_precise(table: pd.DataFrame, column: str) -> np.ndarray:
    """A column as floats of its own precision: single where it is, else double. Raises as `floats`."""
    return table[column].to_numpy() if table[column].dtype == np.float32 else floats(table, column)
