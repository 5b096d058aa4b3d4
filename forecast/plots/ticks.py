"""Ticks of logarithmic axes, in plain numbers where these are short."""

from __future__ import annotations

from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter


def plain_logarithms(axis: Axis, *, ticks: int = 8) -> None:
    """Give a logarithmic axis ticks like 1, 10, 100 (1, 2, 5 on a short one), and powers where numbers are long."""
    low, high = sorted(axis.get_view_interval())
    narrow = high / low < 100
    axis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if narrow else (1,), numticks=ticks))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _plain(value)))
    axis.set_minor_formatter(NullFormatter())


def _plain(value: float) -> str:
    if 1e-4 <= value < 1e5:
        return f"{value:,.6g}"
    mantissa, power = f"{value:.0e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if mantissa == "1" else f"{mantissa}·10{raised}"
