"""Models by name, compared on the data at hand: an honest choice, which says when it cannot tell them apart."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from forecast import baselines
from forecast.evaluation import Ledger, Plan, backtest, score, skill
from forecast.experiment.arguments import find_class
from forecast.experiment.faults import ConfigError, nearest
from forecast.experiment.verdict import BASELINE, judged, lead
from forecast.experiment.wording import as_options
from forecast.forecaster import DECILES, Forecaster
from forecast.frame import Panel
from forecast.params import takes

CANDIDATES = ("SeasonalNaive", "NLinear", "lstm", "tcn", "transformer")  # of `best`, from simple to large
_RULES = ("Naive", "SeasonalNaive", "Drift", "WindowAverage", "Theta", "NLinear")
_FOLDS = 5  # cutoffs of the comparison, where the data hold as many; a lead at all of them is no chance of 1 in 16
_LEAST_HISTORY = 8


@dataclass(frozen=True)
class Comparison:
    """What a backtest of several models found.

    Attributes
    ----------
    ledger: of those that could be fitted.
    scores: one row per model, best first: `model, skill, mase, wql, mae, parameters, fit_seconds`; `mae` in the
        units of the data, the others without any.
    verdict: who is ahead, and how sure that is, in a sentence.
    failed: model -> why it could not be fitted.

    """

    ledger: Ledger
    scores: pd.DataFrame
    verdict: str
    failed: Mapping[str, str]


def known_as(name: str) -> str:
    """Give a model's own name, however it is spelled: of a rule, a network, or a class as `package.module:Class`.

    Raises ConfigError for an unknown name.
    """
    if ":" in name:
        return name
    rules = {_bare(rule): rule for rule in _RULES}
    if _bare(name) in rules:
        return rules[_bare(name)]
    from forecast.nn import BACKBONES  # torch comes with it, and a rule does without

    networks = {_bare(backbone): backbone for backbone in BACKBONES}
    if _bare(name) not in networks:
        raise ConfigError(
            f"error: `--model` {name!r} is no folder of a saved forecaster, and no model of that name is known; "
            f"{nearest(name, ['best', *_RULES, *BACKBONES])}known: best, {', '.join(_RULES)}, {', '.join(BACKBONES)}, "
            "or a class of your own as package.module:Class"
        )
    return networks[_bare(name)]


def config_of(name: str, *, steps: int | None = None, season: int | None = None) -> dict[str, Any]:
    """Give what the config of an experiment says of a model by its own name; `steps` are of training."""
    if ":" in name:
        return {"type": name}
    season_length = {} if season is None else {"season_length": season}
    if name in _RULES:
        return {"type": name, **season_length}
    training = {} if steps is None else {"training": {"steps": steps}}
    return {"type": "NeuralForecaster", "backbone": name, **season_length, **training}


def model_named(
    name: str, horizon: int, *, levels: Sequence[float] = (), seed: int = 0, steps: int | None = None
) -> Forecaster:
    """Give a forecaster, not fitted: a rule or network by name, however spelled, or a class as `package.module:Class`.

    It has the deciles and `levels` as quantile levels; `seed` and `steps` of training are those of a network. Raises
    ConfigError for an unknown name.
    """
    quantile_levels, name = tuple(sorted({*DECILES, *levels})), known_as(name)
    if ":" in name:
        try:
            return find_class(name, (), lambda _: Forecaster, Forecaster)(
                horizon=horizon, quantile_levels=quantile_levels
            )
        except (TypeError, ValueError) as error:
            raise ConfigError(f"error: `--model` {name!r}: {error}") from error
    if name in _RULES:
        return getattr(baselines, name)(horizon, quantile_levels=quantile_levels)
    from forecast.neural import NeuralForecaster
    from forecast.training import Training

    training = Training() if steps is None else Training(steps=steps)
    return NeuralForecaster(name, horizon, quantile_levels=quantile_levels, training=training, seed=seed)


def comparison_plan(panel: Panel, horizon: int) -> Plan | None:
    """Give the plan by which `best` compares: one fit each, at most five cutoffs; None where the data hold none.

    Cutoffs lie a horizon apart, or closer where the data are short, and leave before the first of them at least a
    horizon, a season and eight values.
    """
    length = int(panel.last.max() - panel.first.min()) + 1
    room = length - horizon - max(horizon, panel.calendar.season_length + 1, _LEAST_HISTORY)
    stride = max(1, min(horizon, room // (_FOLDS - 1)))
    for folds in range(min(_FOLDS, 1 + room // stride), 0, -1):
        plan = Plan(horizon=horizon, n_folds=folds, stride=stride, refit="never")
        try:
            plan.folds(panel)
        except ValueError:  # no series is under way at the earliest of them
            continue
        return plan
    return None


def compare(
    panel: Panel, models: Mapping[str, Forecaster], plan: Plan, say: Callable[[str], object], *, seed: int = 0
) -> Comparison:
    """Backtest models one by one; one that fails is told and left out.

    Raises ConfigError where the plan does not fit the data, or every model fails.
    """
    try:
        plan.folds(panel)
    except ValueError as error:
        raise ConfigError(f"error: {error}") from error
    ledgers, failed = [], {}
    for number, (label, model) in enumerate(models.items(), start=1):
        try:
            ledgers.append(backtest(panel, {label: model}, plan, seeds=[seed if seed_of(model) else 0]))
        except Exception as error:  # whatever a model, of the user's own perhaps, raises: the others go on
            kind = f"{type(error).__name__}: " if type(error).__module__ == "builtins" else ""
            failed[label] = f"{kind}{as_options(str(error))}"
        told = f"failed: {failed[label]}" if label in failed else "done"
        say(f"[{number}/{len(models)}] {label}: {told}")
    if not ledgers:
        raise ConfigError(f"error: every model failed; {next(iter(failed))}: {next(iter(failed.values()))}")
    ledger = Ledger.concat(ledgers)
    scores = _scores(ledger)
    return Comparison(ledger, scores, lead(judged(ledger)), failed)


def seed_of(model: Forecaster) -> bool:
    """Whether a model is drawn by chance, so that it takes a seed."""
    return takes(model, "seed")


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _scores(ledger: Ledger) -> pd.DataFrame:
    """Give one row per model, by skill where it is defined, else by MAE."""
    table = score(ledger, ["mase", "wql", "mae"]).rename(columns={"forecaster": "model"})
    fits = ledger.fits.groupby("forecaster", sort=False)[["parameters", "fit_seconds"]].agg("max")
    table = table.join(fits, on="model")
    table["skill"] = np.nan
    if BASELINE in ledger.forecasters:
        table["skill"] = skill(ledger, BASELINE).set_index("forecaster")["skill"].reindex(table["model"]).to_numpy()
    table["lead"] = -table["skill"]
    table = table.sort_values(by=["lead", "mae"], kind="stable", na_position="last")
    return table.loc[:, ["model", "skill", "mase", "wql", "mae", "parameters", "fit_seconds"]].reset_index(drop=True)
