"""What is left of an experiment for people: tables, ledgers, plots and the report, all from what its store holds.

- summary.csv: one row per dataset, horizon and forecaster
- comparison.csv, pairs.csv, win_rates.csv: skill with its interval; each forecaster against each other one
- cells.csv: one row per cell: done, failed (with its traceback) or unfinished
- audits.csv, audits/: what each audit found, and its certificate
- published.csv: our scores beside figures of others, where these are quoted
- budgets.csv: what each forecaster could spend and has spent; one row per dataset and forecaster
- trials.csv, tuning.csv: of a search, each trial, and the error of the best of so many
- contexts.csv, costs.csv: skill by context length, and cost by history, where they were asked for
- ablations.csv: by how much the error changes with each exchange of a part, with intervals, where it was asked for
- leaders.csv, data_set_pairs.csv, contrasts.csv, plots/data_sets_together/: what several data sets say, if there are
- ledger/<dataset>/: every forecast with what came true, unless the config leaves it out
- plots/<dataset>/: the plots of the report, as PNG
- report.html: the one page to read
- and what `setting` holds
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from forecast.auditing.certificate import Certificate
from forecast.evaluation.ledger import Ledger
from forecast.evaluation.statistics import Standings
from forecast.experiment.ablations import ABLATIONS, ablation_table, labels_in
from forecast.experiment.audits import audits_in, failed_in, write_audits
from forecast.experiment.cells import CELLS, Row, cell_rows, failure_of, joined_ledger, left_out
from forecast.experiment.grid import CONTRASTS, contrasts_of, grid_of
from forecast.experiment.published import KEYS, beside
from forecast.experiment.regimes.account import budget_table, sentences, trial_table, tuning_curves
from forecast.experiment.setting import facts_of, read_folds, read_history, write_table
from forecast.experiment.store import Store
from forecast.experiment.summary import BASELINE, SUMMARY, metrics_of, summary_of
from forecast.experiment.sweeps import CONTEXTS, costs_in, skill_by_context
from forecast.experiment.tables import by_dataset, joined, standing_tables


@dataclass(frozen=True)
class Results:
    """The results of an experiment, as its folder holds them.

    Attributes
    ----------
    folder: where they are.
    summary: one row per dataset, horizon and forecaster: scores (`score`, and `skill` against SeasonalNaive), how many
        seeds they are averaged over, seconds spent per seed on all fits and all predictions, trained parameters.
        Empty scores where no seed of a forecaster got through all folds.
    cells: one row per cell: `status` is done, failed or unfinished; those of a sweep have a `context_length`.
    ledgers: every forecast, by data set; of forecasters and seeds that got through all folds.
    verdicts: one sentence for each data set.
    standings: how the forecasters stand whose audit did not fail, with intervals, by data set; without ablations.
    audits: by data set and forecaster the certificate, or why there is none.
    published: our scores and, below them, figures of others, as they were given; `ours` tells which is which.
    regimes: what was made equal between networks, how far, and what was not, by data set.
    budgets: one row per dataset and forecaster: size, context, steps, batch, trials, seeds, seconds of a fit.
    trials: one row per trial of a search; none where the regime makes none.
    contexts: skill by context length, one row per dataset, forecaster and length; none without a sweep.
    costs: cost by history, as of `forecast.insight.cost`, with the data set; none where it was not asked for.
    ablations: one row per dataset, ablation and forecaster: `change` of its error, with its interval; none without any.
    contrasts: `dataset, effect, log` of family and decoder; none where backbones and decoders are not crossed.

    """

    folder: Path
    summary: pd.DataFrame
    cells: pd.DataFrame
    ledgers: Mapping[str, Ledger]
    verdicts: Mapping[str, str]
    standings: Mapping[str, Standings]
    audits: Mapping[str, Mapping[str, Certificate | str]]
    published: pd.DataFrame
    regimes: Mapping[str, str]
    budgets: pd.DataFrame
    trials: pd.DataFrame
    contexts: pd.DataFrame
    costs: pd.DataFrame
    ablations: pd.DataFrame
    contrasts: pd.DataFrame

    @property
    def ledger(self) -> Ledger:
        """The ledger of an experiment on one data set. Raises ValueError where there are more, or none."""
        if len(self.ledgers) != 1:
            raise ValueError(f"there are ledgers of {list(self.ledgers)}; take one of `ledgers`")
        return next(iter(self.ledgers.values()))

    @property
    def compared(self) -> pd.DataFrame:
        """The rows of `summary` that verdicts are about: no ablation, and none whose audit failed."""
        pairs = zip(self.summary["dataset"], self.summary["forecaster"], strict=True)
        names = {dataset: set(found.skill["forecaster"]) for dataset, found in self.standings.items()}
        chosen = np.array([name in names.get(dataset, ()) for dataset, name in pairs], dtype=bool)
        return pd.DataFrame(self.summary.loc[chosen])

    @property
    def failures(self) -> list[Row]:
        """The cells that failed, with their tracebacks."""
        return [row for row in self.cells.to_dict("records") if row["status"] == "failed"]

    @property
    def report(self) -> Path | None:
        """The page to read; None where no forecaster got through."""
        path = self.folder / "report.html"
        return path if path.is_file() else None


def publish(store: Store, *, page: bool = True) -> Results:
    """Score what the store holds, write all results and give them back; neither data nor models are needed.

    Without `page` pictures and report, which take most of the time, are left out.
    """
    # Here, since they draw: whoever asks what an experiment is does without matplotlib.
    from forecast.experiment.grid_report import write_grid
    from forecast.experiment.pictures import Drawn, pictures, write_pictures
    from forecast.experiment.report import Chapter, write_report
    from forecast.experiment.verdict import judged, verdict

    note = store.experiment()
    config, works = note["config"], note.get("beside", ())
    cells, settled = cell_rows(store, note), note.get("settled", {})
    trials = trial_table(store, note.get("before", ()))
    curves = tuning_curves(trials, settled, {cell["forecaster"]: cell["family"] for cell in cells})
    ledgers, summaries, chapters, verdicts, regimes = {}, [], [], {}, {}
    found, audits, contexts, costs, ablations, quoted, contrasts = {}, {}, [], [], [], [], []
    for dataset in (one["name"] for one in config["datasets"]):
        here = [cell for cell in cells if cell["dataset"] == dataset]
        compared = [cell for cell in here if cell["context_length"] is None]
        lost = [cell for cell in here if cell["status"] != "done"]
        if not compared:  # what the regime has to do first is not finished
            continue
        ledger, audits[dataset] = joined_ledger(store, compared), audits_in(store, works, dataset)
        told = settled.get(dataset, {})
        regimes[dataset] = " ".join(sentences(told, ledger)) if told else "not told"
        metrics = {} if ledger is None else metrics_of(store, config, dataset, ledger)
        summaries.append(summary := summary_of(compared, ledger, metrics))
        quoted.append(beside(summary, config.get("published", ()), dataset, config["horizon"]))
        if ledger is None:
            continue
        ledgers[dataset], regime = ledger, str(told.get("regime", ""))
        failed = failed_in(audits[dataset])
        contrasts.append(contrasts_of(dataset, ledger))
        ablations.append(ablation_table(ledger, config.get("ablations", ()), failed, dataset))
        found[dataset] = judged(ledger, [*failed, *labels_in(ablations[-1])])
        verdicts[dataset] = verdict(found[dataset], ledger, dataset, regime)
        contexts.append(_contexts(store, here, ledger, dataset))
        costs.append(costs_in(store, works, dataset))
        history, folds = read_history(store, dataset, ledger), read_folds(store, dataset, ledger)
        own_curves = pd.DataFrame(curves[curves["dataset"] == dataset])
        draw = Drawn(found[dataset], folds, history, contexts[-1], costs[-1], own_curves, ablations[-1])
        drawn = pictures(ledger, draw) if page else ()
        if config.get("ledger", True):
            with store.replacing(f"ledger/{dataset}") as path:
                ledger.write(path)
        else:
            store.remove(f"ledger/{dataset}")
        chapters.append(
            Chapter(
                ledger,
                summary,
                folds,
                {"dataset": dataset, "horizon": config["horizon"], "regime": regimes[dataset]}
                | facts_of(store, note, folds, dataset),
                failures=[failure_of(cell) for cell in lost if cell["status"] == "failed"],
                not_tested=left_out(lost),
                found=found[dataset],
                audits=audits[dataset],
                regime=regime,
                budgets=told.get("budgets", {}),
                unequal=told.get("unequal", ()),
                contexts=contexts[-1],
                costs=costs[-1],
                ablations=ablations[-1],
                published=quoted[-1],
                drawn=drawn,
            )
        )
    results = Results(
        folder=store.folder,
        summary=joined(summaries, SUMMARY),
        cells=pd.DataFrame(cells, columns=CELLS).astype({"context_length": "Int64"}),
        ledgers=ledgers,
        verdicts=verdicts,
        standings=found,
        audits=audits,
        published=joined(quoted, KEYS),
        regimes=regimes,
        budgets=budget_table(settled, ledgers),
        trials=trials,
        contexts=joined(contexts, CONTEXTS),
        costs=by_dataset(dict(zip(ledgers, costs, strict=True))),
        ablations=joined(ablations, ABLATIONS),
        contrasts=joined(contrasts, CONTRASTS),
    )
    _write_tables(store, results, curves)
    together = write_grid(store, grid_of(results.compared, results.contrasts), page=page)
    report = store.folder / "report.html"
    if chapters and page:
        with store.replacing(report.name) as path:
            write_report(path, chapters, title=f"Experiment {config['name']}", together=together)
        for dataset, chapter in zip(ledgers, chapters, strict=True):
            write_pictures(store, f"plots/{dataset}", chapter.drawn or ())
    else:
        report.unlink(missing_ok=True)
    return results


def _write_tables(store: Store, results: Results, curves: pd.DataFrame) -> None:
    """Write all tables; those of what was not asked for are not written."""
    audited = write_audits(store, results.audits)
    tables = {
        "summary.csv": results.summary,
        "cells.csv": results.cells,
        "budgets.csv": results.budgets,
        **standing_tables(results.standings),
    }
    asked = {"audits.csv": audited, "trials.csv": results.trials, "tuning.csv": curves}
    asked |= {"published.csv": results.published, "contexts.csv": results.contexts, "costs.csv": results.costs}
    asked |= {"ablations.csv": results.ablations}
    for name, table in {**tables, **{name: table for name, table in asked.items() if len(table)}}.items():
        write_table(store, name, table)


def _contexts(store: Store, cells: Sequence[Row], ledger: Ledger, dataset: str) -> pd.DataFrame:
    """Give skill by context length, of what got through all folds; no row without a sweep or a baseline."""
    if BASELINE not in ledger.forecasters:
        return pd.DataFrame(columns=CONTEXTS)
    lengths = sorted({cell["context_length"] for cell in cells if cell["context_length"] is not None})
    swept = {
        length: joined_ledger(store, [cell for cell in cells if cell["context_length"] == length]) for length in lengths
    }
    return skill_by_context(
        {length: one for length, one in swept.items() if one is not None}, ledger, BASELINE, dataset
    )
