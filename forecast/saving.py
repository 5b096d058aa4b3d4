"""A fitted forecaster as a folder: JSON that people can read, safetensors for the arrays; nothing is ever unpickled.

Both carry a checksum, and a save that is stopped leaves what was there before.

Values of JSON are numbers, texts, dates and the like, lists, mappings, dataclasses and forecasters inside others, which
are written with the name of their class, and frames of these. Reading makes objects of classes of this library, or of
modules that the caller has imported already, and no others.
"""

import hashlib
import importlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from reprlib import repr as shortened
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from forecast import __version__
from forecast.panel_files import note_of, panel_from_json, panel_to_json, value_of  # noqa: F401  read from here by those that save

FORMAT = 2  # 1 had no checksums
_CLASS, _FRAME, _VALUE = "__class__", "__frame__", "__value__"
_SCRATCH = ".saving-"


def write(
    folder: str | Path, note: Mapping[str, Any], arrays: Mapping[str, np.ndarray], what: str = "forecaster"
) -> None:
    """Write the two files of a forecaster, or of what else: `forecaster.json` and `forecaster-<checksum>.safetensors`.

    The folder is made where it is not there. What was saved there before is replaced by a rename, so that the folder
    holds the old one or the new one, whole, whatever stops the save.

    Raises
    ------
    NotADirectoryError: `folder` is a file.

    """
    from safetensors.numpy import save_file

    folder = _path(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"`folder` {str(folder)!r} is a file; give a folder, which is made if it is not there")
    folder.mkdir(parents=True, exist_ok=True)
    with _held(folder, alone=True):
        for left in folder.glob(f"{_SCRATCH}*"):  # by a save that was killed
            rmtree(left)
        with TemporaryDirectory(prefix=_SCRATCH, dir=folder) as scratch:
            scratch_arrays, scratch_note = Path(scratch) / "arrays", Path(scratch) / "note"
            # Arrays that are not contiguous would be written out of order.
            save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, scratch_arrays)
            checksum = _checksum(scratch_arrays)
            scratch_note.write_bytes(seal({"format": FORMAT, "foretell": __version__, **note}, checksum))
            kept = folder / _arrays_name(what, checksum)
            scratch_arrays.replace(kept)
            scratch_note.replace(folder / f"{what}.json")  # from here on the new one is what was saved
        for old in folder.glob(f"{what}-*.safetensors"):
            if old != kept:
                old.unlink()


@contextmanager
def _held(folder: Path, alone: bool) -> Iterator[None]:
    """Let other processes wait that would write into a folder meanwhile or, if alone, read; not so on Windows."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # file systems that know no locks
            fcntl.flock(handle, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


def read(folder: str | Path, what: str = "forecaster") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read both files of a forecaster, or of what else was written.

    Raises
    ------
    FileNotFoundError: no such thing was saved there.
    ValueError: a file that is not as it was written, or in a format that this version does not read.

    """
    folder, note_name = _path(folder), f"{what}.json"
    if not (folder / note_name).is_file():
        raise FileNotFoundError(f"`folder` {str(folder)!r} has no {note_name}: give a folder that save(folder) wrote")
    with _held(folder, alone=False):
        return _read(folder, note_name, what)


