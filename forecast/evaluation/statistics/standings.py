"""How forecasters stand to each other: skill, differences and win rates, each with an interval over series and time."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from forecast.evaluation.averaging import Averaged, Pooled
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics.bootstrap import Resampled, two_way
from forecast.evaluation.statistics.design import errors_of, name_of, overlap, refit
from forecast.evaluation.statistics.errors import Errors, mean_over_series, skill_of
from forecast.evaluation.statistics.estimand import Estimand, page
from forecast.evaluation.statistics.resampling import checked_block
from forecast.params import check_positive, check_seed, is_probability

LEAST_BLOCKS = 5  # of folds, to say anything of other times
LEAST_SERIES = 5  # or clusters, to say anything of others: two or three that happen to agree look certain
FEW_SEEDS = 3


@dataclass(frozen=True, eq=False)
class Standings:
    """How forecasters stand to a baseline and to each other; printed with the estimand first.

    Attributes
    ----------
    estimand
        What the numbers are numbers of.
    skill
        One row per forecaster, best first: `forecaster, skill` (1 - exp of the mean over series of the log of the ratio
        of errors to the baseline)`, low, high, separated` (from the baseline)`, seeds, seed_sd` (of the skill of each
        seed alone, over seeds; NaN for one seed).
    pairs
        One row per forecaster and `opponent`: `skill, low, high` of the first against the second, `separated`, and its
        `win_rate, win_low, win_high`: the share of series in which its error is lower, a tie being half.

        An interval holds for its pair alone. `separated` holds for all pairs at once, in `skill` for all comparisons
        with the baseline: with the stated confidence none of those called so is in truth a tie.
    over
        What was resampled: `"series and time"`, `"series"`, `"time"`, or "" for nothing.
    block, resamples, confidence
        Consecutive folds drawn together, the number of resamples, and the level of the intervals.
    notes
        What the intervals do not cover, and what was left out. Where nothing could be resampled low and high are NaN
        and the first note says "not reported" and why.

    """

    estimand: Estimand
    skill: pd.DataFrame
    pairs: pd.DataFrame
    over: str
    block: int
    resamples: int
    confidence: float
    notes: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Give `skill`."""
        return self.skill

    def against(self, opponent: str) -> pd.DataFrame:
        """Give the rows of `pairs` in which others meet an opponent. Raises ValueError for one that is not there."""
        if opponent not in self.pairs["opponent"].tolist():
            raise ValueError(f"`opponent` {opponent!r} was not compared; there are {self.skill['forecaster'].tolist()}")
        return self.pairs.loc[self.pairs["opponent"] == opponent].reset_index(drop=True)

    def __str__(self) -> str:
        drawn = f"{self.resamples} resamples of {self.over}" if self.over else "no resamples"
        blocks = f", in blocks of {self.block} cutoffs" if "time" in self.over and self.block > 1 else ""
        method = f"intervals of {self.confidence:.0%}: {drawn}{blocks}"
        return page(self.estimand, self.skill, [method, *self.notes] if self.over else self.notes)


