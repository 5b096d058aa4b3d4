"""The data sets that a config names: of the catalogue, files of one's own, or series drawn from a process."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from forecast import catalog
from forecast.experiment.arguments import construct_named
from forecast.experiment.faults import Fault, nearest
from forecast.frame import ID, TARGET, TIME, Panel, Roles, check_frame
from forecast.synthetic import Process

Gaps = Literal["error", "mask", "fill"]
# A name becomes a folder.
Whole = Annotated[int, Field(strict=True, ge=1)]
Name = Annotated[str, Field(pattern=r"^\w[\w .+-]*$", max_length=100)]


class Strict(BaseModel):
    """A part of a config: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Dataset(Strict):
    """A data set of the catalogue, by its name, a CSV file of one's own, or series of a process, drawn anew.

    Attributes
    ----------
    name: of the catalogue; of a file or a process any name, its stem or its own where none is given.
    file: path of a `.csv` or `.csv.gz` file in long form, relative to the config file.
    synthetic: a process of `forecast.synthetic`, by its name, or by `type` and its numbers.
    series, length, seed: of what is drawn from it, as `Process.frame` takes them.
    columns, freq, gaps: as `check_frame` takes them; `gaps` of the experiment holds where none are given here.
    roles: when covariates are known, a mapping as `Roles` takes it; `card` for those that the catalogue tells of a data
        set of its own. None are read where none are given.
    channels: of a data set of the catalogue that is one series, whether each of its past covariates becomes a series
        beside the target, as in published tables of multivariate forecasts.
    stamps: `as_read`, or `by_row` for stamps counted from the first of each series in steps of `freq`: published
        protocols count rows, whatever stamps the source has lost or repeated.

    """

    name: Name
    file: str | None = None
    synthetic: str | dict[str, Any] | None = None
    series: Whole | None = None
    length: Whole | None = None
    seed: Annotated[int, Field(strict=True, ge=0)] | None = None
    columns: dict[str, str] = {}
    freq: str | int | None = None
    gaps: Gaps | None = None
    roles: Literal["card"] | Roles | None = None
    channels: Annotated[bool, Field(strict=True)] = False
    stamps: Literal["as_read", "by_row"] = "as_read"

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        if isinstance(given, str):
            return {"name": given}
        if isinstance(given, Mapping) and isinstance(given.get("file"), str) and "name" not in given:
            return {"name": Path(given["file"]).name.split(".")[0], **given}
        if isinstance(given, Mapping) and "name" not in given and (drawn := given.get("synthetic")) is not None:
            name = drawn.get("type") if isinstance(drawn, Mapping) else drawn
            return {"name": name, **given}
        return given

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        if self.synthetic is None:
            if told := [name for name in ("series", "length", "seed") if getattr(self, name) is not None]:
                raise ValueError(f"`{told[0]}` is of series that are drawn: say from which process, `synthetic`")
        elif told := [name for name in ("file", "columns", "roles", "channels") if getattr(self, name)]:
            raise ValueError(f"`{told[0]}` does not go with `synthetic`, whose series are `unique_id, ds, y`")
        return self

    @field_validator("roles", mode="before")
    @classmethod
    def _as_roles(cls, given: Any) -> Any:
        if given is None or given == "card" or isinstance(given, Roles):
            return given
        allowed = [one.name for one in fields(Roles)]
        if not isinstance(given, Mapping):
            raise ValueError(f"should be 'card', or a mapping with any of {', '.join(allowed)}; got {given!r}")
        if unknown := [key for key in given if key not in allowed]:
            raise ValueError(
                f"unknown role {unknown[0]!r}; {nearest(str(unknown[0]), allowed)}allowed: {', '.join(allowed)}"
            )
        told: dict[str, Any] = {role: tuple(one) if isinstance(one, list) else one for role, one in given.items()}
        roles = Roles(**told)
        try:
            roles.uses()
        except TypeError as error:
            raise ValueError(str(error)) from error
        return roles

    def read(self, folder: Path) -> pd.DataFrame:
        """Read the long frame; a path that is not absolute starts from `folder`. Raises as `load` and `read_csv` do."""
        if self.synthetic is not None:
            return self._drawn()
        if self.file is None:
            return catalog.load(self.name)
        ids, stamps = (self.columns.get(column, column) for column in ("unique_id", "ds"))
        frame = pd.read_csv(folder / Path(self.file).expanduser(), dtype={ids: "str"})
        if stamps in frame and not pd.api.types.is_integer_dtype(frame[stamps]):
            frame[stamps] = pd.to_datetime(frame[stamps], format="ISO8601")
        return frame

    def _drawn(self) -> pd.DataFrame:
        """Draw the long frame. Raises ValueError for what is no process."""
        faults: list[Fault] = []
        process = construct_named(Process, self.synthetic, ("synthetic",), faults)
        if process is None:
            raise ValueError("; ".join(f"`{'.'.join(map(str, one.field))}`: {one.message}" for one in faults))
        told = {name: getattr(self, name) for name in ("series", "length", "seed")}
        return process.frame(**{name: value for name, value in told.items() if value is not None})

    def panel(self, gaps: Gaps, folder: Path) -> Panel:
        """Read the data through the door; raises what `read` and `check_frame` raise."""
        if self.roles == "card" and self.file is not None:
            raise ValueError("`roles` is 'card', but a file has no card: say which column has which role")
        if self.channels and self.file is not None:
            raise ValueError(
                "`channels` is true, but a file has no card: give it in long form, a row per series and time"
            )
        roles = catalog.card(self.name).roles if self.roles == "card" else self.roles
        frame, freq = self.read(folder), self.freq
        if freq is None and self.file is None and pd.api.types.is_datetime64_any_dtype(frame["ds"]):
            freq = catalog.card(self.name).freq
        if self.stamps == "by_row":
            frame = _counted(frame, freq)
        if self.channels:
            frame = _as_channels(frame, catalog.card(self.name))
        return check_frame(frame, freq=freq, columns=dict(self.columns), gaps=self.gaps or gaps, roles=roles)


