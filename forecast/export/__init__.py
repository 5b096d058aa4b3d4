"""A fitted network as one file, ONNX or torch's own, that forecasts without this library; checked before it is written.

Beside `export` are its three parts: the program of a network and the file it makes, the comparison with `predict`, and
the note that tells what the file takes and gives.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from forecast.borrowed import seeded
from forecast.export.note import note_of
from forecast.export.program import as_onnx, as_torch, check_installed, example_of, program_of, quiet
from forecast.export.verification import largest_difference
from forecast.forecaster import Forecaster
from forecast.nn import Direct

if TYPE_CHECKING:
    from forecast.neural import NeuralForecaster

__all__ = ["export"]

Format = Literal["onnx", "torch"]

_SUFFIXES = {"onnx": ".onnx", "torch": ".pt2"}
_TOLERANCE = 1e-5  # of the largest number that is forecast from a window


def export(forecaster: "NeuralForecaster", path: str | Path, format: Format = "onnx") -> None:
    """Write the network of a fitted forecaster into one file, and into `<file>.json` beside it what it takes and gives.

    Inputs are `values` (B, context_length) in the units of the data, NaN where missing, `cutoffs` (B,), the calendar
    ordinals of the last values, and the covariates that the network reads, if any; the output is `quantiles`
    (B, horizon, levels), in order. B is free; a network that reads across series takes all series of the fit, in their
    order, at one cutoff or several. What is written is what `predict` does, up to a window without any value, after
    which `predict` goes on with the value before it. Before anything is written the file is run on windows of the data
    of the fit, as they are, with values missing and with none that move, one at a time and together.

    Parameters
    ----------
    forecaster: a fitted NeuralForecaster with the decoder `direct`.
    path: of the file, which ends in `.onnx` or `.pt2`; an earlier one is replaced, a folder that is not there is made.
    format: "onnx", which asks for the extra `foretell[onnx]`, or "torch", as `torch.export.load` reads it.

    Raises
    ------
    NotFittedError: `fit` was not called.
    TypeError: no NeuralForecaster.
    ValueError: another format, suffix or decoder; a network that cannot be exported, or whose export differs from
        `predict` by more than 1e-5 of the largest number that is forecast from a window.
    ImportError: the libraries of the format are not installed.

    """
    path = Path(path)
    _check(forecaster, path, format)
    if format == "onnx":
        check_installed()
    panel = forecaster.panel_of(None)
    with seeded(0), quiet():
        program = program_of(forecaster)
        content, run = (as_onnx if format == "onnx" else as_torch)(program, list(example_of(forecaster)))
    apart = largest_difference(forecaster, panel, run)
    if not apart <= _TOLERANCE:
        raise ValueError(
            f"the network exported as {format!r} differs from predict by {apart:.3g} of the largest number that is "
            f"forecast; allowed: {_TOLERANCE:g}. Nothing was written; try the other format"
        )
    note = note_of(forecaster, panel, format, apart)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.with_name(f"{path.name}.json").write_text(
        json.dumps(note, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def _check(forecaster: Any, path: Path, format: str) -> None:
    if format not in _SUFFIXES:
        raise ValueError(f"`format` is {format!r}; allowed: {', '.join(map(repr, _SUFFIXES))}")
    if path.suffix != _SUFFIXES[format]:
        raise ValueError(f"`path` is {str(path)!r}; allowed for {format!r}: a file that ends in {_SUFFIXES[format]}")
    if not isinstance(forecaster, Forecaster) or not hasattr(forecaster, "backbone"):
        raise TypeError(f"`forecaster` is {forecaster!r}; allowed: a fitted NeuralForecaster")
    forecaster.panel_of(None)  # raises where there is no fit
    if not isinstance(forecaster.decoder, Direct) and forecaster.decoder != "direct":  # type: ignore[attr-defined]
        raise ValueError(
            f"`decoder` is {forecaster.decoder!r}, which cannot be exported; "  # type: ignore[attr-defined]
            "allowed: 'direct', under any backbone. Fit again with it"
        )
