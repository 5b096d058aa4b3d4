"""A panel as JSON and arrays: series, calendar, columns that have a role. Nothing in it is ever unpickled.

Ids and categories come back as they were: text, truth values and numbers as JSON has them, other values in a mapping of
their kind to a text, such as `{"date": "2024-05-01"}`; tuples as lists in one.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd

from forecast.frame import Panel
from forecast.frame.calendar import Calendar, calendar_of, integer_calendar
from forecast.frame.covariates import Column, Covariates, Table
from forecast.frame.form import Form
from forecast.frame.stamps import Stamps
from forecast.frame.steps import Listed, Weekly

_ARRAYS = ("values", "observed", "starts", "stops", "first")
_TABLES = ("static", "past", "known")
_MADE_WITH = ("time_unit", "time_zone", "categories", "precision", "scale")  # of types of narwhals
_RANGES = ("starts", "stops", "first")  # of known covariates


def _timestamp(text: str) -> pd.Timestamp:
    moment, unit, zone = text.split(" ", 2)
    stamp = pd.Timestamp(moment).as_unit(unit)  # type: ignore[arg-type]
    return stamp.tz_localize("UTC").tz_convert(zone) if zone else stamp  # type: ignore[return-value]


def _timestamp_text(stamp: pd.Timestamp) -> str:
    moment = stamp if stamp.tz is None else stamp.tz_convert("UTC").tz_localize(None)
    return f"{moment.isoformat()} {stamp.unit} {stamp.tz or ''}"


def _period(text: str) -> pd.Period:
    freq, _, begin = text.partition(" ")
    return pd.Period(begin, freq=freq)  # type: ignore[return-value]


def _period_text(period: pd.Period) -> str:
    return f"{period.freqstr} {period}"


# kind -> its type, how it is written as a text, and read from it
_KINDS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "float": (float, repr, float),  # those that JSON does not have
    "decimal": (Decimal, str, Decimal),
    "date": (date, date.isoformat, date.fromisoformat),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timestamp": (pd.Timestamp, _timestamp_text, _timestamp),
    "timedelta": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
    "period": (pd.Period, _period_text, _period),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "uuid": (UUID, str, UUID),
}


def panel_to_json(panel: Panel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Give a panel as a JSON value and arrays; `Panel.detached` first, or rows that were cut off are written too.

    Raises
    ------
    TypeError: an id or a category of a kind that cannot be written; a time zone without a name.

    """
    arrays = {name: getattr(panel, name) for name in _ARRAYS}
    note = {
        "ids": _index_to_json(panel.ids, "unique_id"),
        "form": _form_to_json(panel.form),
        "unused": [_value_to_json(column, "the name of a column") for column in panel.unused],
        "covariates": None,
        "weight": None,
    }
    note["calendar"], known = _calendar_to_json(panel.calendar)
    arrays |= {f"calendar.{name}": array for name, array in known.items()}
    if panel.weights is not None:
        arrays["weights"] = panel.weights
        note["weight"] = _value_to_json(panel.weight, "weight")
    if beside := panel.covariates:
        note["covariates"] = {}
        for name in _TABLES:
            table: Table = getattr(beside, name)
            note["covariates"][name] = [_column_to_json(column) for column in table.columns]
            arrays[f"covariates.{name}"] = table.numbers
        arrays |= {f"covariates.{name}": getattr(beside, name) for name in _RANGES}
        if beside.late is not None:
            arrays["covariates.late"] = beside.late
    return note, arrays


