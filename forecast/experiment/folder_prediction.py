"""Forecasts of a folder of Parquet files: a file of forecasts for each, by as many workers as are asked for."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from forecast import saving
from forecast.experiment.engine import Engine, Local, run_cells
from forecast.experiment.own_data import Layout, check_names
from forecast.experiment.predicted_files import FAILED, FilePrediction, OutFolder, Saved, loaded, note_of
from forecast.experiment.store import Store, StoreError
from forecast.experiment.work import Progress
from forecast.folders import Source, look_at_ids, source_of
from forecast.folders.source import ENDINGS
from forecast.forecaster import Forecaster
from forecast.frame import ID, TARGET, TIME, Roles
from forecast.frame.frequency import parse_freq
from forecast.params import check_positive
from forecast.quantiles import asked_levels

_FORMAT = 1  # of what a file of forecasts tells of itself
_SCRATCH = ".writing-"  # how a store names what is being written
_BYTES = 16 << 20  # to each worker, at least: to start one takes seconds


@dataclass(frozen=True)
class FolderForecasts:
    """What came of a folder.

    Attributes
    ----------
    folder: where the forecasts are.
    files, series, forecasts: how many of each are there, those of earlier runs too.
    failures: `file`, `error` and `traceback` of each file that failed.
    notes: what was found out about files that were there before.

    """

    folder: Path
    files: int
    series: int
    forecasts: int
    failures: tuple[dict[str, str], ...]
    notes: tuple[str, ...]


def predict_folder(
    model: Forecaster | str | Path,
    folder: str | Path,
    out: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    gaps: str | None = None,
    horizon: int | None = None,
    quantile_levels: Sequence[float] | None = None,
    engine: Engine = Local(),  # noqa: B008 (frozen)
    progress: Progress | None = None,
    say: Callable[[str], object] = lambda line: None,
) -> FolderForecasts:
    """Forecast all series of a folder of Parquet files, or go on where that was stopped.

    Some whole series at a time are read, forecast and written: how many there are is of no effect on what is in memory,
    beside 25 bytes of each id. A file of forecasts has the name of its file of series, and the forecast frame of
    `Forecaster.predict`, under the names of the folder. Files that are finished are left as they are; one whose input
    has another size or time of change since is forecast again. A file that cannot be read or forecast is told in
    `failures` and kept in `out/_failed/`; the others go on, and the next call tries it again.

    Parameters
    ----------
    model: a fitted forecaster, or the folder that one was saved in.
    folder: Parquet files, long or with a row for each series; see docs/scale.md.
    out: the folder of forecasts, which is made. Workers on other machines have to find both by these paths.
    columns: our name -> the folder's, where it is another than at the fit: `{"unique_id": "store"}`.
    gaps: what to do with missing rows, as of `check_frame`; None: as at the fit.
    horizon, quantile_levels: as for `Forecaster.predict`.
    engine: where files are forecast: by default one process for each processor core, and no more than one for every 16
        MB of Parquet. Of no effect on any number.
    progress: is told of every file.
    say: takes a line about each file of forecasts that was there and is made anew.

    Raises
    ------
    FrameError: files of two layouts, a column that is not there, a series in two files, another frequency.
    FileNotFoundError, NotADirectoryError: no such folder, or no saved forecaster in it.
    StoreError: `out` holds forecasts of another model or question, or other files of these names; it cannot be written
        to; another process writes to it.
    TypeError, ValueError: an argument that is not allowed.
    KeyboardInterrupt: the user wants to stop; finished files are there.

    """
    folder, out = Path(folder).expanduser(), Path(out).expanduser()
    if horizon is not None:
        check_positive(horizon=horizon)
    levels = None if quantile_levels is None else asked_levels(quantile_levels)
    fitted = model if isinstance(model, Forecaster) else Forecaster.load(model)
    source = _source(fitted, folder, out, columns)
    _check_names(fitted, source, levels)
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / ".lock").touch()
    except OSError as error:
        raise StoreError(f"{out}: {error.strerror or error}; name a folder that you may write to") from error
    with Store(out).locked(), _cleared(out), _saved(model, out) as saved:
        asked = {"format": _FORMAT, "model": saved.mark, "horizon": horizon or fitted.horizon}
        asked |= {"levels": levels and list(levels), "columns": dict(source.names), "gaps": gaps}
        files = [_prediction(source, file, out, saved, asked) for file in source.files]
        notes = _look_at_finished(files, asked, out)
        for note in notes:
            say(note)
        wrong = look_at_ids(source).wrong
        files = [replace(one, wrong=wrong.get(file)) for one, file in zip(files, source.files, strict=True)]
        keeper = OutFolder(out)
        run_cells(files, keeper, progress or Progress(), _manned(engine, source))
    return _told(files, keeper, notes)


def _told(files: Sequence[FilePrediction], keeper: OutFolder, notes: tuple[str, ...]) -> FolderForecasts:
    done = [note for one in files if keeper.is_done(one.key) and (note := note_of(keeper.folder / one.file.name))]
    failed = [(one, failure) for one in files if not keeper.is_done(one.key) and (failure := keeper.failure(one.key))]
    return FolderForecasts(
        keeper.folder,
        len(done),
        sum(note["series"] for note in done),
        sum(note["forecasts"] for note in done),
        tuple(
            {
                "file": str(one.file),
                "error": f"{one.file}: {failure['message'] if failure['type'] == 'FrameError' else _named(failure)}",
                "traceback": failure["traceback"],
            }
            for one, failure in failed
        ),
        notes,
    )


def _named(failure: Mapping[str, str]) -> str:
    return f"{failure['type']}: {failure['message']}"


def _source(model: Forecaster, folder: Path, out: Path, columns: Mapping[str, str] | None) -> Source:
    """Look at the folder of series, which has to go with the model."""
    if out.resolve() == folder.resolve():
        raise ValueError(f"`out` {out} is the folder of the series; give another one")
    backbone, calendar = getattr(model, "backbone_", None), model.panel_of(None).calendar
    if getattr(backbone, "across_series", False):
        raise ValueError(
            f"{type(backbone).__name__} reads across series, which would all have to be there at once: use "
            "predict(frame)"
        )
    theirs = model.door_.get("columns") or {}
    roles = model.door_.get("roles") or Roles()
    source = source_of(folder, {**theirs, **(columns or {})}, replace(roles, weight=None))
    if source.freq is not None and not _same(source.freq, calendar.freq):
        raise ValueError(
            f"{folder}: the metadata of its files name the frequency {source.freq!r}; this {type(model).__name__} was "
            f"fitted on {calendar.freq!r}: give data of that frequency, or fit again"
        )
    return source


def _same(freq: str, other: str) -> bool:
    """Whether two frequencies are the same, as far as both say."""
    if freq == other or freq.isdecimal() or other.isdecimal():
        return freq == other
    one, two = parse_freq(freq), parse_freq(other)
    anchors = {one.anchor, two.anchor}
    return one._replace(anchor=None) == two._replace(anchor=None) and (len(anchors) == 1 or None in anchors)


def _check_names(model: Forecaster, source: Source, levels: Sequence[float] | None) -> None:
    """Refuse columns of keys that are called as forecasts are."""
    numbers = [str(level) for level in (model.quantile_levels if levels is None else levels)]
    layout = Layout(id=source.names[ID], time=source.names[TIME], target=source.names[TARGET])
    check_names([ID, "cutoff", TIME, "step", "prediction", "mean", *numbers], layout)


@contextlib.contextmanager
def _saved(model: Forecaster | str | Path, out: Path) -> Iterator[Saved]:
    """Give a saved forecaster; one that is not saved lies in a folder of its own meanwhile, where workers find it."""
    if not isinstance(model, Forecaster):
        place = Path(model).expanduser()
        yield Saved(Forecaster, place.resolve(), saving.mark(place))
        return
    with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=out) as place:
        model.save(place)
        yield Saved(type(model), Path(place).resolve(), saving.mark(place))


def _prediction(source: Source, file: Path, out: Path, model: Saved, asked: Mapping[str, Any]) -> FilePrediction:
    state = file.stat()
    config = {**asked, "input": {"name": file.name, "bytes": state.st_size, "changed": state.st_mtime_ns}}
    alone = replace(source, folder=source.folder.resolve(), files=(file.resolve(),), damaged={})
    return FilePrediction(alone, out.resolve(), model, config)


def _look_at_finished(files: Sequence[FilePrediction], asked: Mapping[str, Any], out: Path) -> tuple[str, ...]:
    """Tell of files that are made anew; refuse those that are not ours, or answer another question."""
    notes, ours = [], {one.file.name for one in files}
    for one in files:
        there = out / one.file.name
        if not there.exists():
            continue
        note = note_of(there)
        if note == {}:
            raise StoreError(f"{there}: is no file of forecasts of ours; name another folder, or move it away")
        if note is None:
            notes.append(f"{there.name}: the file of forecasts cannot be read, and is made anew")
            continue
        if differing := [name for name in asked if note["asked"].get(name) != asked[name]]:
            name = differing[0]
            told = "" if name == "model" else f" ({note['asked'].get(name)!r} there, {asked[name]!r} now)"
            raise StoreError(
                f"{there}: holds forecasts of another question, which differs in `{name}`{told}. Name another folder, "
                "or delete this one to begin anew"
            )
        if note["asked"] != one.config:
            notes.append(f"{there.name}: the file of series has changed since; its forecasts are made anew")
    others = sorted(path for path in out.iterdir() if path.suffix in ENDINGS and path.name not in ours)
    if left := [path.name for path in others if note_of(path)]:
        notes.append(f"{left[0]}: forecasts of a file that is not among the series; {len(left)} such, left as they are")
    return tuple(notes)


def _manned(engine: Engine, source: Source) -> Engine:
    """Give a local engine as many workers as pay, where nobody says how many."""
    if not isinstance(engine, Local) or engine.workers is not None:
        return engine
    from joblib.externals.loky import cpu_count

    size = sum(file.stat().st_size for file in source.files)
    return replace(engine, workers=max(1, min(cpu_count(), size // _BYTES)))


@contextlib.contextmanager
def _cleared(out: Path) -> Iterator[None]:
    """Clear away, afterwards, what workers that were ended have left half written."""
    try:
        yield
    finally:
        loaded.cache_clear()
        for left in out.glob(f"{_SCRATCH}*"):
            shutil.rmtree(left, ignore_errors=True)
        with contextlib.suppress(OSError):  # there are some
            (out / FAILED).rmdir()
