"""What a folder of results holds and its experiment does not ask for any more: cells of before, and half-written files.

A run leaves cells of forecasters that were taken out of its config where they are, so that they are there when they are
put back. Here they are found, and removed on request.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from forecast.experiment.store import Store, StoreError
from forecast.experiment.stored import experiments_below, place_of

LEFT = ["experiment", "what", "path", "bytes"]
_HALF = "half written"


def clear_results(folder: str | Path, *, remove: bool = False) -> pd.DataFrame:
    """Give what the experiments in a folder do not need, a row for each; with `remove`, take it away.

    Columns: `experiment` in which it is; `what` it is of; its `path` there; its `bytes`. Not needed are cells that the
    config, as it was last run, does not ask for, cells that are neither finished nor failed, and what a killed run
    has left half written. What is finished or has failed, and is asked for, stays.

    Raises
    ------
    StoreError: there is no experiment, or one that cannot be read; a run is writing to one; it was stopped before it
        was known which cells it asks for; something cannot be removed.

    """
    rows = []
    for experiment in experiments_below(folder):
        store = Store(experiment)
        note = store.experiment()
        with store.locked(clearing=False):
            for path, what in _left(store, note):
                rows.append((place_of(experiment, folder), what, path.relative_to(experiment).as_posix(), _bytes(path)))
                if remove:
                    store.discard(path)
    return pd.DataFrame(rows, columns=LEFT).astype({"bytes": "int64"})


def _left(store: Store, note: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Give what is not needed, and of what it is. Raises StoreError where that is not known."""
    asked = _asked(store, note)
    for path in store.half_written():
        yield path, _HALF
    for key in store.keys:
        if key not in asked:
            yield store.folder_of(key), _told(store.read_config(key))
        elif store.status(key, check=False) == "unfinished":
            yield store.folder_of(key), _HALF


def _asked(store: Store, note: Mapping[str, Any]) -> set[str]:
    datasets = {one["name"] for one in note["config"].get("datasets", ())}
    if open_ones := datasets - set(note.get("settled", datasets)):
        raise StoreError(
            f"{store.folder}: the regime of {', '.join(sorted(open_ones))} is not settled, so that it is not known "
            "which cells are asked for; go on with the run first: forecast run CONFIG --out FOLDER"
        )
    return {work["key"] for kind in ("cells", "before", "beside") for work in note.get(kind, ())}


def _told(config: Mapping[str, Any]) -> str:
    """Say of what a cell is, by all that it depends on."""
    kind = config.get("kind", "cell")
    return f"{kind} of {config['label']}" if "label" in config else str(kind)


def _bytes(path: Path) -> int:
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
