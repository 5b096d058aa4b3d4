"""What a comparison allows to say, in one sentence: who is ahead, by how much and how sure that is; or that nobody is.

One engine for experiments, for `forecast backtest`, and for the choice of `forecast predict --model best`. It reads the
paired intervals of `standings`, and names a leader only where each of the others is separated from it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.effects import DIRECT, FAMILIES, LATENT, REFERENCE
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import Standings, standings
from forecast.evaluation.statistics.standings import LEAST_BLOCKS, LEAST_SERIES
from forecast.experiment.numerals import percent
from forecast.plots.extent import count

Row = dict[str, Any]
BASELINE = "SeasonalNaive"
_NAMED = 2  # of several, so many by name


def judged(ledger: Ledger, left_out: Sequence[str] = ()) -> Standings:
    """Give how forecasters stand, without those left out: to seasonal naive, or where it is not there to the first.

    Seasonal naive stays as what the others are measured by, even if it is to be left out.
    """
    kept = [name for name in ledger.forecasters if name == BASELINE or name not in left_out] or ledger.forecasters
    ledger = ledger if len(kept) == len(ledger.forecasters) else ledger.take(list(kept))
    return standings(ledger, BASELINE if BASELINE in ledger.forecasters else ledger.forecasters[0])


def verdict(found: Standings, ledger: Ledger, dataset: str = "this data", regime: str = "") -> str:
    """Say who is ahead, and what families and decoders are to each other; or that it cannot be said.

    `ledger` tells how large the comparison was, and what is what. `regime` says what was made equal between networks.
    """
    said = [lead(found)]
    if defined(found):
        networks = _networks(ledger, found)
        said += [_families(found, networks, ledger), _decoders(found, networks), _covered(found)]
    return f"{_place(ledger, dataset, regime)} {'; '.join(filter(None, said))}."


def lead(found: Standings) -> str:
    """Say who is ahead of all others, or of whom that cannot be said; without a full stop."""
    names, skills = defined(found), _skills(found)
    if not names:
        return f"there is no verdict: {_reason(found)}"
    if len(names) == 1:
        return f"{_told(names[0], skills)} was compared with no other"
    first, rows = names[0], {row["opponent"]: row for row in _records(found.pairs) if row["forecaster"] == names[0]}
    cutoffs, needed = found.estimand.cutoffs, LEAST_BLOCKS * found.block
    if not found.over:
        few = f"too few cutoffs ({cutoffs}; {needed} are needed) and series ({found.estimand.series}; {LEAST_SERIES})"
        return f"there is no verdict: {few}; the lowest error is that of {_told(first, skills)}"
    sure = [name for name in names if name in skills and skills[name]["separated"] and skills[name]["skill"] > 0]
    alike = [name for name in names[1:] if not (rows[name]["separated"] or (name == BASELINE and first in sure))]
    known = percent(found.confidence, "").replace(".0", "")
    if alike:
        one = first if first in sure[:1] else _told(first, skills)
        pair = f"no detectable difference between {one} and {_told(alike[0], skills)}: the first has "
        said = f"{_beyond(sure, skills, known)}{pair}{_amount(rows[alike[0]], known)}{_nor(alike[1:])}"
    else:
        of = skills.get(first, {})
        skill = f" (skill {percent(of['skill'])}, {known} interval {_range(of)})" if of and first != BASELINE else ""
        said = f"{first}{skill} is ahead"
        if names[1] != BASELINE or not skill:
            said += f", with {_amount(rows[names[1]], known)} than the next, {_told(names[1], skills)}"
    if "time" in found.over:
        return said
    return f"there are too few cutoffs ({cutoffs}; {needed} are needed) to speak of another period; in this one {said}"


def defined(found: Standings) -> list[str]:
    """Give the forecasters whose error can be compared, best first."""
    return found.skill.loc[np.isfinite(found.skill["skill"]), "forecaster"].tolist()


def _leading(found: Standings) -> list[str]:
    """Give the first, and whom it is told with: one that it is not separated from, else the next."""
    names = defined(found)
    if len(names) < 2 or not found.over:
        return []
    apart = {row["opponent"]: row["separated"] for row in _records(found.pairs) if row["forecaster"] == names[0]}
    return [names[0], next((name for name in names[1:] if not apart[name]), names[1])]


def _place(ledger: Ledger, dataset: str, regime: str) -> str:
    points = ledger.points
    most = max(len(ledger.of_forecaster(name)) for name in ledger.forecasters)
    networks = bool(set(ledger.fits["backbone"]) - {""})
    how = regime.replace("_", " ").replace("matched", "of matched")
    facts = [
        f"{len(np.unique(points.series))} series",
        count(len(np.unique(points.fold)), "cutoff"),
        f"horizon {count(ledger.horizon, 'step')}",
        *([count(most, "seed") + " per network"] if networks or most > 1 else []),
        *([f"networks {how}"] if networks and how else []),
    ]
    return f"On {dataset} ({', '.join(facts)})"


def _families(found: Standings, networks: Mapping[str, tuple[str, str]], ledger: Ledger) -> str:
    """Say what the best networks of the two families are to each other."""
    latent, direct = (_best(found, networks, lambda kind, family=family: kind[0] == family) for family in FAMILIES)
    if latent is None or direct is None:
        absent = [family for family, name in ((LATENT, latent), (DIRECT, direct)) if name is None]
        barred = [family for family in absent if family in set(ledger.fits["family"])]
        told = [f"no {family} network {'was fit to be' if family in barred else 'was'} compared" for family in absent]
        return " and ".join(told) if barred else f"no {' and no '.join(absent)} network was compared"
    if {latent, direct} == set(_leading(found)):  # of whom all is said
        return f"{latent} and {direct} are the best of {LATENT} and of {DIRECT} networks"
    return f"of {LATENT} and {DIRECT} networks the best are {_pair(found, latent, direct)}"


def _decoders(found: Standings, networks: Mapping[str, tuple[str, str]]) -> str:
    """Say what the best networks with the direct decoder and with any other are to each other."""
    direct = _best(found, networks, lambda kind: kind[1] == REFERENCE)
    other = _best(found, networks, lambda kind: kind[1] != REFERENCE)
    if direct is None or other is None:
        return ""
    return (
        f"with the {REFERENCE} decoder and with another ({networks[other][1]}) the best are "
        f"{_pair(found, direct, other)}"
    )


def _pair(found: Standings, one: str, other: str) -> str:
    """Say what two forecasters are to each other, the better one first said to be it."""
    skills, order = _skills(found), defined(found)
    better, worse = sorted((one, other), key=order.index)
    named = f"{_told(one, skills)} and {_told(other, skills)}"
    if not found.over:
        return f"{named}, whose difference has no interval"
    row = next(row for row in _records(found.against(worse)) if row["forecaster"] == better)
    known = percent(found.confidence, "").replace(".0", "")
    if row["separated"]:
        return f"{named}: {better} is ahead, with {_amount(row, known)}"
    return f"{named}: no detectable difference, {better} has {_amount(row, known)}"


def _covered(found: Standings) -> str:
    """Say what the intervals are over, and what they are not."""
    if not found.over or len(found.skill) == 1:
        return ""
    held = "" if "series" in found.over else f", for {_these(found.estimand.series)} alone"
    held += "" if "time" in found.over else ", for this period alone"
    return f"all intervals are over {found.over}{held}"


def _these(series: int) -> str:
    return "this one series" if series == 1 else f"these {series} series"


def _best(found: Standings, networks: Mapping[str, tuple[str, str]], wanted: Any) -> str | None:
    return next((name for name in defined(found) if name in networks and wanted(networks[name])), None)


def _networks(ledger: Ledger, found: Standings) -> dict[str, tuple[str, str]]:
    """Give family and decoder of each network that was compared."""
    fits = ledger.fits[ledger.fits["forecaster"].isin(list(found.skill["forecaster"]))]
    rows = zip(fits["forecaster"], fits["family"], fits["decoder"], strict=True)
    return {name: (family, decoder) for name, family, decoder in rows if decoder or family in FAMILIES}


def _skills(found: Standings) -> dict[str, Row]:
    """Give skill and interval by name; nothing where they are not against seasonal naive."""
    rows = {row["forecaster"]: row for row in _records(found.skill)}
    return rows if BASELINE in rows else {}


def _told(name: str, skills: Mapping[str, Row]) -> str:
    return f"{name} ({percent(skills[name]['skill'])})" if name in skills else name


def _amount(row: Row, known: str) -> str:
    less = "less" if row["skill"] >= 0 else "more"
    return f"{percent(abs(row['skill']), '')} {less} error ({known} interval {_range(row)})"


def _range(row: Row) -> str:
    return f"{percent(row['low'])} to {percent(row['high'])}"


def _beyond(sure: Sequence[str], skills: Mapping[str, Row], known: str) -> str:
    """Say who is ahead of seasonal naive, with the skill of the best of them."""
    if not sure:
        return ""
    best, others = skills[sure[0]], sure[1:]
    told = f"{sure[0]} is ahead of {BASELINE} (skill {percent(best['skill'])}, {known} interval {_range(best)})"
    if others:
        who = " and ".join(others) if len(others) <= _NAMED else f"{len(others)} others"
        told += f", and so {'is' if len(others) == 1 else 'are'} {who}"
    return f"{told}; "


def _nor(others: Sequence[str]) -> str:
    """Name the others that the first is not separated from, the baseline among them."""
    if not others:
        return ""
    if len(others) <= _NAMED:
        return f", nor between the first and {' or '.join(others)}"
    among = f", {BASELINE} among them" if BASELINE in others else ""
    return f", nor between the first and {len(others)} others{among}"


def _reason(found: Standings) -> str:
    told = next(
        (note for note in found.notes if note.startswith("not reported: ")), "not reported: no error is defined"
    )
    return told.removeprefix("not reported: ").replace("the baseline", BASELINE)


def _records(table: pd.DataFrame) -> list[Row]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
