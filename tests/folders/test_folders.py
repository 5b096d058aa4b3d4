"""Folders of Parquet files as a source of series: two layouts, read some whole series at a time; what is refused."""

import datetime

import numpy as np
import pandas as pd
import pytest

from forecast import NeuralForecaster, Roles, SeasonalNaive, Training, check_frame
from forecast.folders import folder_panel, look_at_ids, series, source_of, tables_of
from forecast.frame import FrameError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LENGTHS = {"b": 30, "a": 7, "d": 41, "c": 12, "e": 25}
NAMES = ("b", "a"), ("d",), ("c", "e")  # of each file


def make(names=tuple(LENGTHS), begin="2024-01-01", freq="D", zone=None):
    """Give the long frame of some series, which begin at different times."""
    parts = []
    for place, name in enumerate(names):
        stamps = pd.date_range(begin, periods=60, freq=freq, tz=zone, unit="us")[place : place + LENGTHS[name]]
        values = np.random.default_rng(LENGTHS[name]).normal(size=LENGTHS[name])
        parts.append(pd.DataFrame({"unique_id": name, "ds": stamps, "y": values}))
    return pd.concat(parts, ignore_index=True)


def rolled(frame, lists=("y",)):
    """Give a row for each series of a long frame."""
    ways = {name: list if name in lists else "first" for name in frame.columns if name != "unique_id"}
    return frame.groupby("unique_id", sort=False).agg(ways).reset_index()


def write(folder, frame, layout="long", files=NAMES, **options):
    folder.mkdir(exist_ok=True)
    for number, names in enumerate(files):
        part = frame[frame["unique_id"].isin(names)]
        part = rolled(part) if layout == "rows" else part
        pq.write_table(pa.Table.from_pandas(part, preserve_index=False), folder / f"part-{number}.parquet", **options)
    return folder


def assert_same(panel, expected):
    for name in ("values", "observed", "starts", "stops", "first"):
        np.testing.assert_array_equal(getattr(panel, name), getattr(expected, name))
    assert panel.ids.tolist() == expected.ids.tolist()
    assert panel.calendar == expected.calendar


# -- what is read ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["long", "rows"])
@pytest.mark.parametrize("rows", [1, 10, 50, 1000])
@pytest.mark.parametrize("most", [1, 2, 100])
def test_a_file_is_cut_between_series_whatever_fits_into_memory(tmp_path, monkeypatch, layout, rows, most):
    monkeypatch.setattr(series, "_ROWS", rows)
    monkeypatch.setattr(series, "_SERIES", most)
    frame = make()
    source = source_of(write(tmp_path, frame, layout, files=[tuple(LENGTHS)], row_group_size=3))
    parts = list(tables_of(source, source.files[0], "D"))
    assert source.by_series == (layout == "rows")
    assert source.values == len(frame)
    together = pa.concat_tables([table for table, _ in parts]).to_pandas()
    pd.testing.assert_frame_equal(together, frame, check_dtype=False)
    for table, begins in parts:
        ids = table["unique_id"].to_pylist()
        assert begins.tolist() == [row for row, name in enumerate(ids) if row == 0 or name != ids[row - 1]]
        assert len(begins) <= most
    assert sum(len(begins) for _, begins in parts) == len(LENGTHS)


@pytest.mark.parametrize("layout", ["long", "rows"])
@pytest.mark.parametrize(
    ("freq", "zone"), [("D", None), ("MS", None), ("h", "Europe/Berlin"), ("D", "Europe/Berlin"), ("15min", None)]
)
def test_a_folder_is_the_panel_of_the_frame_of_its_files(tmp_path, layout, freq, zone):
    frame = make(begin="2024-03-01", freq=freq, zone=zone)
    assert_same(folder_panel(write(tmp_path, frame, layout), freq=freq), check_frame(frame, freq=freq))


