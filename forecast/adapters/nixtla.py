"""Forecasts as frames of utilsforecast, statsforecast, mlforecast and neuralforecast, and such frames as a ledger.

Such a frame has a row for each series, cutoff and stamp, a column for each model and, for central intervals, columns
such as `ETS-lo-80` and `ETS-hi-80`.
"""

import re
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from forecast.evaluation.actuals import seasonal_changes
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.ledger.columns import level_columns
from forecast.frame import FrameError, Panel, as_panel

_KEYS = ["unique_id", "ds", "cutoff"]
_BOUND = re.compile(r"(?P<model>.+)-(?P<side>lo|hi)-(?P<level>\d+(?:\.\d+)?)")


def to_nixtla(
    forecasts: pd.DataFrame | Ledger,
    *,
    level: Sequence[float] | None = None,
    model: str = "foretell",
    point: str = "prediction",
) -> pd.DataFrame:
    """Give forecasts as `cross_validation` and `forecast` of those libraries give them.

    Parameters
    ----------
    forecasts: what `predict` gave, or a ledger.
    level: central intervals in percent, such as [80, 60], of quantile levels that are there; None for all of them.
    model: what to call the column of what `predict` gave; of a ledger every forecaster has a column of its own name,
        and `name-seed1` where there are several seeds of one.
    point: the column that is the point forecast, "prediction" (the median) or "mean".

    Returns
    -------
    `unique_id, ds, cutoff`, `y` of a ledger, then for each model its point forecast, the lower ends of its intervals,
    widest first, and the upper ends. `cutoff` is left out where each series is forecast from one alone by `predict`.

    Raises
    ------
    TypeError: neither a forecast frame of pandas nor a ledger.
    ValueError: an interval whose quantile levels are not there; with `level` None, a quantile level without its mirror;
        another `point`.

    """
    if point not in ("prediction", "mean"):
        raise ValueError(f"`point` is {point!r}; allowed: 'prediction', 'mean'")
    if isinstance(forecasts, Ledger):
        table, runs = forecasts.forecasts, _runs(forecasts.forecasts)
        first = next(iter(runs.values()))
        frame = table.loc[first, [*_KEYS, "y"]].reset_index(drop=True)
    else:
        table = _checked(forecasts)
        runs = {model: np.ones(len(table), dtype=bool)}
        alone = len(table[["unique_id", "cutoff"]].drop_duplicates()) == table["unique_id"].nunique()
        frame = table[["unique_id", "ds"] if alone else _KEYS].reset_index(drop=True)
    bounds = _bounds(level_columns(table), level)
    keys = pd.MultiIndex.from_frame(table.loc[next(iter(runs.values())), ["unique_id", "cutoff", "step"]])
    for name, rows in runs.items():
        own = table.loc[rows].set_index(["unique_id", "cutoff", "step"]).loc[keys]
        frame[name] = own[point].to_numpy()
        for suffix, column in bounds.items():
            frame[f"{name}-{suffix}"] = own[column].to_numpy()
    return pd.DataFrame(frame)


def from_nixtla(
    frame: pd.DataFrame,
    history: pd.DataFrame | Panel,
    *,
    season_length: int | None = None,
    families: Mapping[str, str] | None = None,
    **door,
) -> Ledger:
    """Give what `cross_validation` of those libraries gave as a ledger, to be scored and compared like any other.

    Parameters
    ----------
    frame: `unique_id, ds, cutoff` and columns of models, with the ends of intervals, the same for all, where there are
        any. The point forecast is entered as prediction, median and mean. A column `y` is not read.
    history: the data that were forecast, with what came true.
    season_length: of the season by which errors are scaled; None for that of the calendar.
    families: model -> family, in the words of the ledger; "baseline" where none is given.
    door: options of `check_frame` for the history.

    Raises
    ------
    FrameError: the history may not enter; a series that it does not have.
    TypeError: no frame of pandas.
    ValueError: columns that are not there; models with other intervals than the first; what `Ledger.of` refuses, such
        as stamps that are missing for one of the cutoffs.

    """
    panel = as_panel(history, **door)
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"`frame` is a {type(frame).__name__}; give a pandas DataFrame")
    if lacking := [name for name in _KEYS if name not in frame.columns]:
        raise ValueError(f"`frame` has no column `{lacking[0]}`; got {list(frame.columns)}: frame.reset_index()?")
    models = _models(frame)
    series = panel.ids.get_indexer(pd.Index(frame["unique_id"]))
    if (series < 0).any():
        raise FrameError(f"series {frame['unique_id'].iloc[int((series < 0).argmax())]!r} is not in `history`")
    ds, cutoffs = (_ordinals(panel, frame, name) for name in ("ds", "cutoff"))
    shared = {
        "seed": 0,
        "unique_id": panel.ids[series],
        "cutoff": panel.calendar.stamps(cutoffs),
        "ds": panel.calendar.stamps(ds),
        "step": ds - cutoffs,
        "y": panel.at(series, ds),
        "fit_cutoff": panel.calendar.stamps(cutoffs),
    }
    tables, fits = [], []
    for model, bounds in models.items():
        point = frame[model].to_numpy("float64")
        said = {str(quantile): frame[column].to_numpy("float64") for quantile, column in bounds.items()}
        columns = {"forecaster": model, "prediction": point, "mean": point, "0.5": point}
        tables.append(pd.DataFrame(shared | columns | said))
        fit = pd.DataFrame({"fit_cutoff": panel.calendar.stamps(np.unique(cutoffs))})
        counts = [len(np.unique(series[cutoffs == cutoff])) for cutoff in np.unique(cutoffs)]
        fits.append(
            fit.assign(
                forecaster=model,
                seed=0,
                family=(families or {}).get(model, "baseline"),
                backbone="",
                decoder="",
                parameters=0,
                fit_seconds=np.nan,
                predict_seconds=np.nan,
                forecasts=counts,
            )
        )
    season = season_length or panel.calendar.season_length
    cells = np.unique(np.stack([series, cutoffs], axis=1), axis=0)
    absolute, squared = seasonal_changes(panel, cells[:, 0], cells[:, 1], season)
    scales = pd.DataFrame(
        {
            "unique_id": panel.ids[cells[:, 0]],
            "cutoff": panel.calendar.stamps(cells[:, 1]),
            "absolute": absolute,
            "squared": squared,
        }
    )
    return Ledger.of(pd.concat(tables, ignore_index=True), scales, pd.concat(fits, ignore_index=True), season)


