"""NeuralForecaster: any backbone under any decoder as a fit/predict forecaster, trained by Lightning."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch

from forecast.borrowed import computing, seeded, switches
from forecast.encoding import Encoding
from forecast.forecaster import DECILES, Forecast, Forecaster, Origins, mean_of
from forecast.frame import Panel, as_panel
from forecast.frame.features import feature_names
from forecast.history import last_values
from forecast.judging import week_of
from forecast.nn import BACKBONES, DECODERS, Backbone, Decoder, ForecastNetwork, Recipe, Units
from forecast.nn.members import together
from forecast.nn.network import LAST
from forecast.params import check_kind, check_seed
from forecast.shape import Rows, Transform, backbone_of, config_of, floor_of, lengths_of
from forecast.sizes import PRESETS, Effort, Preset, member_seeds, steps_by_rule
from forecast.streaming import Stream
from forecast.training import Training
from forecast.warm_start import check_alike, take_weights
from forecast.windows import groups_before, windows_before

_PREDICTION_BATCH = 256  # windows: as much as a processor keeps near


class Outline(NamedTuple):
    """How large a network is: trained parameters, the values that it reads, and takes for one token; how many steps it
    is trained for; how wide it is.
    """

    parameters: int
    context_length: int
    patch_length: int
    steps: int
    width: int


class NeuralForecaster(Forecaster):
    """A network trained on all series of a frame.

    Parameters
    ----------
    backbone: a name of `forecast.nn.BACKBONES`, such as `"lstm"`, `"tcn"`, `"transformer"`, or a config such as
        `LSTM(width=64)`. By its name it is 128 wide for more than 200,000 values, and else as wide as its config says.
    horizon: steps to forecast.
    decoder: a name of `forecast.nn.DECODERS`, or a config such as `Direct(dropout=0.2)`.
    preset: how much is spent where `training` does not say it: `"fast"` for a third of the steps of `"balanced"`,
        `"best"` for three networks of different seeds, whose forecasts are averaged.
    context_length: values that the network reads; None: 30 seasons, at most 720 values, at most half of the longest
        series; `"auto"`: an eighth to twice as many, the longest context by which a linear map in closed form forecasts
        nearly as well as by the best of them, before the rows of validation; it takes seconds. Rounded up to whole
        patches.
    patch_length: values that make one token; None: about a fifteenth of the context, a whole part of a season or whole
        seasons.
    season_length: None for that of the calendar.
    recipe: how values are scaled and from where forecasts are counted, the same for all backbones.
    transform: `"log"` to read and forecast logarithms, for positive series whose swings grow with their level; values
        below the smallest positive one of the fit are read as that. `"auto"`: logarithms where all values before the
        rows of validation are above 0 and a linear map in closed form forecasts clearly better by them. None for values
        as they are.
    nonnegative: whether no forecast is below 0, as for counts.
    graph: which series read which, for a backbone that reads across series, such as `"graph_transformer"`: a frame with
        two columns of ids, or a list of pairs of ids, the series that reads before the one that is read. Where two read
        each other, it holds two pairs; each reads itself anyway. None: all read all, or as the backbone says itself.
    calendar: what of the calendar is read at each step, past and ahead: names such as `("hour", "weekday")`, "auto" for
        what changes at the frequency of the data, `"holidays:DE"` for the holidays of a country; None for none. The
        place in the season, and in weeks that repeat themselves, is always read.
    quantile_levels: rising numbers inside (0, 1), 0.5 among them.
    training: how the network is trained.
    seed: of weights, windows and dropout; the global random state is given back as it was.
    trainer: arguments passed on to lightning's `Trainer`: `callbacks`, `logger`, `accelerator`, `precision`, ... With
        `devices`, `num_nodes` and a `strategy` (`"ddp"`, `"ddp_spawn"`, `"ddp_fork"`, `"ray"`) several processes share
        every batch and make the steps of one; under `"ddp"` and torchrun each of them has the fitted forecaster, else
        the one that called `fit`. All read the same frame, and each that is asked forecasts all series.
    verbose: 0 for silence, 1 for one progress bar over all steps, 2 for lightning's messages too.

    `fit` takes two options more:

    checkpoint: a folder for the state of the fit, written after every validation. The same call after an interruption
        goes on from it, and gives the weights of a fit that was never stopped, bit for bit on the same processor; a
        state of other data or arguments is refused, and it is removed when the fit is finished. `trainer` and
        `verbose` may change; callbacks and loggers of one's own begin anew.
    continue_from: a fitted forecaster whose weights to start from instead of random ones, also this one itself; what it
        reads and forecasts has to be the same. Otherwise every fit starts anew.

    Covariates with a role are read by every backbone under every decoder: what is past and what is known beside the
    values, what is known ahead beside the decoder at the step it is for. A category that was not there at the fit is
    read as unknown, with a warning. A recursive decoder that goes beyond a patch does not know past covariates there.

    A backbone that reads across series forecasts the series that it was fitted on, each from what all of them show up
    to the cutoff, and refuses others (FrameError). A series of the fit that a frame does not hold reads as one whose
    values are all missing.

    Raises
    ------
    FrameError: at `fit`, the frame may not enter, or its series are too short.
    TypeError, ValueError: at `fit`, an argument that is not allowed, or does not go with another or with the data; a
        `checkpoint` or `continue_from` of another fit; processes that fit different things.
    ModuleNotFoundError: at `fit`, holidays without the extra `calendar`, Ray without the extra `ray`.

    """

    reads_covariates = True
    validates = True
    configs = MappingProxyType({"backbone": BACKBONES, "decoder": DECODERS})

    def __init__(
        self,
        backbone: str | Backbone,
        horizon: int,
        *,
        decoder: str | Decoder = "direct",
        preset: Preset = "balanced",
        context_length: int | Literal["auto"] | None = None,
        patch_length: int | None = None,
        season_length: int | None = None,
        recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
        transform: Transform | None = "auto",
        nonnegative: bool = False,
        graph: pd.DataFrame | Sequence[tuple[Any, Any]] | None = None,
        calendar: Sequence[str] | str | None = None,
        quantile_levels: Sequence[float] = DECILES,
        training: Training = Training(),  # noqa: B008 (frozen)
        seed: int = 0,
        trainer: Mapping[str, Any] | None = None,
        verbose: int = 0,
    ):
        self.backbone = backbone
        self.horizon = horizon
        self.decoder = decoder
        self.preset = preset
        self.context_length = context_length
        self.patch_length = patch_length
        self.season_length = season_length
        self.recipe = recipe
        self.transform = transform
        self.nonnegative = nonnegative
        self.graph = graph
        self.calendar = calendar
        self.quantile_levels = quantile_levels
        self.training = training
        self.seed = seed
        self.trainer = trainer
        self.verbose = verbose

    @property
    def family(self) -> str:  # type: ignore[override]
        """Whether the backbone carries a latent state or predicts directly."""
        return config_of(self.backbone, "backbone", BACKBONES, Backbone).family

    def stream(self, history: pd.DataFrame | Panel | None = None) -> Stream:
        """Give a stream that goes on from a history, at a cost per new value that does not grow with it.

        Parameters
        ----------
        history: all that is known of the series, as for `predict`; None for the frame of `fit`.

        Raises
        ------
        NotFittedError: `fit` was not called.
        FrameError: the history may not enter, or a series has no value.
        ValueError: a decoder that reads more than a stream carries; otherwise as `predict`.

        """
        panel = self.panel_of(history)
        decoder = self.decoder_
        if not decoder.streams:
            able = [name for name, kind in DECODERS.items() if kind.streams]
            raise ValueError(
                f"`decoder` is {type(decoder).__name__}, which reads all states before an origin, and a stream carries "
                f"only the newest; decoders that stream: {', '.join(map(repr, able))}. Use predict, or fit with one"
            )
        # A copy: when this forecaster is fitted again, the stream goes on as it began.
        return Stream.begin(copy(self), panel)

    def export(self, path: str | Path, format: Literal["onnx", "torch"] = "onnx") -> None:
        """Write the network as a program for other runtimes; see `forecast.export.export`."""
        from forecast.export import export

        export(self, path, format)

    def learning_curve(self) -> pd.DataFrame:
        """Give the losses of the fit, in scaled units: columns `step, train_loss, validation_loss`.

        A row for each look at the validation windows (NaN where there are none), with the mean training loss since the
        row before; of several networks that of the first.

        Raises
        ------
        NotFittedError: `fit` was not called.

        """
        self._fitted()
        curve = pd.DataFrame(self.losses_, columns=["step", "train_loss", "validation_loss"])
        return curve.astype({"step": "int64"})

    def holding_back(self, validation: int | None, embargo: int) -> "NeuralForecaster":
        """Give one, not fitted, with other `validation_length` and `embargo` of its training; see `Forecaster`."""
        asked = {} if validation is None else {"validation_length": validation}
        given: dict[str, Any] = self.get_params(deep=False)
        given["training"] = replace(self.training, embargo=embargo, **asked)
        return type(self)(**given)

    def outline(self, frame: pd.DataFrame | Panel, **door) -> Outline:
        """Give how large the network of a fit on a frame would be; nothing is trained, and no weight is drawn.

        Raises as `fit` does, before it trains.
        """
        fresh = copy(self)
        fresh._take_shape(fresh._rows(as_panel(frame, **door)))
        fresh.floor_ = None  # of no effect on the size
        with seeded(0), computing(None), torch.device("meta"):  # shapes without numbers
            parameters = sum(parameter.numel() for parameter in fresh._network().parameters())
        return Outline(parameters, fresh.context_length_, fresh.patch_length_, fresh.steps_, fresh.backbone_.width)

    def _fit(
        self, panel: Panel, *, checkpoint: str | Path | None = None, continue_from: "NeuralForecaster | None" = None
    ) -> None:
        from forecast.fitting import Fitting  # and with it lightning, which takes seconds and a forecast does without

        check_seed(self.seed)
        rows = self._rows(panel)
        self._take_shape(rows)
        sizes = self.season_length_, self.horizon, self.context_length_
        self.floor_ = floor_of(rows, self.transform, *sizes)
        weights = None
        members = self._effort().members
        if continue_from is not None:
            if members > 1:
                raise ValueError(
                    f"`continue_from` is given, and `preset` {self.preset!r} trains {members} networks; allowed with "
                    "it: 'fast', 'balanced'"
                )
            check_alike(self, continue_from)
            self.encoding_ = continue_from.encoding_  # in the units in which the weights learned to read
            self.floor_ = continue_from.floor_
            weights = partial(take_weights, earlier=continue_from.network_)
        fitting = Fitting(self, rows)
        trained = []
        for member, seed in enumerate(member_seeds(self.seed, members)):
            label = type(self).__name__ + (f" {member + 1} of {members}" if members > 1 else "")
            folder = checkpoint if checkpoint is None or members == 1 else Path(checkpoint) / f"member-{member + 1}"
            trained.append(fitting.train(seed, label, self._member, weights, folder))
        fitting.done()
        self.network_ = together([one.network for one in trained])
        fitting.moderate(self.network_)
        validated = [one.validation_loss for one in trained if one.validation_loss is not None]
        self.validation_loss_ = sum(validated) / len(validated) if validated else None
        self.losses_ = trained[0].losses
        self.parameters_ = sum(p.numel() for p in self.network_.parameters())

    def _forecast(self, panel: Panel, origins: Origins) -> Forecast:
        return self._forecast_steps(panel, origins, self.horizon)

    def _forecast_further(self, panel: Panel, origins: Origins, horizon: int) -> Forecast:
        if not self.decoder_.goes_on or self.horizon < self.patch_length_:
            able = [name for name, kind in DECODERS.items() if kind.goes_on]
            raise ValueError(
                f"`horizon` is {horizon}; this {type(self).__name__} was fitted to forecast {self.horizon} steps. "
                f"Further go those with a decoder that feeds its forecasts back, {', '.join(map(repr, able))}, fitted "
                f"with a horizon of a patch ({self.patch_length_} steps here) or more: fit again with `horizon` "
                f"{horizon}, or with such a decoder"
            )
        return self._forecast_steps(panel, origins, horizon)

    def _forecast_steps(self, panel: Panel, origins: Origins, horizon: int) -> Forecast:
        sizes = self.context_length_, _PREDICTION_BATCH, self.encoding_, horizon
        if self.backbone_.across_series:
            parts = groups_before(panel, origins, self.panel_.ids, *sizes)
        else:
            parts = windows_before(panel, origins, *sizes)
        quantiles = np.empty((len(origins), horizon, len(self.quantile_levels)), dtype="float32")
        silent = np.zeros(len(origins), dtype=bool)
        with torch.inference_mode(), computing(self.training.threads):
            for part in parts:
                forecast = self.network_(part.values, part.cutoffs, LAST, part.covariates, horizon)
                quantiles[part.origins] = forecast.squeeze(1)[part.rows].numpy()
                silent[part.origins] = ~part.values[part.rows].isfinite().any(dim=1).numpy()
        if silent.any():  # a gap as long as the context: the value before it goes on
            quantiles[silent] = last_values(panel, origins.take(silent))[:, None, None]
        return Forecast(quantiles, mean_of(quantiles, self.quantile_levels))

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        weights = state.pop("network_").state_dict()
        return state | {f"weights.{name}": weight.numpy() for name, weight in weights.items()}

    def _restore(self, state: Mapping[str, Any]) -> None:
        prefix = "weights."
        weights = {n.removeprefix(prefix): torch.from_numpy(w) for n, w in state.items() if n.startswith(prefix)}
        super()._restore({name: value for name, value in state.items() if not name.startswith(prefix)})
        with seeded(0), computing(None), switches():  # the weights drawn here are replaced at once
            self.network_ = self._network().eval()
            self.network_.load_state_dict(weights)

    def _rows(self, panel: Panel) -> Rows:
        check_kind(Recipe, "a Recipe", recipe=self.recipe)
        check_kind(Training, "a Training", training=self.training)
        check_kind(bool, "True or False", nonnegative=self.nonnegative)
        return Rows.of(panel, self.horizon, self.training.validation_length, self.training.embargo)

    def _take_shape(self, rows: Rows) -> None:
        """Take from the rows of a fit all that a network is built from, but for the units of its values."""
        panel = rows.panel
        self.backbone_ = backbone_of(self.backbone, self.graph, panel)
        self.decoder_ = config_of(self.decoder, "decoder", DECODERS, Decoder)
        self.season_length_ = self.season_length or panel.calendar.season_length
        asked = self.context_length, self.patch_length
        self.patch_length_, self.context_length_ = lengths_of(rows, self.season_length_, self.horizon, *asked)
        self.week_length_ = week_of(rows.training(), self.season_length_, self.context_length_)
        self.steps_ = self.training.steps or steps_by_rule(panel, self._effort().steps)
        features = feature_names(panel.calendar, self.calendar) if self.calendar else ()
        self.encoding_ = Encoding.of(panel, features, rows.last_to_train)

    def _network(self) -> ForecastNetwork:
        """Give the network with all its members."""
        return together([self._member() for _ in range(self._effort().members)])

    def _member(self) -> ForecastNetwork:
        return ForecastNetwork(
            self.backbone_,
            self.decoder_,
            horizon=self.horizon,
            quantile_levels=self.quantile_levels,
            patch_length=self.patch_length_,
            context_length=self.context_length_,
            season_length=self.season_length_,
            week_length=self.week_length_,
            layout=self.encoding_ and self.encoding_.layout(),
            recipe=self.recipe,
            units=Units(self.floor_, self.nonnegative),
        )

    def _effort(self) -> Effort:
        if self.preset not in PRESETS:
            raise ValueError(f"`preset` is {self.preset!r}; allowed: {', '.join(map(repr, PRESETS))}")
        return PRESETS[self.preset]
