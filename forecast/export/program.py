"""A network as a program of torch, and the files that are made of it. B windows, T time step of the context."""

import importlib
import io
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import max_pool1d, pad

from forecast.nn import ForecastNetwork
from forecast.nn.covariates import Covariates
from forecast.nn.network import LAST

if TYPE_CHECKING:
    from forecast.neural import NeuralForecaster

Run = Callable[[dict[str, Tensor]], Tensor]

_ROLES = ("past", "known", "static")


class Exported(nn.Module):
    """The network as a function of tensors alone; `steps` are those of a context and a horizon."""

    def __init__(self, network: ForecastNetwork, steps: int):
        super().__init__()
        self.network = network
        self.steps = steps

    def forward(
        self,
        values: Tensor,
        cutoffs: Tensor,
        past: Tensor | None = None,
        known: Tensor | None = None,
        static: Tensor | None = None,
    ) -> Tensor:
        """Give the forecasts (B, H, Q) from the last origin of windows (B, T)."""
        B, T = values.shape
        covariates = None
        if self.network.reader is not None:
            covariates = Covariates(
                values.new_zeros(B, T, 0) if past is None else past,
                values.new_zeros(B, self.steps, 0) if known is None else known,
                values.new_zeros(B, 0) if static is None else static,
            )
        return self.network(values, cutoffs, LAST, covariates).squeeze(1)


def roles_of(forecaster: "NeuralForecaster") -> list[str]:
    """Give the kinds of covariates that the network reads, in the order of its inputs."""
    reader = forecaster.network_.reader
    return [] if reader is None else [role for role in _ROLES if len(getattr(reader.layout, role))]


def example_of(forecaster: "NeuralForecaster") -> dict[str, Tensor]:
    """Give inputs of the right names and shapes: five windows, or groups of them."""
    B, T = 5 * forecaster.network_.backbone.series, forecaster.context_length_
    inputs = {"values": torch.rand(B, T), "cutoffs": torch.arange(B)}
    lengths = {"past": (T,), "known": (T + forecaster.horizon,), "static": ()}
    for role in roles_of(forecaster):
        count = len(getattr(cast(Any, forecaster.network_.reader).layout, role))
        inputs[role] = torch.ones(B, *lengths[role], count)
    return inputs


def program_of(forecaster: "NeuralForecaster") -> torch.export.ExportedProgram:
    """Give the program, for any number of windows; raises ValueError where torch cannot make one."""
    network, example = forecaster.network_, example_of(forecaster)
    series = network.backbone.series
    batch = torch.export.Dim("batch", min=1)
    rows = {0: batch if series == 1 else series * batch}
    module = Exported(network, forecaster.context_length_ + forecaster.horizon).eval()
    try:
        with torch.no_grad(), _one_group_too() if series > 1 else nullcontext():
            return torch.export.export(module, (), example, dynamic_shapes=dict.fromkeys(example, rows))
    except Exception as error:  # whatever torch, or a backbone of the user's own, raises
        raise ValueError(
            f"`backbone` is {forecaster.backbone!r}, which torch cannot export ({type(error).__name__}: {error}): let "
            "its advance do without what depends on the size of the batch or on numbers in tensors"
        ) from error


@contextmanager
def _one_group_too() -> Iterator[None]:
    """Keep torch from taking one group of series for a case of its own, which the exported program would refuse."""
    from torch.fx.experimental import _config

    with cast(Any, _config).patch(backed_size_oblivious=True):
        yield


def as_torch(program: torch.export.ExportedProgram, names: list[str]) -> tuple[bytes, Run]:
    """Give the content of a .pt2 file, and how to run it."""
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    module = torch.export.load(io.BytesIO(buffer.getvalue())).module()

    def run(inputs: dict[str, Tensor]) -> Tensor:
        with torch.no_grad():
            return module(**{name: inputs[name] for name in names})

    return buffer.getvalue(), run


def check_installed() -> None:
    """Raise ImportError where a library that ONNX files ask for is not installed."""
    for library in ("onnx", "onnxscript", "onnxruntime"):
        try:
            importlib.import_module(library)
        except ImportError as error:
            raise ImportError(f'`format` "onnx" needs {library}: pip install "foretell[onnx]"') from error


def as_onnx(program: torch.export.ExportedProgram, names: list[str]) -> tuple[bytes, Run]:
    """Give the content of an .onnx file, and how to run it."""
    import onnxruntime

    program = program.run_decompositions({torch.ops.aten.cummax.default: _cummax})
    buffer = io.BytesIO()
    exported = torch.onnx.export(program, input_names=names, output_names=["quantiles"], verbose=False)
    cast(Any, exported).save(buffer)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(buffer.getvalue(), options, providers=["CPUExecutionProvider"])

    def run(inputs: dict[str, Tensor]) -> Tensor:
        return torch.from_numpy(session.run(None, {name: inputs[name].numpy() for name in names})[0])

    return buffer.getvalue(), run


def _cummax(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """Give the running maximum of places (B, T), 0 or more, which ONNX does not have, by one that it has.

    The places of the maxima, which nothing here reads, are left at zero.
    """
    T = x.shape[dim]
    padded = pad(x.float().unsqueeze(1), (T - 1, 0), value=-1.0)
    return max_pool1d(padded, T, stride=1).squeeze(1).to(x.dtype), torch.zeros_like(x)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep to itself what torch and ONNX tell of their own insides."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
