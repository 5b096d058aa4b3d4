"""What is audited: a forecaster as a pattern, the data to audit it on, and the pipeline that fits and forecasts it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from forecast.auditing.changes import changed
from forecast.auditing.comparison import Difference, compare
from forecast.evaluation import Plan, backtest, score
from forecast.forecaster import Forecaster
from forecast.frame import Panel, Roles, check_frame
from forecast.params import takes

_TOLD = 3  # comparisons that are told by name
_FITS = 10  # of a forecaster that cannot be repeated; three of any other


@dataclass(frozen=True)
class Verdict:
    """What a probe says: whether it passed (None: it does not apply), and the evidence."""

    passed: bool | None
    evidence: str


@dataclass(frozen=True)
class Subject:
    """A forecaster and a pipeline under audit.

    Attributes
    ----------
    pattern: the forecaster, which stays unfitted.
    frame: `unique_id, ds, y` and covariates, some rows after the last cutoff included.
    door: options of `check_frame` for it.
    cutoffs: two stamps; all series go on after the second for a horizon, if the data are long enough.
    backtest, score: what is called as `forecast.backtest` and `forecast.score` are.
    facts: how it came about, for the certificate.

    """

    pattern: Forecaster
    frame: pd.DataFrame
    door: Mapping[str, Any]
    cutoffs: tuple[Any, Any]
    backtest: Callable[..., Any] = backtest
    score: Callable[..., pd.DataFrame] = score
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def horizon(self) -> int:
        """Steps that are forecast."""
        return self.pattern.horizon

    @property
    def numbers(self) -> list[str]:
        """The columns of forecasts: all but keys."""
        return ["prediction", "mean", *(str(float(level)) for level in self.pattern.quantile_levels)]

    @property
    def seed(self) -> int:
        """The seed that the pattern was given, 0 if it takes none."""
        return int(getattr(self.pattern, "seed", 0)) if self.seeded else 0

    @property
    def seeded(self) -> bool:
        """Whether it takes a seed."""
        return takes(self.pattern, "seed")

    @property
    def roles(self) -> Roles:
        """When the covariates of the frame are known."""
        return self.door.get("roles") or Roles()

    @property
    def late(self) -> list[str]:
        """The columns of which nothing is known after a cutoff."""
        return ["y", *self.roles.past, *self.roles.delayed]

    @cached_property
    def panel(self) -> Panel:
        """The frame as a panel."""
        return check_frame(self.frame, **self.door)

    @cached_property
    def regular(self) -> pd.DataFrame:
        """The frame with a row for every step, NaN where nothing was observed."""
        return self.panel.to_frame()

    @cached_property
    def ids(self) -> list:
        """The series, as they came."""
        return list(self.panel.ids)

    def stamp(self, cutoff: Any, steps: int) -> Any:
        """Give the stamp so many steps after a cutoff."""
        return self.panel.calendar.stamp(self.panel.calendar.ordinal(cutoff) + steps)

    def after(self, cutoff: Any, steps: int = 0) -> np.ndarray:
        """Give the rows of the frame that come more than so many steps after a cutoff, a mask."""
        return (self.frame["ds"] > self.stamp(cutoff, steps)).to_numpy(dtype=bool)

    def issued_after(self, column: str, cutoff: Any, steps: int = 0) -> np.ndarray:
        """Give the rows of a forecasted column that were issued more than so many steps after a cutoff, a mask."""
        return (self.frame[self.roles.forecasted[column]] > self.stamp(cutoff, steps)).to_numpy(dtype=bool)

    def ahead(self, cutoff: Any) -> pd.DataFrame | None:
        """Give what is known ahead at a cutoff, None where no column is."""
        roles = self.roles
        if not (roles.known or roles.forecasted):
            return None
        columns = ["unique_id", "ds", *roles.known, *roles.forecasted, *roles.issues()]
        return self.frame.loc[self.after(cutoff), columns].reset_index(drop=True)

    def until(self, cutoff: Any, steps: int = 0) -> pd.DataFrame:
        """Give what is known so many steps after a cutoff, without what is known ahead."""
        frame = self.frame
        for column, delay in self.roles.delayed.items():
            frame = changed(frame, self.after(cutoff, steps - delay), [column], "missing")
        for column in self.roles.forecasted:
            frame = changed(frame, self.issued_after(column, cutoff, steps), [column], "missing")
        return frame.loc[~self.after(cutoff, steps)].reset_index(drop=True)

    # -- the pipeline --------------------------------------------------------------------------------------------------

    def fresh(self, **params) -> Forecaster:
        """Give a new forecaster with the arguments of the pattern, and others."""
        return type(self.pattern)(**{**self.pattern.get_params(deep=False), **params})

    def ledger(
        self,
        frame: pd.DataFrame | None = None,
        *,
        cutoffs: Sequence | None = None,
        refit: Any = "never",
        pattern: Forecaster | None = None,
        seed: int | None = None,
        door: Mapping[str, Any] | None = None,
        **plan,
    ) -> Any:
        """Run the backtest, None for the frame, cutoffs, pattern, seed and door of the audit, and give its ledger."""
        return self.backtest(
            (self.frame if frame is None else frame).copy(),
            {"audited": self.pattern if pattern is None else pattern},
            Plan(horizon=self.horizon, cutoffs=list(cutoffs or self.cutoffs), refit=refit, **plan),
            seeds=(self.seed if seed is None else seed,),
            **(self.door if door is None else door),
        )

    def folds(self, frame: pd.DataFrame | None = None, **asked) -> pd.DataFrame:
        """Run the backtest as `ledger` does, and give the forecasts."""
        return self.ledger(frame, **asked).forecasts

    @cached_property
    def base_ledger(self) -> Any:
        """The ledger of the frame as it is, with one fit."""
        return self.ledger()

    @cached_property
    def base(self) -> pd.DataFrame:
        """What the backtest says of the frame as it is, with one fit."""
        return self.base_ledger.forecasts

    @cached_property
    def base_of_first(self) -> pd.DataFrame:
        """What the backtest of the first cutoff alone says of the frame as it is."""
        return self.folds(cutoffs=self.cutoffs[:1])

    @cached_property
    def fitted(self) -> Forecaster:
        """The forecaster fitted on the rows up to the first cutoff, for probes that only ask it."""
        return self.fresh().fit(self.until(self.cutoffs[0]), **self.door)

    def predicted(self, frame: pd.DataFrame | None = None, forecaster: Forecaster | None = None) -> pd.DataFrame:
        """Give what the fitted forecaster says at the first cutoff of a frame, None for that of the audit."""
        frame = self.frame if frame is None else frame
        return (forecaster or self.fitted).predict(frame.copy(), cutoffs=[self.cutoffs[0]])

    @cached_property
    def own(self) -> pd.DataFrame:
        """What it says of the frame as it is."""
        return self.predicted()

    @cached_property
    def noise(self) -> float:
        """How much its forecasts differ by themselves, in parts of their size; 0 for one that can be repeated."""
        known = self.until(self.cutoffs[0])
        tables = (self.predicted(forecaster=self.fresh().fit(known, **self.door)) for _ in range(_FITS))
        first, found = next(tables), []
        for table in tables:
            found.append(compare(first, table, self.numbers).relative)
            if len(found) == 2 and not any(found):  # more are for how much it wavers
                break
        return max(found)

    def compare(self, one: pd.DataFrame, other: pd.DataFrame, *, summed_otherwise: bool = False) -> Difference:
        """Compare two tables of forecasts, allowing for what the forecaster wavers by itself."""
        return compare(one, other, self.numbers, noise=self.noise, summed_otherwise=summed_otherwise)


def at(table: pd.DataFrame, cutoff: Any, ids: Sequence | None = None) -> pd.DataFrame:
    """Give the forecasts from a cutoff, of some series or all."""
    table = table.loc[table["cutoff"] == cutoff]
    return table if ids is None else table.loc[table["unique_id"].isin(list(ids))]


def verdict_of(differences: Iterable[tuple[str, Difference]]) -> Verdict:
    """Give the verdict that nothing differs. The first thing that does is told, and no more are asked for."""
    found = {}
    for where, difference in differences:
        if not difference.within:
            return Verdict(False, f"{where}: {difference.told}")
        found[where] = difference
    largest = max(found.values(), key=lambda difference: difference.relative)
    places = ", ".join(found) if len(found) <= _TOLD else f"{len(found)} comparisons"
    return Verdict(True, f"{places}: {largest.told}")
