"""A fitted forecaster as a folder: JSON that people can read, safetensors for the arrays; nothing is ever unpickled.

Values of JSON are numbers, texts, lists, mappings, dataclasses, which are written with the name of their class, and
frames of these. Reading makes objects of classes of this library, or of modules that the caller has imported already,
and no others.
"""

import importlib
import json
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import numpy as np
import pandas as pd

from forecast import __version__
from forecast.frame import Panel
from forecast.frame.calendar import Calendar, calendar_of, integer_calendar

FORMAT = 1
_FILES = {"forecaster": ("forecaster.json", "arrays.safetensors"), "stream": ("stream.json", "stream.safetensors")}
_PARTS = {"forecaster": ("class", "params", "door", "state", "panel"), "stream": ("panel",)}  # of the note
_CLASS, _FRAME = "__class__", "__frame__"


def write(
    folder: str | Path, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray], what: str = "forecaster"
) -> None:
    """Write both files of a forecaster or a stream; the folder is made where it is not there, and earlier files of the
    same kind are replaced.
    """
    from safetensors.numpy import save_file

    folder, (note_name, arrays_name) = Path(folder), _FILES[what]
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT, "foretell": __version__, **note}, indent=2, ensure_ascii=False)
    # Arrays that are not contiguous would be written out of order.
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, folder / arrays_name)
    (folder / note_name).write_text(text + "\n", encoding="utf-8")


def read(folder: str | Path, what: str = "forecaster") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read both files of a forecaster or a stream.

    Raises
    ------
    FileNotFoundError: no such thing was saved there.
    ValueError: the files are damaged, or in a format that this version does not read.

    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder, (note_name, arrays_name) = Path(folder), _FILES[what]
    for name in (note_name, arrays_name):
        if not (folder / name).is_file():
            raise FileNotFoundError(f"`folder` {str(folder)!r} has no {name}: give a folder that save(folder) wrote")
    try:
        note, arrays = json.loads((folder / note_name).read_text(encoding="utf-8")), load_file(folder / arrays_name)
    except (ValueError, SafetensorError) as error:
        raise ValueError(f"`folder` {str(folder)!r} holds damaged files ({error}): save the {what} again") from error
    found = note.get("format") if isinstance(note, dict) else None
    if found != FORMAT:
        version = f", of version {note['foretell']!r}" if found is not None and "foretell" in note else ""
        raise ValueError(
            f"`folder` {str(folder)!r} is in format {found!r}{version}; version {__version__} reads format {FORMAT}: "
            "load it with the version that wrote it, or fit again"
        )
    if lacking := [name for name in _PARTS[what] if name not in note]:
        raise ValueError(f"`folder` {str(folder)!r} holds a {note_name} without {lacking}: save the {what} again")
    return note, arrays


def to_json(value, name: str):
    """Give a value as JSON can hold it; `name` is told where it cannot."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return [to_json(inner, name) for inner in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: to_json(inner, f"{name}[{key!r}]") for key, inner in value.items()}
    if isinstance(value, pd.DataFrame):
        return {_FRAME: to_json(value.to_dict("split", index=False), name)}
    if is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: to_json(getattr(value, field.name), f"{name}.{field.name}") for field in fields(value)}
        return {_CLASS: class_name(type(value)), **inner}
    raise TypeError(
        f"`{name}` is a {type(value).__name__} and cannot be saved: {shortened(value)}; allowed: numbers, texts, "
        "sequences, mappings, frames and dataclasses of these. Leave an argument out before save(folder), set it again "
        "after load(folder); give what a class of your own learns as arrays, in its _state"
    )


def from_json(value) -> Any:
    """Give back what `to_json` was given; sequences come as tuples, frames with a fresh index."""
    if isinstance(value, list):
        return tuple(from_json(inner) for inner in value)
    if not isinstance(value, dict):
        return value
    if _FRAME in value:
        return pd.DataFrame(**value[_FRAME])
    inner = {key: from_json(content) for key, content in value.items() if key != _CLASS}
    if _CLASS not in value:
        return inner
    kind = class_of(value[_CLASS])
    if not is_dataclass(kind):
        raise TypeError(f"{value[_CLASS]!r} is not a dataclass: the file was not written by save(folder)")
    return kind(**inner)


def class_name(kind: type) -> str:
    """Give the name by which `class_of` finds a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def class_of(name: str) -> type:
    """Give a class by its name: one of this library, or of a module that is imported already; no other is imported.

    Raises
    ------
    ValueError: there is none of this name.

    """
    module_name, _, path = name.partition(":")
    if module_name.split(".")[0] == "forecast":
        try:
            importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name != module_name:  # a library that is not installed
                raise
    found: Any = sys.modules.get(module_name)
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise ValueError(f"the class {name!r} is not there: import {module_name!r} before load(folder)")
    return found


def panel_to_json(panel: Panel) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Give a panel as a JSON value and arrays; `Panel.detached` first, or rows that were cut off are written too.

    Raises
    ------
    TypeError: ids that are neither texts nor whole numbers; a time zone without a name.

    """
    ids = [panel.id_of(series) for series in range(len(panel))]
    if wrong := [name for name in ids if not isinstance(name, str | int)]:
        raise TypeError(f"`unique_id` {wrong[0]!r} cannot be saved; allowed: texts and whole numbers")
    arrays = {name: getattr(panel, name) for name in ("values", "observed", "starts", "stops", "first")}
    id_type = str(panel.ids.dtype) if pd.api.types.is_integer_dtype(panel.ids.dtype) else "text"
    return {"ids": ids, "id_type": id_type, "calendar": _calendar_to_json(panel.calendar)}, arrays


def panel_from_json(note: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Panel:
    """Give back what `panel_to_json` was given."""
    ids = pd.Index(note["ids"], dtype=None if note["id_type"] == "text" else note["id_type"], name="unique_id")
    return Panel(**arrays, ids=ids, calendar=_calendar_from_json(note["calendar"]))


def _calendar_to_json(calendar: Calendar) -> dict[str, Any]:
    """Give frequency, unit, zone and one stamp of the grid; the rest of a calendar follows from them."""
    if calendar.unit is None:
        return {"freq": calendar.freq, "unit": None, "zone": None, "stamp": calendar.stamp(0)}
    stamp = int(pd.DatetimeIndex(calendar.stamps([0])).asi8[0])
    note = {"freq": calendar.freq, "unit": calendar.unit, "zone": calendar.zone and str(calendar.zone), "stamp": stamp}
    try:
        _calendar_from_json(note)
    except Exception as error:  # what an unknown zone raises differs between pandas versions
        raise TypeError(
            f"the time zone {calendar.zone!r} has no name to save it by; give stamps with a named zone"
        ) from error
    return note


def _calendar_from_json(note: Mapping[str, Any]) -> Calendar:
    if note["unit"] is None:
        return integer_calendar(int(note["freq"]), note["stamp"])
    index = pd.DatetimeIndex(np.array([note["stamp"]], dtype="int64").view(f"datetime64[{note['unit']}]"))
    if note["zone"] is not None:
        index = index.tz_localize("UTC").tz_convert(note["zone"])
    stamp: Any = index[0]
    return calendar_of(note["freq"], stamp)