def standings(
    ledger: Ledger,
    baseline: str = "SeasonalNaive",
    metric: str | Averaged | Pooled = "mae",
    *,
    over: Literal["series and time", "series", "time"] = "series and time",
    clusters: Mapping[Hashable, Hashable] | None = None,
    block: int | None = None,
    resamples: int = 2000,
    confidence: float = 0.95,
    floor: float = 0.01,
    seed: int = 0,
    step: int = 0,
    paired_seeds: bool = False,
) -> Standings:
    """Say how forecasters stand to a baseline and to each other, and how sure that is.

    The comparison is made again for series and blocks of consecutive folds drawn with replacement, the same for all
    forecasters, and for seeds drawn for each: see `two_way` and `Resampled`. Below five blocks of folds time is not
    drawn, since nothing could be said of other times; below five series, or clusters, these are not. The result says
    so.

    Parameters
    ----------
    ledger, baseline, floor
        As for `skill`, which gives the same skill.
    metric
        The name of a metric that is an error, or a metric of your own whose loss is one.
    over
        What the intervals are to cover: other series like these, another time like this, or both.
    clusters
        Series -> the cluster it is drawn with, such as a region, where series are known to be related.
    block
        Consecutive folds drawn together, at least as many as overlap; None for these, or from 50 folds on the cube root
        of their number if that is more.
    resamples, seed
        How many resamples, and which.
    confidence
        Level of the intervals, and that at which forecasters are `separated`.
    step
        The step ahead whose errors are compared; 0 for the mean over all.
    paired_seeds
        Whether the same seeds are drawn for all forecasters that have as many: for networks that are alike but for a
        part, and so begin alike.

    Raises
    ------
    TypeError, ValueError: what `skill` raises; a metric that is no error; an argument that is not one of those allowed;
        a series without a cluster.

    """
    check_draws(resamples, confidence, seed)
    if over not in (allowed := ("series and time", "series", "time")):
        raise ValueError(f"`over` is {over!r}; allowed: {', '.join(map(repr, allowed))}")
    whole = errors_of(ledger, baseline, metric, floor, step)
    errors = whole.defined()
    _, series, folds = errors.values.shape
    group = _groups(errors.ids, clusters)
    block = checked_block(folds, overlap(ledger.points, step), block)
    estimable = {"series": len(set(group)) >= LEAST_SERIES, "time": folds >= LEAST_BLOCKS * block}
    drawn = [way for way in estimable if way in over and estimable[way]]
    notes = []
    if "series" in over and not estimable["series"]:
        number, what = len(set(group)), "series" if clusters is None else "clusters"
        needed = f"these {what} ({number}; {LEAST_SERIES} are needed)"
        notes.append(f"uncertainty over series not estimable; interval is conditional on {needed}")
    if "time" in over and not estimable["time"]:
        needed = f"{folds} cutoff{'s' * (folds != 1)}" + f", in blocks of {block}" * (block > 1)
        needed += f"; {LEAST_BLOCKS * block} are needed"
        notes.append(f"uncertainty over time not estimable; interval is conditional on this test period ({needed})")
    if not series:
        notes, drawn = ["not reported: for no series is the ratio to the baseline defined"], []
    elif not drawn:
        notes = [f"not reported: {'; '.join(notes)}"]
    logs, wins = two_way(
        errors,
        group=group if "series" in drawn else None,
        block=block if "time" in drawn else None,
        resamples=resamples if drawn else 0,
        seed=seed,
        paired_seeds=paired_seeds,
    )
    skill, pairs = _tables(errors, logs, wins, confidence)
    return Standings(
        estimand=Estimand(
            f"difference in {name_of(metric)}{f' at step {step}' if step else ''}", series, folds, refit(ledger)
        ),
        skill=skill,
        pairs=pairs,
        over=" and ".join(drawn),
        block=block,
        resamples=resamples if drawn else 0,
        confidence=confidence,
        notes=(*notes, *_left_out(whole, errors, len(ledger.points)), *_few_seeds(errors, ledger)),
    )


def check_draws(resamples: int, confidence: float, seed: int) -> None:
    """Refuse what draws no resamples, or gives no interval, naming the first argument.

    Raises TypeError and ValueError.
    """
    check_positive(resamples=resamples)
    check_seed(seed)
    if not is_probability(confidence):
        raise ValueError(f"`confidence` is {confidence!r}; allowed: a probability inside (0, 1), such as 0.95")


def _groups(ids: Sequence[Hashable], clusters: Mapping[Hashable, Hashable] | None) -> np.ndarray:
    """Number the clusters of series, (S,), each series being one where none are given."""
    if clusters is None:
        return np.arange(len(ids))
    if not isinstance(clusters, Mapping | pd.Series):
        raise TypeError(f"`clusters` is a {type(clusters).__name__}; allowed: a mapping from series to clusters")
    numbers: dict[Hashable, int] = {}
    for name in ids:
        if name not in clusters:
            raise ValueError(f"`clusters` lacks series {name!r}; give one for each series of the ledger")
        if not pd.api.types.is_hashable(cluster := clusters[name]) or cluster != cluster or cluster is None:
            raise ValueError(f"`clusters` has {cluster!r} for series {name!r}; allowed: a name or number of a cluster")
        numbers.setdefault(cluster, len(numbers))
    return np.array([numbers[clusters[name]] for name in ids], dtype="int64")


