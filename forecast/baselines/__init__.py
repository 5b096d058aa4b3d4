"""Models that every network has to beat: last values, seasons, averages, and a linear map in closed form."""

from forecast.baselines.linear import NLinear
from forecast.baselines.rules import Baseline, Drift, Naive, SeasonalNaive, WindowAverage

__all__ = ["Baseline", "Drift", "NLinear", "Naive", "SeasonalNaive", "WindowAverage"]
