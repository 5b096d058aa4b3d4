"""A forecaster as a notebook shows it: how it was made, and what it was fitted on. Everything in it is escaped."""

from collections.abc import Iterable
from html import escape
from textwrap import shorten
from typing import Any

import numpy as np

from forecast import params

_MOST = 300  # signs of a value
_CARD = "border:1px solid #8886; border-radius:6px; padding:.6em .9em; display:inline-block; max-width:60em"
_BADGE = "border:1px solid #8886; border-radius:1em; padding:.1em .7em; margin-left:.6em; font-size:85%; opacity:.8"
_CELL = "text-align:left; vertical-align:top; padding:.1em 1.2em .1em 0; background:none; border:none"


def page_of(forecaster) -> str:
    """Give the HTML of a forecaster: its class, whether it is fitted, arguments, data, and what the fit has found.

    An argument that is as by default is shown pale. Of what was learned, plain values are shown: numbers, texts and
    configs.
    """
    panel = getattr(forecaster, "panel_", None)
    arguments = params.told(forecaster)
    rows = [_row(name, value, pale=not differs) for name, value, differs in arguments]
    if panel is not None:
        rows += [_head("fitted on"), _row("data", repr(panel)), *_learned(forecaster)]
    name, badge = escape(type(forecaster).__name__), "not fitted" if panel is None else "fitted"
    return (
        f'<div style="{_CARD}"><div><b>{name}</b><span style="{_BADGE}">{badge}</span></div>'
        f'<table style="margin:.4em 0 0; border:none; border-collapse:collapse">{"".join(rows)}</table></div>'
    )


def _learned(forecaster) -> Iterable[str]:
    for name, value in vars(forecaster).items():
        plain = isinstance(value, int | float | str | np.generic) or params.is_config(value)
        if name.endswith("_") and name != "panel_" and plain:
            yield _row(name, _spelled(value))


def _spelled(value: Any) -> str:
    """Give a value for people: numbers of many digits in groups, or rounded."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return params.shown(value)
    return f"{value:,}" if isinstance(value, int | np.integer) else f"{value:.6g}"


def _head(text: str) -> str:
    return f'<tr><td colspan="2" style="{_CELL}; padding-top:.5em; opacity:.7">{escape(text)}</td></tr>'


def _row(name: str, value: str, pale: bool = False) -> str:
    opacity = "; opacity:.55" if pale else ""
    text = escape(shorten(value, _MOST, placeholder=" ..."))
    return (
        f'<tr style="background:none{opacity}"><td style="{_CELL}">{escape(name)}</td>'
        f'<td style="{_CELL}"><code>{text}</code></td></tr>'
    )
