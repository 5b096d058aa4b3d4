"""PIT histograms: where actuals fall in their forecasts, a panel for each forecaster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from forecast.evaluation.pit import chance_band, pit
from forecast.plots.extent import count
from forecast.plots.focus import singled_out
from forecast.plots.frames import check_ledger, chosen
from forecast.plots.style import (
    FAINT,
    INK,
    families,
    family_colours,
    look,
    panels,
    room,
    say_empty,
    shorten,
)

if TYPE_CHECKING:
    from forecast.evaluation.ledger import Ledger

_MOST = 12  # panels


def plot_pit(
    ledger: Ledger,
    forecasters: Sequence[str] | None = None,
    *,
    step: int | None = None,
    ax: Axes | Iterable[Axes] | None = None,
) -> Figure:
    """Draw how many actuals fell between neighbouring quantiles, beside how many should have.

    A bar is as wide as what lies between two levels, and as high as the share of actuals there over the share expected:
    all are at 1 if forecasts are honest. High at both ends, intervals are too narrow; high in the middle, too wide;
    high at one end, forecasts lie on the other side. In the dark shade lie 95 % of the bars of honest forecasts if all
    actuals are independent, in the light one if each series and cutoff counts as one: as steps hang together, chance
    goes as far as somewhere between the two.

    Parameters
    ----------
    ledger: the forecasts.
    forecasters: a panel each; None for all, or if they are many for the best of each family under each decoder.
    step: count the forecasts of this step alone; None for all.
    ax: as many axes as there are panels.

    Raises
    ------
    TypeError, ValueError: no ledger; a forecaster or a step that is not in it.

    """
    check_ledger(ledger)
    usual = singled_out(ledger)
    names = chosen(
        "forecasters", forecasters, usual if forecasters is None else list(ledger.forecasters), _MOST, "the ledger"
    )
    names = names[: room(ax, len(names))] if forecasters is None else names
    table, family_of = pit(ledger, step), families(ledger.forecasters, ledger.fits)
    colours = family_colours(list(family_of.values()))
    with look():
        columns = min(len(names), 3 if len(names) != 4 else 2)
        rows = -(-len(names) // columns)
        figure, axes = panels(
            ax, len(names), (max(5.0, 1.0 + 2.5 * columns), 1.3 + 1.7 * rows), columns=columns, sharex=True, sharey=True
        )
        top = 0.0
        for place, (name, one) in enumerate(zip(names, axes, strict=True)):
            one.set_title(shorten(name, 34))
            top = max(top, _bars(one, table.loc[table["forecaster"] == name], colours[family_of[name]]))
            if place % columns == 0 or ax is not None:
                one.set_ylabel("actual / expected")
            if place >= len(names) - columns or ax is not None:
                one.set_xlabel("place in the forecast (level)")
        for one in axes:
            if top:
                one.set_ylim(0, top)
        if ax is None:
            when = "all steps" if step is None else f"step {step}"
            points = count(int(table["points"].iloc[0]), "actual")
            figure.suptitle(f"Where actuals fall in the forecasts, {when} ({points})", x=0.01, ha="left")
    return figure


def _bars(ax: Axes, table: pd.DataFrame, colour: str) -> float:
    """Draw the bars of one forecaster; give how much room they take, 0 where there are none."""
    if not len(table) or not table["points"].iloc[0]:
        say_empty(ax, "no actual was observed")
        return 0.0
    edges = np.append(table["lower"], table["upper"].iloc[-1])
    expected, heights = table["expected"].to_numpy(), (table["share"] / table["expected"]).to_numpy()
    for trials, strength in ((table["forecasts"], 0.45), (table["points"], 0.9)):
        low, high = (edge / expected for edge in chance_band(expected, trials.to_numpy()))
        low, high = np.append(low, low[-1]), np.append(high, high[-1])
        look_of = {"color": FAINT, "alpha": strength, "linewidth": 0, "zorder": 0}
        ax.fill_between(edges, low, high, step="post", label="_chance", **look_of)
    pale = 0.6 * np.asarray(to_rgb(colour)) + 0.4  # as if see-through, but for the shade
    ax.bar(edges[:-1], heights, width=expected, align="edge", color=tuple(pale), edgecolor="white", linewidth=0.8)
    ax.axhline(1, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), label="_honest")
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    return 1.12 * max(heights.max(), high.max())
