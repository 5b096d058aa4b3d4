"""What the arguments of a plan have to be, and which go together."""

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.params import check_positive

if TYPE_CHECKING:
    from forecast.evaluation.plan import Plan

_FROM_ZERO = ("gap", "embargo", "validation")
_CHOICES = {"window": ("expanding",), "refit": ("every", "never")}


def plain_cutoffs(cutoffs: Any) -> Any:
    """Give a list of cutoffs as it is kept: what is given cannot be changed later, and a plan can be hashed."""
    listed = not isinstance(cutoffs, str | bytes | Mapping | Set) and np.ndim(cutoffs) == 1
    return tuple(cutoffs) if listed and len(cutoffs) else cutoffs


def plain_split(split: Any) -> tuple[int, int, int] | None:
    """Give the three parts of a split as they are kept, None as it is; raises for what is none."""
    if split is None:
        return None
    wrong = isinstance(split, str | bytes | Mapping | Set) or np.ndim(split) != 1 or len(split) != 3
    if wrong or not all(map(_is_whole, split)):
        raise ValueError(
            f"`split` is {split!r}; allowed: how many rows train, validate and test, such as (8640, 2880, 2880)"
        )
    train, validation, test = map(int, split)
    check_positive(split=train)
    if validation:
        check_positive(split=validation)
    check_positive(split=test)
    return train, validation, test


def check_plan(plan: "Plan") -> None:
    """Refuse a plan that is none.

    Raises
    ------
    TypeError, ValueError: an argument is not one of those allowed, or does not go with another.

    """
    check_positive(horizon=plan.horizon, min_history=plan.min_history)
    optional = {name: getattr(plan, name) for name in ("n_folds", "context", "season_length")}
    check_positive(**{name: value for name, value in optional.items() if value is not None})
    for name in _FROM_ZERO:
        value = getattr(plan, name)
        if not _is_whole(value, least=0) and not (value is None and name == "validation"):
            raise ValueError(f"`{name}` is {value!r}; allowed: a whole number of 0 or more")
    for name, words in _CHOICES.items():
        _check_choice(name, getattr(plan, name), words)
    if not isinstance(plan.align, str) or plan.align not in ("calendar", "ends"):
        raise ValueError(f"`align` is {plan.align!r}; allowed: 'calendar' or 'ends'")
    if not isinstance(plan.lookahead_across_series, bool):
        raise TypeError(f"`lookahead_across_series` is {plan.lookahead_across_series!r}; allowed: True or False")
    _check_cutoffs(plan)
    _check_spans(plan)
    if plan.align == "ends":
        _check_ends(plan)


def _check_cutoffs(plan: "Plan") -> None:
    """Refuse what tells twice, or not at all, where cutoffs are."""
    if plan.split is not None:
        others = ("cutoffs", "n_folds", "start", "end", "validation")
        if given := [name for name in others if getattr(plan, name) is not None]:
            raise ValueError(
                f"`split` says where the cutoffs are and what validates, and `{given[0]}` is "
                f"{getattr(plan, given[0])!r}: leave one of the two out"
            )
        return
    if plan.start is None and (plan.cutoffs is None) == (plan.n_folds is None):
        raise ValueError(
            f"`cutoffs` is {plan.cutoffs!r} and `n_folds` is {plan.n_folds!r}; give one of the two: stamps to "
            "forecast from, or how many to take from the end of the data; or `start`, the first of them"
        )
    if plan.cutoffs is not None:
        if np.ndim(plan.cutoffs) != 1 or len(plan.cutoffs) == 0:  # type: ignore[arg-type]
            raise ValueError(f"`cutoffs` is {plan.cutoffs!r}; allowed: a list of one or more stamps")
        for name in ("stride", "start", "end"):
            if getattr(plan, name) is not None:
                raise ValueError(f"`{name}` belongs to `n_folds` and has no meaning beside `cutoffs`; leave it out")
    if plan.start is not None and plan.end is not None and plan.n_folds is not None:
        raise ValueError("`start`, `end` and `n_folds` are all given; leave one of them out")


def _check_spans(plan: "Plan") -> None:
    """Refuse spans that leave no room for each other."""
    reach, held_back = plan.gap + plan.horizon, plan.held_back or 0
    if 0 < held_back < reach:
        name = "validation" if plan.split is None else "split"
        raise ValueError(
            f"`{name}` keeps {held_back} steps for validation; a forecast reaches {reach} steps (gap and horizon): "
            "give 0, or at least as many"
        )
    if plan.split is not None and plan.split[2] < reach:
        raise ValueError(
            f"`split` has {plan.split[2]} rows to test; a forecast reaches {reach} steps (gap and horizon): give more"
        )
    if plan.window != "expanding" and plan.window <= held_back + plan.embargo:
        raise ValueError(
            f"`window` is {plan.window}, of which `validation` of {held_back} and `embargo` of {plan.embargo} steps "
            "leave nothing to learn from: give a longer one"
        )


def _check_ends(plan: "Plan") -> None:
    """Refuse what has no meaning where each series has cutoffs of its own."""
    for name in ("cutoffs", "start", "end", "split"):
        if getattr(plan, name) is not None:
            raise ValueError(
                f"`{name}` is {getattr(plan, name)!r}, a time that all series share, and `align` is 'ends': give "
                "`n_folds`, which is counted back from the end of each series"
            )
    for name in ("validation", "embargo"):
        if getattr(plan, name):
            raise ValueError(
                f"`{name}` is {getattr(plan, name)}, which is counted back from a cutoff that all series share, and "
                "`align` is 'ends': leave it out"
            )


def _check_choice(name: str, value: Any, words: Sequence[str]) -> None:
    if _is_whole(value):
        check_positive(**{name: value})
    elif not isinstance(value, str) or value not in words:
        allowed = " or ".join(map(repr, words))
        raise ValueError(f"`{name}` is {value!r}; allowed: {allowed}, or a whole number of 1 or more")


def _is_whole(value: Any, least: int | None = None) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and (least is None or int(value) >= least)
