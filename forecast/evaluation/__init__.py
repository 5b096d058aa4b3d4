"""Honest comparison: a plan of cutoffs, the backtest that follows it, the ledger it fills, and metrics of it."""

from forecast.evaluation.adaptive import Adapted, adapt
from forecast.evaluation.backtest import backtest, groups, label_of, run_group, runs
from forecast.evaluation.effects import Effects, effects
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import DEFAULTS, METRICS, coverage, interval_score, pinball, score, width
from forecast.evaluation.pit import pit
from forecast.evaluation.plan import Fold, Plan
from forecast.evaluation.skill import relative, skill

__all__ = [
    "DEFAULTS",
    "METRICS",
    "Adapted",
    "Effects",
    "Fold",
    "Ledger",
    "Plan",
    "adapt",
    "backtest",
    "coverage",
    "effects",
    "groups",
    "interval_score",
    "label_of",
    "pinball",
    "pit",
    "relative",
    "run_group",
    "runs",
    "score",
    "skill",
    "width",
]