def _checked(forecasts: pd.DataFrame) -> pd.DataFrame:
    if not isinstance(forecasts, pd.DataFrame):
        came = f"{type(forecasts).__module__}.{type(forecasts).__name__}"
        raise TypeError(f"`forecasts` is a {came}; give the pandas frame that predict gave, or a Ledger")
    if lacking := [name for name in [*_KEYS, "step", "prediction", "mean"] if name not in forecasts.columns]:
        raise ValueError(
            f"`forecasts` has no column `{lacking[0]}`; got {list(forecasts.columns)}: give what predict gave"
        )
    return forecasts


def _runs(table: pd.DataFrame) -> dict[str, np.ndarray]:
    """Give the rows of each forecaster and seed by the name of its column."""
    runs = table[["forecaster", "seed"]].drop_duplicates()
    several = pd.Series(runs["forecaster"]).duplicated(keep=False)
    return {
        f"{name}-seed{seed}" if more else name: ((table["forecaster"] == name) & (table["seed"] == seed)).to_numpy()
        for name, seed, more in zip(runs["forecaster"], runs["seed"], several, strict=True)
    }


def _bounds(columns: Mapping[float, str], level: Sequence[float] | None) -> dict[str, str]:
    """Give suffix -> column of the ends of intervals, in the order of their quantiles."""
    named = {round(quantile, 9): column for quantile, column in columns.items()}
    if level is None:
        for quantile in named:
            if round(1 - quantile, 9) not in named:
                raise ValueError(
                    f"quantile level {quantile} has no mirror {1 - quantile:g}, with which it would make an interval; "
                    "name those that are wanted: level=[80]"
                )
        level = [round(100 - 200 * quantile, 7) for quantile in named if quantile < 0.5]
    ends = []
    for one in level:
        for side, quantile in (("lo", 50 - one / 2), ("hi", 50 + one / 2)):
            if (place := round(quantile / 100, 9)) not in named or not 0 < one < 100:
                raise ValueError(
                    f"`level` holds {one!r}, whose ends are the quantile levels {(50 - one / 2) / 100:g} and "
                    f"{(50 + one / 2) / 100:g}; there are {list(columns)}"
                )
            ends.append((place, f"{side}-{one:g}"))
    return {suffix: named[place] for place, suffix in sorted(ends)}


def _models(frame: pd.DataFrame) -> dict[str, dict[float, str]]:
    """Give the models with, of each, quantile level -> column of the ends of its intervals."""
    found = {column: _BOUND.fullmatch(str(column)) for column in frame.columns}
    models: dict[str, dict[float, str]] = {
        column: {} for column, bound in found.items() if bound is None and column not in (*_KEYS, "y", "index")
    }
    for column, bound in found.items():
        if bound is not None and bound["model"] in models:
            half = float(bound["level"]) / 2
            quantile = round((50 - half if bound["side"] == "lo" else 50 + half) / 100, 9)
            models[bound["model"]][quantile] = column
    if not models:
        raise ValueError(f"`frame` has no column of a model; got {list(frame.columns)}")
    first, levels = next(iter(models)), set(next(iter(models.values())))
    for model, bounds in models.items():
        if set(bounds) != levels:
            raise ValueError(
                f"model {model!r} has the quantile levels {sorted(bounds)} and {first!r} {sorted(levels)}; give all "
                "the same, so that all are scored alike"
            )
    return models


def _ordinals(panel: Panel, frame: pd.DataFrame, column: str) -> np.ndarray:
    """Give the calendar ordinals of a column of stamps; raises ValueError for one that is not on the calendar."""
    stamps = pd.Series(frame[column])
    places, unique = pd.factorize(stamps)
    ordinals = np.array([panel.calendar.ordinal(stamp) for stamp in unique], dtype="int64")
    for stamp, ordinal in zip(unique, ordinals, strict=True):
        if panel.calendar.stamp(int(ordinal)) != stamp:
            raise ValueError(
                f"`{column}` holds {stamp}, which is not on the calendar of `history`, freq {panel.calendar.freq!r}; "
                f"the stamp before is {panel.calendar.stamp(int(ordinal))}"
            )
    return ordinals[places]