def _counted(frame: pd.DataFrame, freq: str | int | None) -> pd.DataFrame:
    """Give a frame whose stamps are counted by row from the first of each series. Raises ValueError without a freq."""
    missing = [name for name in (ID, TIME) if name not in frame]
    if missing or not isinstance(freq, str) or not pd.api.types.is_datetime64_any_dtype(frame[TIME]):
        raise ValueError(
            "`stamps` is 'by_row', which takes columns `unique_id` and `ds` of timestamps, and a `freq` such as "
            f"'10min'; got `freq` {freq!r} and the columns {', '.join(map(str, frame.columns))}"
        )
    step = pd.tseries.frequencies.to_offset(freq)
    parts = [
        one.assign(**{TIME: pd.date_range(one[TIME].iloc[0], periods=len(one), freq=step)})
        for _, one in frame.groupby(ID, sort=False)
    ]
    return pd.concat(parts, ignore_index=True)


def _as_channels(frame: pd.DataFrame, card: catalog.Card) -> pd.DataFrame:
    """Give target and past covariates as series, each called as its column. Raises ValueError for several series."""
    if (found := len(set(frame[ID]))) != 1:
        raise ValueError(f"`channels` is true, and data set {card.name!r} has {found} series: leave it out")
    columns = {TARGET: card.target} | {column: column for column in card.roles.past}
    parts = [
        pd.DataFrame({ID: name, TIME: frame[TIME], TARGET: frame[column].astype("float64")})
        for column, name in columns.items()
    ]
    return pd.concat(parts, ignore_index=True)


def unknown_datasets(given: Any) -> list[Fault]:
    """Give a fault for each of `datasets`, as the file has them, that the catalogue or the processes do not know."""
    faults, known = [], catalog.names()
    for number, one in enumerate(given if isinstance(given, list) else [given]):
        inside = isinstance(one, Mapping)
        if inside and isinstance(drawn := one.get("synthetic"), str | Mapping):
            construct_named(Process, drawn, ("datasets", number, "synthetic"), faults)
            continue
        name = one.get("name") if inside and "file" not in one else one
        if isinstance(name, str) and name not in known:
            field = ("datasets", number, "name") if inside else ("datasets", number)
            near = nearest(name, known) or f"known: {', '.join(known)}. "
            advice = "`forecast datasets` lists all; a file of your own is a mapping with `file`"
            faults.append(Fault(field, f"unknown data set {name!r}; {near}{advice}"))
    return faults
