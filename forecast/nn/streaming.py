"""Streaming: a network is carried over sequences value by value, and each forecast costs one token.

A token is a patch of P values, and every forecast has to see the newest one. So there are P phase states, one for each
place at which a patch may end; a new value advances one of them. The forecasts are those of the whole sequence up to
the value, its first patch filled up on the left. B sequences, P patch length, D width, H horizon, Q quantile level,
n new values.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from forecast.nn.covariates import Covariates
from forecast.nn.network import ForecastNetwork, Patches
from forecast.nn.states import map_state, tensors_of

# Read at a time where there is much to read; bounds memory.
_TOKENS = 8192
_TOKENS_OF_ONE = 512  # of one phase of one sequence: what attention needs grows with its square


class Streams:
    """Carries a network over `count` sequences.

    `state` is a plain nested dict of tensors, sequences first, whose size does not depend on how much was read:
    `values` (B, reading), the last of each sequence, `seen` (B,), `ordinals` (B,) of the last value, `newest` (B, D),
    the backbone's state at it, and `phases`, what the backbone carries on, with a second axis of P. Where the network
    reads covariates, also `past` and `known` (B, reading, C) and `static` (B, C); each call then takes those of the new
    steps, and those ahead where it forecasts.

    Sequences are named by their rows, (B,) int64, each at most once in a call. Where the backbone reads sequences in
    groups of `series`, a group lies in consecutive rows and is carried as a whole.
    """

    def __init__(self, network: ForecastNetwork, count: int):
        self.network = network
        self.state: dict[str, Any] = _nothing_read(network, count)
        self._undo: list[tuple[Tensor, Any, Tensor]] | None = None

    @property
    def nbytes(self) -> int:
        """Size of the state."""
        return sum(tensor.nbytes for tensor in self.tensors().values())

    def tensors(self) -> dict[str, Tensor]:
        """Give the tensors of the state by name; `restore` takes them."""
        return tensors_of(self.state)

    @torch.inference_mode()
    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from a state that `tensors` gave, of as many sequences.

        Raises
        ------
        ValueError: tensors of other names or shapes.

        """
        own, given = ({n: tuple(t.shape) for n, t in part.items()} for part in (self.tensors(), tensors))
        if own != given:
            raise ValueError(f"a state of {given}; expected {own}: give that of the same network and as many sequences")
        for name, kept in self.tensors().items():
            kept.copy_(tensors[name])

    @torch.inference_mode()
    def grow(self, count: int) -> None:
        """Make room for `count` more sequences, after the others."""
        more = _nothing_read(self.network, count)
        self.state = map_state(lambda kept, new: torch.cat([kept, new]), self.state, more)

    @torch.inference_mode()
    def place(self, rows: Tensor, ordinals: Tensor, static: Tensor | None = None) -> None:
        """Let sequences of which nothing was read yet begin at `ordinals` (B,), with static covariates (B, C)."""
        self._put(rows, ordinals=ordinals - 1, **({} if static is None else {"static": static}))

    def begin(self, rows: Tensor, values: Tensor, ordinals: Tensor, covariates: Covariates | None = None) -> Tensor:
        """Read the histories (B, T) of sequences of which nothing was read yet, up to `ordinals` (B,).

        Gives their quantiles (B, H, Q).
        """
        self.place(rows, ordinals - values.shape[1] + 1, covariates and covariates.static)
        self.advance(rows, values, covariates)
        return self.forecast(rows, covariates and covariates.at_end().known[:, values.shape[1] :])

    @torch.inference_mode()
    def advance(self, rows: Tensor, values: Tensor, covariates: Covariates | None = None) -> None:
        """Take n more values (B, n), NaN where they are missing, of sequences."""
        # Few sequences and many values at a time: each lane reads again what lies before the first of them.
        size = max(1, min(values.shape[1], self.network.patch_length * _TOKENS_OF_ONE, _TOKENS))
        for which in self._parts(rows, size):
            some, read, beside = rows[which], values[which], covariates and covariates.rows(which)
            done = 0
            for part in read.split(max(1, min(size, _TOKENS // len(some))), dim=1):
                done += part.shape[1]
                self._advance(some, part, beside and beside.until(done, 0).last(part.shape[1]))

    @torch.inference_mode()
    def step(self, rows: Tensor, values: Tensor, covariates: Covariates | None = None) -> Tensor:
        """Take one more value (B,), NaN where it is missing, of sequences; give their quantiles (B, H, Q)."""
        forecasts = []
        for which in self._parts(rows):
            some, beside = rows[which], covariates and covariates.rows(which).at_end()
            patch = self._advance(some, values[which].unsqueeze(1), beside)
            forecasts.append(self._forecast(some, patch, beside and beside.known[:, 1:]))
        return torch.cat(forecasts)

    @torch.inference_mode()
    def forecast(self, rows: Tensor, ahead: Tensor | None = None) -> Tensor:
        """Give the quantiles (B, H, Q) of sequences after their last values.

        `ahead` (B, A, C) are known covariates of the steps after.
        """
        parts = [(rows[which], None if ahead is None else ahead[which]) for which in self._parts(rows)]
        return torch.cat([self._forecast(some, ahead=known) for some, known in parts])

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Take back all that is done inside, should it end in an error."""
        state, self._undo = self.state, []
        try:
            yield
        except BaseException:
            with torch.inference_mode():
                for kept, index, before in reversed(self._undo):
                    kept[index] = before
            self.state = state
            raise
        finally:
            self._undo = None

    def _parts(self, rows: Tensor, each: int = 1) -> Iterator[slice]:
        """Go through sequences some at a time, of which `each` values are read; groups as a whole."""
        group = self.network.backbone.series
        size = max(1, _TOKENS // (group * each)) * group
        return (slice(low, low + size) for low in range(0, len(rows), size))

    def _advance(self, rows: Tensor, values: Tensor, covariates: Covariates | None = None) -> Patches | None:
        """Advance each phase to which one of the n new values belongs, all in one batch, lane after lane.

        Gives the last patch of each sequence, if it was read by itself.
        """
        network, state = self.network, self.state
        P, n, reading = network.patch_length, values.shape[1], network.reading
        seen, ordinals = state["seen"][rows], state["ordinals"][rows]
        window = torch.cat([state["values"][rows], values.to(state["values"])], dim=1)  # (B, reading + n)
        whole = self._beside(rows, covariates)
        # One token by itself is read from a window of full size; for more, what lies before all values says nothing.
        kept = reading if n < 2 * P else min(reading, int(seen.max()) + P)  # the last lane begins P - 1 later
        beside = whole and whole.last(kept + n)
        fill = -kept % P  # so that what is read divides into patches
        filled = pad(window[:, reading - kept :], (fill, 0), value=torch.nan)
        # Lane l holds the tokens that end with the new values l, l + P, l + 2 P, ...: the first lanes one more than
        # the others.
        longest, first = -(-n // P), (n - 1) % P + 1
        advanced, patch, newest = [], None, None
        for tokens, lanes in ((longest, range(first)), (longest - 1, range(first, P))):
            if not tokens or not lanes:
                continue
            size = fill + kept + (tokens - 1) * P
            cut = filled.unfold(1, size, 1)[:, 1 + lanes.start : 1 + lanes.stop].transpose(0, 1).flatten(0, 1)
            lane = torch.arange(lanes.start, lanes.stop, device=rows.device).unsqueeze(1)
            cutoffs = (ordinals + lane + 1 + (tokens - 1) * P).flatten()
            index = _index(rows.repeat(len(lanes)), ((seen + lane) % P).flatten())
            lanes_beside = beside and _lanes(beside, fill, kept + (tokens - 1) * P, lanes, n)
            if tokens == 1:
                read = network.read_last(cut[:, fill:], cutoffs, lanes_beside and lanes_beside.last(reading))
            else:
                read = network.read(cut, cutoffs, lanes_beside)
            carried = map_state(lambda x: x[index], state["phases"])  # noqa: B023 (called at once)
            states, carried = network.backbone.advance(network.tokens(read)[:, -tokens:], carried)
            advanced.append((index, carried))
            if first - 1 in lanes:  # that of the last value
                newest, patch = states[-len(rows) :, -1], read if n == 1 else None
        for index, carried in advanced:
            map_state(lambda kept, new: self._replace(kept, index, new), state["phases"], carried)  # noqa: B023
        assert newest is not None
        self._put(rows, values=window[:, n:], seen=seen + n, ordinals=ordinals + n, newest=newest)
        if whole is not None:
            self._put(rows, past=whole.past[:, n:], known=whole.known[:, n : n + reading])
        return patch

    def _beside(self, rows: Tensor, covariates: Covariates | None) -> Covariates | None:
        """Give the covariates of the last steps, followed by those of new ones."""
        if self.network.reader is None:
            return None
        if covariates is None:
            raise ValueError("`covariates` is None; this network reads some: give those of the new steps")
        kept = (self.state[name][rows] for name in ("past", "known"))
        new = (covariates.past, covariates.known)
        past, known = (torch.cat([old, more.to(old)], dim=1) for old, more in zip(kept, new, strict=True))
        return Covariates(past, known, self.state["static"][rows])

    def _forecast(self, rows: Tensor, patch: Patches | None = None, ahead: Tensor | None = None) -> Tensor:
        network, state = self.network, self.state
        values, ordinals, newest, seen = (state[name][rows] for name in ("values", "ordinals", "newest", "seen"))
        carried = None  # only what is rolled out needs it
        if network.decoder.reach < network.horizon:
            index = _index(rows, (seen - 1) % network.patch_length)
            carried = map_state(lambda x: x[index], state["phases"])
        beside = None
        if network.reader is not None:
            past, known, static = (state[name][rows] for name in ("past", "known", "static"))
            after = known[:, :0] if ahead is None else ahead.to(known)
            beside = Covariates(past, torch.cat([known, after], dim=1), static)
        return network.forecast(values, ordinals, newest.unsqueeze(1), carried, patch, beside)

    def _put(self, rows: Tensor, **parts: Tensor) -> None:
        for name, new in parts.items():
            self._replace(self.state[name], rows, new)

    def _replace(self, kept: Tensor, index: Any, new: Tensor) -> None:
        if self._undo is not None:
            self._undo.append((kept, index, kept[index].clone()))
        kept[index] = new


def _nothing_read(network: ForecastNetwork, count: int) -> dict[str, Any]:
    """Give the state of sequences of which nothing was read."""
    like, P = network.spread, network.patch_length
    numbers = torch.zeros(count, dtype=torch.int64, device=like.device)
    # Phase after phase, each with all sequences: what belongs together in a batch stays together.
    phases = network.backbone.init_state(P * count)
    state = {
        "values": like.new_full((count, network.reading), torch.nan),
        "seen": numbers,
        "ordinals": numbers.clone(),
        "newest": like.new_zeros(count, network.embedding.width),
        "phases": map_state(lambda x: x.unflatten(0, (P, count)).transpose(0, 1).clone(), phases),
    }
    if network.reader is not None:
        layout = network.reader.layout
        state["past"] = like.new_full((count, network.reading, len(layout.past)), torch.nan)
        state["known"] = like.new_full((count, network.reading, len(layout.known)), torch.nan)
        state["static"] = like.new_full((count, len(layout.static)), torch.nan)
    return state


def _lanes(beside: Covariates, fill: int, size: int, lanes: range, n: int) -> Covariates:
    """Give the covariates of each lane's `fill + size` steps, lane after lane; what is ahead only of a single value."""
    filled = beside.padded(fill)
    ahead = beside.known.shape[1] - beside.past.shape[1] if n == 1 else 0
    past, known = (
        x.unfold(1, fill + size + more, 1)[:, 1 + lanes.start : 1 + lanes.stop].permute(1, 0, 3, 2).flatten(0, 1)
        for x, more in ((filled.past, 0), (filled.known, ahead))
    )
    return Covariates(past, known, beside.static.repeat(len(lanes), 1))


def _index(rows: Tensor, phases: Tensor) -> Any:
    """Give the index of one phase of each sequence; without a gather where it is one phase of neighbours."""
    first, phase, count = int(rows[0]), int(phases[0]), len(rows)
    if count == 1 or (bool((phases == phase).all()) and bool((rows.diff() == 1).all())):
        return slice(first, first + count), phase
    return rows, phases
