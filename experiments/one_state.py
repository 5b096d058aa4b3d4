"""What one state cannot hold: decoders that may look back, and one that may not, as there is more to remember.

Every series repeats a pattern of random numbers of its own. Only who remembers the whole pattern can say how it goes
on. `python experiments/one_state.py [FOLDER]` writes one_state.csv, one_state.png and alignment.png (ten minutes).
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from forecast import NeuralForecaster, Training, check_frame
from forecast.evaluation import Plan, backtest, score
from forecast.insight import alignments
from forecast.plots import plot_alignments
from forecast.plots.style import label_lines, look, panel

PERIODS = (16, 32, 64, 128)
DECODERS = {
    "direct": "direct",
    "context vector": "context_vector",
    "attention": "attention",
    "cross-attention": "cross_attention",
}
HORIZON, PATCH, SERIES = 8, 4, 200
ALIGNED = 32  # the period whose alignment is drawn


def patterns(period: int) -> pd.DataFrame:
    """Give series that repeat a random pattern; at the end, the horizon that has to be forecast."""
    rng = np.random.default_rng(period)
    length = 4 * period + HORIZON
    values = [np.resize(rng.normal(size=period), length) for _ in range(SERIES)]
    return pd.DataFrame(
        {
            "unique_id": np.repeat(np.arange(SERIES), length),
            "ds": np.tile(np.arange(length), SERIES),
            "y": np.concatenate(values),
        }
    )


def forecaster(decoder: str, period: int) -> NeuralForecaster:
    """Give an LSTM that reads two patterns, under a decoder."""
    training = Training(steps=1500, learning_rate=3e-3, validation_length=0)
    return NeuralForecaster(
        "lstm", HORIZON, decoder=decoder, context_length=2 * period, patch_length=PATCH, training=training
    )


def errors() -> pd.DataFrame:
    """Give the error of each decoder; 1 is that of always saying the mean."""
    rows = []
    for period in PERIODS:
        data = check_frame(patterns(period), freq=1)
        forecasters = {name: forecaster(decoder, period) for name, decoder in DECODERS.items()}
        ledger = backtest(data, forecasters, Plan(horizon=HORIZON, n_folds=1), seeds=[0])
        table = score(ledger, ["mae"])
        rows.append(table.assign(period=period, error=table["mae"] / np.abs(data.values).mean()))
    return pd.concat(rows, ignore_index=True)


def draw(table: pd.DataFrame):
    """Draw error against what has to be remembered."""
    with look():
        figure, ax = panel(None, (7.0, 3.6))
        styles = {name: {"color": f"C{i}"} for i, name in enumerate(DECODERS)}
        ends = {}
        for name in DECODERS:
            own = table[table["forecaster"] == name]
            ax.plot(own["period"], own["error"], marker="o", **styles[name])
            ends[name] = float(own["error"].iloc[-1])
        ax.axhline(1, color="0.6", linewidth=0.8)
        ax.set_xscale("log", base=2)
        ax.set_xticks(PERIODS, [str(period) for period in PERIODS])
        ax.set_ylim(0, None)
        ax.set_xlabel("values to remember")
        ax.set_ylabel("error (1: nothing remembered)")
        ax.set_title("What passes through one state, and what attention gets back")
        label_lines(ax, ends, styles)
    return figure


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/one_state")
    folder.mkdir(parents=True, exist_ok=True)
    found = errors()
    found.to_csv(folder / "one_state.csv", index=False)
    draw(found).savefig(folder / "one_state.png")
    looking = forecaster("attention", ALIGNED).fit(patterns(ALIGNED), freq=1)
    plot_alignments(alignments(looking)).savefig(folder / "alignment.png")
    print(found.pivot_table(index="period", columns="forecaster", values="error").round(3))