def _read(folder: Path, note_name: str, what: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    from safetensors.numpy import load_file

    text = (folder / note_name).read_bytes()
    try:
        note = json.loads(text)
    except ValueError as error:
        raise ValueError(_damaged(folder, note_name, what)) from error
    found = note.get("format") if isinstance(note, dict) else None
    if found != FORMAT:
        version = f", of version {note['foretell']!r}" if found is not None and "foretell" in note else ""
        raise ValueError(
            f"`folder` {str(folder)!r} holds a {note_name} in format {found!r}{version}; version {__version__} reads "
            f"format {FORMAT}: load it with the version that wrote it, or fit again"
        )
    checksum = note.pop("sha256", {}).get("arrays")
    if seal(note, checksum) != text:
        raise ValueError(_damaged(folder, note_name, what))
    arrays = folder / _arrays_name(what, checksum)
    if not arrays.is_file():
        raise FileNotFoundError(f"`folder` {str(folder)!r} has no {arrays.name}: save the {what} again")
    if _checksum(arrays) != checksum:
        raise ValueError(_damaged(folder, arrays.name, what))
    return note, load_file(arrays)


def is_there(folder: str | Path, what: str = "forecaster") -> bool:
    """Whether such a thing was saved in a folder."""
    return (_path(folder) / f"{what}.json").is_file()


def mark(folder: str | Path, what: str = "forecaster") -> str:
    """Give the checksum of what was saved in a folder, by which another note can tell it from others."""
    return json.loads((_path(folder) / f"{what}.json").read_bytes())["sha256"]["note"]


def remove(folder: str | Path, what: str) -> None:
    """Remove both files of such a thing, and nothing else."""
    folder = _path(folder)
    (folder / f"{what}.json").unlink(missing_ok=True)
    for arrays in folder.glob(f"{what}-*.safetensors"):
        arrays.unlink()


def seal(note: Mapping[str, Any], checksum: str) -> bytes:
    """Give the text of a note, ending in the checksum of its arrays and of the text itself as it is without it."""
    sums = {"arrays": checksum, "note": ""}
    sums["note"] = hashlib.sha256(_text({**note, "sha256": sums})).hexdigest()
    return _text({**note, "sha256": sums})


def _text(note: Mapping[str, Any]) -> bytes:
    return (json.dumps(note, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _checksum(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _arrays_name(what: str, checksum: str | None) -> str:
    """Name the arrays by their content: a new file never overwrites the one that an older note still speaks of."""
    return f"{what}-{str(checksum)[:16]}.safetensors"


def _path(folder: str | Path) -> Path:
    return Path(folder).expanduser()


def _damaged(folder: Path, name: str, what: str) -> str:
    return (
        f"`folder` {str(folder)!r} holds a damaged {name}: it is not what save(folder) wrote, as its checksum tells. "
        f"Save the {what} again"
    )


def to_json(value, name: str, *, learned: bool = False):
    """Give a value as JSON can hold it; `name` is told where it cannot.

    Of a model that is an argument only its own arguments are kept. So among what was `learned` a fitted one is refused:
    it would come back as if it had never been fitted.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return [to_json(inner, name, learned=learned) for inner in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: to_json(inner, f"{name}[{key!r}]", learned=learned) for key, inner in value.items()}
    if isinstance(value, pd.DataFrame):
        return {_FRAME: to_json(value.to_dict("split", index=False), name)}
    if (noted := note_of(value)) is not None:
        return {_VALUE: noted}
    if learned and _is_fitted(value):
        raise TypeError(
            f"`{name}` is a fitted {type(value).__name__} and cannot be saved: of it only the arguments would be kept. "
            "Give what it has learned as arrays, in _state, and take it back in _restore"
        )
    if (held := _made_with(value)) is not None:
        inner = {key: to_json(content, f"{name}.{key}", learned=learned) for key, content in held.items()}
        return {_CLASS: class_name(type(value)), **inner}
    raise TypeError(
        f"`{name}` is a {type(value).__name__} and cannot be saved: {shortened(value)}; allowed: numbers, texts, "
        "dates, sequences, mappings, frames and dataclasses of these. Leave an argument out before save(folder), set "
        "it again after load(folder); give what a class of your own learns as arrays, in its _state"
    )


def _made_with(value) -> dict[str, Any] | None:
    """Give what a dataclass, or a forecaster that is an argument of another, is made with; None for what else."""
    if isinstance(value, type):
        return None
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    return value.get_params(deep=False) if hasattr(value, "get_params") else None


def _is_fitted(value) -> bool:
    """Whether a value is a model that has learned something, as scikit-learn marks it."""
    attributes = getattr(value, "__dict__", {})
    marked = any(name.endswith("_") and not name.startswith("_") for name in attributes)
    return hasattr(value, "get_params") and not isinstance(value, type) and marked


def from_json(value) -> Any:
    """Give back what `to_json` was given; sequences come as tuples, frames with a fresh index."""
    if isinstance(value, list):
        return tuple(from_json(inner) for inner in value)
    if not isinstance(value, dict):
        return value
    if _VALUE in value:
        return value_of(value[_VALUE])
    if _FRAME in value:
        return pd.DataFrame(**value[_FRAME])
    inner = {key: from_json(content) for key, content in value.items() if key != _CLASS}
    if _CLASS not in value:
        return inner
    kind = class_of(value[_CLASS])
    if not is_dataclass(kind) and not hasattr(kind, "get_params"):
        raise TypeError(
            f"{value[_CLASS]!r} is not a dataclass, nor a forecaster: the file was not written by save(folder)"
        )
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
