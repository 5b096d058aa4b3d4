"""The audit of bare networks: probes M1 to M8 of a user's torch module, of a backbone, of what a forecaster has fitted.

Every probe is run on copies in double precision where these can be made, so that rounding and leaks are far apart.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

import torch
from torch import nn

from forecast import __version__
from forecast.auditing.certificate import Certificate, Finding
from forecast.auditing.module_liveness import what_is_claimed_to_be_read_matters
from forecast.auditing.module_network import probed_network
from forecast.auditing.module_paths import no_way_leads_from_what_follows
from forecast.auditing.module_probes import (
    Outcome,
    no_call_leaves_anything,
    no_gradient_comes_from_what_follows,
    no_output_moves_with_what_follows,
    no_sequence_moves_with_its_batch,
    nothing_moves_when_what_follows_is_cut_off,
    streaming_equals_the_whole_pass,
)
from forecast.auditing.module_subjects import Probed
from forecast.auditing.module_tokens import probed_module
from forecast.borrowed import computing, seeded
from forecast.forecaster import Forecaster
from forecast.nn import Backbone, ForecastNetwork

_TOKENS = 12  # of a context, for which a backbone is built
_SERIES = 3  # of a group, where a backbone reads across series and does not say how many


@dataclass(frozen=True)
class Probe:
    """A probe of a network, which it is given twice: its id, what has to hold, and how that is found out."""

    id: str
    name: str
    ask: Callable[[Sequence[Probed]], Outcome]

    @property
    def asks(self) -> str:
        """What is done to find out."""
        return (self.ask.__doc__ or "").strip()


PROBES = (
    Probe("M1", "Nothing said at a position moves with later positions", no_output_moves_with_what_follows),
    Probe("M2", "No gradient comes from later positions", no_gradient_comes_from_what_follows),
    Probe("M3", "What follows need not be there", nothing_moves_when_what_follows_is_cut_off),
    Probe("M4", "A sequence is read by itself", no_sequence_moves_with_its_batch),
    Probe("M5", "A call leaves nothing behind", no_call_leaves_anything),
    Probe("M6", "Reading on from a state equals the whole pass", streaming_equals_the_whole_pass),
    Probe("M7", "What is claimed to be read matters", what_is_claimed_to_be_read_matters),
    Probe("M8", "No mode and no way of asking lets later positions in", no_way_leads_from_what_follows),
)


def audit_module(
    module: nn.Module | Backbone,
    width: int | None = None,
    *,
    tokens: int | None = None,
    receptive_field: int | Literal["all"] | None = None,
    end_anchored: bool = False,
) -> Certificate:
    """Probe a causal torch module, (B, N, D) -> (B, N, ...) with position n reading tokens 0..n only.

    The module itself is left as it is; copies are probed on the processor, with its weights as they are and, in case
    some hide what is behind them, moved a little. Global random states are given back.

    Parameters
    ----------
    module: a torch module, which may give a tuple that begins with what is said; a config such as `LSTM(width=64)`; or
        a ForecastNetwork, which is read in its own way.
        One with `init_state(batch)` and `step(x: (B, D), state) -> (y, state)` is probed as a stream too; with
        `advance(x: (B, n, D), state) -> (y, state)` also in pieces.
    width: D of its tokens; a config and a ForecastNetwork say it themselves.
    tokens: N of the sequences that are read; None: 24, or a few more than its receptive field. Give the longest that it
        can read where that is shorter. For a config: tokens of a context, 12.
    receptive_field: how many tokens, its own included, what is said at one depends on, "all" for no bound; None: what
        its attribute of this name says, if there is one.
    end_anchored: whether it counts tokens from the end on purpose, so that M3 does not apply.

    Returns
    -------
    The certificate, with a finding for each of M1 to M8.

    Raises
    ------
    TypeError: what is no module; a module without `width`.
    ValueError: an argument that is not allowed, or a module that does not say something for each token.

    """
    with _alone():
        probed = _probed(module, width, tokens, receptive_field, end_anchored)
        findings = _findings(probed)
    facts = {
        "read": f"{probed.positions} tokens of {probed.columns} numbers",
        "precision": str(probed.dtype).removeprefix("torch."),
        "equal": f"to the last bit, or {probed.rounding:g} of what is added (M1, M2, M5, M7, M8); "
        f"{probed.tolerance:g} of the largest output (M3, M4, M6)",
        "weights": "as they are, and moved a little",
    }
    name = repr(module) if isinstance(module, Backbone) else type(module).__name__
    return Certificate(name, __version__, facts, findings)


def module_findings(subject: Any) -> list[Finding]:
    """Run M1 to M8 on the network of a fitted forecaster, on a ForecastNetwork, or on a backbone's config.

    Gives findings that do not apply for a forecaster without a network that these probes can read.

    Raises
    ------
    NotFittedError: a forecaster of ours that is not fitted.
    TypeError: none of these.

    """
    streams, network = None, subject
    if isinstance(subject, Forecaster):
        subject._fitted()
        parts = {name: value for name, value in vars(subject).items() if isinstance(value, nn.Module)}
        network = next((part for part in parts.values() if isinstance(part, ForecastNetwork)), None)
        if network is None:
            return [Finding(probe.id, probe.name, probe.asks, None, _unread(parts), 0.0) for probe in PROBES]
        streams = getattr(getattr(subject, "decoder_", None), "streams", None)
    with _alone():
        return list(_findings(_probed(network, streams=streams)))


def _unread(parts: Mapping[str, nn.Module]) -> str:
    for name, part in parts.items():
        return f"how `{name}`, a {type(part).__name__}, is called is not known: probe it with audit_module"
    return "it has no network"


@contextmanager
def _alone() -> Iterator[None]:
    """Leave nothing behind: no gradient, no random number drawn. On one thread: on a busy machine two wait long."""
    with torch.inference_mode(False), torch.no_grad(), seeded(0), computing(1):
        yield


def _probed(
    module: Any,
    width: int | None = None,
    tokens: int | None = None,
    receptive_field: int | Literal["all"] | None = None,
    end_anchored: bool = False,
    streams: bool | None = None,
) -> Probed:
    for name, value, least, also in (
        ("width", width, 1, ""),
        ("tokens", tokens, 3, ""),
        ("receptive_field", None if receptive_field == "all" else receptive_field, 1, ', or "all"'),
    ):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise ValueError(f"`{name}` is {value!r}; allowed: a whole number of {least} or more{also}")
    if isinstance(module, ForecastNetwork):
        return probed_network(module, streams)
    if isinstance(module, Backbone):
        if module.across_series and module.series == 1:  # type: ignore[attr-defined]
            module = replace(module, series=_SERIES)  # type: ignore[type-var]
        with seeded(3):
            built = module.build(tokens or _TOKENS)
        return probed_module(built, module.width, receptive_field=receptive_field, end_anchored=end_anchored)
    if not isinstance(module, nn.Module):
        raise TypeError(
            f"`module` is a {type(module).__name__}; allowed: a torch module, or a config such as LSTM(width=64)"
        )
    if width is None:
        raise TypeError(f"`width` is None; give how many numbers a token of {type(module).__name__} has")
    return probed_module(module, width, tokens=tokens, receptive_field=receptive_field, end_anchored=end_anchored)


def _findings(probed: Probed) -> tuple[Finding, ...]:
    variants = probed, probed.shaken()
    return tuple(_finding(probe, variants) for probe in PROBES)


def _finding(probe: Probe, variants: Sequence[Probed]) -> Finding:
    began = perf_counter()
    try:
        passed, evidence = probe.ask(variants)
    except Exception as error:  # whatever a class of the user's own raises
        passed, evidence = False, f"raises {type(error).__name__}: {error}"
    return Finding(probe.id, probe.name, probe.asks, passed, evidence, 1000 * (perf_counter() - began))
