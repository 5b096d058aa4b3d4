"""What a check is, how it fails, and how a list of them is run."""

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

# Given what is checked; raises AssertionError where it fails, may give a note on what it saw.
Check = Callable[[Any], str | None]

SKIPPED = "skipped"


def demand(holds: object, *, expected: str, came: object, mend: str) -> None:
    """Raise AssertionError, in three lines, unless something holds."""
    if not holds:
        raise AssertionError(f"  expected: {expected}\n  came: {came}\n  mend: {mend}")


def run(checks: Sequence[Check], thing: Any, name: str, skip: Sequence[str] = ()) -> pd.DataFrame:
    """Run checks one after another on a thing, which messages call `name`.

    Returns
    -------
    One row per check, in the order in which they were run: `check`, its name; `asks`, what it holds the thing to;
    `note`, what it saw beside, "skipped" for one that was not run, or "".

    Raises
    ------
    AssertionError: a check fails, or the thing raises in it what the check does not expect.
    ValueError: `skip` names what is no check.

    """
    names = [check.__name__ for check in checks]
    if unknown := [one for one in skip if one not in names]:
        raise ValueError(f"`skip` names {unknown[0]!r}; the checks are {', '.join(names)}")
    rows = []
    for check in checks:
        note = SKIPPED if check.__name__ in skip else _result(check, thing, name)
        rows.append({"check": check.__name__, "asks": (check.__doc__ or "").strip().partition("\n")[0], "note": note})
    return pd.DataFrame(rows)


def _result(check: Check, thing: Any, name: str) -> str:
    """Give the note of a check that holds."""
    failed = f"check `{check.__name__}` failed for {name}\n"
    try:
        return check(thing) or ""
    except AssertionError as error:
        raise AssertionError(f"{failed}{error}") from error.__cause__
    except Exception as error:  # whatever a class of the user's own raises
        told = "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        raise AssertionError(
            f"{failed}  expected: {(check.__doc__ or '').strip()}\n  came: {told}\n  mend: what raises this "
            "error, which is shown above as the cause"
        ) from error
