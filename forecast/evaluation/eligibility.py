"""Which series take part in which fold, which do not, and why: decided by the data and the plan, never by a forecaster.

S series, F folds.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from forecast.frame import Panel

STATUS = ("takes part", "begins later", "has ended", "cold start", "nothing to read")
TAKES_PART, BEGINS_LATER, HAS_ENDED, COLD_START, NOTHING_TO_READ = range(5)


@dataclass(frozen=True, eq=False)
class Eligibility:
    """What each series is at each cutoff.

    Attributes
    ----------
    panel: the series.
    ends: (S, F) calendar ordinals of the cutoffs.
    seen: (S, F) how many values are observed up to the cutoff.
    status: (S, F) place in `STATUS`. A series takes part if it has a row at the cutoff, a row to be scored after it,
        `min_history` observed values up to it (else it is a cold start), and, where a context is set, one in that.
    gap, min_history, context: as of the plan.

    """

    panel: Panel
    ends: np.ndarray
    seen: np.ndarray
    status: np.ndarray
    gap: int
    min_history: int
    context: int | None

    @classmethod
    def of(cls, panel: Panel, ends: np.ndarray, gap: int, min_history: int, context: int | None) -> "Eligibility":
        """Look at each series at each of its cutoffs."""
        before = np.concatenate([[0], np.cumsum(panel.observed)])  # observed values before each row

        def observed(ordinals: np.ndarray) -> np.ndarray:
            rows = np.clip(ordinals + 1 - panel.first[:, None], 0, panel.lengths[:, None])
            return before[panel.starts[:, None] + rows] - before[panel.starts][:, None]

        seen = observed(ends)
        status = np.full(ends.shape, TAKES_PART, dtype="uint8")
        if context is not None:
            status[seen == observed(ends - context)] = NOTHING_TO_READ
        status[seen < min_history] = COLD_START
        status[panel.last[:, None] <= ends + gap] = HAS_ENDED
        status[panel.first[:, None] > ends] = BEGINS_LATER
        return cls(panel, ends, seen, status, gap, min_history, context)

    def series(self, fold: int) -> np.ndarray:
        """Give the positions of the series that take part in a fold."""
        return np.flatnonzero(self.status[:, fold] == TAKES_PART)

    def why(self, series: int, fold: int) -> str:
        """Say why a series takes no part in a fold."""
        panel, stamp = self.panel, self.panel.calendar.stamp
        cutoff = f"the cutoff {stamp(int(self.ends[series, fold]))}"
        match self.status[series, fold]:
            case 1:
                return f"begins at {stamp(int(panel.first[series]))}, after {cutoff}"
            case 2:
                apart = f" and its gap of {self.gap}" if self.gap else ""
                return f"ends at {stamp(int(panel.last[series]))}, with nothing to score after {cutoff}{apart}"
            case 3:
                seen = int(self.seen[series, fold])
                return f"{seen} of {self.min_history} observed values (`min_history`) up to {cutoff}"
            case 4:
                return f"nothing observed in the `context` of {self.context} rows up to {cutoff}"
        return ""

    def table(self) -> pd.DataFrame:
        """Give a row for each series and stretch of folds in which it is the same, in the order of the panel.

        Columns: `unique_id, status` (of `STATUS`), `first_fold, last_fold`, and `why` it takes no part at the first of
        them; "" where it does.
        """
        series, first, last = self._stretches()
        status = self.status[series, first]
        return pd.DataFrame(
            {
                "unique_id": self.panel.ids[series],
                "status": [STATUS[place] for place in status],
                "first_fold": first,
                "last_fold": last,
                "why": [self.why(*place) for place in zip(series, first, strict=True)],
            }
        )

    def lines(self) -> list[str]:
        """Say how many series take no part for which reason, each with an example."""
        series, first, last = self._stretches()
        status, lines = self.status[series, first], []
        for place, name in enumerate(STATUS):
            if place == TAKES_PART or not len(which := np.flatnonzero(status == place)):
                continue
            one, begin, end = (int(place[which[0]]) for place in (series, first, last))
            size, folds = len(np.unique(series[which])), f"fold {begin}" if begin == end else f"folds {begin} to {end}"
            lines.append(
                f"{name}: {size} of {len(self.panel)} series, such as {self.panel.id_of(one)!r} in {folds}: "
                f"{self.why(one, begin)}"
            )
        return lines

    def _stretches(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give series, first and last fold of each stretch of folds with one status."""
        new = np.ones(self.status.shape, dtype=bool)
        new[:, 1:] = self.status[:, 1:] != self.status[:, :-1]
        series, first = np.nonzero(new)
        after = np.append(first[1:], 0)
        return series, first, np.where(after > 0, after, self.status.shape[1]) - 1
