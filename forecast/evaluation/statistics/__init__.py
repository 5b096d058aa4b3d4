"""Statistics of a comparison: how sure a difference is, over which series and times, and when nothing can be said."""

from forecast.evaluation.statistics.confidence_set import ConfidenceSet, confidence_set
from forecast.evaluation.statistics.diebold_mariano import DieboldMariano, diebold_mariano
from forecast.evaluation.statistics.estimand import Estimand
from forecast.evaluation.statistics.over_data_sets import OverDataSets, over_data_sets
from forecast.evaluation.statistics.ranks import Ranks, block_errors, ranks
from forecast.evaluation.statistics.seeds import SeedSpread, seed_spread
from forecast.evaluation.statistics.standings import Standings, standings

__all__ = [
    "ConfidenceSet",
    "DieboldMariano",
    "Estimand",
    "OverDataSets",
    "Ranks",
    "SeedSpread",
    "Standings",
    "block_errors",
    "confidence_set",
    "diebold_mariano",
    "over_data_sets",
    "ranks",
    "seed_spread",
    "standings",
]
