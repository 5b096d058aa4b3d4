"""A figure as an SVG element that may stand in one HTML page beside others."""

from __future__ import annotations

import io
import re
import warnings
from html import escape

import matplotlib
from matplotlib.figure import Figure


def embedded_svg(figure: Figure, prefix: str, label: str) -> str:
    """Draw a figure as one SVG element whose every id begins with `prefix`; `label` is what a screen reader says.

    It refers to nothing outside itself, and its text stays text: it can be searched, and read aloud as well as seen.
    The style property `--natural` is the width in CSS pixels at which the letters have the size they were drawn for.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": prefix}), warnings.catch_warnings():
        # The reader's browser draws the letters: what matplotlib's own font lacks is not missing there.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Quotes and angle brackets are escaped in text and attributes alike, so that a tag ends at its first ">".
    svg = re.sub(r"<[^>]+>", lambda tag: _own_ids(tag.group(), prefix), svg)
    width, height = (72 * inches for inches in figure.get_size_inches())
    opening = (
        f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {width:g} {height:g}" '
        f'style="--natural:{width * 4 / 3:.0f}px">'
    )
    return opening + svg[svg.index(">") + 1 :]


def _own_ids(tag: str, prefix: str) -> str:
    tag = re.sub(r'\sid="', f' id="{prefix}-', tag)
    tag = re.sub(r'\s(?:xlink:)?href="#', f' href="#{prefix}-', tag)
    return tag.replace("url(#", f"url(#{prefix}-")
