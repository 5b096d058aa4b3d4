"""The account of a regime: budgets of all forecasters, what was to agree and how far it did, trials and their curves.

Made of what the store holds, so that a report can be written anew without data or models.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from forecast.evaluation.ledger import Ledger
from forecast.experiment.numerals import percent
from forecast.experiment.regimes.contract import Regime, Settled
from forecast.experiment.regimes.curve import best_so_far, expected_best
from forecast.experiment.regimes.networks import BUDGETS, at_once, budgets, unequal
from forecast.experiment.regimes.options import spread
from forecast.experiment.regimes.trials import Outcome
from forecast.experiment.store import Store
from forecast.frame import Panel

Row = dict[str, Any]
BUDGET = ["dataset", "forecaster", *BUDGETS, "trials", "seeds", "fits", "fit_seconds"]
TRIAL = ["dataset", "forecaster", "trial", "status", "error", "seconds", "last", "failure"]
CURVE = ["dataset", "forecaster", "family", "trials", "error", "metric"]
_WORDS = {"parameters": "parameters", "fit_seconds": "seconds of a fit"}


def note_of(regime: Regime, settled: Settled, panel: Panel, beside: Collection[str] = ()) -> Row:
    """Give what is kept of a regime on a data set, as JSON can hold it; sizes are those of a fit on `panel`.

    Those `beside` the comparison need not be equal to the others.
    """
    found = budgets(settled.forecasters, panel)
    compared = {label: row for label, row in found.items() if label not in beside}
    return {
        "regime": regime.name,
        "sentence": settled.sentence,
        "unequal": unequal(compared, settled.frees),
        "at_once": at_once(settled.forecasters, found),
        "budgets": {label: {**row, "trials": settled.trials.get(label, 0)} for label, row in found.items()},
        **settled.facts,
    }


def sentences(note: Row, ledger: Ledger | None) -> list[str]:
    """Say what a regime has made equal, how far it was in the end, and what is not equal."""
    said = [note["sentence"]]
    if ledger is not None and "matched" in note:
        said += filter(None, [_achieved(ledger, note)])
    if note["unequal"]:
        said.append(f"Not equal: {'; '.join(note['unequal'])}.")
    if alike := note.get("at_once"):
        said.append(f"Nothing is fed back by {', '.join(alike)}: one patch holds the horizon, as with `direct`.")
    return said


def budget_table(notes: Mapping[str, Row], ledgers: Mapping[str, Ledger]) -> pd.DataFrame:
    """Give what each forecaster could spend and has spent: a row per data set and forecaster.

    Columns `dataset, forecaster`; `parameters, width, context_length, patch_length, steps, batch_size, learning_rate`
    of networks, as settled on the rows up to the first cutoff; `trials` of a search; `seeds`, `fits` and the median
    `fit_seconds` of what was done.
    """
    rows = []
    for dataset, note in notes.items():
        fits = (
            ledgers[dataset].fits if dataset in ledgers else pd.DataFrame(columns=["forecaster", "seed", "fit_seconds"])
        )
        for label, budget in note["budgets"].items():
            done = pd.DataFrame(fits[fits["forecaster"] == label])
            seconds = done["fit_seconds"].dropna()  # of those that a fallback stood in for there are none
            spent = {"seeds": done["seed"].nunique(), "fits": len(done), "fit_seconds": seconds.median()}
            rows.append({"dataset": dataset, "forecaster": label, **budget, **spent})
    table = pd.DataFrame(rows, columns=BUDGET)
    whole = dict.fromkeys([name for name in BUDGETS if name != "learning_rate"], "Int64")
    return table.astype({**whole, "learning_rate": "float64", "fit_seconds": "float64"})


def trial_table(store: Store, works: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Give all trials of searches, in their order, with a column for each parameter.

    `status` is done, failed or unfinished; `error` that by the metric of the search; `last` the last stamp of the rows
    that it was given; `failure` why it failed.
    """
    rows = [_trial(store, work) for work in works if work["kind"] == "trial"]
    searched = dict.fromkeys(name for row in rows for name in row if name not in TRIAL)
    return pd.DataFrame(rows, columns=[*TRIAL, *searched])


def tuning_curves(trials: pd.DataFrame, notes: Mapping[str, Row], families: Mapping[str, str]) -> pd.DataFrame:
    """Give the error of the best of 1, 2, ... trials of each forecaster, as `plot_tuning_curve` takes it.

    Expected, where trials were drawn at random; else that of the best so far. There is none before all trials are made.
    """
    curves = []
    for dataset, note in notes.items():
        curve = expected_best if note.get("sampler") == "random" else best_so_far
        here = pd.DataFrame(trials[trials["dataset"] == dataset])
        for label in here["forecaster"].unique():
            error = curve(np.array(here.loc[here["forecaster"] == label, "error"], dtype="float64"))
            told = {
                "dataset": dataset,
                "forecaster": label,
                "family": families.get(label, ""),
                "metric": note["metric"],
            }
            curves.append(pd.DataFrame({**told, "trials": np.arange(1, len(error) + 1), "error": error}))
    return pd.concat(curves, ignore_index=True).reindex(columns=CURVE) if curves else pd.DataFrame(columns=CURVE)


def _achieved(ledger: Ledger, note: Row) -> str:
    """Say how far what was matched agrees in the fits that were made; "" where they are as was said before them."""
    column, within = note["matched"]["column"], note["matched"]["within"]
    networks = [label for label, budget in note["budgets"].items() if budget.get("steps") is not None]
    found = ledger.fits[ledger.fits["forecaster"].isin(networks)].groupby("forecaster", sort=False)[column].median()
    apart = spread(found) if len(found) else 0.0
    if column == "parameters" and apart <= within:
        return ""
    each = ", ".join(f"{label} {value:,.3g}" for label, value in found.items())
    beyond = f", more than the {percent(within, '')} asked for" if apart > within else ""
    return f"In the fits that were made, {_WORDS[column]} are {percent(apart, '')} apart{beyond} (medians: {each})."


def _trial(store: Store, work: Mapping[str, Any]) -> Row:
    row = {"dataset": work["dataset"], "forecaster": work["forecaster"], "trial": work["number"] + 1}
    if store.is_done(work["key"]):
        found = Outcome.read(store.folder_of(work["key"]))
        told = {"error": found.error, "seconds": found.seconds, "last": found.last, "failure": ""}
        return {**row, "status": "done", **told, **found.values}
    error = store.read_error(work["key"])
    failure = " ".join(f"{error['type']}: {error['message']}".split()) if error else ""
    return {**row, "status": "failed" if error else "unfinished", "failure": failure}
