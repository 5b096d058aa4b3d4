"""A ledger as long tables, and long tables as a ledger. R runs; S, F, M, H, Q as in `points`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.ledger.check import kind_of
from forecast.evaluation.ledger.columns import (
    AFTER_LEVELS,
    BEFORE_LEVELS,
    CELL,
    FITS,
    OF_FITS,
    RUN,
    SCALES,
    as_precise,
    level_columns,
)
from forecast.evaluation.ledger.points import MISSING, OBSERVED, STATUS, Points, Run
from forecast.frame.rows import plain


def runs_of(forecasts: pd.DataFrame, scales: pd.DataFrame) -> tuple[Run, ...]:
    """Give the runs that a table of forecasts holds, all over the same points.

    Raises TypeError for what is no table and ValueError, naming the first offender, for columns that are not those of a
    ledger, empty keys, and rows that are not the same for every forecaster and seed.
    """
    levels = level_columns(forecasts) if isinstance(forecasts, pd.DataFrame) else {}
    level_names = [levels[level] for level in sorted(levels)]
    forecasts = in_order(
        forecasts, [*BEFORE_LEVELS, *level_names, "fit_cutoff"], "forecasts", optional=AFTER_LEVELS[1:]
    )
    scales = in_order(scales, SCALES, "scales", optional=["fold"])
    _check_kinds(forecasts, scales)
    _check_rows(forecasts)
    rows, (run_names, ids, cutoffs, steps), cells = _places(forecasts)
    series, cutoff = np.divmod(cells, len(cutoffs))

    def numbers(column: str) -> np.ndarray:
        return as_precise(forecasts, column)[rows]  # (R, M, H)

    y = _agreeing(forecasts, rows, "y")
    own_scales = _scales(scales, ids[series], cutoffs[cutoff])
    folds = own_scales["fold"].to_numpy("int64") if "fold" in own_scales else None
    points = Points(
        ids=ids,
        cutoffs=cutoffs,
        steps=steps,
        times=_times(forecasts, rows, cutoff, len(cutoffs)),
        series=series,
        cutoff=cutoff,
        y=y,
        status=_status(forecasts, rows[0], y),
        absolute=as_precise(own_scales, "absolute").astype("float64"),
        squared=as_precise(own_scales, "squared").astype("float64"),
        folds=folds,
    )
    median, mean = numbers("prediction"), numbers("mean")
    dtype = np.result_type(*(as_precise(forecasts, name).dtype for name in level_names)) if level_names else "float32"
    fit, fit_cutoffs = pd.factorize(forecasts["fit_cutoff"])
    fit, fit_cutoffs = fit[rows], pd.Index(fit_cutoffs)  # (R, M, H)
    if (mixed := fit != fit[:, :, :1]).any():
        which, cell, step = np.argwhere(mixed)[0]
        _disagree(forecasts, "fit_cutoff", rows[which, cell, 0], rows[which, cell, step])
    runs = []
    for place, (forecaster, seed) in enumerate(run_names):
        quantiles = np.empty((*y.shape, len(levels)), dtype=dtype)
        for q, name in enumerate(level_names):
            quantiles[..., q] = as_precise(forecasts, name)[rows[place]]
        own = median[place]
        if 0.5 in levels and np.array_equal(own, middle := quantiles[..., sorted(levels).index(0.5)]):
            own = middle
        runs.append(
            Run(
                forecaster=forecaster,
                seed=seed,
                points=points,
                levels=tuple(sorted(levels)),
                quantiles=quantiles,
                median=own,
                mean=mean[place],
                fit_cutoffs=fit_cutoffs,
                fit=fit[place, :, 0],
                staleness=_staleness(forecasts, rows[place, :, 0]),
            )
        )
    return tuple(runs)


def forecasts_of(runs: Sequence[Run]) -> pd.DataFrame:
    """Give the long table of runs: one row per run, series, cutoff and step, in this order."""
    points, R = runs[0].points, len(runs)
    M, H = points.y.shape
    cells = np.tile(np.repeat(np.arange(M), H), R)
    columns: dict[str, Any] = {
        "forecaster": np.repeat(np.array([run.forecaster for run in runs], dtype=object), M * H),
        "seed": np.repeat([run.seed for run in runs], M * H),
        "unique_id": points.ids[points.series[cells]],
        "cutoff": points.cutoffs[points.cutoff[cells]],
        "ds": points.times[np.tile((points.cutoff[:, None] * H + np.arange(H)).ravel(), R)],
        "step": np.tile(points.steps, R * M),
        "y": np.tile(points.y.ravel(), R),
        "prediction": np.concatenate([run.median.ravel() for run in runs]),
        "mean": np.concatenate([run.mean.ravel() for run in runs]),
    }
    for q, level in enumerate(runs[0].levels):
        columns[str(level)] = np.concatenate([run.quantiles[..., q].ravel() for run in runs])
    fitted = [run.fit_cutoffs[run.fit] for run in runs]
    columns["fit_cutoff"] = fitted[0].append(fitted[1:]).repeat(H)
    columns["staleness"] = np.concatenate([run.staleness for run in runs]).repeat(H)
    columns["status"] = pd.Categorical.from_codes(np.tile(points.status.ravel(), R), list(STATUS))
    return pd.DataFrame(columns).astype({"forecaster": "str"})


def scales_of(points: Points) -> pd.DataFrame:
    """Give one row per series and cutoff: by what their errors are scaled, and the fold where it is not the cutoff."""
    columns: dict[str, Any] = {
        "unique_id": points.ids[points.series],
        "cutoff": points.cutoffs[points.cutoff],
        "absolute": points.absolute,
        "squared": points.squared,
    }
    return pd.DataFrame(columns if points.folds is None else columns | {"fold": points.folds})


def fits_in_order(fits: pd.DataFrame) -> pd.DataFrame:
    """Give the table of fits with its columns in order, those added that need not be given. Raises as `in_order`."""
    fits = in_order(fits, FITS, "fits", optional=list(OF_FITS))
    lacking = {name: value for name, value in OF_FITS.items() if name not in fits.columns}
    return fits.assign(**lacking).loc[:, [*FITS, *OF_FITS]]


def in_order(table: pd.DataFrame, columns: list[str], name: str, optional: list[str]) -> pd.DataFrame:
    """Give a table with its columns in order, and categories spelt out.

    Raises TypeError for what is no DataFrame and ValueError for columns that it lacks or that are none of a ledger.
    """
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"`{name}` is a {type(table).__name__}; give a pandas DataFrame")
    missing = [column for column in columns if column not in table.columns]
    unknown = [column for column in table.columns if column not in [*columns, *optional]]
    if missing or unknown:
        raise ValueError(
            f"`{name}` lacks columns {missing} and has unknown columns {unknown}; it takes exactly {columns}, and may "
            f"have {optional}."
        )
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise ValueError(f"`{name}` has the column `{twice}` twice; every name may come once.")
    if table.empty:
        raise ValueError(f"`{name}` has no rows.")
    categories = {
        column: dtype.categories.dtype
        for column, dtype in table.dtypes.items()
        if isinstance(dtype, pd.CategoricalDtype)
    }
    there = [column for column in [*columns, *optional] if column in table.columns]
    return table.loc[:, there].astype(categories).reset_index(drop=True)


def _check_kinds(forecasts: pd.DataFrame, scales: pd.DataFrame) -> None:
    for column in [*RUN, *CELL, "step", "ds", "fit_cutoff"]:
        empty = forecasts[column].isna().to_numpy()
        if empty.any():
            raise ValueError(f"column `{column}` is empty in row {int(empty.argmax())}; no key may be missing.")
    for table, column, kinds in (
        (forecasts, "forecaster", "text"),
        (forecasts, "seed", "integers"),
        (forecasts, "step", "integers"),
        *([(scales, "fold", "integers")] if "fold" in scales else []),
    ):
        if kind_of(table[column]) not in kinds:
            raise ValueError(f"column `{column}` must hold {kinds}; got dtype {table[column].dtype}.")
    times = {f"forecasts.{column}": kind_of(forecasts[column]) for column in ("cutoff", "ds", "fit_cutoff")}
    times["scales.cutoff"] = kind_of(scales["cutoff"])
    if len(set(times.values())) > 1 or not times["scales.cutoff"].startswith(("integers", "timestamps")):
        raise ValueError(f"all times must be timestamps of one time zone, or all integers; got {times}.")


def _check_rows(forecasts: pd.DataFrame) -> None:
    for column, wrong, rule in (
        ("step", forecasts["step"].to_numpy() < 1, "steps count from 1"),
        ("ds", (forecasts["ds"] <= forecasts["cutoff"]).to_numpy(), "what is forecast must lie after the cutoff"),
        ("y", np.isinf(as_precise(forecasts, "y")), "it must be finite, or NaN where nothing was observed"),
        ("fit_cutoff", (forecasts["fit_cutoff"] > forecasts["cutoff"]).to_numpy(), "no fit may see past the cutoff"),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            raise ValueError(
                f"column `{column}` is {forecasts[column].iloc[row]} for {_place(forecasts, row)}; {rule}."
            )


def _places(forecasts: pd.DataFrame):
    """Give the row of each run, cell and step, (R, M, H); what runs, series, cutoffs and steps there are; the cells."""
    run = forecasts.groupby(RUN, sort=False, observed=True).ngroup().to_numpy()
    firsts = np.unique(run, return_index=True)[1]
    run_names = [(str(forecasts["forecaster"].iloc[at]), int(forecasts["seed"].iloc[at])) for at in firsts]
    series, ids = pd.factorize(forecasts["unique_id"])
    cutoff, cutoffs = pd.factorize(forecasts["cutoff"], sort=True)
    steps, step = np.unique(forecasts["step"].to_numpy("int64"), return_inverse=True)
    cells, cell = np.unique(series * len(cutoffs) + cutoff, return_inverse=True)
    rows = np.full((len(run_names), len(cells), len(steps)), -1)
    row = np.arange(len(forecasts))
    rows[run, cell, step] = row
    if (overwritten := rows[run, cell, step] != row).any():
        at = int(overwritten.argmax())
        raise ValueError(f"{_place(forecasts, at)} has more than one row; each forecast is entered once.")
    if (rows < 0).any():
        which, at, h = (int(one) for one in np.argwhere(rows < 0)[0])
        forecaster, seed = run_names[which]
        name, stamp = plain(ids[cells[at] // len(cutoffs)]), cutoffs[cells[at] % len(cutoffs)]
        raise ValueError(
            f"forecaster {forecaster!r}, seed {seed} lacks the row of series {name!r}, cutoff {stamp}, step "
            f"{steps[h]}; all forecasters and seeds must forecast the same (unique_id, cutoff, step). Backtest them "
            "with one plan."
        )
    return rows, (run_names, pd.Index(ids), pd.Index(cutoffs), steps), cells


def _agreeing(forecasts: pd.DataFrame, rows: np.ndarray, column: str) -> np.ndarray:
    """Give the values of a column that are the same for all runs, (M, H)."""
    table = as_precise(forecasts, column)[rows]
    if (differs := (table != table[0]) & ~(np.isnan(table) & np.isnan(table[0]))).any():
        which, cell, step = np.argwhere(differs)[0]
        _disagree(forecasts, column, rows[0, cell, step], rows[which, cell, step])
    return table[0]


def _times(forecasts: pd.DataFrame, rows: np.ndarray, cutoff: np.ndarray, F: int) -> pd.Index:
    """Give the stamp of each cutoff and step, (F * H,), which is the same for all runs and series."""
    codes = pd.factorize(forecasts["ds"])[0]
    first = np.empty((F, rows.shape[2]), dtype="int64")  # a row that has it
    first[cutoff[::-1]] = rows[0, ::-1]
    if (differs := codes[rows] != codes[first][cutoff]).any():
        which, cell, step = np.argwhere(differs)[0]
        _disagree(forecasts, "ds", first[cutoff[cell], step], rows[which, cell, step])
    return pd.Index(forecasts["ds"].iloc[first.ravel()]).rename(None)


def _scales(scales: pd.DataFrame, ids: pd.Index, cutoffs: pd.Index) -> pd.DataFrame:
    """Give the scales of cells, in their order."""
    if (twice := scales.duplicated(CELL).to_numpy()).any():
        raise ValueError(f"`scales` has more than one row for {_cell(scales, int(twice.argmax()))}; it takes one.")
    needed = pd.DataFrame({"unique_id": ids, "cutoff": cutoffs})
    found = needed.merge(scales, how="left", on=CELL, indicator="there")
    if (lacking := (found["there"] == "left_only").to_numpy()).any():
        told = _cell(needed, int(lacking.argmax()))
        raise ValueError(f"`scales` lacks the row for {told}, which `forecasts` has.")
    return found


def _status(forecasts: pd.DataFrame, rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Give the place in `STATUS` of each step of each cell, (M, H)."""
    plainly = np.where(np.isnan(y), MISSING, OBSERVED).astype("uint8")
    if "status" not in forecasts.columns:
        return plainly
    places = pd.Index(STATUS).get_indexer(pd.Index(forecasts["status"]))
    if (unknown := places < 0).any():
        row = int(unknown.argmax())
        raise ValueError(f"column `status` is {forecasts['status'].iloc[row]!r} in row {row}; allowed: {STATUS}.")
    status = places[rows].astype("uint8")
    if (wrong := (status == OBSERVED) != (plainly == OBSERVED)).any():
        cell, step = np.argwhere(wrong)[0]
        row = rows[cell, step]
        raise ValueError(
            f"column `status` is {forecasts['status'].iloc[row]!r} where `y` is {y[cell, step]}, for "
            f"{_place(forecasts, row)}; what was observed has a value, and nothing else."
        )
    return status


