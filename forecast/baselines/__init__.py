"""Models that every network has to beat: last values, seasons, averages, Theta, and a linear map in closed form."""

from forecast.baselines.linear import NLinear
from forecast.baselines.rules import Baseline, Drift, Naive, SeasonalNaive, WindowAverage
from forecast.baselines.theta import Theta

__all__ = ["Baseline", "Drift", "NLinear", "Naive", "SeasonalNaive", "Theta", "WindowAverage"]