def panel_from_json(note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Panel:
    """Give back what `panel_to_json` was given."""
    covariates, weight = None, {}
    if (columns := note["covariates"]) is not None:
        static, past, known = (
            Table(tuple(map(_column_from_json, columns[name])), arrays[f"covariates.{name}"]) for name in _TABLES
        )
        starts, stops, first = (arrays[f"covariates.{name}"] for name in _RANGES)
        covariates = Covariates(static, past, known, starts, stops, first, arrays.get("covariates.late"))
    if note["weight"] is not None:
        weight = {"weights": arrays["weights"], "weight": _value_from_json(note["weight"])}
    return Panel(
        **{name: arrays[name] for name in _ARRAYS},
        ids=_index_from_json(note["ids"]).rename("unique_id"),
        calendar=_calendar_from_json(note["calendar"], arrays.get("calendar.known")),
        covariates=covariates,
        form=_form_from_json(note["form"]),
        unused=tuple(map(_value_from_json, note["unused"])),
        **weight,
    )


def _column_to_json(column: Column) -> dict[str, Any]:
    return {
        "name": _value_to_json(column.name, "the name of a column"),
        "delay": int(column.delay),
        "issued": _value_to_json(column.issued, "the name of a column"),
        "categories": None if column.categories is None else _index_to_json(column.categories, column.name),
    }


def _column_from_json(note: Mapping[str, Any]) -> Column:
    categories = None if note["categories"] is None else _index_from_json(note["categories"])
    return Column(_value_from_json(note["name"]), categories, note["delay"], _value_from_json(note.get("issued")))


# -- ids and categories ------------------------------------------------------------------------------------------------


def _index_to_json(index: pd.Index, column: str) -> dict[str, Any]:
    """Give the values of an index and what pandas keeps them as; `column` is told where that cannot be written."""
    if isinstance(index, pd.CategoricalIndex):
        return {
            "kept": "category",
            "values": np.asarray(index.codes).tolist(),
            "categories": _index_to_json(index.categories, column),
            "ordered": bool(index.ordered),
        }
    return {"kept": _dtype_to_json(index.dtype), "values": [_value_to_json(value, column) for value in index.tolist()]}


def _index_from_json(note: Mapping[str, Any]) -> pd.Index:
    if note["kept"] == "category":
        categories = _index_from_json(note["categories"])
        return pd.CategoricalIndex(pd.Categorical.from_codes(note["values"], categories, note["ordered"]))
    values = list(map(_value_from_json, note["values"]))
    return pd.Index(values, dtype=_dtype_from_json(note["kept"]), tupleize_cols=False)


def _dtype_to_json(dtype: Any) -> str | dict[str, str]:
    """Give the name of a dtype; those of Arrow have none that tells all of them, but can be written as bytes."""
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        return {"arrow": pa.schema([("", dtype.pyarrow_dtype)]).serialize().to_pybytes().hex()}
    if isinstance(dtype, pd.StringDtype) and dtype.na_value is pd.NA:
        return f"string[{dtype.storage}]"
    return str(dtype)


def _dtype_from_json(note: str | Mapping[str, str]) -> Any:
    if isinstance(note, str):
        return pd.api.types.pandas_dtype(note)
    import pyarrow as pa

    return pd.ArrowDtype(pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(note["arrow"]))).field(0).type)


def _value_to_json(value, column: str):
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str) or (type(value) is float and isfinite(value)):
        return value
    if type(value) is tuple:
        return {"tuple": [_value_to_json(inner, column) for inner in value]}
    if type(value) is frozenset:
        return {"frozenset": [_value_to_json(inner, column) for inner in value]}
    if (noted := note_of(value)) is not None:
        return noted
    raise TypeError(
        f"`{column}`: {value!r} is a {type(value).__name__} and cannot be saved; allowed: texts, truth values, "
        "numbers, dates, timestamps in a named time zone, periods, and tuples of these"
    )


def _value_from_json(value) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind in ("tuple", "frozenset"):
        return (tuple if kind == "tuple" else frozenset)(map(_value_from_json, inner))
    return value_of(value)


def note_of(value) -> dict[str, str] | None:
    """Give a value that JSON does not have by its kind, as a text; None where there is no kind for it."""
    for kind, (of, write, read) in _KINDS.items():
        if type(value) is of and (read(text := write(value)) == value or value != value):
            return {kind: text}
    return None