def _staleness(forecasts: pd.DataFrame, rows: np.ndarray) -> np.ndarray:
    """Give the steps from fit to cutoff of cells, (M,); where it is not told, 0 for a fit at the cutoff, else NaN."""
    if "staleness" in forecasts.columns:
        return as_precise(forecasts, "staleness")[rows].astype("float32")
    fresh = (forecasts["fit_cutoff"] == forecasts["cutoff"]).to_numpy()[rows]
    return np.where(fresh, np.float32(0), np.float32(np.nan))


def _disagree(forecasts: pd.DataFrame, column: str, first: Any, second: Any) -> None:
    raise ValueError(
        f"column `{column}` disagrees: {forecasts[column].iloc[first]} for {_place(forecasts, first)}, but "
        f"{forecasts[column].iloc[second]} for {_place(forecasts, second)}. Score them against the same data."
    )


def _place(forecasts: pd.DataFrame, row: Any) -> str:
    forecaster, seed, step = (plain(forecasts[name].iloc[row]) for name in (*RUN, "step"))
    return f"forecaster {forecaster!r}, seed {seed}, {_cell(forecasts, row)}, step {step}"


def _cell(table: pd.DataFrame, row: Any) -> str:
    name, cutoff = plain(table["unique_id"].iloc[row]), plain(table["cutoff"].iloc[row])
    return f"series {name!r}, cutoff {cutoff}" if isinstance(name, str | int) else f"series {name}, cutoff {cutoff}"