@pytest.mark.parametrize("kind", ["date", "integer", "small"])
def test_days_and_whole_numbers_are_stamps_too(tmp_path, kind):
    frame = make()
    days = (frame["ds"] - pd.Timestamp("2024-01-01")).dt.days
    frame["ds"] = frame["ds"].dt.date if kind == "date" else days.astype("int16" if kind == "small" else "int64")
    freq = "D" if kind == "date" else 1
    expected = check_frame(frame, freq=freq)
    assert_same(folder_panel(write(tmp_path / "long", frame), freq=freq), expected)
    by_rows = folder_panel(write(tmp_path / "rows", frame, "rows"), freq=freq)
    assert_same(by_rows, expected)
    if kind == "date":
        given = by_rows.form.give(by_rows.to_frame())
        assert given["ds"][0].as_py() == datetime.date(2024, 1, 1)


def test_rows_of_series_tell_their_frequency_in_the_metadata_of_the_file(tmp_path):
    frame = make()
    folder = write(tmp_path, frame, "rows")
    with pytest.raises(FrameError, match=r"part-0.parquet: `freq` is None; where a row is a series.* freq='D'"):
        folder_panel(folder)
    for file in folder.iterdir():
        pq.write_table(pq.read_table(file).replace_schema_metadata({"freq": "D"}), file)
    assert_same(folder_panel(folder), check_frame(frame))
    pq.write_table(pq.read_table(file).replace_schema_metadata({"freq": "W"}), file)
    with pytest.raises(FrameError, match=r"its metadata name the frequency '[DW]', those of part-"):
        folder_panel(folder)


@pytest.mark.parametrize("layout", ["long", "rows"])
def test_categories_are_ids_and_covariates_too(tmp_path, monkeypatch, layout):
    monkeypatch.setattr(series, "_ROWS", 20)
    frame = make().assign(kind=lambda all_: all_["unique_id"].map({"a": "x", "b": "y"}).fillna("z"))
    given = {"roles": Roles(static=("kind",)), "freq": "D"}
    expected = check_frame(frame, **given)
    panel = folder_panel(write(tmp_path, frame.astype({"unique_id": "category", "kind": "category"}), layout), **given)
    assert_same(panel, expected)
    kinds = [names.covariates.static.values(np.arange(5))["kind"].astype(str).tolist() for names in (panel, expected)]
    assert kinds[0] == kinds[1] == ["y", "x", "z", "z", "z"]


def test_missing_values_are_null_or_no_number(tmp_path):
    frame = make()
    frame.loc[[3, 40], "y"] = np.nan
    expected = check_frame(frame)
    assert_same(folder_panel(write(tmp_path / "rows", frame, "rows"), freq="D"), expected)
    write(tmp_path / "null", frame)
    assert pq.read_table(tmp_path / "null")["y"].null_count == 2
    assert_same(folder_panel(tmp_path / "null"), expected)


@pytest.mark.parametrize("layout", ["long", "rows"])
def test_covariates_and_names_of_ones_own_are_read_as_from_a_frame(tmp_path, layout):
    frame = make()
    frame["size"] = frame["unique_id"].map(LENGTHS)
    frame["rain"] = np.arange(len(frame)) % 5.0
    frame["unused"] = 1
    names = {"unique_id": "store", "y": "sold"}
    given = {"roles": Roles(static=("size",), past=("rain",)), "columns": names, "freq": "D"}
    expected = check_frame(frame.rename(columns=names), **given)
    for number, some in enumerate(NAMES):
        part = frame[frame["unique_id"].isin(some)]
        part = rolled(part, ("y", "rain")) if layout == "rows" else part
        table = pa.Table.from_pandas(part.rename(columns=names), preserve_index=False)
        pq.write_table(table, tmp_path / f"{number}.pq")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part.parquet.crc").touch()
    panel = folder_panel(tmp_path, **given)
    assert_same(panel, expected)
    np.testing.assert_array_equal(panel.covariates.past.numbers, expected.covariates.past.numbers)
    np.testing.assert_array_equal(panel.covariates.static.numbers, expected.covariates.static.numbers)


# -- what is refused ---------------------------------------------------------------------------------------------------


def refused(folder, match, error=FrameError, **door):
    with pytest.raises(error, match=match):
        folder_panel(folder, **door)


