"""How the next trial of a search is chosen: at random, or by what earlier trials have shown.

Both are functions of the trials before, and draw by a seed of their own number: a search that was stopped goes on as if
it had not been.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

from forecast.experiment.regimes.space import Choices, Space, draw, goes_together, names_in
from forecast.forecaster import Forecaster

Sampler = Literal["random", "tpe"]
_AT_FIRST = 10  # trials of "tpe" that are drawn at random


class Tried(NamedTuple):
    """What an earlier trial has shown: parameters by full name, and the error."""

    values: Mapping[str, Any]
    error: float


def check_sampler(sampler: str) -> None:
    """Refuse an unknown sampler, and one whose library is not installed. Raises ValueError."""
    if sampler not in ("random", "tpe"):
        raise ValueError(f"`sampler` is {sampler!r}; allowed: 'random', 'tpe'")
    if sampler == "tpe" and find_spec("optuna") is None:
        raise ValueError("`sampler` is 'tpe', which needs optuna: pip install 'foretell[tuning]'; or take 'random'")


def learns(sampler: Sampler, number: int) -> bool:
    """Tell whether the parameters of a trial, counted from 0, depend on what earlier ones have shown."""
    return sampler == "tpe" and number >= _AT_FIRST


def propose(
    sampler: Sampler, space: Space, forecaster: Forecaster, seed: int, number: int, tried: Sequence[Tried]
) -> dict[str, Any]:
    """Give the parameters of a trial by full name.

    `random`: drawn, whatever was tried (Bergstra and Bengio 2012, "Random search for hyper-parameter optimization").
    `tpe`: ten so, then where good trials are denser than bad ones (Bergstra et al. 2011, "Algorithms for
    hyper-parameter optimization"), by optuna.
    """
    if sampler == "tpe" and len(tried) >= _AT_FIRST:
        values = _by_density(space, forecaster, seed, number, tried)
        if goes_together(forecaster, values):
            return values
    return draw(space, forecaster, seed, number)


def _by_density(space: Space, forecaster: Forecaster, seed: int, number: int, tried: Sequence[Tried]) -> dict[str, Any]:
    import optuna

    names = names_in(space, forecaster)
    distributions = {full: _distribution(space[name]) for name, full in names.items()}
    sampler = optuna.samplers.TPESampler(seed=seed + number, n_startup_trials=0)
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        study = optuna.create_study(sampler=sampler)
        for one in tried:
            study.add_trial(
                optuna.trial.create_trial(params=dict(one.values), distributions=distributions, value=one.error)
            )
        return dict(study.ask(distributions).params)
    finally:
        optuna.logging.set_verbosity(verbosity)


def _distribution(dimension: Any) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(dimension, Choices):
        return CategoricalDistribution(dimension.values)
    kind = IntDistribution if dimension.whole else FloatDistribution
    return kind(dimension.low, dimension.high, log=dimension.log)
