"""The catalogue: cards, the lookup order, checksums, the readers of raw files, and the embedded set."""

import gzip
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import requests
import yaml

from forecast import catalog
from forecast.catalog import places, readers
from forecast.frame import check_frame

DATASETS = Path(__file__).parent.parent / "datasets"
CARDS = sorted(path.parent.name for path in DATASETS.glob("*/card.yaml"))
CARD = {
    "name": "tiny",
    "title": "Tiny",
    "source": {"text": "made for a test", "address": "https://example.org"},
    "licence": "CC0-1.0",
    "freq": "h",
    "season_lengths": [24],
    "horizon": 2,
    "series": 1,
}
FRAME_CSV = "unique_id,ds,y,temp\n7,2020-01-01 00:00:00,1.5,3\n7,2020-01-01 01:00:00,,4\n"
RAW_CSV = "date,OT,load\n2020-01-01 00:00:00,1.5,3\n2020-01-01 01:00:00,2.5,4\n"
URL = "https://example.org/raw.csv"


def sha256(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def download(checksum: str | None) -> dict:
    reader = {"kind": "table", "unique_id": "A", "time": "date", "target": "OT"}
    return {"files": [{"url": URL, "sha256": checksum}], "reader": reader}


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """No test reads the user's data home, and none reads or writes the user's cache."""
    monkeypatch.delenv("FORECAST_DATA_HOME", raising=False)
    monkeypatch.delenv("FORECAST_DATASETS_DIR", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda project: tmp_path / "cache")


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("FORECAST_DATA_HOME", str(folder))
    return folder


@pytest.fixture
def add_card(tmp_path, monkeypatch):
    """Put a card, and files beside it, into a folder of cards of the test's own; gives the card's folder."""

    def add(files=None, **changes):
        card = {**CARD, **changes}
        folder = tmp_path / "datasets" / "tiny"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "card.yaml").write_text(yaml.safe_dump({k: v for k, v in card.items() if v is not ...}))
        for name, content in (files or {}).items():
            (folder / name).write_text(content)
        monkeypatch.setenv("FORECAST_DATASETS_DIR", str(folder.parent))
        return folder

    return add


@pytest.fixture
def network(monkeypatch):
    """Stand in for the network under pooch: what an address serves, and how often it was asked."""
    served: dict[str, str] = {}
    asked: list[str] = []

    def fetch(self, url, output_file, pooch, check_only=False):
        asked.append(url)
        if url not in served:
            raise requests.exceptions.ConnectionError(f"cannot resolve {url}")
        output_file = Path(output_file) if isinstance(output_file, str) else output_file
        output_file.write_bytes(served[url].encode())

    monkeypatch.setattr("pooch.downloaders.HTTPDownloader.__call__", fetch)
    return served, asked


# --- cards -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CARDS)
def test_every_card_follows_the_schema_and_says_where_its_data_are(name):
    card = catalog.card(name)
    assert card.name == name
    if card.embedded:
        assert (DATASETS / name / card.embedded.file).stat().st_size < 300_000
        assert (DATASETS / name / "README.md").is_file()
        assert (DATASETS / name / "prepare.py").is_file()
    pd.tseries.frequencies.to_offset(f"{card.freq}h" if card.freq.isdigit() else card.freq)


@pytest.mark.parametrize(
    ("changes", "field", "what"),
    [
        ({"horizon": 0}, "horizon", "greater than or equal to 1"),
        ({"horizont": 3}, "horizont", "Extra inputs"),
        ({"licence": ...}, "licence", "required"),
        ({"season_lengths": []}, "season_lengths", "at least 1"),
        ({"roles": {"past": ["a"], "known": ["a"]}}, "roles", "a again"),
        ({"roles": {"static": ["y"]}}, "roles", "y again"),
        ({"roles": {"future": ["a"]}}, "roles", "Unexpected keyword"),
        ({"roles": {"delayed": {"a": 0}}}, "roles", "1 period or more; got a: 0"),
        ({"embedded": {"file": "x.csv", "sha256": "abc"}}, "embedded.sha256", "pattern"),
        ({"download": {**download(None), "reader": {"kind": "rda"}}}, "download.reader", "rda"),
        ({"download": {**download(None), "reader": {"kind": "m4"}}}, "download", "reads 2 file(s); got 1"),
        ({"name": "other"}, "name", "its folder, 'tiny'"),
    ],
)
def test_a_faulty_card_is_refused_with_its_file_and_field(add_card, changes, field, what):
    folder = add_card(**changes)
    with pytest.raises(catalog.CardError) as caught:
        catalog.card("tiny")
    assert f"{folder / 'card.yaml'}: {field}" in str(caught.value)
    assert what in str(caught.value)


