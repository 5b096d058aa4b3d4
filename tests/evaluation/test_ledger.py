"""A ledger is refused unless it compares like with like, and comes back from disk as it was."""

import re

import numpy as np
import pandas as pd
import pytest

from forecast.evaluation.ledger import Ledger, check
from forecast.evaluation.ledger.columns import AFTER_LEVELS, BEFORE_LEVELS, FITS, SCALES, level_columns

DAYS = pd.date_range("2021-03-01", periods=20, freq="D")
# The hour from 2 to 3 comes twice in this night, at positions 8 and 9.
AUTUMN = pd.date_range("2021-10-30 18:00", periods=20, freq="h", tz="Europe/Berlin")


def tables(stamps=DAYS, ids=("north", "south"), runs=(("SeasonalNaive", 0), ("lstm", 0), ("lstm", 1)), horizon=3):
    """Forecasts, scales and fits for two cutoffs; every number differs from every other."""
    rng = np.random.default_rng(1)
    stamps = pd.Index(stamps)
    rows = [
        (forecaster, seed, unique_id, origin, origin + step, step)
        for forecaster, seed in runs
        for unique_id in ids
        for origin in (8, 11)
        for step in range(1, horizon + 1)
    ]
    forecasts = pd.DataFrame(rows, columns=["forecaster", "seed", "unique_id", "cutoff", "ds", "step"])
    forecasts["cutoff"], forecasts["ds"] = stamps.take(forecasts["cutoff"]), stamps.take(forecasts["ds"])
    actuals = rng.normal(size=len(rows) // len(runs))
    actuals[4] = np.nan
    forecasts["y"] = np.tile(actuals, len(runs))
    forecasts["prediction"] = rng.normal(size=len(rows))
    forecasts["mean"] = rng.normal(size=len(rows))
    quantiles = np.sort(rng.normal(size=(len(rows), 3)), axis=1)
    forecasts["0.1"], forecasts["0.5"], forecasts["0.9"] = quantiles.T
    forecasts["fit_cutoff"] = forecasts["cutoff"]
    scales = forecasts[["unique_id", "cutoff"]].drop_duplicates().reset_index(drop=True)
    scales["absolute"], scales["squared"] = [1.5, 0.0, np.nan, 2.5], [2.5, 0.0, np.nan, 7.5]
    fits = forecasts[["forecaster", "seed", "fit_cutoff"]].drop_duplicates().reset_index(drop=True)
    fits["family"], fits["backbone"], fits["decoder"], fits["parameters"] = "latent-state", "lstm", "", 17
    fits["fit_seconds"], fits["predict_seconds"], fits["forecasts"] = 0.1, 0.2, 2
    return forecasts, scales, fits


def make(**options):
    return Ledger.of(*tables(**options), season_length=7)


def equal(one, other):
    for name in ("forecasts", "scales", "fits"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    assert one.season_length == other.season_length
    return True


def test_columns_are_put_in_order_and_rows_counted_anew():
    forecasts, scales, fits = tables()
    shuffled = forecasts[sorted(forecasts.columns, reverse=True)].set_axis(range(5, 5 + len(forecasts)))
    ledger = Ledger.of(shuffled, scales[SCALES[::-1]], fits[FITS[::-1]], 7)
    assert list(ledger.forecasts) == [*BEFORE_LEVELS, "0.1", "0.5", "0.9", *AFTER_LEVELS]
    assert equal(ledger, make())


def test_forecasters_come_in_order_of_appearance_and_levels_as_floats():
    ledger = make(runs=(("tcn", 3), ("SeasonalNaive", 0), ("tcn", 1)))
    assert ledger.forecasters == ("tcn", "SeasonalNaive")
    assert ledger.quantile_levels == (0.1, 0.5, 0.9)


def test_only_columns_named_by_a_probability_are_levels():
    frame = pd.DataFrame(columns=["0.05", "nan", "1.0", "0", "mean", 3, "0.5"])
    assert level_columns(frame) == {0.05: "0.05", 0.5: "0.5"}


def test_categories_are_spelt_out():
    forecasts, scales, fits = tables()
    forecasts = forecasts.astype({"forecaster": "category", "unique_id": "category"})
    assert equal(Ledger.of(forecasts, scales, fits, 7), make())


def test_integer_series_names_and_any_order_of_rows_are_allowed():
    forecasts, scales, fits = tables(ids=(7, 3))
    Ledger.of(forecasts.sample(frac=1, random_state=0), scales, fits, 7)


def put(table, column, row, value):
    """A table with one value changed, whatever its column held before."""

    def change(forecasts, scales, fits):
        parts = {"forecasts": forecasts, "scales": scales, "fits": fits}
        part = parts[table].copy()
        part[column] = [value if place == row else old for place, old in enumerate(part[column])]
        return tuple((parts | {table: part}).values())

    return change


def drop(table, row):
    def change(forecasts, scales, fits):
        parts = {"forecasts": forecasts, "scales": scales, "fits": fits}
        return tuple((parts | {table: parts[table].drop(index=row)}).values())

    return change


def twice(table, row):
    def change(forecasts, scales, fits):
        parts = {"forecasts": forecasts, "scales": scales, "fits": fits}
        part = parts[table]
        return tuple((parts | {table: pd.concat([part, part.iloc[[row]]])}).values())

    return change


PLACE_19 = "forecaster 'lstm', seed 0, series 'south', cutoff 2021-03-09 00:00:00, step 2"
REFUSED = {
    "a NaN prediction": (
        put("forecasts", "prediction", 19, np.nan),
        ["column `prediction` is nan", PLACE_19, "finite"],
    ),
    "an infinite mean": (put("forecasts", "mean", 19, -np.inf), ["column `mean` is -inf", PLACE_19]),
    "a NaN quantile": (put("forecasts", "0.9", 19, np.nan), ["column `0.9` is nan", PLACE_19]),
    "crossing quantiles": (put("forecasts", "0.1", 19, 9.0), ["column `0.5`", PLACE_19, "below column `0.1`", "cross"]),
    "an infinite actual": (
        put("forecasts", "y", 19, np.inf),
        ["column `y` is inf", PLACE_19, "where nothing was observed"],
    ),
    "a row entered twice": (twice("forecasts", 19), [PLACE_19, "more than one row"]),
    "a row that one seed lacks": (
        drop("forecasts", 19),
        ["forecaster 'lstm', seed 0 lacks", "series 'south', cutoff 2021-03-09 00:00:00, step 2", "same"],
    ),
    "a row that the first forecaster lacks": (
        drop("forecasts", 0),
        ["forecaster 'SeasonalNaive', seed 0 lacks", "series 'north', cutoff 2021-03-09 00:00:00, step 1"],
    ),
    "another actual for one forecaster": (
        put("forecasts", "y", 19, 5.0),
        ["column `y` disagrees", "5.0 for " + PLACE_19, "forecaster 'SeasonalNaive', seed 0, series 'south'"],
    ),
    "an actual masked for one forecaster alone": (
        put("forecasts", "y", 19, np.nan),
        ["column `y` disagrees", "nan for " + PLACE_19],
    ),
    "an actual unmasked for one forecaster alone": (
        put("forecasts", "y", 16, 1.0),
        ["column `y` disagrees", "1.0 for"],
    ),
    "another date for one forecaster": (put("forecasts", "ds", 19, DAYS[19]), ["column `ds` disagrees", PLACE_19]),
    "a step of zero": (put("forecasts", "step", 19, 0), ["column `step` is 0", "count from 1"]),
    "a forecast of the past": (put("forecasts", "ds", 19, DAYS[8]), ["column `ds` is 2021-03-09", PLACE_19, "after"]),
    "a fit that saw the future": (
        put("forecasts", "fit_cutoff", 19, DAYS[9]),
        ["column `fit_cutoff` is 2021-03-10", PLACE_19, "past the cutoff"],
    ),
    "a seed that is no integer": (put("forecasts", "seed", 0, 0.5), ["column `seed` must hold integers", "float64"]),
    "a number for a forecaster": (
        lambda f, s, k: (f.assign(forecaster=1), s, k),
        ["column `forecaster` must hold text", "int64"],
    ),
    "text for an actual": (lambda f, s, k: (f.assign(y="a"), s, k), ["column `y` must hold numbers"]),
    "text for a scale": (lambda f, s, k: (f, s.assign(squared="a"), k), ["column `squared` must hold numbers"]),
    "a cutoff that is missing": (put("forecasts", "cutoff", 19, pd.NaT), ["column `cutoff` is empty in row 19"]),
    "a name that is missing": (put("forecasts", "unique_id", 19, None), ["column `unique_id` is empty in row 19"]),
    "dates of another zone": (
        lambda f, s, k: (f.assign(ds=f["ds"].dt.tz_localize("UTC")), s, k),
        ["one time zone", "'forecasts.ds': 'timestamps, time zone UTC'"],
    ),
    "dates as text": (lambda f, s, k: (f.assign(ds=f["ds"].astype(str)), s, k), ["timestamps of one time zone"]),
    "a column too few": (lambda f, s, k: (f.drop(columns="mean"), s, k), ["`forecasts` lacks columns ['mean']"]),
    "a column too many": (lambda f, s, k: (f, s.assign(mad=1), k), ["`scales`", "unknown columns ['mad']"]),
    "no forecasts": (lambda f, s, k: (f.iloc[:0], s, k), ["`forecasts` has no rows"]),
    "no fits": (lambda f, s, k: (f, s, k.iloc[:0]), ["`fits` has no rows"]),
    "a scale that is missing": (drop("scales", 2), ["`scales` lacks the row", "'south'", "2021-03-09"]),
    "a scale twice": (twice("scales", 2), ["`scales` has more than one row", "'south'"]),
    "a negative scale": (
        put("scales", "squared", 3, -1.0),
        ["column `squared` of `scales` is -1.0", "series 'south', cutoff 2021-03-12", "not negative"],
    ),
    "an infinite scale": (put("scales", "absolute", 3, np.inf), ["column `absolute` of `scales` is inf"]),
    "a fold that is no number": (lambda f, s, k: (f, s.assign(fold="a"), k), ["column `fold` must hold integers"]),
    "a fold that is missing": (lambda f, s, k: (f, s.assign(fold=np.nan), k), ["column `fold` must hold integers"]),
    "a fold below zero": (
        lambda f, s, k: (f, s.assign(fold=np.arange(len(s)) - 1), k),
        ["column `fold` of `scales` is -1 for series", "0 or more"],
    ),
    "two cutoffs of a series in one fold": (
        lambda f, s, k: (f, s.assign(fold=0), k),
        ["column `fold` of `scales` is 0 for series 'north', cutoff 2021-03-12", "each once within a series"],
    ),
    "a column twice": (
        lambda f, s, k: (pd.concat([f, f[["y"]]], axis=1), s, k),
        ["`forecasts` has the column `y` twice"],
    ),
    "a fit that is missing": (drop("fits", 5), ["`fits` lacks the row", "'lstm'", "2021-03-12"]),
    "a fit twice": (twice("fits", 5), ["`fits` has more than one row", "'lstm'"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_ledger_is_refused_with_its_first_offender_when_it_has(case):
    change, messages = REFUSED[case]
    with pytest.raises(ValueError) as caught:
        Ledger.of(*change(*tables()), season_length=7)
    for message in messages:
        assert message in str(caught.value)


@pytest.mark.parametrize("name", ["forecasts", "scales", "fits"])
def test_messages_tell_whole_numbers_plainly(name):
    parts = dict(zip(("forecasts", "scales", "fits"), tables(ids=(7, 3)), strict=True))
    with pytest.raises(ValueError, match=r"series 7|seed 0") as caught:
        Ledger.of(**(parts | {name: parts[name].iloc[1:]}), season_length=7)
    assert "np." not in str(caught.value)
    assert "Timestamp" not in str(caught.value)


@pytest.mark.parametrize(("season", "error"), [(0, ValueError), (None, TypeError), (1.5, TypeError)])
def test_a_season_is_a_whole_number(season, error):
    with pytest.raises(error, match=f"`season_length` is {season}; allowed: a whole number"):
        Ledger.of(*tables(), season_length=season)


def test_what_is_no_table_and_no_ledger_is_named():
    ledger = make()
    with pytest.raises(TypeError, match="`scales` is a dict; give a pandas DataFrame"):
        Ledger.of(ledger.forecasts, {}, ledger.fits, 7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`ledger` is a DataFrame; give the Ledger that `backtest` gives"):
        check(ledger.forecasts)  # type: ignore[arg-type]
    for ledgers in (ledger, [ledger.forecasts], [None]):
        with pytest.raises(TypeError, match=r"`ledgers` is .*; allowed: a list of Ledgers"):
            Ledger.concat(ledgers)  # type: ignore[arg-type]


def test_quantiles_may_touch():
    forecasts, scales, fits = tables()
    forecasts["0.5"] = forecasts["0.1"]
    Ledger.of(forecasts, scales, fits, 7)


def test_joining_forecasters_gives_the_ledger_of_all():
    parts = [make(runs=[run]) for run in (("SeasonalNaive", 0), ("lstm", 0), ("lstm", 1))]
    joined = Ledger.concat(parts)
    assert joined.forecasters == ("SeasonalNaive", "lstm")
    assert len(joined.forecasts) == 3 * len(parts[0].forecasts)
    assert len(joined.fits) == 6
    pd.testing.assert_frame_equal(joined.scales, parts[0].scales)


def test_joining_cutoffs_gives_back_what_was_taken_apart():
    whole = make()
    parts = [
        Ledger.of(*(table[table[time] == cutoff] for table, time in split), season_length=7)
        for cutoff in whole.scales["cutoff"].unique()
        for split in [((whole.forecasts, "cutoff"), (whole.scales, "cutoff"), (whole.fits, "fit_cutoff"))]
    ]
    joined = Ledger.concat(parts)
    order = ["forecaster", "seed", "unique_id", "cutoff", "step"]
    assert len(parts) == 2
    pd.testing.assert_frame_equal(
        joined.forecasts.sort_values(order, ignore_index=True), whole.forecasts.sort_values(order, ignore_index=True)
    )


def test_joining_refuses_other_keys_other_scales_other_seasons_and_nothing():
    one = make(runs=[("SeasonalNaive", 0)])
    other = make(runs=[("lstm", 0)])
    with pytest.raises(ValueError, match=r"forecaster 'lstm', seed 0 lacks .* step 3"):
        Ledger.concat([one, make(runs=[("lstm", 0)], horizon=2)])
    with pytest.raises(
        ValueError, match=r"column `absolute` of `scales` disagrees: 1\.5 for forecaster 'SeasonalNaive'"
    ):
        Ledger.concat([one, Ledger.of(other.forecasts, other.scales.assign(absolute=3.0), other.fits, 7)])
    with pytest.raises(ValueError, match=re.escape("`season_length` must be one value in all ledgers; got [7, 1]")):
        Ledger.concat([one, Ledger.of(other.forecasts, other.scales, other.fits, 1)])
    with pytest.raises(ValueError, match="`ledgers` is empty"):
        Ledger.concat([])


STAMPS = {
    "ns": DAYS.as_unit("ns"),
    "us": DAYS.as_unit("us"),
    "fractions of a second": pd.date_range("2021-03-01", periods=20, freq="1001ns", unit="ns"),
    "Berlin, ns": AUTUMN.as_unit("ns"),
    "Berlin, us": AUTUMN.as_unit("us"),
    "fixed offset": DAYS.tz_localize("UTC+01:00"),
    "integers": pd.Index(range(100, 120), dtype="int64"),
    "short integers": pd.Index(range(20), dtype="int32"),
}


@pytest.mark.parametrize("stamps", STAMPS.values(), ids=STAMPS.keys())
def test_a_ledger_comes_back_from_disk_as_it_was(stamps, tmp_path):
    ledger = make(stamps=stamps, ids=("NA", 'a "b", c'))
    ledger.write(tmp_path / "new" / "folder")
    back = Ledger.read(tmp_path / "new" / "folder")
    assert equal(back, ledger)
    assert back.forecasts["ds"].dtype == stamps.dtype


def test_integer_names_and_single_precision_come_back_from_disk(tmp_path):
    forecasts, scales, fits = tables(ids=(7, 3))
    forecasts = forecasts.astype({"prediction": "float32", "0.1": "float32", "step": "int16"})
    ledger = Ledger.of(forecasts, scales, fits, 7)
    ledger.write(tmp_path)
    assert equal(Ledger.read(tmp_path), ledger)


@pytest.fixture(params=["parquet", "npz"])
def kept_as(request, monkeypatch):
    """The file that holds the forecasts; npz is written where pyarrow is not there."""
    if request.param == "parquet":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr("forecast.evaluation.ledger.files.find_spec", lambda name: None)
    return f"forecasts.{request.param}"


def test_the_same_ledger_is_written_as_the_same_bytes(tmp_path, kept_as):
    for name in ("one", "two"):
        make().write(tmp_path / name)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["fits.csv", kept_as, "ledger.json", "points.npz"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_both_kinds_of_file_hold_the_same_ledger(tmp_path, kept_as):
    ledger = make(stamps=STAMPS["Berlin, us"], ids=(7, 3))
    ledger.write(tmp_path)
    assert equal(Ledger.read(tmp_path), ledger)


def test_parquet_is_the_long_table_that_others_can_read(tmp_path):
    pytest.importorskip("pyarrow")
    ledger = make(stamps=STAMPS["Berlin, us"])
    ledger.write(tmp_path)
    read = pd.read_parquet(tmp_path / "forecasts.parquet")
    pd.testing.assert_frame_equal(read.astype(ledger.forecasts.dtypes), ledger.forecasts, check_exact=True)


@pytest.mark.parametrize(("least", "held"), [(1, np.memmap), (1 << 30, bytes)])
def test_large_arrays_are_mapped_and_small_ones_read_and_both_hold_the_same_numbers(tmp_path, monkeypatch, least, held):
    monkeypatch.setattr("forecast.evaluation.ledger.arrays._LARGE", least)
    ledger = make(stamps=STAMPS["Berlin, us"])
    ledger.write(tmp_path, table=False)
    assert not (tmp_path / "forecasts.parquet").exists()
    read = Ledger.read(tmp_path)
    assert equal(read, ledger)
    assert isinstance(read.runs[0].quantiles.base, held)
    whole = bytearray((tmp_path / "forecasts.npz").read_bytes())
    whole[whole.index(ledger.runs[1].mean.tobytes()) + 2] ^= 1
    (tmp_path / "forecasts.npz").write_bytes(whole)
    with pytest.raises(ValueError, match=r"cannot be read: .* is damaged"):
        Ledger.read(tmp_path)


@pytest.fixture
def folders(tmp_path):
    """Ledgers of three runs at one cutoff each, in folders of their own, as the cells of an experiment are."""
    forecasts, scales, fits = tables()
    found = []
    for (name, seed), fit in fits.groupby(["forecaster", "seed"], sort=False):
        own = forecasts[(forecasts["forecaster"] == name) & (forecasts["seed"] == seed)]
        for cutoff, part in own.groupby("cutoff"):
            found.append(tmp_path / f"{len(found)}")
            of = scales[scales["cutoff"] == cutoff], fit[fit["fit_cutoff"] == cutoff]
            Ledger.of(part, *of, season_length=7).write(found[-1], table=False)
    return found


def test_many_read_at_once_are_what_they_are_together(folders):
    whole = Ledger.read_all(folders)
    assert equal(whole, Ledger.concat([Ledger.read(folder) for folder in folders]))
    assert equal(Ledger.read_all([str(folders[0])]), Ledger.read(folders[0]))
    assert len(folders) == 6


def test_many_whose_fits_are_of_two_kinds_are_what_they_are_together(folders):
    one = Ledger.read(folders[1])
    Ledger(one.runs, one.fits.assign(fallbacks=1.0), 7).write(folders[1], table=False)
    read = Ledger.read_all(folders)
    together = Ledger.concat([Ledger.read(folder) for folder in folders])
    pd.testing.assert_frame_equal(read.fits.reset_index(drop=True), together.fits.reset_index(drop=True))


@pytest.mark.parametrize(
    ("name", "spoil", "told"),
    [
        ("fits.csv", lambda text: text[:-3], "fits.csv ends within a row"),
        ("fits.csv", lambda text: text.replace(b",17,", b",many,"), "many"),
        ("points.npz", lambda text: text.replace(b"y.npy", b"z.npy"), "'y'"),
        ("ledger.json", lambda text: text.replace(b'"format": 2', b'"format": 9'), "is of format 9"),
    ],
)
def test_of_many_the_one_that_is_damaged_is_named(folders, name, spoil, told):
    path = folders[3] / name
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(ValueError, match=rf"the ledger in '.*{folders[3].name}' cannot be read: .*{told}"):
        Ledger.read_all(folders)


def test_many_of_two_seasons_and_none_at_all_are_refused(folders):
    one = Ledger.read(folders[0])
    Ledger(one.runs, one.fits, 24).write(folders[0], table=False)
    with pytest.raises(ValueError, match=r"`season_length` must be one value in all ledgers; got \[24, 7\]"):
        Ledger.read_all(folders)
    with pytest.raises(ValueError, match=r"`folders` is \[\]; allowed: a list of one or more folders"):
        Ledger.read_all([])


def test_a_forecast_file_spoilt_on_disk_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    ledger = make()
    ledger.write(tmp_path)
    spoilt = {
        "has 35 rows and should have 36": ledger.forecasts.drop(index=19),
        "not in the order": ledger.forecasts.iloc[::-1],
    }
    for message, table in spoilt.items():
        table.to_parquet(tmp_path / "forecasts.parquet", index=False)
        with pytest.raises(ValueError, match=f"cannot be read: .*{message}"):
            Ledger.read(tmp_path)
    table = ledger.forecasts.assign(mean=np.nan)
    table.to_parquet(tmp_path / "forecasts.parquet", index=False)
    with pytest.raises(ValueError, match="column `mean` is nan for forecaster 'SeasonalNaive'"):
        Ledger.read(tmp_path)


def test_parquet_without_pyarrow_is_told_by_its_remedy(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    make().write(tmp_path)
    monkeypatch.setattr("forecast.evaluation.ledger.files.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=re.escape("pip install 'foretell[parquet]'")):
        Ledger.read(tmp_path)


@pytest.mark.parametrize("name", ["ledger.json", "points.npz", "fits.csv", "forecasts.npz"])
def test_a_folder_that_holds_no_ledger_is_named_with_what_it_lacks(name, tmp_path, monkeypatch):
    monkeypatch.setattr("forecast.evaluation.ledger.files.find_spec", lambda name: None)
    make().write(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"`folder` .* has no {name}: give a folder that write wrote"):
        Ledger.read(tmp_path)


def test_a_folder_written_anew_holds_nothing_of_before(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    forecasts, scales, fits = tables()
    other = Ledger.of(forecasts.assign(mean=forecasts["mean"] + 1), scales, fits, season_length=7)
    make().write(tmp_path)
    with monkeypatch.context() as without:
        without.setattr("forecast.evaluation.ledger.files.find_spec", lambda name: None)
        other.write(tmp_path)
    assert Ledger.read(tmp_path).digest == other.digest
    make().write(tmp_path)
    assert Ledger.read(tmp_path).digest == make().digest


def test_a_ledger_half_written_is_none(tmp_path, monkeypatch):
    make().write(tmp_path)

    def fail(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fail)
    with pytest.raises(OSError, match="no space left"):
        make().write(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"has no ledger\.json"):
        Ledger.read(tmp_path)


@pytest.mark.parametrize("name", ["ledger.json", "points.npz", "fits.csv", "forecasts.npz"])
@pytest.mark.parametrize("left", [0.0, 0.5])
def test_a_file_cut_short_is_told(name, left, tmp_path, monkeypatch):
    monkeypatch.setattr("forecast.evaluation.ledger.files.find_spec", lambda name: None)
    make().write(tmp_path)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: int(len(whole) * left)])
    with pytest.raises(ValueError, match=r"the ledger in .* cannot be read"):
        Ledger.read(tmp_path)


def test_a_folder_of_another_version_is_told(tmp_path):
    make().write(tmp_path)
    (tmp_path / "ledger.json").write_text('{"season_length": 7}', encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be read: it is of format 1, and this version reads 2"):
        Ledger.read(tmp_path)


def test_the_digest_is_that_of_the_numbers_whatever_their_order():
    forecasts, scales, fits = tables()
    shuffled = Ledger.of(forecasts.sample(frac=1, random_state=0), scales.iloc[::-1], fits.assign(fit_seconds=9.0), 7)
    assert shuffled.digest == make().digest
    assert Ledger.of(forecasts.assign(mean=forecasts["mean"] + 1e-9), scales, fits, 7).digest != make().digest
    assert Ledger.of(forecasts, scales.assign(squared=1.0), fits, 7).digest != make().digest


def test_some_forecasters_of_a_ledger_are_a_ledger():
    ledger = make().take(["lstm"])
    assert ledger.forecasters == ("lstm",)
    whole = make()
    kept = whole.forecasts[whole.forecasts["forecaster"] == "lstm"].reset_index(drop=True)
    pd.testing.assert_frame_equal(ledger.forecasts, kept)
    assert len(ledger.fits) == 4
    with pytest.raises(ValueError, match="`forecasters`: 'gru' is not in the ledger"):
        ledger.take(["gru"])
    assert whole.take(name for name in ["lstm"]).digest == ledger.digest
    for names in ([], ["lstm", "lstm"]):
        with pytest.raises(ValueError, match=r"`forecasters` is .*; allowed: one or more of .*, each once"):
            whole.take(names)
    for names in ("lstm", 3, None):
        with pytest.raises(TypeError, match=r"`forecasters` is .*; allowed: a list of names, of \['SeasonalNaive'"):
            whole.take(names)


def test_what_was_not_told_of_a_forecast_is_said_to_be_unknown():
    forecasts, scales, fits = tables()
    forecasts["fit_cutoff"] = forecasts["cutoff"].mask(forecasts["cutoff"] == DAYS[11], DAYS[8])
    told = Ledger.of(forecasts, scales, fits, 7)
    assert told.forecasts.groupby("cutoff")["staleness"].first().isna().tolist() == [False, True]
    assert set(told.forecasts.loc[told.forecasts["y"].isna(), "status"]) == {"missing"}
    known = forecasts.assign(staleness=3, status=np.where(forecasts["y"].isna(), "ended", "observed"))
    assert (Ledger.of(known, scales, fits, 7).forecasts["staleness"] == 3).all()
    with pytest.raises(ValueError, match="column `status` is 'observed' where `y` is nan"):
        Ledger.of(known.assign(status="observed"), scales, fits, 7)
    with pytest.raises(ValueError, match="column `status` is 'lost' in row 0; allowed: "):
        Ledger.of(known.assign(status="lost"), scales, fits, 7)
