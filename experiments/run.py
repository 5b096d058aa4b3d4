"""Run an experiment from Python: what `forecast run` does, with the objects that it is made of in sight.

`python experiments/run.py [CONFIG] [FOLDER]`; left out, they are the shipped default and `results/<experiment>`.
"""

import sys
from pathlib import Path

from forecast import run_experiment, score
from forecast.experiment import load_experiment


def main(config: str | Path = "default", out: str | Path | None = None) -> None:
    experiment = load_experiment(config)

    # The data: a long table `unique_id, ds, y` that has passed the door, where dates, gaps and types are checked.
    # By hand: panel = check_frame(load("nyc_weather"), gaps="mask")
    panel = experiment.panels()[experiment.datasets[0].name]
    print(panel)

    # The plan: from which cutoffs to forecast, and what each fit may see. By hand: Plan(horizon=24, n_folds=20)
    print(experiment.build_plan().table(panel)[["cutoff", "train_end", "test_start", "test_end", "points"]])

    # The forecasters, not yet fitted. By hand: {"LSTM": NeuralForecaster("lstm", horizon=24)}
    for label, forecaster in experiment.build_forecasters().items():
        print(f"{label}: {forecaster}")

    # Every forecaster and seed over every fold. A cell that is finished is stored, and never computed again.
    # By hand, without a store: ledger = backtest(panel, forecasters, plan, seeds=[0, 1])
    results = run_experiment(experiment, out)

    # Every forecast with what came true: the one source of all scores and plots.
    # Another view of it: score(ledger, by=["forecaster", "step"]), plot_error_by_step(ledger).savefig("steps.svg")
    for dataset, ledger in results.ledgers.items():
        print(score(ledger, ["mase", "wql", "coverage"]))
        print(results.verdicts[dataset])
    print(results.report)


if __name__ == "__main__":
    main(*sys.argv[1:3])
