"""The arrays of a file of `np.savez`: a small one is read; a large one is mapped, and memory may drop it again."""

import io
import struct
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

# Bytes of a file that is mapped. Each one keeps a file open, of which a process may have about a thousand.
_LARGE = 1 << 22
_HEADER = 30  # bytes before the name of a member; the last four tell how long it is, and what stands behind it
_LENGTHS = struct.Struct("<HH")
_BEFORE_TEXT = 10  # bytes before the text that tells what an array is; the last two tell how long that is


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Give the arrays by name; they cannot be written to.

    Raises OSError, and BadZipFile or ValueError for a file that is damaged.
    """
    if path.stat().st_size < _LARGE:
        return arrays_in(path.read_bytes())
    with path.open("rb") as file:
        return _members(ZipFile(file), np.memmap(path, "uint8", "r"), path.name)


def arrays_in(content: bytes, name: str = "it") -> dict[str, np.ndarray]:
    """Give the arrays of a file that has been read. Raises as `read_arrays`."""
    return _members(ZipFile(io.BytesIO(content)), content, name)


def _members(archive: ZipFile, held: Any, name: str) -> dict[str, np.ndarray]:
    """Give the arrays of an archive that lies in `held`, none of them copied."""
    found, whole = {}, memoryview(held)
    for member in archive.infolist():
        name_at = member.header_offset + _HEADER
        within = name_at <= len(whole)
        begin = name_at + sum(_LENGTHS.unpack(whole[name_at - _LENGTHS.size : name_at])) if within else name_at
        end = begin + member.file_size
        if member.compress_type or end > len(whole) or zlib.crc32(whole[begin:end]) != member.CRC:
            raise BadZipFile(f"{member.filename} in {name} is damaged")
        told = bytes(whole[begin : begin + _BEFORE_TEXT])
        told += bytes(whole[begin + _BEFORE_TEXT : begin + _BEFORE_TEXT + int.from_bytes(told[8:], "little")])
        shape, fortran, dtype = _header(told)
        order = "F" if fortran else "C"
        found[member.filename.removesuffix(".npy")] = np.ndarray(shape, dtype, held, begin + len(told), order=order)
    return found


@lru_cache(maxsize=256)
def _header(text: bytes) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Read what stands before the numbers of an array: its shape, whether columns come first, its dtype."""
    file = io.BytesIO(text)
    if (version := np.lib.format.read_magic(file)) != (1, 0):
        raise ValueError(f"an array is of the format {version}, and (1, 0) is read")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject:
        raise ValueError("an array holds objects, which are not read")
    return shape, fortran, dtype
