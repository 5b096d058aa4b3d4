"""Several experiments in one file, such as one for each horizon: run one after the other, and told on one page.

Each is an experiment like any other, with a folder of its own in that of the suite, so that it can be stopped, resumed
and written anew like any other; and it is over before the next one begins, so that memory holds no more than one.

- <label>/: the results of each
- summary.csv, cells.csv, ablations.csv, published.csv: those of all, with a column `experiment`
- leaders.csv, data_set_pairs.csv, contrasts.csv, plots/data_sets_together/: what several data sets say together
- report.html: that, then verdicts, scores and published figures, with links to the reports of each
- suite.json: the labels, in order
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from forecast import __version__
from forecast.experiment.ablations import ablation_rows
from forecast.experiment.config import Experiment, load_experiments
from forecast.experiment.engine import Engine, Local
from forecast.experiment.faults import Source
from forecast.experiment.grid import CONTRASTS, grid_of
from forecast.experiment.numerals import number, percent, short
from forecast.experiment.pages import page as page_of
from forecast.experiment.published import published_rows
from forecast.experiment.results import Results
from forecast.experiment.runner import check_can_be_had, rebuild, run_experiment
from forecast.experiment.setting import write_table
from forecast.experiment.shipped import find_config
from forecast.experiment.store import FORMAT, Store, StoreError, read_json, write_json
from forecast.experiment.summary import SUMMARY
from forecast.experiment.variants import is_suite
from forecast.experiment.work import Progress

_SUITE = "suite.json"


@dataclass(frozen=True)
class SuiteResults:
    """What the experiments of a suite have found.

    Attributes
    ----------
    folder: where it is; that of each experiment lies in it, called by its label.
    summary, cells, ablations, published: as of `Results`, of all experiments, with the label in the first column,
        `experiment`.
    verdicts: by label, one sentence for each data set.

    """

    folder: Path
    summary: pd.DataFrame
    cells: pd.DataFrame
    ablations: pd.DataFrame
    published: pd.DataFrame
    verdicts: Mapping[str, Sequence[str]]

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The cells that failed, with their tracebacks."""
        return [row for row in self.cells.to_dict("records") if row["status"] == "failed"]

    @property
    def report(self) -> Path:
        """The page to read."""
        return self.folder / "report.html"


@dataclass(frozen=True)
class Suite:
    """The experiments of a file, by label.

    Attributes
    ----------
    name: of the folder of its results.
    experiments: in their order.

    """

    name: str
    experiments: Mapping[str, Experiment]


def holds_several(path: str | Path, *, quick: bool = False) -> bool:
    """Tell whether a config file, or a shipped one by its name, is that of a suite. Raises ConfigError."""
    return is_suite(Source.read(find_config(path)), quick=quick)


def holds_suite(folder: str | Path) -> bool:
    """Tell whether a folder is that of a suite."""
    return (Path(folder) / _SUITE).is_file()


def suite_note(folder: str | Path) -> dict[str, Any]:
    """Give the `name` of a suite and the labels of its `experiments`. Raises StoreError where they cannot be read."""
    folder = Path(folder)
    try:
        return read_json(folder / _SUITE)
    except FileNotFoundError as error:
        raise StoreError(f"{folder} has no {_SUITE}: give a folder that `forecast run` has written") from error


def load_suite(path: str | Path, *, quick: bool = False) -> Suite:
    """Read a suite from a YAML file, or a shipped one by its name; with `quick` as its key `quick` has it.

    Raises ConfigError, with one line `file:line:col: field: message` for each fault.
    """
    source = Source.read(find_config(path))
    experiments = dict(load_experiments(source, quick=quick))
    label, first = next(iter(experiments.items()))
    return Suite(first.name.removesuffix(f" {label}"), experiments)


def run_suite(
    config: Suite | str | Path,
    out: str | Path | None = None,
    progress: Progress | None = None,
    *,
    page: bool = True,
    engine: Engine = Local(workers=1),  # noqa: B008 (frozen)
) -> SuiteResults:
    """Run all experiments of a suite one after the other, or go on where they were stopped, and write what they found.

    Parameters
    ----------
    config: a suite, the path of its YAML file, or the name of a shipped one.
    out: the folder of results; None for `results/<name of the suite>`.
    progress, page, engine: as `run_experiment` takes them.

    Raises
    ------
    ConfigError: something in the config cannot be used, or the data do not hold what it asks for; nothing is computed
        then.
    StoreError: the folder cannot be written to, or holds something else.
    KeyboardInterrupt: the user wants to stop; finished cells are stored.

    """
    suite = config if isinstance(config, Suite) else load_suite(config)
    folder = Path("results", suite.name) if out is None else Path(out)
    _check_is_ours(folder)
    for label, experiment in suite.experiments.items():  # before the first is computed
        check_can_be_had(experiment, folder / label)
    note = {"format": FORMAT, "foretell": __version__, "name": suite.name, "experiments": list(suite.experiments)}
    with Store(folder).replacing(_SUITE) as path:
        write_json(path, note)
    progress, found = progress or Progress(), {}
    for place, (label, experiment) in enumerate(suite.experiments.items(), 1):
        if len(suite.experiments) > 1:
            progress.enter(label, place, len(suite.experiments))
        found[label] = _kept(run_experiment(experiment, folder / label, progress, page=page, engine=engine))
    return _publish(folder, suite.name, found, page=page)


