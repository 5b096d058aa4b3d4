"""The files of a folder of results: JSON with a format that readers know, checksums, and what is put there by a rename.

Whatever is written is written beside its place first and then put there by one rename: whoever ends the process, and
when, the folder holds whole files and cells only.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forecast import __version__

# Of the layout of a folder. 1 had no number; its done.json held checksums alone.
FORMAT = 2
UNFINISHED = ".writing-"


class StoreError(ValueError):
    """A folder that cannot hold the results of this experiment, or whose results cannot be read."""


def write_json(path: Path, note: Mapping[str, Any]) -> None:
    """Write a note as it comes, for people, too."""
    path.write_text(json.dumps(note, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> dict[str, Any]:
    """Read a note. Raises FileNotFoundError; StoreError for one that is damaged, or of a format that is to come."""
    try:
        note = json.loads(path.read_bytes())
        if not isinstance(note, dict):
            raise ValueError(f"it holds {type(note).__name__}, and a note is a mapping")
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read: {error}; delete it and run again") from error
    check_format(note, path)
    return note


def check_format(note: Mapping[str, Any], path: Path) -> None:
    """Refuse what a later version has written, of which nobody here knows what it means. Raises StoreError."""
    found = note.get("format", 1)
    if isinstance(found, int) and 1 <= found <= FORMAT:
        return
    wrote = f"foretell {note['foretell']}" if "foretell" in note else "another version of foretell"
    raise StoreError(
        f"{path} is of format {found!r}, which {wrote} has written; foretell {__version__} reads formats up to "
        f"{FORMAT}. Take the version that has written it, or a later one: pip install --upgrade foretell"
    )


def checksum(path: Path) -> str:
    """Give the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove(path: Path) -> None:
    """Remove a file or a folder, if it is there, as far as that can be done."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    elif path.exists():
        with contextlib.suppress(OSError):
            os.unlink(path)


@contextlib.contextmanager
def replacing(folder: Path, name: str) -> Iterator[Path]:
    """Give a path to write a file or a folder to, which takes the place of `name` when the block ends well.

    Raises StoreError where it cannot be written.
    """
    target = folder / name
    place = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # In the folder of the store, where the next run finds and removes what a killed one has left.
        place = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
        yield place / target.name
        if target.is_dir():
            # No folder takes the place of another in one step: between the two nothing is there, hence not done.
            target.rename(place / "replaced")
        (place / target.name).replace(target)
    except OSError as error:
        raise StoreError(
            f"{name} cannot be written to {folder}: {error.strerror or error}. What was written before is "
            "whole: the same command goes on from there, once it can"
        ) from error
    finally:
        if place is not None:
            remove(place)
