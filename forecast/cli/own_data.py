"""What commands on a table of one's own share: their options as a layout, lists in text, what they say."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from forecast.cli.answers import say


def names_of(
    id, time, target, known, past, static, delayed, forecasted, weight, separator, decimal, time_format
) -> dict[str, Any]:
    """Give the options of a layout, as far as they are given."""
    from forecast.experiment.faults import ConfigError
    from forecast.frame import Roles

    if os.getcwd() not in sys.path:  # for classes of the user's own
        sys.path.append(os.getcwd())
    delays = {}
    for one in listed(delayed):
        column, colon, steps = one.rpartition(":")
        if not colon or not steps.isdigit():
            raise ConfigError(f"error: `--delayed` {one!r}: allowed: a column and how many steps late, as in returns:2")
        delays[column] = int(steps)
    issues = {}
    for one in listed(forecasted):
        column, _, issue = one.rpartition(":")
        if not column or not issue:
            raise ConfigError(
                f"error: `--forecasted` {one!r}: allowed: a column and that of its issue times, as in rain:issued"
            )
        issues[column] = issue
    roles = Roles(
        known=tuple(listed(known)),
        past=tuple(listed(past)),
        static=tuple(listed(static)),
        delayed=delays,
        forecasted=issues,
        weight=weight,
    )
    if decimal not in (None, ".", ","):
        raise ConfigError(f"error: `--decimal` is {decimal!r}; allowed: . or ,")
    given = {"id": id, "time": time, "target": target, "separator": separator, "decimal": decimal}
    given |= {"time_format": time_format, "roles": roles if roles.columns() else None}
    return {name: value for name, value in given.items() if value is not None}


def listed(given: list[str] | None) -> list[str]:
    """Give all parts of an option that may be given several times, each a list with commas."""
    return [part.strip() for one in given or [] for part in one.split(",") if part.strip()]


def sayer(silent: bool) -> Callable[[str], object]:
    """Give what takes lines beside the results."""
    return (lambda text: None) if silent else say


@contextlib.contextmanager
def tidy_mistakes() -> Iterator[None]:
    """Keep an answer to one line where the mistake is one of the options."""
    from forecast.experiment.faults import ConfigError

    try:
        yield
    except ConfigError as error:
        raise ConfigError(" ".join(str(error).split())) from error
