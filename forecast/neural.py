"""NeuralForecaster: any backbone under any decoder as a fit/predict forecaster, trained by Lightning."""

import logging
import random
import signal
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Trainer

from forecast.data import WindowDataModule, Windows
from forecast.forecaster import DECILES, Forecast, Forecaster, Origins, check_positive, mean_of
from forecast.frame import Panel
from forecast.history import last_values
from forecast.nn import BACKBONES, DECODERS, Backbone, Decoder, ForecastNetwork
from forecast.nn.network import LAST
from forecast.training import BestWeights, NetworkTraining, Training

_PREDICTION_BATCH = 1024
_VALUES_PER_BATCH = 4_000_000  # bounds the memory of the batches that are gathered together


class NeuralForecaster(Forecaster):
    """A network trained on all series of a frame.

    Parameters
    ----------
    backbone: `"lstm"`, `"tcn"`, `"transformer"`, or a config such as `LSTM(width=64)`.
    horizon: steps to forecast.
    decoder: `"direct"`, or a config such as `Direct(dropout=0.2)`.
    context_length: values that the network reads; None: 14 patches, at most what the longest series can give. Rounded
        up to whole patches.
    patch_length: values that make one token; None: the season if it is 4 to 24 steps long, else 8; less for series that
        are short.
    season_length: None for that of the calendar.
    quantile_levels: rising numbers inside (0, 1), 0.5 among them.
    training: how the network is trained.
    seed: of weights, windows and dropout; the global random state is given back as it was.
    trainer: arguments passed on to lightning's `Trainer`: `callbacks`, `logger`, `accelerator`, `precision`, ...
    verbose: 0 for silence, 1 for a progress bar.

    """

    def __init__(
        self,
        backbone: str | Backbone,
        horizon: int,
        *,
        decoder: str | Decoder = "direct",
        context_length: int | None = None,
        patch_length: int | None = None,
        season_length: int | None = None,
        quantile_levels: Sequence[float] = DECILES,
        training: Training = Training(),  # noqa: B008 (frozen)
        seed: int = 0,
        trainer: Mapping[str, Any] | None = None,
        verbose: int = 0,
    ):
        self.backbone = backbone
        self.horizon = horizon
        self.decoder = decoder
        self.context_length = context_length
        self.patch_length = patch_length
        self.season_length = season_length
        self.quantile_levels = quantile_levels
        self.training = training
        self.seed = seed
        self.trainer = trainer
        self.verbose = verbose

    @property
    def family(self) -> str:  # type: ignore[override]
        """Whether the backbone carries a latent state or predicts directly."""
        return _config(self.backbone, "backbone", BACKBONES, Backbone).family

    def _fit(self, panel: Panel) -> None:
        options = self.training
        self.season_length_ = self.season_length or panel.calendar.season_length
        self.patch_length_, self.context_length_ = self._lengths(panel)
        validation_length = self._validation_length(panel)
        steps_per_epoch = _parts(options.steps, options.validations if validation_length else 1)
        epochs = _parts(options.steps, steps_per_epoch)
        values_per_epoch = steps_per_epoch * options.batch_size * (self.context_length_ + self.horizon)
        batches = min(steps_per_epoch, _parts(values_per_epoch, _VALUES_PER_BATCH))
        steps_per_batch = _parts(steps_per_epoch, batches)
        data = WindowDataModule(
            panel,
            context_length=self.context_length_,
            horizon=self.horizon,
            patch_length=self.patch_length_,
            batch_size=options.batch_size * steps_per_batch,
            batches=batches,
            validation_length=validation_length,
            seed=self.seed,
        )
        with _random_state(self.seed), _threads(options.threads), _quiet(self.verbose):
            network = self._network()
            module = NetworkTraining(
                network,
                options,
                horizon=self.horizon,
                quantile_levels=self.quantile_levels,
                steps_per_batch=steps_per_batch,
            )
            best = BestWeights(network, options.patience, first=epochs // 2)
            trainer = Trainer(**self._trainer_arguments(epochs, best))
            with _interruptible(trainer):
                trainer.fit(module, datamodule=data)
        self.network_ = network.cpu().eval()
        self.validation_loss_ = best.best if best.weights else None
        self.parameters_ = sum(p.numel() for p in network.parameters())

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        windows = Windows(panel, self.context_length_, 0)
        parts = []
        with torch.inference_mode(), _threads(self.training.threads):
            for low in range(0, len(origins), _PREDICTION_BATCH):
                part = origins.take(slice(low, low + _PREDICTION_BATCH))
                values, _, cutoffs = windows.gather(part.series, part.ends - 1)
                empty = ~values.isfinite().any(dim=1)
                if empty.any():  # a gap as long as the context: the value before it goes on
                    values[empty, -1] = torch.from_numpy(last_values(panel, part.take(empty.numpy())))
                parts.append(self.network_(values, cutoffs, LAST).squeeze(1).numpy())
        quantiles = np.concatenate(parts)
        return Forecast(quantiles, mean_of(quantiles, self.quantile_levels))

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        weights = state.pop("network_").state_dict()
        return state | {f"weights.{name}": weight.numpy() for name, weight in weights.items()}

    def _restore(self, state: Mapping[str, Any]) -> None:
        prefix = "weights."
        weights = {n.removeprefix(prefix): torch.from_numpy(w) for n, w in state.items() if n.startswith(prefix)}
        super()._restore({name: value for name, value in state.items() if not name.startswith(prefix)})
        with _random_state(0):  # the weights drawn here are replaced at once
            self.network_ = self._network().eval()
        self.network_.load_state_dict(weights)

    def _network(self) -> ForecastNetwork:
        return ForecastNetwork(
            _config(self.backbone, "backbone", BACKBONES, Backbone),
            _config(self.decoder, "decoder", DECODERS, Decoder),
            horizon=self.horizon,
            quantile_levels=self.quantile_levels,
            patch_length=self.patch_length_,
            context_length=self.context_length_,
            season_length=self.season_length_,
        )

    def _lengths(self, panel: Panel) -> tuple[int, int]:
        """Give patch and context length, as asked for or by the rule of the docstring."""
        for name in ("patch_length", "context_length"):
            if getattr(self, name) is not None:
                check_positive(**{name: getattr(self, name)})
        season = self.season_length_
        readable = max(1, int(panel.lengths.max()) - self.horizon)
        patch = self.patch_length or max(1, min(season if 4 <= season <= 24 else 8, readable // 4))
        context = self.context_length or min(14 * patch, max(patch, readable // 2))
        return patch, -(-context // patch) * patch

    def _validation_length(self, panel: Panel) -> int:
        asked = self.training.validation_length
        if asked is not None:
            if asked and asked < self.horizon:
                raise ValueError(
                    f"`validation_length` is {asked}; allowed: 0, or at least the horizon of {self.horizon} steps"
                )
            return asked
        longest = int(panel.lengths.max())
        length = max(self.horizon, min(14 * self.horizon, longest // 10))
        # A series too short to give up its end keeps it: early stopping is worth less than the newest data.
        return length if longest >= 2 * length + self.horizon + 1 else 0

    def _trainer_arguments(self, epochs: int, best: BestWeights) -> dict[str, Any]:
        asked = dict(self.trainer or {})
        callbacks = asked.pop("callbacks", None) or []
        callbacks = list(callbacks) if isinstance(callbacks, Sequence) else [callbacks]
        return {
            "max_epochs": epochs,
            "devices": 1,
            "logger": False,
            "enable_checkpointing": False,
            "enable_model_summary": False,
            "enable_progress_bar": self.verbose > 0,
            "num_sanity_val_steps": 0,
            "log_every_n_steps": 1,
            "callbacks": [best, *callbacks],
            **asked,
        }


def _parts(whole: int, part: int) -> int:
    """Give how many parts of a size hold the whole."""
    return -(-whole // part)


def _config(given, argument: str, known: Mapping[str, type], kind: type):
    """Give the config that a name stands for, or the config itself."""
    if isinstance(given, kind):
        return given
    if isinstance(given, str) and given in known:
        return known[given]()
    near = get_close_matches(str(given).lower(), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"`{argument}` is {given!r}; allowed: {', '.join(map(repr, known))}, or a config such as "
        f"{next(iter(known.values())).__name__}(){hint}"
    )


@contextmanager
def _random_state(seed: int) -> Iterator[None]:
    """Seed torch, numpy and Python inside, and give their states back afterwards."""
    outside = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed % 2**32)
        try:
            yield
        finally:
            random.setstate(outside[0])
            np.random.set_state(outside[1])


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """Let torch use so many threads inside; None leaves it as it is."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _interruptible(trainer: Trainer) -> Iterator[None]:
    """Let Ctrl-C through as what it is: lightning would exit the process with it, and leave the signal ignored."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as stop:
        if not trainer.interrupted:
            raise
        signal.signal(signal.SIGINT, handler)
        raise KeyboardInterrupt from stop


@contextmanager
def _quiet(verbose: int) -> Iterator[None]:
    """Keep lightning's hints to itself: they speak of choices that are made here on purpose."""
    if verbose > 1:
        yield
        return
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning.*")
            warnings.filterwarnings("ignore", message=".*does not have many workers.*")
            # Of no concern: in half precision torch computes this norm in another way.
            warnings.filterwarnings("ignore", message="Mismatch dtype between input and weight")
            yield
    finally:
        logger.setLevel(level)
