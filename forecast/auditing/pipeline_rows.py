"""Probes of rows: every key there once and finite, nothing missing that is scored, units and fits that come back."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from forecast.auditing.subject import Subject, Verdict
from forecast.evaluation import Ledger, score
from forecast.forecaster import DECILES, Forecast, Forecaster
from forecast.history import last_values

# A module that is in no folder of the path is loaded from its file, as a test runner does.
_LOAD = """
import importlib, importlib.util, sys
sys.path[:] = {path!r}
import pandas as pd
from forecast.forecaster import Forecaster
try:
    importlib.import_module({module!r})
except ModuleNotFoundError:
    spec = importlib.util.spec_from_file_location({module!r}, {file!r})
    sys.modules[{module!r}] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[{module!r}])
loaded = Forecaster.load({folder!r})
fresh = type(loaded)(**loaded.get_params(deep=False))
panel = loaded.panel_of(None)
for name, one in (("loaded", loaded), ("fitted", fresh.fit(panel))):
    one.predict(**{asked}).to_pickle({folder!r} + "/" + name)
"""
_SECONDS = 300


class Hollow(Forecaster):
    """The last value at every step, and no number at all at the last step, or at all of them: to see who notices."""

    family = "baseline"

    def __init__(
        self,
        horizon: int,
        *,
        everywhere: bool = False,
        season_length: int | None = None,
        quantile_levels: Sequence[float] = DECILES,
    ):
        self.horizon = horizon
        self.everywhere = everywhere
        self.season_length = season_length
        self.quantile_levels = quantile_levels

    def _fit(self, panel) -> None:
        pass

    def _forecast(self, panel, origins) -> Forecast:
        mean = np.repeat(last_values(panel, origins)[:, None], self.horizon, axis=1)
        mean[:, slice(None) if self.everywhere else -1] = np.nan
        return Forecast(np.repeat(mean[:, :, None], len(self.quantile_levels), axis=2), mean)


def every_point_is_forecast_and_scored(subject: Subject) -> Verdict:
    """Each point is there once, finite, beside the value that came; a forecast that is NaN is refused, not left out."""
    table = subject.base
    expected = set(product(subject.ids, subject.cutoffs, range(1, subject.horizon + 1)))
    found = list(zip(table["unique_id"], table["cutoff"], table["step"].astype(int), strict=True))
    if lacking := [key for key in sorted(expected, key=str) if key not in set(found)]:
        return Verdict(False, f"{len(lacking)} of {len(expected)} points are not forecast, first {_key(lacking[0])}")
    if len(found) != len(expected):
        more = [key for key in found if key not in expected] or pd.Index(found)[pd.Index(found).duplicated()].tolist()
        return Verdict(False, f"{len(found)} rows instead of {len(expected)}, first {_key(more[0])}")
    if (wrong := ~np.isfinite(table[subject.numbers].to_numpy("float64")).all(axis=1)).any():
        return Verdict(False, f"{int(wrong.sum())} rows are not finite, first {_key(found[int(wrong.argmax())])}")
    if told := _other_actuals(subject, table):
        return Verdict(False, told)
    told = f"{len(expected)} points, each once, finite, beside what came"
    if subject.score is score and not isinstance(subject.base_ledger, Ledger):
        return Verdict(True, f"{told}; how they are scored is not known: the backtest gives no Ledger, `score` is None")
    scored = subject.score(subject.base_ledger, ["mae"])["mae"].to_numpy("float64")
    if not np.isfinite(scored).all():
        return Verdict(False, f"a forecaster that says something everywhere gets a mean absolute error of {scored[0]}")
    for everywhere in (False, True):
        hollow = Hollow(subject.horizon, everywhere=everywhere, quantile_levels=subject.pattern.quantile_levels)
        what = "everywhere" if everywhere else "at the last step"
        try:
            scored = subject.score(subject.ledger(pattern=hollow), ["mae"])["mae"].to_numpy("float64")
        except Exception:  # a refusal, however it is made
            continue
        if np.isfinite(scored).any():
            return Verdict(False, f"a forecaster that says NaN {what} gets a mean absolute error of {scored[0]:.4g}")
    return Verdict(True, f"{told}; one that says NaN is refused")


def _other_actuals(subject: Subject, table: pd.DataFrame) -> str:
    """Say where a forecast is scored against something else than the value of its step; "" for nowhere."""
    panel = subject.panel
    series = panel.ids.get_indexer(pd.Index(table["unique_id"]))
    ordinals = np.array([panel.calendar.ordinal(cutoff) for cutoff in subject.cutoffs])
    cutoffs = ordinals[pd.Index(subject.cutoffs).get_indexer(pd.Index(table["cutoff"]))]
    expected = panel.at(series, cutoffs + table["step"].to_numpy("int64")).astype("float64")
    came = table["y"].to_numpy("float64", na_value=np.nan)
    wrong = ~np.isclose(came, expected, rtol=1e-5, atol=0, equal_nan=True)
    if not wrong.any():
        return ""
    row = int(wrong.argmax())
    key = _key((table["unique_id"].iloc[row], table["cutoff"].iloc[row], table["step"].iloc[row]))
    return (
        f"{int(wrong.sum())} forecasts are scored against another value than that of their step, first {key}: "
        f"{came[row]:.6g}, and the data have {expected[row]:.6g}"
    )


def units_and_fits_come_back(subject: Subject) -> Verdict:
    """A thousandfold target gives forecasts in its units; a fresh process says the same, loaded and fitted anew."""
    thousand = subject.folds(subject.frame.assign(y=subject.frame["y"] * 1000))
    small, large = (table[subject.numbers].to_numpy("float64") for table in (subject.base, thousand))
    off, still = np.abs(large - 1000 * small).mean(), np.abs(large - small).mean()
    if off > still:
        return Verdict(
            False,
            f"a target times 1000 is forecast around {large.mean():.4g}, itself around {small.mean():.4g}: forecasts "
            "do not come back in the units of the data",
        )
    units = f"a target times 1000 is forecast 1000 times as high, but for {off / max(np.abs(large).mean(), 1e-30):.1e}"
    kind = type(subject.pattern)
    if kind.__module__ == "__main__" or "<locals>" in kind.__qualname__:
        return Verdict(True, f"{units}; {kind.__name__} is in no module that another process could import")
    with tempfile.TemporaryDirectory() as folder:
        try:
            told = _in_a_fresh_process(subject, folder)
        except TypeError as error:  # what it has learned is of a kind that `save` does not take
            return Verdict(True, f"{units}; it cannot be saved: {error}")
    return Verdict(not told, told or f"{units}; a fresh process says the same from what was saved, and fitted anew")


def _in_a_fresh_process(subject: Subject, folder: str) -> str:
    """Say how a forecaster that another process loads, or fits anew, differs; "" for not at all."""
    asked, ahead = "{}", subject.ahead(subject.cutoffs[0])
    if ahead is not None:
        ahead.to_pickle(f"{folder}/future")
        asked = f'{{"future": pd.read_pickle({folder + "/future"!r})}}'
    subject.fitted.save(folder)
    kind = type(subject.pattern)
    script = _LOAD.format(
        path=[path or os.getcwd() for path in sys.path],
        module=kind.__module__,
        file=getattr(sys.modules.get(kind.__module__), "__file__", None),
        folder=folder,
        asked=asked,
    )
    # Sets and dicts come in another order there: what depends on it is no fit that anyone can repeat.
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    if done.returncode:
        return f"a fresh process fails: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}"
    expected = subject.fitted.predict(future=ahead)
    for name, told in (("loaded", "what was saved"), ("fitted", "a fit anew")):
        found = pd.DataFrame(pd.read_pickle(Path(folder) / name))
        difference = subject.compare(expected, found)
        if not difference.within:
            return f"{told} says something else in a fresh process: {difference.told}"
    return ""


def _key(key: tuple) -> str:
    name, cutoff, step = key
    return f"series {name!r}, cutoff {cutoff}, step {step}"
