"""A forecaster around another that keeps a record: which rows a pipeline hands to `fit`, and what is learned there."""

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast import saving
from forecast.forecaster import Forecast, Forecaster, Origins
from forecast.frame import Panel


@dataclass(frozen=True)
class FitRecord:
    """One fit: the last row that each series had (id -> calendar ordinal), and digests of what was learned, by name."""

    last: Mapping[Any, int]
    learned: Mapping[str, str]


class Recorder(Forecaster):
    """Fits and forecasts as another forecaster, of which it makes a new one at each fit, and writes into a list.

    Parameters
    ----------
    forecaster: the pattern.
    log: takes a `FitRecord` for each fit; all copies made with these arguments share it.

    """

    wraps = "forecaster"

    def __init__(self, forecaster: Forecaster, log: list[FitRecord]):
        self.forecaster = forecaster
        self.log = log

    # -- what it has in common with the other --------------------------------------------------------------------------

    @property
    def horizon(self) -> int:  # type: ignore[override]
        """Steps to forecast."""
        return self.forecaster.horizon

    @property
    def quantile_levels(self) -> Sequence[float]:  # type: ignore[override]
        """Levels of the quantiles."""
        return self.forecaster.quantile_levels

    @quantile_levels.setter
    def quantile_levels(self, levels: Sequence[float]) -> None:
        self.set_params(quantile_levels=levels)

    @property
    def season_length(self) -> int | None:  # type: ignore[override]
        """Steps of a season."""
        return self.forecaster.season_length

    @property
    def family(self) -> str:  # type: ignore[override]
        """Its family."""
        return self.forecaster.family

    @property
    def reads_covariates(self) -> bool:  # type: ignore[override]
        """Whether it reads them."""
        return self.forecaster.reads_covariates

    @property
    def across_series(self) -> bool:  # type: ignore[override]
        """Whether it learns from one series for another."""
        return self.forecaster.across_series

    # -- fit and forecast ----------------------------------------------------------------------------------------------

    def _fit(self, panel: Panel) -> None:
        inside = self.forecaster
        self.forecaster_ = type(inside)(**inside.get_params(deep=False)).fit(panel)
        last = {panel.id_of(series): int(end) for series, end in enumerate(panel.last)}
        self.log.append(FitRecord(last, _digests(self.forecaster_._state())))

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        return self.forecaster_.forecast(panel, origins)


def _digests(state: Mapping[str, Any]) -> dict[str, str]:
    """Give a digest of each thing that was learned; what neither JSON nor pickle can hold is left out."""
    digests = {}
    for name, value in state.items():
        if isinstance(value, np.ndarray) and value.dtype != object:
            content = value.tobytes() + str((value.shape, value.dtype)).encode()
        else:
            try:
                content = repr(saving.to_json(value, name)).encode()
            except TypeError:
                try:
                    content = pickle.dumps(value)
                except Exception:  # whatever an object of the user's own raises
                    continue
        digests[name] = hashlib.sha256(content).hexdigest()
    return digests
