"""The files of a data set: had, verified against their checksums, and read."""

import hashlib
import warnings
from pathlib import Path

import pandas as pd

from forecast.catalog.cards import Card, PublicFile
from forecast.catalog.places import find, what_to_put_where
from forecast.catalog.readers import read_prepared


def read(card: Card) -> tuple[pd.DataFrame, str]:
    """Give a set's rows as read, and the name of what they were read from.

    Warnings name the line that called the caller of this function, which is `load`.

    Raises FileNotFoundError (which says what to put where) if the data are not here and cannot be had, ValueError for a
    checksum that differs, ImportError for a parquet file without pyarrow.
    """
    place = find(card)
    if place.where == "missing":
        raise FileNotFoundError(
            f"data set {card.name!r} has no public file that can be read here: {what_to_put_where(card)}"
        )
    if place.passed_over:
        warnings.warn(
            f"data set {card.name!r}: {place.passed_over} needs pyarrow, which is not installed, so the "
            f'{place.where} file {place.paths[0]} is used instead; to read it: pip install "foretell[parquet]"',
            stacklevel=3,
        )
    origin = " and ".join(map(str, place.paths))
    if card.download and place.where in ("cached", "download"):
        for public, path in zip(card.download.files, place.paths, strict=True):
            _fetch(card, public, path)
        return card.download.reader.read(place.paths, card.freq), origin
    path = place.paths[0]
    if card.embedded and place.where == "embedded" and (sha256 := _sha256(path)) != card.embedded.sha256:
        raise ValueError(
            f"data set {card.name!r}: {path} has sha256 {sha256}, its card says {card.embedded.sha256}: the "
            "file was changed or damaged; install the package again, or make it anew with prepare.py"
        )
    frame = read_prepared(path)
    comparable = place.where == "data home" and path.suffix == ".parquet"
    if card.prepared and comparable and (sha256 := _sha256(path)) != card.prepared.sha256:
        warnings.warn(
            f"data set {card.name!r}: {path} is not the prepared file that the card knows (sha256 {sha256}, card: "
            f"{card.prepared.sha256}); it is used all the same, but scores may not be comparable with published ones",
            stacklevel=3,
        )
    return frame, origin


def _fetch(card: Card, public: PublicFile, path: Path) -> None:
    """Have the public file at `path`, with its checksum verified; without a published one, trust on first use."""
    import pooch

    record = path.with_name(path.name + ".sha256")
    expected = public.sha256 or (record.read_text().strip() if record.is_file() else None)
    try:
        pooch.retrieve(public.url, known_hash=expected and f"sha256:{expected}", fname=path.name, path=path.parent)
    except OSError as error:  # what requests raises without network, and what a full disk raises
        reason = f"{type(error).__name__}: {error}"
        raise FileNotFoundError(
            f"data set {card.name!r}: {public.file} is not on this machine and could not be downloaded ({reason}). "
            f"Without network: {what_to_put_where(card)}"
        ) from error
    except ValueError as error:  # what pooch raises when the checksum differs; it keeps no such file
        raise ValueError(
            f"data set {card.name!r}: {public.url} does not have sha256 {expected} "
            f"({'of its card' if public.sha256 else f'recorded at its first download in {record}'}): the public file "
            f"has changed or was damaged on its way; that copy was not kept. {error}"
        ) from error
    if expected is None:
        record.write_text(_sha256(path) + "\n")
        warnings.warn(
            f"data set {card.name!r}: nobody has published a checksum of {public.url}, so this first copy is trusted "
            f"as it came; its sha256 is now in {record} and later loads are checked against it",
            stacklevel=4,
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