def test_a_folder_without_files_is_refused(tmp_path):
    refused(tmp_path, "there is no file in it that ends in .parquet or .pq; give a folder of such")
    refused(tmp_path / "gone", "there is no such folder", FileNotFoundError)
    write(tmp_path / "year=2024", make())
    refused(tmp_path, "Parquet files lie in the folder 'year=2024' inside it: give one folder at a time")
    refused(tmp_path / "year=2024" / "part-0.parquet", "there is no such folder", NotADirectoryError)


def test_files_of_two_layouts_are_refused(tmp_path):
    write(tmp_path, make())
    write(tmp_path / "rows", make(), "rows")
    (tmp_path / "rows" / "part-1.parquet").rename(tmp_path / "part-1.parquet")
    for left in (tmp_path / "rows").iterdir():
        left.unlink()
    told = r"part-1.parquet: column `y` holds lists, and that of part-0.parquet numbers: part-1.parquet has a row for "
    refused(tmp_path, told + r"each series, part-0.parquet one for each value. Give a folder of one layout")


def test_a_column_that_is_not_there_or_of_another_type_is_named(tmp_path):
    folder = write(tmp_path, make())
    refused(folder, r"part-0.parquet: column `sold` is not there; it has unique_id, ds, y", columns={"y": "sold"})
    refused(folder, r"column `Ds` is not there; .*did you mean 'ds'\?", columns={"ds": "Ds"})
    refused(folder, r"column `price` is not there", roles=Roles(known=("price",)))
    table = pq.read_table(folder / "part-2.parquet")
    pq.write_table(table.set_column(1, "ds", table["ds"].cast(pa.timestamp("ns"))), folder / "part-2.parquet")
    refused(folder, r"part-2.parquet: column `ds` holds timestamp\[ns\], that of part-0.parquet timestamp\[us\]")


def test_rows_out_of_order_are_refused(tmp_path):
    frame = make()
    refused(
        write(tmp_path / "time", frame.sort_values(["ds", "unique_id"]), files=[tuple("abcde")]),
        r"part-0.parquet: column `unique_id`: series 'b' comes again after rows of another.*Sort by `unique_id`",
    )
    frame.loc[[2, 3]] = frame.loc[[3, 2]].to_numpy()
    frame["ds"] = pd.to_datetime(frame["ds"])
    refused(write(tmp_path / "back", frame), r"column `ds`: series 'b' at 2024-01-03.* comes after 2024-01-04")


@pytest.mark.parametrize("layout", ["long", "rows"])
@pytest.mark.parametrize("numbered", [False, True])
def test_a_series_in_two_files_is_refused(tmp_path, layout, numbered):
    frame = make()
    if numbered:
        frame["unique_id"] = frame["unique_id"].map(ord)
    one, other = (("b", "a"), ("c", "b")) if not numbered else ((98, 97), (99, 98))
    folder = write(tmp_path, frame, layout, files=[one, other])
    which = repr(one[0])
    refused(folder, rf"part-1.parquet: column `unique_id`: series {which} also lies in part-0.parquet", freq="D")


def test_ids_whose_hashes_meet_are_told_apart(tmp_path, monkeypatch):
    from forecast.folders import identity

    monkeypatch.setattr(identity, "_hashed", lambda ids: np.zeros(len(ids), "uint64"))
    found = look_at_ids(source_of(write(tmp_path, make())))
    assert [found.series[file] for file in sorted(found.series)] == [2, 1, 2]
    assert not found.wrong


def test_a_series_with_two_rows_and_one_without_values_are_refused(tmp_path):
    rows = rolled(make())
    pq.write_table(pa.Table.from_pandas(pd.concat([rows, rows[:1]])), tmp_path / "one.parquet")
    refused(tmp_path, "one.parquet: column `unique_id`: series 'b' has two rows", freq="D")
    rows.at[2, "y"] = []
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "one.parquet")
    refused(tmp_path, r"one.parquet: series 'd' has no values in `y` \(1 such rows in reach\)", freq="D")


