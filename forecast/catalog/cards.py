"""The card of a data set: what is known about it, as one card.yaml says it; see datasets/README.md for every field."""

from pathlib import Path
from typing import Annotated

import yaml
from pydantic import AfterValidator, Field, ValidationError, model_validator

from forecast.catalog.readers import KEYS, Reader, Strict
from forecast.frame import TARGET, Roles

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Periods = Annotated[int, Field(ge=1)]


class Source(Strict):
    """Where the data come from, in words and as an address."""

    text: str
    address: str = Field(pattern="^https?://")


class Embedded(Strict):
    """A small file beside the card."""

    file: str
    sha256: Sha256


class PublicFile(Strict):
    """A file at a public address; `sha256: null` where nobody has published one."""

    url: str = Field(pattern="^https://")
    sha256: Sha256 | None

    @property
    def file(self) -> str:
        """The file's own name."""
        return self.url.rsplit("/", 1)[-1]


class Download(Strict):
    """Public raw files and the reader that understands them."""

    files: list[PublicFile]
    reader: Reader

    @model_validator(mode="after")
    def _as_many_as_read(self) -> "Download":
        if len(self.files) != self.reader.files:
            raise ValueError(f"reader {self.reader.kind!r} reads {self.reader.files} file(s); got {len(self.files)}")
        return self


class Prepared(Strict):
    """The long frame as one parquet file, made by hand for the folder named by FORECAST_DATA_HOME."""

    sha256: Sha256


def _one_role_each(roles: Roles) -> Roles:
    columns = roles.columns()
    twice = sorted({column for column in columns if columns.count(column) > 1 or column in KEYS})
    if twice:
        raise ValueError(f"one role for one column, and none for {', '.join(KEYS)}; got {', '.join(twice)} again")
    early = [f"{column}: {periods}" for column, periods in roles.delayed.items() if periods < 1]
    if early:
        raise ValueError(f"a delay is 1 period or more; got {', '.join(early)}")
    return roles


class Card(Strict):
    """What is known about a data set; `roles` is what `check_frame` takes, `target` what the source calls `y`."""

    name: str = Field(pattern="^[a-z0-9_]+$")
    title: str
    source: Source
    licence: str
    freq: str
    season_lengths: list[Periods] = Field(min_length=1)
    horizon: Periods
    series: Periods
    target: str = TARGET
    roles: Annotated[Roles, AfterValidator(_one_role_each)] = Roles()
    embedded: Embedded | None = None
    download: Download | None = None
    prepared: Prepared | None = None
    notes: str = ""

    def columns(self) -> list[str]:
        """Give the columns that the long frame must have: the keys, the target and every column with a role."""
        return [*KEYS, *self.roles.columns()]


class CardError(ValueError):
    """A card.yaml that does not follow the schema; says the file, the field and what is wrong."""


def read_card(path: Path) -> Card:
    """Read one card.yaml. Raises CardError with one line for each fault."""
    try:
        card = Card.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except yaml.YAMLError as error:
        raise CardError(f"{path}: not readable as YAML: {error}") from error
    except ValidationError as error:
        faults = [f"{path}: {'.'.join(map(str, fault['loc'])) or 'card'}: {fault['msg']}" for fault in error.errors()]
        raise CardError("\n".join(faults)) from error
    if card.name != path.parent.name:
        raise CardError(f"{path}: name: {card.name!r} must be the name of its folder, {path.parent.name!r}")
    return card
