"""What is known of an experiment before its first cell, as its folder keeps it: config, versions, folds, history.

- experiment.yaml, protocol.json: the config as written; versions and machine
- folds.csv, series.csv: the plan on each data set; series that take no part in some folds, and why
- setting.json: of each data set a hash of the data and of the plan, how many series it has, and their deviations where
  scores are of z-scored values
- history/: the series from shortly before the first cutoff on, for plots
"""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from forecast.evaluation.folds import Folds
from forecast.evaluation.ledger import Ledger
from forecast.experiment.protocol import protocol
from forecast.experiment.store import Store, checksum_of, code_version

_SETTING = "setting.json"
_STANDARDISED = "of values z-scored by the rows that the first fit learns from, series by series"
_ZIPPED: dict[str, Any] = {"method": "gzip", "compresslevel": 1, "mtime": 0}


def write_origin(store: Store, text: str | None) -> None:
    """Write the config as written, if it is a file, and versions and machine."""
    if text is not None:
        with store.replacing("experiment.yaml") as path:
            path.write_text(text, encoding="utf-8")
    with store.replacing("protocol.json") as path:
        path.write_text(json.dumps(protocol(), indent=1) + "\n", encoding="utf-8")


def write_setting(store: Store, text: str | None, data: Mapping[str, Folds], *, deviations: bool = False) -> None:
    """Write all of it: the config as written, if it is a file, and the folds on each data set.

    With `deviations` also the standard deviation of each series over the rows that the first fit learns from.
    """
    write_origin(store, text)
    tables, absent, facts = [], [], {}
    for name, folds in data.items():
        table = folds.table().astype("object")  # data sets may count time differently
        table.insert(0, "dataset", name)
        tables.append(table)
        series = folds.series_table().astype("object")
        series.insert(0, "dataset", name)
        absent.append(series[series["why"] != ""])
        facts[name] = {
            "data": checksum_of(folds.panel),
            "plan": folds.digest,
            "rule": folds.plan.rule(),
            "series": len(folds.panel),
            "absent": folds.eligibility.lines(),
            "code": code_version(),
            **({"deviations": folds.train_deviations().tolist()} if deviations else {}),
        }
        begin = folds[0].cutoff - 2 * folds.plan.horizon
        with store.replacing(f"history/{name}.csv.gz") as path:
            folds.panel.since(begin).to_frame().to_csv(path, index=False, lineterminator="\n", compression=_ZIPPED)
    with store.replacing(_SETTING) as path:
        path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    write_table(store, "folds.csv", pd.concat(tables))
    write_table(store, "series.csv", pd.concat(absent))


def read_setting(store: Store, dataset: str) -> dict[str, Any]:
    """Give the facts of a data set."""
    return json.loads((store.folder / _SETTING).read_text(encoding="utf-8"))[dataset]


def read_deviations(store: Store, dataset: str, ledger: Ledger) -> pd.Series:
    """Give the standard deviation of each series of a data set over the rows that the first fit learns from, by id."""
    return pd.Series(read_setting(store, dataset)["deviations"], index=ledger.points.ids, dtype="float64")


def facts_of(store: Store, note: Mapping[str, Any], folds: pd.DataFrame, dataset: str) -> dict[str, Any]:
    """Give what the report says of the protocol, beside what it reads off the ledger."""
    plan, protocol = note["config"]["plan"], json.loads((store.folder / "protocol.json").read_text(encoding="utf-8"))
    setting, told = read_setting(store, dataset), note.get("settled", {}).get(dataset, {})
    trials = sorted({int(row.get("trials") or 0) for row in told.get("budgets", {}).values()} - {0})
    fits = len(set(folds["fit_fold"]))
    return {
        "first cutoff": folds["cutoff"].iloc[0],
        "last cutoff": folds["cutoff"].iloc[-1],
        "cutoffs are": setting["rule"],
        "stride": plan["stride"] or ("as given" if plan["cutoffs"] else "the horizon"),
        "gap": plan["gap"] or "none",
        "window": plan["window"],
        "refit": f"{plan['refit']} ({fits} {'fit' if fits == 1 else 'fits'} for each seed)",
        "validation": plan["validation"] or "each forecaster's own affair",
        "embargo": plan["embargo"] or "none",
        "trials of a search": trials or "none",
        "series in the data": f"{setting['series']:,}",
        "series left out of folds": "; ".join(setting["absent"]) or "none",
        "missing rows": note["config"]["gaps"],
        "mse and mae": _STANDARDISED if note["config"].get("standardised") else "in units of the series",
        "seeds of networks": note["config"]["seeds"],
        "fallback": (note["config"].get("fallback") or {"type": "none"})["type"].rpartition(":")[2],
        "data hash": setting["data"][:12],
        "plan hash": setting["plan"][:12],
        "code": setting["code"],
        "config": note["hash"][:12],
        **protocol,
    }


def read_history(store: Store, dataset: str, ledger: Ledger) -> pd.DataFrame | None:
    """Give the latest history of a data set, with ids and stamps as the ledger has them; None where it is not kept."""
    path = store.folder / "history" / f"{dataset}.csv.gz"
    if not path.is_file():
        return None
    table = pd.read_csv(path, dtype={"unique_id": "str", "ds": "str"}, keep_default_na=False, na_values={"y": [""]})
    points = ledger.points
    table["unique_id"] = table["unique_id"].astype(points.ids.dtype)
    table["ds"] = _times(table, "ds", points.cutoffs.dtype)
    return table


def read_folds(store: Store, dataset: str, ledger: Ledger) -> pd.DataFrame:
    """Give the folds on a data set, with stamps as the ledger has them."""
    table = pd.read_csv(store.folder / "folds.csv", dtype="str", keep_default_na=False)
    table = pd.DataFrame(table[table["dataset"] == dataset]).drop(columns="dataset").reset_index(drop=True)
    times = ["cutoff", "train_start", "train_end", "context_start", "test_start", "test_end"]
    if "" in set(table["validation_start"]):  # forecasters hold back what they will
        table["validation_start"] = float("nan")
    else:
        times.append("validation_start")
    for column in times:
        table[column] = _times(table, column, ledger.points.cutoffs.dtype)
    return table.astype(dict.fromkeys(["fold", "fit_fold", "gap", "series", "points"], "int64"))


def _times(table: pd.DataFrame, column: str, dtype: Any) -> pd.Series:
    """Read a column of stamps as the ledger has them."""
    text = table[column]
    if dtype.kind in "iu":
        return pd.Series(text.astype(dtype))
    zone = getattr(dtype, "tz", None)
    # Local stamps carry two offsets a year; only UTC gives them one dtype on the way in.
    stamps = pd.to_datetime(text, format="ISO8601", utc=zone is not None)
    return stamps.astype(dtype) if zone is None else stamps.dt.tz_convert(zone).astype(dtype)


def write_table(store: Store, name: str, table: pd.DataFrame) -> None:
    """Write a table of results as CSV."""
    with store.replacing(name) as path:
        table.to_csv(path, index=False, lineterminator="\n")
