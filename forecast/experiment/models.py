"""A saved model and the data to show it, as a command names them."""

from pathlib import Path
from typing import get_args

from forecast import catalog
from forecast.experiment.datasets import Dataset, Gaps
from forecast.experiment.faults import ConfigError, nearest
from forecast.forecaster import Forecaster
from forecast.frame import FrameError, Panel, check_frame
from forecast.neural import NeuralForecaster


def load_neural(folder: Path) -> NeuralForecaster:
    """Read a saved NeuralForecaster.

    Raises
    ------
    FileNotFoundError: nothing was saved there.
    ConfigError: files that cannot be read, or another forecaster.

    """
    try:
        forecaster = Forecaster.load(folder)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"error: {error}") from error
    if not isinstance(forecaster, NeuralForecaster):
        raise ConfigError(
            f"error: {folder} holds a {type(forecaster).__name__}; only a NeuralForecaster has a network to look into"
        )
    return forecaster


def panel_for(forecaster: Forecaster, data: str | None, *, freq: str | None = None, gaps: str | None = None) -> Panel:
    """Give the panel of a CSV file or of a data set of the catalogue, as this fitted forecaster reads it.

    What is not given is as at the fit; `data` None stands for the history of the fit.

    Raises
    ------
    FileNotFoundError: a file or data set that is not there.
    ConfigError: an unknown name, an option that is not allowed, or data that do not go with the forecaster.

    """
    if data is None:
        if freq is not None or gaps is not None:
            raise ConfigError("error: `freq` and `gaps` are for `data`, which is not given")
        return forecaster.panel_of(None)
    if gaps is not None and gaps not in get_args(Gaps):
        raise ConfigError(f"error: `gaps` is {gaps!r}; allowed: {', '.join(get_args(Gaps))}")
    door = dict(forecaster.door_)  # type: ignore[attr-defined] (it is fitted)
    dataset = _dataset(data, door.get("columns") or {})
    if dataset.file is None:
        door.pop("columns", None)  # the catalogue has our own names
    fitted = forecaster.panel_of(None).calendar
    door |= {"freq": freq or (fitted.freq if fitted.unit else int(fitted.freq)), "min_length": 1}
    if gaps is not None:
        door["gaps"] = gaps
    try:
        return forecaster.panel_of(check_frame(dataset.read(Path()), **door))
    except (ValueError, TypeError) as error:
        if isinstance(error, FrameError):
            hint = "; `--gaps mask` reads missing rows as missing values" if "gaps" in str(error) else ""
            raise ConfigError(f"error: {data}: {error}{hint}") from error
        raise ConfigError(f"error: {data}: {error}") from error


def _dataset(data: str, columns: dict[str, str]) -> Dataset:
    known = catalog.names()
    if data in known:
        return Dataset(name=data)
    if Path(data).expanduser().is_file():
        return Dataset(name="data", file=data, columns=columns)
    raise ConfigError(
        f"error: `data` {data!r} is no file, and no data set of that name is known; {nearest(data, known)}"
        "`forecast datasets` lists all"
    )