def rebuild_suite(folder: str | Path) -> SuiteResults:
    """Write the results of a suite anew from its stored cells; nothing is computed, and what is not there is left out.

    Raises StoreError where the folder is not that of a suite.
    """
    folder = Path(folder)
    note = suite_note(folder)
    begun = [label for label in note["experiments"] if (folder / label).is_dir()]
    return _publish(folder, note["name"], {label: _kept(rebuild(folder / label)) for label in begun})


@dataclass(frozen=True)
class _Kept:
    """What is left of the results of an experiment when the next one begins: no forecasts."""

    summary: pd.DataFrame
    compared: pd.DataFrame
    cells: pd.DataFrame
    ablations: pd.DataFrame
    published: pd.DataFrame
    contrasts: pd.DataFrame
    verdicts: Mapping[str, str]
    report: Path | None


def _kept(results: Results) -> _Kept:
    tables = (results.summary, results.compared, results.cells, results.ablations, results.published, results.contrasts)
    return _Kept(*tables, results.verdicts, results.report)


def _publish(folder: Path, name: str, found: Mapping[str, _Kept], *, page: bool = True) -> SuiteResults:
    """Write the tables and the page of a suite, and give what they hold."""
    tables = {
        which: _joined({label: getattr(one, which) for label, one in found.items()})
        for which in ("summary", "cells", "ablations", "published")
    }
    store = Store(folder)
    for which, table in tables.items():
        if len(table):
            write_table(store, f"{which}.csv", table)
    verdicts = {label: list(one.verdicts.values()) for label, one in found.items()}
    chapters = [chapter for label, one in found.items() for chapter in _chapters(folder, label, one)]
    from forecast.experiment.grid_report import write_grid  # here, since it draws

    compared = _joined({label: one.compared for label, one in found.items()}).reindex(columns=["experiment", *SUMMARY])
    contrasts = _joined({label: one.contrasts for label, one in found.items()}).reindex(columns=CONTRASTS)
    together = write_grid(store, grid_of(compared, contrasts), page=page)
    with store.replacing("report.html") as path:
        text = page_of("suite.html.j2", title=f"Experiments {name}", chapters=chapters, together=together)
        path.write_text(text, encoding="utf-8")
    return SuiteResults(folder, verdicts=verdicts, **tables)


def _joined(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    parts = []
    for label, table in tables.items():
        if len(table):
            parts.append(table.copy())
            parts[-1].insert(0, "experiment", label)
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["experiment"])


def _chapters(folder: Path, label: str, found: _Kept) -> list[dict[str, Any]]:
    """Give what the page tells of one experiment: a chapter for each data set."""
    chapters = []
    for dataset in dict.fromkeys(found.summary["dataset"]):
        here = pd.DataFrame(found.summary[found.summary["dataset"] == dataset])
        exchanged, quoted = (table[table["dataset"] == dataset] for table in (found.ablations, found.published))
        chapters.append(
            {
                "id": f"c-{label}-{dataset}",
                "name": f"{dataset}, horizon {here['horizon'].iloc[0]}",
                "verdict": found.verdicts.get(dataset, "Nothing to compare: no forecaster got through all folds."),
                "link": found.report.relative_to(folder).as_posix() if found.report else "",
                "rows": [_row(row) for row in here.to_dict("records")],
                "ablations": ablation_rows(pd.DataFrame(exchanged)),
                "published": published_rows(pd.DataFrame(quoted).dropna(axis="columns", how="all")),
            }
        )
    return chapters


def _row(row: Mapping[Any, Any]) -> dict[str, str]:
    return {
        "name": row["forecaster"],
        "skill": percent(row["skill"]),
        "mase": number(row["mase"], 3),
        "wql": number(row["wql"], 4),
        "coverage": percent(row["coverage"], sign=""),
        "seconds": short(row["fit_seconds"]),
        "seeds": number(row["seeds"], 0),
    }


def _check_is_ours(folder: Path) -> None:
    """Refuse a folder that holds something else than a suite. Raises StoreError."""
    if folder.is_dir() and any(folder.iterdir()) and not holds_suite(folder):
        raise StoreError(f"{folder} holds other files and no {_SUITE}; name a new or an empty folder: --out FOLDER")
    if holds_suite(folder):
        suite_note(folder)  # refuses one of a format that is to come
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"results cannot be written to {folder}: {error.strerror or error}; name a folder that you may write to: "
            "--out FOLDER"
        ) from error