def test_lists_of_two_lengths_and_stamps_off_the_grid_are_refused(tmp_path):
    frame = make().assign(rain=1.0)
    rows = rolled(frame, ("y", "rain"))
    rows.at[1, "rain"] = [1.0]
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "one.parquet")
    told = r"series 'a' has 7 values in `y` and 1 in `rain`: give lists of one length"
    refused(tmp_path, told, freq="D", roles=Roles(past=("rain",)))
    rows = rolled(make(freq="MS"))
    rows.loc[3, "ds"] += pd.Timedelta(days=3)
    pq.write_table(pa.Table.from_pandas(rows), tmp_path / "one.parquet")
    refused(tmp_path, r"column `ds`: series 'c' begins at 2024-04-04.*not on the grid of frequency 'MS'", freq="MS")
    pq.write_table(pa.Table.from_pandas(rows.assign(ds=rows["ds"].astype(str))), tmp_path / "one.parquet")
    refused(tmp_path, r"column `ds` holds .*string.*; allowed where a row is a series: timestamps, dates", freq="D")


def test_a_torn_file_is_named(tmp_path):
    folder = write(tmp_path, make())
    content = (folder / "part-1.parquet").read_bytes()
    (folder / "part-1.parquet").write_bytes(content[:-20])
    refused(folder, r"part-1.parquet: cannot be read as Parquet \(.*\): write it again")
    holed = content[:10] + bytes(len(content) // 4) + content[10 + len(content) // 4 :]
    (folder / "part-1.parquet").write_bytes(holed)
    refused(folder, r"part-1.parquet: cannot be read as Parquet \(.*\): write it again")


# -- a fit -------------------------------------------------------------------------------------------------------------


def test_a_network_learns_from_a_folder_what_it_learns_from_its_frame(tmp_path):
    def fresh():
        return NeuralForecaster("lstm", 2, context_length="auto", training=Training(steps=2, validation_length=4))

    frame = make()
    one, other = fresh().fit(frame), fresh().fit(write(tmp_path / "rows", frame, "rows"), freq="D")
    for name, weight in one.network_.state_dict().items():
        np.testing.assert_array_equal(weight.numpy(), other.network_.state_dict()[name].numpy())
    assert one.context_length_ == other.context_length_
    assert other.predict().to_pandas()["mean"].tolist() == one.predict()["mean"].tolist()
    assert {path.name for path in tmp_path.iterdir()} == {"rows"}


def test_of_more_values_than_asked_for_some_series_are_drawn_and_told(tmp_path):
    folder = write(tmp_path, make())
    with pytest.warns(
        UserWarning, match=r"(\d) of 5 series are learned from, each drawn with a chance of 50.43%"
    ) as told:
        fitted = SeasonalNaive(2).fit(folder, most_values=58)
    drawn = fitted.panel_.ids.tolist()
    assert f": {len(drawn)} of 5" in str(told[0].message)
    assert 0 < len(drawn) < 5
    assert fitted.door_ == {}
    whole = folder_panel(folder)
    for name, (values, _) in zip(drawn, fitted.panel_, strict=True):
        np.testing.assert_array_equal(
            values, next(x for other, (x, _) in zip(whole.ids, whole, strict=True) if other == name)
        )
    with pytest.warns(UserWarning, match="are learned from"):
        assert folder_panel(folder, most_values=58).ids.tolist() == drawn  # the same seed
    with pytest.warns(UserWarning, match="seed 3"):
        assert folder_panel(folder, most_values=58, seed=3).ids.tolist() != drawn


def test_options_of_a_draw_are_checked(tmp_path):
    folder = write(tmp_path, make())
    refused(folder, "`most_values` is 0; allowed: a whole number of 1 or more", ValueError, most_values=0)
    refused(folder, "`most_values` draws none of the 5 series, which have 115 values", most_values=1, seed=1)
    with pytest.raises(TypeError, match="`most_values` is no option of `fit` of SeasonalNaive"):
        SeasonalNaive(2).fit(make(), most_values=5)
