"""Tables of several data sets as one, and the tables of how forecasters stand to each other."""

from collections.abc import Mapping, Sequence

import pandas as pd

from forecast.evaluation.statistics import Standings

_BEATS = ["win_rate", "win_low", "win_high"]


def by_dataset(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Join tables, the data set in the first column."""
    parts = []
    for name, table in tables.items():
        if len(table):
            parts.append(table.copy())
            parts[-1].insert(0, "dataset", name)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["dataset"])


def joined(tables: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Join tables that have rows; of none, give one of these columns."""
    parts = [table for table in tables if len(table)]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(columns))


def standing_tables(standings: Mapping[str, Standings]) -> dict[str, pd.DataFrame]:
    """Give by file name the tables of standings, by data set: skill, and each forecaster against each other one."""
    pairs = by_dataset({name: one.pairs for name, one in standings.items()})
    return {
        "comparison.csv": by_dataset({name: one.skill for name, one in standings.items()}),
        "pairs.csv": pairs.drop(columns=_BEATS, errors="ignore"),
        "win_rates.csv": pairs.reindex(columns=["dataset", "forecaster", "opponent", *_BEATS]),
    }
