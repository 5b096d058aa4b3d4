"""What was not tested: true sentences, made of what was and was not done."""

from collections.abc import Mapping, Sequence

from forecast.auditing.certificate import Certificate
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import Standings
from forecast.evaluation.statistics.standings import FEW_SEEDS
from forecast.experiment.audits import LEFT_OUT
from forecast.experiment.levels import INTERVALS
from forecast.plots.extent import count


def untested(
    ledger: Ledger,
    found: Standings,
    audits: Mapping[str, Certificate | str],
    *,
    regime: str = "",
    contexts: bool = False,
    costs: bool = False,
) -> list[str]:
    """Give a sentence for each thing; `contexts` and `costs` tell whether these were varied and measured."""
    networks = set(ledger.fits.loc[ledger.fits["backbone"] != "", "forecaster"])
    return [
        *_of_data(found),
        *_of_levels(ledger.quantile_levels),
        *_of_seeds(ledger, networks),
        *_of_fits(ledger, networks),
        *_of_audits(ledger.forecasters, audits),
        *_of_networks(networks, regime, contexts, costs),
        "Other data, other horizons, other periods and other budgets of training than those of the protocol.",
    ]


def _of_data(found: Standings) -> list[str]:
    told = []
    if "series" not in found.over:
        told.append(f"Other series: {found.estimand.series} cannot tell; intervals do not cover them.")
    if "time" not in found.over:
        told.append(
            f"Another period: {count(found.estimand.cutoffs, 'cutoff')} cannot tell; intervals do not cover it."
        )
    return told


def _of_levels(levels: Sequence[float]) -> list[str]:
    low, high = INTERVALS["coverage_90"]
    if {low, high} <= set(levels):
        return []
    return [f"Whether 90 % intervals hold 90 %: the quantile levels reach from {min(levels):g} to {max(levels):g}."]


def _of_seeds(ledger: Ledger, networks: set[str]) -> list[str]:
    seeds = {name: len(ledger.of_forecaster(name)) for name in ledger.forecasters if name in networks}
    few = {name: number for name, number in seeds.items() if number < FEW_SEEDS}
    if not few:
        return []
    most, who = max(few.values()), "per network" if len(few) == len(seeds) else f"of {', '.join(few)}"
    return [f"The spread over seeds: {count(most, 'seed')} {who}, fewer than {FEW_SEEDS}."]


def _of_fits(ledger: Ledger, networks: set[str]) -> list[str]:
    once = [run for run in ledger.runs if len(set(run.fit.tolist())) == 1]
    if len(set(ledger.points.fold.tolist())) == 1 or len(once) < len(ledger.runs):
        return []
    return ["Fitting on other rows: every forecaster was fitted once for each seed, and its fit forecast all cutoffs."]


def _of_audits(names: Sequence[str], audits: Mapping[str, Certificate | str]) -> list[str]:
    if not audits:
        return ["Whether anything read the future: no forecaster was audited."]
    told = []
    missing = {name: audits.get(name, "not audited") for name in names}
    missing = {name: why for name, why in missing.items() if isinstance(why, str)}
    if missing:
        each = "; ".join(f"{name} ({why})" for name, why in missing.items())
        told.append(f"Whether these read the future: {each}.")
    if len(missing) < len(names):
        told.append(
            f"By the audit: probe {', '.join(LEFT_OUT)}, whether a fit is the same once saved and read by a fresh "
            "process (`forecast audit` asks it too); and a network that is trained for more than a few steps."
        )
    return told


def _of_networks(networks: set[str], regime: str, contexts: bool, costs: bool) -> list[str]:
    if not networks:
        return []
    told = []
    if regime in ("", "as_given"):
        told.append("Networks of equal size, equal cost or equal tuning: they were taken as given.")
    elif regime.startswith("matched"):
        told.append("Networks tuned alike, each to its best.")
    elif regime == "tuned":
        told.append("Networks of equal size or equal cost.")
    if not contexts:
        told.append("Other context lengths: each forecaster read as far back as it was told to.")
    if not costs:
        told.append("What a prediction costs as the history grows.")
    return told