def test_a_card_that_is_not_yaml_is_refused_with_its_file(add_card):
    folder = add_card(files={"card.yaml": "name: [tiny\n"})
    with pytest.raises(catalog.CardError, match=r"tiny/card\.yaml: not readable as YAML"):
        catalog.card("tiny")
    assert folder.is_dir()


def test_an_unknown_name_is_answered_with_the_nearest_one():
    with pytest.raises(ValueError, match=r"no data set 'nyc_wether'; did you mean 'nyc_weather'\? known: aus_retail"):
        catalog.load("nyc_wether")


def test_an_unknown_name_that_is_near_to_none_gets_the_list():
    with pytest.raises(ValueError, match="no data set 'qqqq'; known: aus_retail"):
        catalog.card("qqqq")


# --- the embedded set ------------------------------------------------------------------------------------------------


def test_nyc_weather_is_a_long_frame_with_the_gaps_of_its_source():
    frame = catalog.load("nyc_weather")
    covariates = ["dewp", "humid", "wind_speed", "precip", "pressure", "visib"]
    assert list(frame.columns) == ["unique_id", "ds", "y", *covariates]
    assert frame["unique_id"].value_counts().to_dict() == {"JFK": 8706, "LGA": 8706, "EWR": 8703}
    assert pd.api.types.is_string_dtype(frame["unique_id"])
    assert pd.api.types.is_datetime64_dtype(frame["ds"])
    assert all(pd.api.types.is_float_dtype(frame[column]) for column in ["y", *covariates[:3]])
    assert frame["y"].isna().sum() == 1
    assert frame["pressure"].isna().sum() == 2729
    assert frame["wind_speed"].max() == pytest.approx(1048.36058)
    steps = frame.groupby("unique_id")["ds"].diff().dropna()
    assert (steps >= pd.Timedelta("1h")).all()
    gaps = steps[steps > pd.Timedelta("1h")].groupby(frame["unique_id"])
    assert gaps.size().to_dict() == {"EWR": 17, "JFK": 14, "LGA": 14}
    assert gaps.apply(lambda gap: (gap / pd.Timedelta("1h") - 1).sum()).to_dict() == {"EWR": 27, "JFK": 24, "LGA": 24}
    assert frame["ds"].min() == pd.Timestamp("2013-01-01 06:00")
    assert frame["ds"].max() == pd.Timestamp("2013-12-30 23:00")


def test_two_loads_give_frames_that_do_not_share_their_rows():
    first = catalog.load("nyc_weather")
    first.loc[0, "y"] = -1.0
    assert catalog.load("nyc_weather").loc[0, "y"] == 39.02


def test_a_changed_embedded_file_is_refused(add_card):
    card = {"embedded": {"file": "data.csv", "sha256": sha256(FRAME_CSV)}}
    folder = add_card(files={"data.csv": FRAME_CSV}, **card)
    assert len(catalog.load("tiny")) == 2
    (folder / "data.csv").write_text(FRAME_CSV.replace("1.5", "1.6"))
    with pytest.raises(ValueError, match=r"'tiny': .*data\.csv has sha256 .* its card says"):
        catalog.load("tiny")


def test_an_embedded_file_without_a_column_of_its_card_is_refused(add_card):
    add_card(
        files={"data.csv": FRAME_CSV},
        embedded={"file": "data.csv", "sha256": sha256(FRAME_CSV)},
        roles={"past": ["temp", "wind"]},
    )
    with pytest.raises(ValueError, match=r"data\.csv lacks the column\(s\) wind .* it has unique_id, ds, y, temp"):
        catalog.load("tiny")


# --- the lookup order ------------------------------------------------------------------------------------------------


