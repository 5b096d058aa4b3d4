"""Honest comparison: a plan of cutoffs, the backtest that follows it, the ledger it fills, and metrics of it."""

from forecast.evaluation.backtest import backtest, groups, label_of, run_group, runs
from forecast.evaluation.effects import Effects, effects
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import METRICS, coverage, interval_score, score, skill
from forecast.evaluation.plan import Fold, Plan

__all__ = [
    "METRICS",
    "Effects",
    "Fold",
    "Ledger",
    "Plan",
    "backtest",
    "coverage",
    "effects",
    "groups",
    "interval_score",
    "label_of",
    "run_group",
    "runs",
    "score",
    "skill",
]