def value_of(note: Mapping[str, str]) -> Any:
    """Give back what `note_of` was given."""
    ((kind, text),) = note.items()
    return _KINDS[kind][2](text)


# -- the form of the frame ---------------------------------------------------------------------------------------------


def _form_to_json(form: Form) -> dict[str, Any]:
    stamps = form.stamps
    return {
        "stamps": {"kind": stamps.kind, "dtype": stamps.dtype and _dtype_to_json(stamps.dtype), "shape": stamps.shape},
        "backend": form.backend,
        "ids": _type_to_json(form.ids),
        "time": _type_to_json(form.time),
    }


def _form_from_json(note: Mapping[str, Any]) -> Form:
    kind, dtype, shape = (note["stamps"][name] for name in ("kind", "dtype", "shape"))
    stamps = Stamps(kind, dtype and _dtype_from_json(dtype), shape)
    return Form(stamps, note["backend"], _type_from_json(note["ids"]), _type_from_json(note["time"]))


def _type_to_json(dtype) -> dict[str, Any] | None:
    """Give a type of narwhals by its name and what it is made with; those of ids and stamps are made of no others."""
    if dtype is None:
        return None
    made = {name: getattr(dtype, name) for name in _MADE_WITH if hasattr(dtype, name)}
    return {
        "name": type(dtype).__name__,
        **{name: list(of) if name == "categories" else of for name, of in made.items()},
    }


def _type_from_json(note: Mapping[str, Any] | None):
    if note is None:
        return None
    import narwhals.stable.v2 as nw

    return getattr(nw, note["name"])(**{name: of for name, of in note.items() if name != "name"})


# -- the calendar ------------------------------------------------------------------------------------------------------


def _calendar_to_json(calendar: Calendar) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Give frequency, unit, zone and one stamp of the grid, from which the rest of a calendar follows.

    One without a rule is its stamps, as an array, and what follows them; one of moments of the week is these.
    """
    note = {"freq": calendar.freq, "unit": calendar.unit, "zone": calendar.zone and str(calendar.zone)}
    known, steps = {}, calendar.steps
    if isinstance(steps, Listed):
        note["following"] = steps.following and _calendar_to_json(steps.following)[0]
        known = {"known": steps.known}
    elif isinstance(steps, Weekly):
        note |= {"slots": list(steps.slots), "season": calendar.season_length}
    elif calendar.unit is None:
        note["stamp"] = calendar.stamp(0)
    else:
        note["stamp"] = int(pd.DatetimeIndex(calendar.stamps([0])).asi8[0])
    try:
        _calendar_from_json(note, known.get("known"))
    except Exception as error:  # what an unknown zone raises differs between pandas versions
        raise TypeError(
            f"the time zone {calendar.zone!r} has no name to save it by; give stamps with a named zone"
        ) from error
    return note, known


def _calendar_from_json(note: Mapping[str, Any], known: np.ndarray | None = None) -> Calendar:
    unit: Any = note["unit"]
    stamp = note.get("stamp", 0)
    zone: Any = None
    first: Any = stamp
    if unit is not None:
        index = pd.DatetimeIndex(np.array([stamp], dtype="int64").view(f"datetime64[{unit}]"))
        if note["zone"] is not None:
            index = index.tz_localize("UTC").tz_convert(note["zone"])
        zone, first = index.tz, index[0]
    if "following" in note:
        following = note["following"] and _calendar_from_json(note["following"])
        assert known is not None
        return Calendar(note["freq"], Listed(known, following), unit, zone, following.season_length if following else 1)
    if "slots" in note:
        return Calendar(note["freq"], Weekly(tuple(note["slots"]), note["unit"]), unit, zone, note["season"])
    return integer_calendar(int(note["freq"]), stamp) if unit is None else calendar_of(note["freq"], first)
