"""Ways in and out: forecasts as the frames of other libraries have them, and the models of others as Forecasters.

The other libraries are not imported: a frame is a frame, and a model is whatever has their methods.
"""

from forecast.adapters.nixtla import from_nixtla, to_nixtla
from forecast.adapters.sktime import SktimeAdapter
from forecast.adapters.statsforecast import StatsForecastAdapter

__all__ = ["SktimeAdapter", "StatsForecastAdapter", "from_nixtla", "to_nixtla"]
