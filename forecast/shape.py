"""What a network of a fit is built from: as it was asked for or, where nobody said it, by rule or by ridge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from forecast.frame import Panel
from forecast.graph import edges_of
from forecast.history import last_to_train
from forecast.judging import context_by_ridge, logarithms_help
from forecast.nn import BACKBONES, Backbone
from forecast.params import check_positive
from forecast.sizes import context_by_rule, patch_by_rule, width_by_rule

Transform = Literal["log", "auto"]

_TOGETHER = 0.5  # share of the series that have values among those of validation


@dataclass(frozen=True)
class Rows:
    """The rows of a panel of which the last `validation` steps are for validation, after an `embargo` of some more.

    `asked` says whether that many were asked for.
    """

    panel: Panel
    validation: int
    embargo: int
    asked: bool

    @classmethod
    def of(cls, panel: Panel, horizon: int, validation: int | None, embargo: int) -> "Rows":
        """Hold back what was asked for; by itself up to 14 horizons, at most a tenth of the longest series.

        Series too short to give up two horizons keep them: early stopping is worth less than the newest data. Nor do a
        few series that end later than most stand for all of them.
        """
        asked = validation is not None
        if validation is None:
            length = min(14 * horizon, int(panel.lengths.max()) // 10)
            together = np.mean(panel.last > panel.last.max() - length)
            validation = length if length >= 2 * horizon and together >= _TOGETHER else 0
        elif validation and validation < horizon:
            raise ValueError(
                f"`validation_length` is {validation}; allowed: 0, or at least the horizon of {horizon} steps"
            )
        return cls(panel, validation, embargo, asked)

    @property
    def last_to_train(self) -> int:
        """The last ordinal before the labels of validation."""
        return last_to_train(self.panel, self.validation)

    def training(self) -> Panel:
        """Give the rows among which the labels of training lie."""
        return self.panel.until(self.last_to_train - self.embargo)


def config_of(given: Any, argument: str, known: Mapping[str, type], kind: type) -> Any:
    """Give the config that a name stands for, or the config itself."""
    if isinstance(given, kind):
        return given
    if isinstance(given, str) and given in known:
        return known[given]()
    near = get_close_matches(str(given).lower(), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"`{argument}` is {given!r}; allowed: {', '.join(map(repr, known))}, or a config such as "
        f"{next(iter(known.values())).__name__}(){hint}"
    )


def backbone_of(
    given: str | Backbone, graph: pd.DataFrame | Sequence[tuple[Any, Any]] | None, panel: Panel
) -> Backbone:
    """Give the config to build, which is told of the series and of who reads whom if it reads across them."""
    config = config_of(given, "backbone", BACKBONES, Backbone)
    if isinstance(given, str) and (width := width_by_rule(panel)):
        config = replace(config, width=width)
    if config.across_series:
        edges = {} if graph is None else {"edges": edges_of(graph, panel)}
        return replace(config, series=len(panel), **edges)
    if graph is not None:
        able = [name for name, kind in BACKBONES.items() if kind.across_series]
        raise ValueError(
            f"`graph` is given, but the backbone {type(config).__name__} reads each series by itself; allowed: "
            f"None, or a backbone that reads across series: {', '.join(map(repr, able))}"
        )
    return config


def lengths_of(
    rows: Rows, season: int, horizon: int, context_length: int | str | None, patch_length: int | None
) -> tuple[int, int]:
    """Give the lengths of patch and context; the latter in whole patches."""
    if patch_length is not None:
        check_positive(patch_length=patch_length)
    if context_length is None or context_length == "auto":
        length = context_by_rule(rows.panel, season, horizon)
        if context_length == "auto":
            length = context_by_ridge(rows.training(), season, horizon, length)
    elif isinstance(context_length, str):
        raise ValueError(
            f"`context_length` is {context_length!r}; allowed: a whole number of 1 or more, 'auto', or None"
        )
    else:
        check_positive(context_length=context_length)
        length = context_length
    patch = patch_length or patch_by_rule(season, length)
    return patch, -(-length // patch) * patch


def floor_of(rows: Rows, transform: str | None, season: int, horizon: int, context_length: int) -> float | None:
    """Give the smallest positive value, below which none is read, where logarithms are; else None."""
    if transform is None:
        return None
    if transform not in get_args(Transform):
        raise ValueError(f"`transform` is {transform!r}; allowed: 'log', 'auto', or None")
    if transform == "auto" and not logarithms_help(rows.training(), season, horizon, context_length):
        return None
    positive = rows.panel.values[rows.panel.values > 0]
    if not len(positive):
        raise ValueError(f"`transform` is {transform!r}, and no value of the frame is above 0: leave it out")
    return float(positive.min())
