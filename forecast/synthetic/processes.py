"""Processes by name. A new one is a file beside these and a line here."""

from forecast.synthetic.delayed_impulse import DelayedImpulse
from forecast.synthetic.long_season import LongSeason
from forecast.synthetic.process import Process
from forecast.synthetic.regime_switch import RegimeSwitch
from forecast.synthetic.state_space import AR2, DampedTrend

PROCESSES: dict[str, type[Process]] = {
    "damped_trend": DampedTrend,
    "ar2": AR2,
    "long_season": LongSeason,
    "regime_switch": RegimeSwitch,
    "delayed_impulse": DelayedImpulse,
}
