"""Series whose law is known, and with it the best forecast that anyone could make.

    AR2().frame(series=20, length=2000, seed=0)   # the long frame: unique_id, ds, y
    Oracle("ar2", horizon=24)                     # a forecaster like any other, with the exact distribution

Real data have no known optimum: how much of an error nobody could have avoided is told here alone.
"""

from forecast.synthetic.delayed_impulse import DelayedImpulse
from forecast.synthetic.long_season import LongSeason
from forecast.synthetic.oracle import Oracle
from forecast.synthetic.process import Process
from forecast.synthetic.processes import PROCESSES
from forecast.synthetic.regime_switch import RegimeSwitch
from forecast.synthetic.state_space import AR2, DampedTrend

__all__ = ["AR2", "PROCESSES", "DampedTrend", "DelayedImpulse", "LongSeason", "Oracle", "Process", "RegimeSwitch"]
