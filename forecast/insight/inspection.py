"""All that can be seen inside one fitted network, in one folder: frames as CSV, plots as PNG, and an index in words."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from forecast import plots
from forecast.borrowed import computing
from forecast.forecaster import Forecaster, check_positive
from forecast.frame import Panel
from forecast.insight.alignment import alignments
from forecast.insight.attention import attention_across_series, attention_by_lag, attention_maps
from forecast.insight.gates import gate_timescales
from forecast.insight.gradient_reach import reach_of_gradients
from forecast.insight.occlusion import RANDOM, occlude
from forecast.insight.receptive_field import BACKBONE, effective_receptive_field, field_extent
from forecast.insight.windows import MissingPart, ends

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_INDEX = "README.md"
_TITLE = "# A look inside "  # every index begins so, and no other file is written over
_MOST_TOKENS = 256  # of a map: beyond, a map is as large as a film, and no eye finds anything in it
_DPI = 150


@dataclass(frozen=True)
class Look:
    """What one way of looking has shown: sentences, frames and plots by the names of their files."""

    title: str
    text: str
    frames: dict[str, pd.DataFrame]
    figures: dict[str, "Figure"] = field(default_factory=dict)


def inspect(
    forecaster: Forecaster,
    folder: str | Path,
    frame: pd.DataFrame | Panel | None = None,
    *,
    windows: int = 64,
    seed: int = 0,
) -> Path:
    """Look inside a fitted network in every way that it allows, write what is seen into a folder, and give its index.

    Written are the effective receptive field, the gradient reach, attention maps (along time and across series), the
    alignment of the decoder, the time-scales of gates, and an occlusion test; what the network does not have is left
    out with a sentence in the index.

    Parameters
    ----------
    forecaster: a fitted NeuralForecaster.
    folder: where to write; made where it is not there. What an earlier inspection wrote there goes.
    frame: the history to look at; None for that of `fit`.
    windows, seed: of the windows that are drawn for means; single maps are of the first series' own end.

    Raises
    ------
    FileExistsError: the folder holds a README.md that no inspection has written.
    NotFittedError, TypeError, FrameError, ValueError: what has no windows or no network.

    """
    check_positive(windows=windows)
    first = ends(forecaster, frame, None, None)
    folder, panel, looks, absent = _own(Path(folder)), first.panel, [], []
    with computing(first.forecaster.training.threads):
        for look in _LOOKS:
            try:
                looks.append(look(forecaster, panel, windows, seed))
            except MissingPart as missing:
                absent.append(str(missing))
    for name in _FILES:  # what an earlier inspection wrote: this one may have less to show
        for ending in ("csv", "png"):
            (folder / f"{name}.{ending}").unlink(missing_ok=True)
    for look in looks:
        for name, table in look.frames.items():
            table.to_csv(folder / f"{name}.csv", index=False)
        for name, figure in look.figures.items():
            figure.savefig(folder / f"{name}.png", dpi=_DPI)
    index = folder / _INDEX
    index.write_text(_index(forecaster, panel, windows, seed, looks, absent), encoding="utf-8")
    return index


def _field(forecaster: Forecaster, panel: Panel, windows: int, seed: int) -> Look:
    table = effective_receptive_field(forecaster, panel, windows=windows, seed=seed)
    extent = field_extent(table)
    own = extent.loc[extent["part"] == BACKBONE]
    claimed, warning = table.attrs["claimed"], table.attrs["warning"]
    said = "has no bound" if claimed is None else f"is {claimed} steps"
    text = (
        f"By way of backbone and decoder, half of the gradient of a forecast lies in the newest {_range(own['half'])} "
        f"steps and 95 % in the newest {_range(own['held'])}, by the step that is forecast. The claimed field {said}; "
        f"the context is {table.attrs['context']} steps."
    )
    if warning:
        text += f"\n\n**Note:** {warning}."
    return Look(
        "Effective receptive field",
        text,
        {"receptive_field": table, "receptive_field_extent": extent},
        {"receptive_field": plots.plot_receptive_field(table)},
    )


def _reach(forecaster: Forecaster, panel: Panel, windows: int, seed: int) -> Look:
    table = reach_of_gradients({_name(forecaster): forecaster}, panel, windows=windows, seed=seed)
    half, last = table["half_life"].iloc[0], table.iloc[-1]
    falls = f"falls by half every {half:.3g} steps" if half < float("inf") else "does not fall with the lag"
    text = (
        f"The gradient of the loss at the last origin {falls}; at the oldest token, {last['lag']} steps back, it is "
        f"{last['relative']:.2g} of that at the last token."
    )
    return Look("Gradient reach", text, {"gradient_reach": table}, {"gradient_reach": plots.plot_gradient_reach(table)})


def _attention(forecaster: Forecaster, panel: Panel, windows: int, seed: int) -> Look:
    lags = attention_by_lag(forecaster, panel, windows=windows, seed=seed)
    frames, figures = {"attention_by_lag": lags}, {"attention_by_lag": plots.plot_attention_by_lag(lags)}
    back: dict[tuple[int, int], float] = {}
    for layer, head, lag, weight in zip(lags["layer"], lags["head"], lags["lag"], lags["weight"], strict=True):
        back[layer, head] = back.get((layer, head), 0.0) + lag * weight
    layer, head = max(back, key=lambda one: back[one])
    text = (
        "The map of one window, and the mean weights of the last token over many. "
        f"Head {head} of layer {layer} looks back farthest: {back[layer, head]:.0f} steps on average."
    )
    tokens = len(lags["lag"].unique())
    if tokens <= _MOST_TOKENS:
        maps = attention_maps(forecaster, panel)
        frames, figures = {"attention": maps} | frames, {"attention": plots.plot_attention(maps)} | figures
    else:
        text += f" The map itself is left out: it has {tokens:,} tokens, more than the {_MOST_TOKENS} that are drawn."
    return Look("Attention along time", text, frames, figures)


def _across(forecaster: Forecaster, panel: Panel, windows: int, seed: int) -> Look:
    table = attention_across_series(forecaster, panel, windows=windows, seed=seed)
    own = table.loc[table["reader"] == table["read"]].groupby("reader", sort=False)["weight"].mean()
    text = f"A series reads itself with {own.mean():.0%} of its weight on average, and others with the rest."
    figures = {"attention_across_series": plots.plot_attention_across_series(table)}
    return Look("Attention across series", text, {"attention_across_series": table}, figures)


def _alignment(forecaster: Forecaster, panel: Panel, windows: int, seed: int) -> Look:
    del windows, seed  # of single windows
    table = alignments(forecaster, panel)
    weights = table["weight"] / table["weight"].sum()
    text = f"On average a step reads {(weights * table['lag']).sum():.0f} steps back from itself."
    return Look("Alignment of the decoder", text, {"alignment": table}, {"alignment": plots.plot_alignments(table)})


def _gates(forecaster: Forecaster, panel: Panel, windows: int, seed: int) -> Look:
    table = gate_timescales(forecaster, panel, windows=windows, seed=seed)
    scale = table["timescale"]
    text = (
        f"Units remember for {scale.median():.0f} steps in the median, {scale.min():.0f} the shortest and "
        f"{scale.max():.0f} the longest; the context is {table.attrs['context']} steps."
    )
    return Look("Time-scales of gates", text, {"gates": table}, {"gates": plots.plot_gates(table)})


def _occlusion(forecaster: Forecaster, panel: Panel, windows: int, seed: int) -> Look:
    tables = [occlude(forecaster, panel, windows=windows, seed=seed)]
    with suppress(MissingPart):  # told where attention is
        tables.append(occlude(forecaster, panel, by="attention", windows=windows, seed=seed))
    table = pd.concat(tables, ignore_index=True)
    fewest = min(table["lags"])
    first = table.loc[table["lags"] == fewest]
    change = {name: float(first.loc[first["chosen"] == name, "change"].mean()) for name in first["chosen"].unique()}
    random = change.pop(RANDOM)
    said = " and ".join(f"{value:.2g} for those named by {name.replace('_', ' ')}" for name, value in change.items())
    text = (
        f"Without {fewest} values of the past the forecast moves by {said}, in scales of the series, against "
        f"{random:.2g} for as many at random."
    )
    return Look("Occlusion", text, {"occlusion": table}, {"occlusion": plots.plot_occlusion(table)})


_LOOKS: tuple[Callable[[Forecaster, Panel, int, int], Look], ...] = (
    _field,
    _reach,
    _attention,
    _across,
    _alignment,
    _gates,
    _occlusion,
)
_FILES = (  # all that an inspection may write
    "receptive_field",
    "receptive_field_extent",
    "gradient_reach",
    "attention",
    "attention_by_lag",
    "attention_across_series",
    "alignment",
    "gates",
    "occlusion",
)


def _own(folder: Path) -> Path:
    """Make the folder, or see that what it holds may be written over."""
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / _INDEX
    if index.is_file() and not index.read_text(encoding="utf-8", errors="replace").startswith(_TITLE):
        raise FileExistsError(f"{index} was not written by an inspection: give another folder")
    return folder


def _index(forecaster: Forecaster, panel: Panel, windows: int, seed: int, looks: list[Look], absent: list[str]) -> str:
    parts = [
        f"{_TITLE}{_name(forecaster)}",
        f"```\n{forecaster!r}\n{panel!r}\n```",
        f"Means are over up to {windows} windows, drawn with seed {seed}; maps are of the first series, up to its end.",
    ]
    for look in looks:
        pictures = [f"![{look.title}]({name}.png)" for name in look.figures]
        tables = "In figures: " + ", ".join(f"[{name}.csv]({name}.csv)" for name in look.frames)
        parts += [f"## {look.title}", look.text, *pictures, tables]
    if absent:
        parts += ["## Not in this network", "\n".join(f"- {sentence}." for sentence in absent)]
    return "\n\n".join(parts) + "\n"


def _name(forecaster: Forecaster) -> str:
    backbone = getattr(forecaster, "backbone", None)
    return backbone if isinstance(backbone, str) else type(backbone or forecaster).__name__


def _range(numbers: pd.Series) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return f"{low}" if low == high else f"{low} to {high}"