def test_a_prepared_file_in_the_data_home_goes_before_the_embedded_one(home, add_card):
    add_card(files={"data.csv": FRAME_CSV}, embedded={"file": "data.csv", "sha256": sha256(FRAME_CSV)})
    assert catalog.load("tiny")["y"].iloc[0] == 1.5
    assert catalog.table()["where"].tolist() == ["embedded"]
    (home / "tiny.csv.gz").write_bytes(gzip.compress(FRAME_CSV.replace("1.5", "9.5").encode()))
    frame = catalog.load("tiny")
    assert frame["y"].iloc[0] == 9.5
    assert np.isnan(frame["y"].iloc[1])
    assert frame["unique_id"].tolist() == ["7", "7"]
    assert catalog.table()["where"].tolist() == ["data home"]


def test_a_prepared_file_keeps_integers_as_stamps_and_the_time_zone(home, add_card):
    add_card()
    (home / "tiny.csv").write_text("unique_id,ds,y\na,1,2\na,2,3\n")
    assert catalog.load("tiny")["ds"].tolist() == [1, 2]
    (home / "tiny.csv").write_text("unique_id,ds,y\na,2020-01-01 00:00:00+00:00,2\n")
    assert catalog.load("tiny")["ds"].iloc[0] == pd.Timestamp("2020-01-01", tz="UTC")


def test_a_data_home_that_does_not_exist_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("FORECAST_DATA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(NotADirectoryError, match=r"FORECAST_DATA_HOME names .*nowhere"):
        catalog.load("nyc_weather")


@pytest.fixture
def without_pyarrow(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.fixture
def parquet(monkeypatch):
    """Stand in for pyarrow, which is an extra: every parquet file holds the frame that a test gives."""

    def holds(frame):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: True)
        monkeypatch.setattr(pd, "read_parquet", lambda path, engine: frame)

    return holds


def test_a_parquet_file_without_pyarrow_names_the_extra(home, add_card, without_pyarrow):
    add_card(download=download(None))
    (home / "tiny.parquet").write_bytes(b"PAR1")
    with pytest.raises(ImportError, match=r'tiny\.parquet needs pyarrow.*pip install "foretell\[parquet\]"'):
        catalog.load("tiny")


def test_without_pyarrow_the_embedded_file_stands_in_for_a_parquet_file_with_a_warning(home, without_pyarrow):
    (home / "nyc_weather.parquet").write_bytes(b"PAR1")
    assert catalog.table().set_index("name").loc["nyc_weather", "where"] == "embedded"
    with pytest.warns(
        UserWarning, match=r"nyc_weather\.parquet needs .* embedded file .*data\.csv\.gz .*foretell\[parquet\]"
    ) as caught:
        frame = catalog.load("nyc_weather")
    assert caught[0].filename == __file__
    assert len(frame) == 26115


def test_without_pyarrow_a_csv_file_in_the_data_home_goes_before_the_embedded_one(home, add_card, without_pyarrow):
    add_card(files={"data.csv": FRAME_CSV}, embedded={"file": "data.csv", "sha256": sha256(FRAME_CSV)})
    (home / "tiny.parquet").write_bytes(b"PAR1")
    (home / "tiny.csv").write_text(FRAME_CSV.replace("1.5", "9.5"))
    with pytest.warns(UserWarning, match=r"tiny\.parquet needs pyarrow.* data home file .*tiny\.csv is used"):
        assert catalog.load("tiny")["y"].iloc[0] == 9.5


def test_a_parquet_file_that_the_card_does_not_know_is_used_with_a_warning(home, add_card, parquet):
    add_card(prepared={"sha256": sha256("the known file")})
    parquet(pd.DataFrame({"unique_id": ["a"], "ds": [1], "y": [2]}))
    (home / "tiny.parquet").write_text("another file")
    with pytest.warns(UserWarning, match="'tiny': .*is not the prepared file that the card knows") as caught:
        assert len(catalog.load("tiny")) == 1
    assert caught[0].filename == __file__
    (home / "tiny.parquet").write_text("the known file")
    assert len(catalog.load("tiny")) == 1


# --- one set of dtypes -----------------------------------------------------------------------------------------------

CSV = "unique_id,ds,y,kind,temp\n7,2020-01-01,1,rain,1.5\n8,2020-01-02,2,,2.5\n"
STAMPS = ["2020-01-01", "2020-01-02"]
KINDS = ["rain", None]


@pytest.mark.parametrize(
    ("ids", "stamps", "kinds"),
    [
        (["7", "8"], np.array(STAMPS, dtype="datetime64[ns]"), KINDS),
        (["7", "8"], np.array(STAMPS, dtype="datetime64[s]"), pd.array(KINDS, dtype="string")),
        (pd.Categorical(["7", "8"]), [pd.Timestamp(stamp).date() for stamp in STAMPS], pd.Categorical(KINDS)),
        ([7, 8], STAMPS, np.array(KINDS, dtype=object)),
    ],
)
def test_a_csv_and_a_parquet_file_give_equal_frames(home, add_card, parquet, ids, stamps, kinds):
    add_card()
    (home / "tiny.csv").write_text(CSV)
    from_csv = catalog.load("tiny")
    assert str(from_csv["ds"].dtype) == "datetime64[us]"
    assert from_csv["y"].dtype == "float64"
    assert from_csv["unique_id"].dtype == from_csv["kind"].dtype == pd.Series(["text"]).dtype
    (home / "tiny.parquet").touch()
    parquet(pd.DataFrame({"unique_id": ids, "ds": stamps, "y": [1, 2], "kind": kinds, "temp": [1.5, 2.5]}))
    pd.testing.assert_frame_equal(catalog.load("tiny"), from_csv)


@pytest.mark.parametrize("dtype", ["int32", "int64", "Int64"])
def test_integer_stamps_are_int64_from_every_file(home, add_card, parquet, dtype):
    add_card()
    (home / "tiny.parquet").touch()
    parquet(
        pd.DataFrame({"unique_id": ["a"], "ds": pd.array([1], dtype=dtype), "y": pd.array([None], dtype="Float64")})
    )
    frame = catalog.load("tiny")
    assert frame["ds"].dtype == "int64"
    assert frame["y"].dtype == "float64"
    assert np.isnan(frame["y"].iloc[0])


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ("a,2020-01-01,1\na,soon,2\n", "column `ds` cannot be read as timestamps"),
        ("a,1,1\na,,2\n", "column `ds` has numbers of dtype float64"),
        ("a,2020-03-01 00:00+01:00,1\na,2020-04-01 00:00+02:00,2\n", "all with one offset from UTC or none"),
        ("a,2020-01-01,1\na,2020-01-02,many\n", "column `y` cannot be read as numbers .*many"),
    ],
)
def test_a_prepared_file_with_a_column_of_a_wrong_type_is_refused(home, add_card, rows, what):
    add_card()
    (home / "tiny.csv").write_text("unique_id,ds,y\n" + rows)
    with pytest.raises(ValueError, match=rf"'tiny': .*tiny\.csv: {what}" if "all" not in what else what):
        catalog.load("tiny")


