"""Roles: which columns of a frame are covariates or weights, and when they are known."""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Roles:
    """When the covariates of a frame are known; declared, never guessed. A column without a role is not used.

    Numbers and truth values are read as they are, text and categories as categories.

    Attributes
    ----------
    static: one value per series; where a row lacks it, that of the series' other rows holds.
    known: also known in the future (prices set ahead, holidays).
    past: known up to the cutoff (observed weather).
    delayed: column -> how many steps after its own stamp a value becomes known, 1 or more.
    forecasted: column -> the column that says when each value was issued. Known ahead, but at a cutoff only as far as
        it had been issued by then; the rest is missing there.
    weight: the column that says how much each row counts in the losses of a fit, beside the others: 0 or more.

    """

    static: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    delayed: Mapping[str, int] = field(default_factory=dict)
    forecasted: Mapping[str, str] = field(default_factory=dict)
    weight: str | None = None

    def __post_init__(self) -> None:
        for role in ("static", "known", "past"):
            columns = getattr(self, role)
            listed = isinstance(columns, Iterable) and not isinstance(columns, str | bytes | Mapping | Set)
            if columns is None or listed:  # a set has no order
                object.__setattr__(self, role, () if columns is None else tuple(columns))

    def columns(self) -> list[str]:
        """Give every column that has a role."""
        ahead = [*self.known, *self.forecasted, *self.issues()]
        return [*self.static, *ahead, *self.past, *self.delayed, *self._weights()]

    def issues(self) -> list[str]:
        """Give the columns that say when forecasted ones were issued; one may serve several of them."""
        return list(dict.fromkeys(self.forecasted.values()))

    def uses(self) -> list[tuple[str, str]]:
        """Give every column that has a role, with the role.

        Raises
        ------
        TypeError: one text where several names are allowed, or several names for one; no mapping where there should be.
        ValueError: a delay that is no whole number of 1 or more.

        """
        named: dict[str, Iterable] = {"static": self.static, "known": self.known, "past": self.past}
        for role, columns in named.items():
            if isinstance(columns, str):
                raise TypeError(
                    f"`roles`: {role} is the text {columns!r}; allowed: several names, as in ({columns!r},)"
                )
            if not isinstance(columns, tuple | Mapping):
                raise TypeError(f"`roles`: {role} is {columns!r}; allowed: a list of names")
        if not isinstance(self.delayed, Mapping):
            raise TypeError(f"`roles`: delayed is {self.delayed!r}; allowed: column -> steps, such as {{'sales': 2}}")
        for column, delay in self.delayed.items():
            if isinstance(delay, bool) or not isinstance(delay, int | np.integer) or delay < 1:
                raise ValueError(
                    f"`roles`: column `{column}` is delayed by {delay!r}; allowed: whole steps, 1 or more. What is "
                    "known at its own stamp has the role past"
                )
        if not isinstance(self.forecasted, Mapping):
            raise TypeError(
                f"`roles`: forecasted is {self.forecasted!r}; allowed: column -> that of its issue times, such as "
                "{'temperature': 'issued_at'}"
            )
        for column, issue in self.forecasted.items():
            if issue is None or isinstance(issue, list | tuple | Set | Mapping):
                raise TypeError(
                    f"`roles`: the issue times of `{column}` are {issue!r}; allowed: the name of one column of stamps"
                )
        if isinstance(self.weight, list | tuple):
            raise TypeError(f"`roles`: weight is {self.weight!r}; allowed: the name of one column")
        named |= {"delayed": self.delayed, "forecasted": self.forecasted, "issue time": self.issues()}
        named["weight"] = self._weights()
        return [(column, role) for role, columns in named.items() for column in columns]

    def _weights(self) -> tuple[str, ...]:
        return () if self.weight is None else (self.weight,)