def _tables(errors: Errors, logs: Resampled, wins: Resampled, confidence: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give `skill` and `pairs`."""
    differences = logs.apply(lambda mean: mean[:, :, None] - mean[:, None, :])  # (M, M)
    low, high = differences.interval(confidence)
    cells = {
        "skill": skill_of(differences.estimate),
        "low": skill_of(high),
        "high": skill_of(low),
        "separated": differences.apart(confidence),
    }
    skill = pd.DataFrame(
        {"forecaster": errors.names}
        | {name: cell[:, errors.baseline] for name, cell in cells.items()}
        | {"separated": logs.apply(lambda mean: mean - mean[:, [errors.baseline]]).apart(confidence)}
        | {"seeds": errors.seeds, "seed_sd": _seed_spread(errors)}
    )
    win_low, win_high = wins.interval(confidence)
    cells |= {"win_rate": wins.estimate, "win_low": np.maximum(win_low, 0), "win_high": np.minimum(win_high, 1)}
    one, other = np.nonzero(~np.eye(len(errors.names), dtype=bool))
    names = np.array(errors.names, dtype=object)
    pairs = pd.DataFrame(
        {"forecaster": names[one], "opponent": names[other]} | {name: cell[one, other] for name, cell in cells.items()}
    )
    return skill.sort_values("skill", ascending=False, kind="stable", ignore_index=True), pairs


def _seed_spread(errors: Errors) -> list[float]:
    """Give the standard deviation over seeds of the skill of each alone, NaN for one seed: a number per forecaster."""
    logs = errors.logs(errors.of_runs()[0], errors.of_forecasters()[0, errors.baseline])  # (R, S)
    skills = skill_of(mean_over_series(logs[None], np.ones((1, logs.shape[1])))[0])  # (R,)
    return [float(of.std(ddof=1)) if len(of) > 1 else np.nan for of in errors.by_forecaster(skills)]


def _left_out(whole: Errors, errors: Errors, cells: int) -> Iterator[str]:
    """Say what is left out for all, and what is put at the floor."""
    if series := whole.values.shape[1] - errors.values.shape[1]:
        yield f"{series} series left out, where the ratio to the baseline is not defined"
    if missing := cells - int(whole.present.sum()):
        yield f"{missing} of {cells} cells (a series at a cutoff) left out, where an error is not defined"
    average = errors.of_forecasters()[0]
    if clipped := int((errors.ratios(average, average[errors.baseline]) < errors.floor).sum()):
        yield f"{clipped} ratios to the baseline below {errors.floor:g} count as {errors.floor:g}"


def _few_seeds(errors: Errors, ledger: Ledger) -> Iterator[str]:
    """Say which networks have too few seeds to tell their spread."""
    networks = set(ledger.fits.loc[ledger.fits["backbone"] != "", "forecaster"])
    counts = {name: seeds for name, seeds in zip(errors.names, errors.seeds, strict=True) if name in networks}
    if alone := [name for name, seeds in counts.items() if seeds == 1]:
        them = "each network" if len(alone) == len(counts) > 1 else ", ".join(alone)
        yield f"one seed of {them}: what another seed would change is not in the interval"
    if few := [f"{name} ({seeds})" for name, seeds in counts.items() if 1 < seeds < FEW_SEEDS]:
        same = len(few) == len(counts) > 1 and len(set(counts.values())) == 1
        yield f"fewer than {FEW_SEEDS} seeds: {f'{max(counts.values())} of each network' if same else ', '.join(few)}"
