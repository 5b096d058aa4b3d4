"""The plan of a backtest as options of a command give it: in text, stamps spelled as the times of the table are."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd

from forecast.evaluation import Plan
from forecast.evaluation.folds import Folds
from forecast.experiment.faults import ConfigError
from forecast.experiment.own_data import Layout
from forecast.experiment.wording import in_options
from forecast.frame import Panel

_FOLDS = 5  # cutoffs, where none are asked for and the data hold as many: enough to speak of time at all
_LEAST_HISTORY = 8
TO_OPTIONS = {
    r"`n_folds`": "`--folds`",
    r"`lookahead_across_series(=True)?`": "`--lookahead`",
    r"`(align|context|cutoffs|embargo|end|gap|horizon|refit|start|stride|validation|window)`": r"`--\1`",
    r" with `min_history` = \d+ observed values": "",
}


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Where a backtest forecasts from, as of `Plan`; what is not given is as there.

    Attributes
    ----------
    folds, stride, cutoffs, start, end: where the cutoffs are. Without `folds`, `cutoffs` and `start` up to five are
        counted back from the end of the data, as many as leave some history before the first of them.
    gap, window, refit, validation, embargo, context, align, lookahead, season: as `Plan` takes them.

    """

    folds: int | None = None
    stride: str | None = None
    cutoffs: Sequence[str] = ()
    start: str | None = None
    end: str | None = None
    gap: int = 0
    window: str | None = None
    refit: str | None = None
    validation: int | None = None
    embargo: int = 0
    context: int | None = None
    align: str = "calendar"
    lookahead: bool = False
    season: int | None = None

    def folds_on(self, panel: Panel, horizon: int, layout: Layout) -> Folds:
        """Give the folds on a panel. Raises ConfigError, with the option that is at fault."""
        with in_plan_options():
            longest = int(panel.lengths.max())
            if self.gap + horizon >= longest:
                apart = f" after a `--gap` of {self.gap}" if self.gap else ""
                raise ConfigError(
                    f"error: `--horizon` is {horizon}{apart}, and the longest series has {longest} values: ask for "
                    "fewer steps, or give more history"
                )
            given = {**self._spans(), "horizon": horizon, **self._times(panel, layout)}
            if self.folds is None and not self.cutoffs and self.start is None:
                return _as_many(panel, given)
            return Plan(n_folds=self.folds, **given).folds(panel)

    def _spans(self) -> dict[str, Any]:
        return {
            "stride": _whole(self.stride),
            "gap": self.gap,
            "window": "expanding" if self.window is None else _whole(self.window),
            "refit": "every" if self.refit is None else _whole(self.refit),
            "validation": self.validation,
            "embargo": self.embargo,
            "context": self.context,
            "align": self.align,
            "lookahead_across_series": self.lookahead,
            "season_length": self.season,
        }

    def _times(self, panel: Panel, layout: Layout) -> dict[str, Any]:
        """Give the stamps, whole numbers or text in ISO 8601, as a config holds them."""
        cutoffs = _stamps("--cutoffs", self.cutoffs, panel, layout) or None
        single = {"start": self.start, "end": self.end}
        return {"cutoffs": cutoffs} | {
            name: _stamps(f"--{name}", [given], panel, layout)[0] for name, given in single.items() if given is not None
        }


@contextmanager
def in_plan_options() -> Iterator[None]:
    """Tell what a plan refuses in the words of the command."""
    with in_options():
        try:
            yield
        except ConfigError:
            raise
        except (ValueError, TypeError) as error:
            raise ValueError(days(in_words(str(error)))) from error


def in_words(message: str) -> str:
    """Give a message of a plan with the options of the command in place of arguments."""
    for pattern, words in TO_OPTIONS.items():
        message = re.sub(pattern, words, message)
    return message


def days(text: str) -> str:
    """Leave the time of day out of a text in which every stamp is the beginning of one."""
    whole = set(re.findall(r"\b\d\d:\d\d:\d\d\b", text)) == {"00:00:00"}
    return text.replace(" 00:00:00", "") if whole else text


def _as_many(panel: Panel, given: dict[str, Any]) -> Folds:
    """Give the most folds, up to five, before the first of which there is some history to learn from."""
    least = max(given["horizon"], (given["season_length"] or panel.calendar.season_length) + 1, _LEAST_HISTORY)
    for number in range(_FOLDS, 1, -1):
        try:
            folds = Plan(n_folds=number, **given).folds(panel)
        except ValueError:  # fewer may do; what is wrong with one alone is told
            continue
        if folds[0].train_end - folds[0].train_start + 1 >= least or given["window"] != "expanding":
            return folds
    return Plan(n_folds=1, **given).folds(panel)


def _whole(given: str | None) -> int | str | None:
    return int(given) if given is not None and re.fullmatch(r"-?\d+", given) else given


def _stamps(option: str, given: Sequence[str], panel: Panel, layout: Layout) -> list[int] | list[str]:
    """Read stamps, spelled as the times of the table are."""
    told = f"error: `{option}` {','.join(given)}"
    if panel.calendar.unit is None:
        try:
            return [int(one) for one in given]
        except ValueError:
            raise ConfigError(f"{told}: the times of the data are whole numbers") from None
    try:
        return [str(one) for one in pd.to_datetime(list(given), format=layout.time_format or "ISO8601")]
    except ValueError as error:
        raise ConfigError(f"{told}: not of the format {layout.time_format or 'ISO 8601'} of the data") from error