def test_the_roles_of_a_card_are_those_that_the_door_takes(add_card):
    add_card(
        files={"data.csv": CSV},
        embedded={"file": "data.csv", "sha256": sha256(CSV)},
        roles={"static": ["kind"], "delayed": {"temp": 2}},
    )
    panel = check_frame(catalog.load("tiny"), freq="D", roles=catalog.card("tiny").roles)
    assert panel.ids.tolist() == ["7", "8"]


def test_a_set_without_a_public_file_says_what_to_put_where(home):
    with pytest.raises(FileNotFoundError) as caught:
        catalog.load("aus_retail")
    for part in [
        "aus_retail.parquet or aus_retail.csv.gz or aus_retail.csv",
        str(home),
        "tsibbledata",
        "state, industry",
    ]:
        assert part in str(caught.value)


def test_the_folder_of_cards_is_the_named_one_then_the_bundled_one_then_the_one_beside_the_sources(
    tmp_path, monkeypatch
):
    package = tmp_path / "site" / "forecast"
    package.mkdir(parents=True)
    beside, bundled, named = tmp_path / "site" / "datasets", package / "_bundled" / "datasets", tmp_path / "named"
    beside.mkdir()
    with pytest.raises(FileNotFoundError, match=r"FORECAST_DATASETS_DIR is not set, .*_bundled.*pyproject\.toml"):
        places.datasets_folder(package)
    (tmp_path / "site" / "pyproject.toml").touch()
    assert places.datasets_folder(package) == beside
    bundled.mkdir(parents=True)
    assert places.datasets_folder(package) == bundled
    monkeypatch.setenv("FORECAST_DATASETS_DIR", str(named))
    with pytest.raises(NotADirectoryError, match="FORECAST_DATASETS_DIR names"):
        places.datasets_folder(package)
    named.mkdir()
    assert places.datasets_folder(package) == named


