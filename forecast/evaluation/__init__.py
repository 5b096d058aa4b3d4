"""Honest comparison: a plan of cutoffs, the backtest that follows it, the ledger it fills, and metrics of it."""

from forecast.evaluation.adaptive import Adapted, adapt
from forecast.evaluation.backtest import backtest, groups, label_of, run_group, runs
from forecast.evaluation.data_sets import score_over, skill_over
from forecast.evaluation.effects import Effects, effects
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.metrics import DEFAULTS, METRICS, coverage, interval_score, pinball, score, width
from forecast.evaluation.pit import pit
from forecast.evaluation.plan import Fold, Folds, Plan
from forecast.evaluation.remarks import remarks, undefined
from forecast.evaluation.samples import crps_of_samples
from forecast.evaluation.scales import with_scales
from forecast.evaluation.skill import relative, skill
from forecast.evaluation.standardised import standardised

__all__ = [
    "DEFAULTS",
    "METRICS",
    "Adapted",
    "Effects",
    "Fold",
    "Folds",
    "Ledger",
    "Plan",
    "adapt",
    "backtest",
    "coverage",
    "crps_of_samples",
    "effects",
    "groups",
    "interval_score",
    "label_of",
    "pinball",
    "pit",
    "relative",
    "remarks",
    "run_group",
    "runs",
    "score",
    "score_over",
    "skill",
    "skill_over",
    "standardised",
    "undefined",
    "width",
    "with_scales",
]