def test_the_table_lists_every_set_without_a_download(network):
    table = catalog.table().set_index("name")
    assert table.index.tolist() == CARDS
    assert table.loc["nyc_weather", ["series", "freq", "where"]].tolist() == [3, "h", "embedded"]
    assert table.loc["etth1", "where"] == "download"
    assert table.loc["aus_retail", "where"] == "missing"
    assert network[1] == []


# --- downloads -------------------------------------------------------------------------------------------------------


def test_a_download_is_verified_kept_and_not_asked_for_again(add_card, network):
    served, asked = network
    served[URL] = RAW_CSV
    add_card(download=download(sha256(RAW_CSV)), roles={"past": ["load"]})
    frame = catalog.load("tiny")
    assert frame.columns.tolist() == ["unique_id", "ds", "y", "load"]
    assert frame["y"].tolist() == [1.5, 2.5]
    assert catalog.table()["where"].tolist() == ["cached"]
    served.clear()
    pd.testing.assert_frame_equal(catalog.load("tiny"), frame)
    assert asked == [URL]


def test_a_download_with_another_checksum_is_refused_and_not_kept(add_card, network, tmp_path):
    network[0][URL] = RAW_CSV.replace("1.5", "1.6")
    add_card(download=download(sha256(RAW_CSV)))
    with pytest.raises(ValueError, match=r"'tiny': https://example\.org/raw\.csv does not have sha256 .*of its card"):
        catalog.load("tiny")
    assert not (tmp_path / "cache" / "tiny" / "raw.csv").exists()


def test_without_network_the_error_says_which_file_to_put_where(add_card, network, tmp_path):
    add_card(download=download(sha256(RAW_CSV)), roles={"past": ["load"]})
    with pytest.raises(FileNotFoundError) as caught:
        catalog.load("tiny")
    message = str(caught.value)
    for part in [
        "raw.csv is not on this machine",
        "ConnectionError",
        "tiny.parquet or tiny.csv.gz or tiny.csv",
        "load",
    ]:
        assert part in message
    assert f"put {URL} into {tmp_path / 'cache' / 'tiny'} as raw.csv" in message
    assert "FORECAST_DATA_HOME (not set now)" in message
    # Doing the second of the two things it says is enough.
    (tmp_path / "cache" / "tiny" / "raw.csv").write_text(RAW_CSV)
    assert len(catalog.load("tiny")) == 2


def test_without_a_published_checksum_the_first_copy_is_trusted_aloud_and_held_to(add_card, network, tmp_path):
    served, asked = network
    served[URL] = RAW_CSV
    add_card(download=download(None))
    with pytest.warns(UserWarning, match="nobody has published a checksum .* trusted as it came") as caught:
        catalog.load("tiny")
    assert caught[0].filename == __file__
    assert (tmp_path / "cache" / "tiny" / "raw.csv.sha256").read_text().strip() == sha256(RAW_CSV)
    assert len(catalog.load("tiny")) == 2
    assert asked == [URL]
    changed = RAW_CSV.replace("1.5", "1.6")
    served[URL] = changed
    (tmp_path / "cache" / "tiny" / "raw.csv").write_text(changed)
    with pytest.raises(ValueError, match="recorded at its first download"):
        catalog.load("tiny")


# --- readers ---------------------------------------------------------------------------------------------------------


def rows(frame: pd.DataFrame) -> list[list]:
    return frame.astype({"ds": str}).to_numpy(dtype=object).tolist()


def test_the_wide_reader_turns_columns_into_series(tmp_path):
    (tmp_path / "raw.csv").write_text("0,1\n0.5,1.5\n0.25,1.25\n")
    reader = readers.WideReader(kind="wide", names=["A", "B"], start="1990-01-01")
    frame = reader.read([tmp_path / "raw.csv"], "D")
    assert rows(frame) == [
        ["A", "1990-01-01", 0.5],
        ["A", "1990-01-02", 0.25],
        ["B", "1990-01-01", 1.5],
        ["B", "1990-01-02", 1.25],
    ]
    assert pd.api.types.is_string_dtype(frame["unique_id"])
    with pytest.raises(ValueError, match=r"raw\.csv: 2 columns, expected 1: A"):
        readers.WideReader(kind="wide", names=["A"], start="1990-01-01").read([tmp_path / "raw.csv"], "D")


def tsf(path: Path, lines: str, member: str = "x.tsf") -> list[Path]:
    head = "# Naïve comment\n@relation x\n@attribute series_name string\n@attribute start_timestamp date\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, (head + lines).encode("cp1252"))
    return [path]


@pytest.mark.parametrize(
    ("freq", "start", "stamps"),
    [
        ("h", "2015-07-01 12-00-00", ["2015-07-01 12:00", "2015-07-01 13:00", "2015-07-01 14:00"]),
        ("D", "1996-03-18 00-00-00", ["1996-03-18", "1996-03-19", "1996-03-20"]),
        ("MS", "1990-01-31 00-00-00", ["1990-01-01", "1990-02-01", "1990-03-01"]),
        ("QS", "1979-03-31 00-00-00", ["1979-01-01", "1979-04-01", "1979-07-01"]),
        ("YS", "1979-12-31 00-00-00", ["1979-01-01", "1980-01-01", "1981-01-01"]),
    ],
)
def test_the_tsf_reader_steps_from_the_start_of_each_series(tmp_path, freq, start, stamps):
    paths = tsf(tmp_path / "x.zip", f"@frequency x\n@missing true\n@data\nT1:{start}:1,?,3.5\nT2:{start}:4\n")
    frame = readers.TsfReader(kind="tsf").read(paths, freq)
    assert frame["unique_id"].tolist() == ["T1", "T1", "T1", "T2"]
    assert frame["ds"].tolist() == [pd.Timestamp(stamp) for stamp in [*stamps, stamps[0]]]
    np.testing.assert_array_equal(frame["y"], [1, np.nan, 3.5, 4])


def test_the_tsf_reader_keeps_further_attributes_as_columns_and_wants_one_member(tmp_path):
    lines = "@attribute kind string\n@data\nT1:2000-01-01 00-00-00:rain:1,2\n"
    frame = readers.TsfReader(kind="tsf").read(tsf(tmp_path / "x.zip", lines), "D")
    assert frame["kind"].tolist() == ["rain", "rain"]
    with pytest.raises(ValueError, match=r"expected one \.tsf file inside, found none"):
        readers.TsfReader(kind="tsf").read(tsf(tmp_path / "y.zip", lines, "x.txt"), "D")


def test_the_m4_reader_puts_the_test_part_of_each_series_behind_its_train_part(tmp_path):
    train, test = tmp_path / "Weekly-train.csv", tmp_path / "Weekly-test.csv"
    train.write_text('"V1","V2","V3","V4"\n"W2","1.5","2","3"\n"W1","10","20",""\n')
    test.write_text('"V1","V2"\n"W1","30"\n"W2","4"\n')
    frame = readers.M4Reader(kind="m4").read([train, test], "1")
    assert frame.columns.tolist() == ["unique_id", "ds", "y", "split"]
    assert frame.to_numpy(dtype=object).tolist() == [
        ["W2", 1, 1.5, "train"],
        ["W2", 2, 2.0, "train"],
        ["W2", 3, 3.0, "train"],
        ["W2", 4, 4.0, "test"],
        ["W1", 1, 10.0, "train"],
        ["W1", 2, 20.0, "train"],
        ["W1", 3, 30.0, "test"],
    ]


def test_the_bike_sharing_reader_joins_day_and_hour(tmp_path):
    header = "instant,dteday,season,yr,mnth,hr,holiday,weekday,workingday,weathersit,"
    header += "temp,atemp,hum,windspeed,casual,registered,cnt"
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("Readme.txt", "not read")
        archive.writestr("hour.csv", f"{header}\n1,2011-01-01,1,0,1,23,0,6,0,1,0.24,0.2879,0.81,0,3,13,16\n")
    frame = readers.BikeSharingReader(kind="bike_sharing").read([tmp_path / "x.zip"], "h")
    assert frame.columns.tolist()[:4] == ["unique_id", "ds", "y", "season"]
    assert frame.loc[0, ["unique_id", "ds", "y"]].tolist() == [
        "capital_bikeshare",
        pd.Timestamp("2011-01-01 23:00"),
        16,
    ]
    assert set(catalog.card("bike_sharing").roles.columns()) < set(frame.columns)


def test_importing_the_catalogue_and_loading_the_embedded_set_needs_no_downloader():
    code = "import sys; from forecast import catalog; catalog.load('nyc_weather'); "
    code += "print('pooch' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
