"""Tables of one's own: read without guessing, refused by column and line, written in the user's names and spelling."""

import gzip
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from forecast.experiment import ConfigError
from forecast.experiment.own_data import Layout, named, read_table, write_table
from forecast.frame import Roles

DAYS = pd.date_range("2024-01-01", periods=40)
LAYOUT = Layout(time="date", target="sales")


def write(path, dates=None, values=None, separator=",", header="date,sales"):
    dates = DAYS.strftime("%Y-%m-%d") if dates is None else dates
    values = [f"{value:.2f}" for value in np.arange(len(dates)) / 4] if values is None else values
    rows = [separator.join(map(str, row)) for row in zip(dates, values, strict=True)]
    path.write_text("\n".join([header.replace(",", separator), *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".txt", ".parquet"])
def test_every_kind_of_file_gives_the_same_frame(tmp_path, ending):
    path = tmp_path / f"sales{ending}"
    frame = pd.DataFrame({"store": ["001", "NA"] * 3, "date": DAYS[:3].repeat(2), "sales": np.arange(6.0)})
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    read = read_table(path, Layout(id="store", time="date", target="sales"))
    assert read.frame["store"].tolist() == ["001"] * 3 + ["NA"] * 3
    assert read.frame["sales"].tolist() == [0, 2, 4, 1, 3, 5]
    assert read.frame["date"].tolist() == [*DAYS[:3], *DAYS[:3]]
    assert any("rows were sorted by series and time" in note for note in read.notes)


@pytest.mark.parametrize(
    ("separator", "word"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")], ids=["semicolon", "tab", "bar"]
)
def test_another_separator_is_found_and_told(tmp_path, separator, word):
    read = read_table(write(tmp_path / "sales.csv", separator=separator), LAYOUT)
    assert read.notes == (f"sales.csv: columns are separated by {word}",)
    assert len(read.frame) == 40


def test_a_separator_that_is_given_is_taken(tmp_path):
    path = write(tmp_path / "sales.csv", separator="#")
    assert len(read_table(path, Layout(time="date", target="sales", separator="#")).frame) == 40


@pytest.mark.parametrize(
    ("spelling", "dates"),
    [
        (None, "%Y-%m-%d"),
        (None, "%Y-%m-%dT%H:%M"),
        (None, "%Y-%m-%d %H:%M:%S"),
        (None, "%Y-%m-%dT%H:%M:%SZ"),
        (None, "%Y%m%d"),
        ("%d/%m/%Y", "%d/%m/%Y"),
        ("%m/%d/%y %H:%M", "%m/%d/%y %H:%M"),
    ],
)
def test_stamps_are_written_as_they_were_spelled(tmp_path, spelling, dates):
    texts = DAYS.strftime(dates)
    read = read_table(write(tmp_path / "t.csv", texts), Layout(time="date", target="sales", time_format=spelling))
    assert read.frame["date"].dt.tz_localize(None).tolist() == DAYS.tolist()
    forecasts = pd.DataFrame({"unique_id": "sales", "cutoff": read.frame["date"], "ds": read.frame["date"], "step": 1})
    written = write_table(named(forecasts, read.layout), None).splitlines()
    assert written[0] == "cutoff,date,step"
    assert [line.split(",")[1] for line in written[1:]] == texts.tolist()


def test_months_without_marks_are_read_as_months_and_years_as_numbers(tmp_path):
    months = pd.date_range("2023-11-01", periods=5, freq="MS")
    read = read_table(write(tmp_path / "m.csv", months.strftime("%Y%m")), LAYOUT)
    assert read.frame["date"].tolist() == months.tolist()
    assert read.notes == ("column 'date' is read as months written %Y%m",)
    read = read_table(write(tmp_path / "y.csv", range(1990, 2000)), LAYOUT)
    assert read.frame["date"].dtype == "int64"
    assert read.notes == ()


def test_offsets_that_change_are_read_as_utc_and_told(tmp_path):
    stamps = pd.date_range("2024-03-30 12:00", periods=24, freq="h", tz="Europe/Berlin")
    read = read_table(write(tmp_path / "t.csv", [stamp.isoformat() for stamp in stamps]), LAYOUT)
    assert (pd.DatetimeIndex(read.frame["date"]) == stamps).all()
    assert "several offsets from UTC" in read.notes[0]


def test_numbers_with_a_decimal_comma_are_read_when_this_is_said(tmp_path):
    path = write(tmp_path / "sales.csv", values=[f"{day},5" for day in range(40)], separator=";")
    read = read_table(path, Layout(time="date", target="sales", decimal=","))
    assert read.frame["sales"].tolist() == [day + 0.5 for day in range(40)]


@pytest.mark.parametrize("missing", ["", "NA", "n/a", "NaN", "null", " "])
def test_what_is_missing_is_missing(tmp_path, missing):
    read = read_table(write(tmp_path / "t.csv", values=[missing, *["1"] * 39]), LAYOUT)
    assert read.frame["sales"].isna().tolist() == [True] + [False] * 39


def test_blank_lines_are_left_out_and_lines_still_counted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("date,sales\n\n2024-01-01,1\n\n2024-01-02,two\n\n")
    with pytest.raises(ConfigError, match="'two' in line 5"):
        read_table(path, LAYOUT)


def test_a_table_without_series_is_one_and_a_column_unique_id_is_taken(tmp_path):
    assert set(read_table(write(tmp_path / "a.csv"), LAYOUT).frame["unique_id"]) == {"sales"}
    pd.DataFrame({"unique_id": "b", "date": DAYS, "sales": 1}).to_csv(tmp_path / "b.csv", index=False)
    read = read_table(tmp_path / "b.csv", LAYOUT)
    assert set(read.frame["unique_id"]) == {"b"}
    assert read.notes == ("series are told apart by the column 'unique_id'",)


def test_texts_beside_the_target_are_categories_and_half_numbers_are_refused(tmp_path):
    table = pd.DataFrame({"date": DAYS, "sales": 1.0, "promo": ["yes", "no"] * 20, "price": "1.5"})
    layout = Layout(time="date", target="sales", roles=Roles(known=("promo", "price")))
    table.to_csv(tmp_path / "t.csv", index=False)
    read = read_table(tmp_path / "t.csv", layout)
    assert read.notes == ("read as categories: promo",)
    assert read.frame["price"].dtype == "float64"
    table.loc[7, "price"] = "1.5 EUR"
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ConfigError, match=r"column `price` holds '1.5 EUR' in line 9"):
        read_table(tmp_path / "t.csv", layout)
    table.assign(price="1,5").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ConfigError, match=r"column `price` holds '1,5' in line 2.*`--decimal ,`"):
        read_table(tmp_path / "t.csv", layout)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"values": ["1"] * 9 + ["n.v."] + ["1"] * 30}, "column `sales` holds 'n.v.' in line 11, which is no number"),
        ({"values": ["1"] * 39 + ["1 234"]}, "'1 234' in line 41, which is no number"),
        (
            {"values": ['"0,5"'] * 40},
            "'0,5' in line 2, which is no number (40 such lines); if that is a decimal comma: `",
        ),
        ({"values": ["0,5"] * 40}, "the rows have more fields than the header: a decimal comma?"),
        ({"values": ["1"] * 39 + ["1,5"]}, "line 41 has 3 fields, and the header 2"),
        ({"dates": DAYS.strftime("%d/%m/%Y")}, "say how to read it: --time-format '%d/%m/%Y'"),
        ({"dates": DAYS.strftime("%m/%d/%Y")}, "say how to read it: --time-format '%m/%d/%Y'"),
        ({"dates": DAYS.strftime("%d.%m.%Y %H:%M")}, "say how to read it: --time-format '%d.%m.%Y %H:%M'"),
        ({"dates": DAYS[:12].strftime("%d/%m/%Y")}, "(day first) or --time-format '%m/%d/%Y' (month first)"),
        ({"dates": [*DAYS[1:].strftime("%Y-%m-%d"), "2024-13-45"]}, "column `date` holds '2024-13-45' in line 41"),
        ({"dates": ["soon"] * 40}, "'soon' in line 2, which is not ISO 8601 (2024-01-31); write 2024-01-31"),
        ({"dates": ["", *DAYS[1:].strftime("%Y-%m-%d")]}, "column `date` is empty in line 2"),
        ({"header": "date,sales,sales"}, "column `sales` comes twice"),
        ({"header": "Date,sales"}, "there is no column 'date' (--time); did you mean 'Date'? it has Date, sales"),
        ({"header": "date,slaes"}, "there is no column 'sales' (--target); did you mean 'slaes'?"),
    ],
)
def test_what_cannot_be_read_is_told_by_column_line_and_remedy(tmp_path, given, told):
    with pytest.raises(ConfigError) as raised:
        read_table(write(tmp_path / "t.csv", **given), LAYOUT)
    assert told in str(raised.value)
    assert str(raised.value).startswith(str(tmp_path))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("t.csv", b"", "the file is empty"),
        ("t.csv", b"date,sales\n", "there are no rows below the header"),
        ("t.csv", b"\n\n", "the first line is empty"),
        ("t.csv", "date,sales\n2024-01-01,größe\n".encode("latin-1"), "is not text in UTF-8"),
        ("t.csv", "date,sales\n2024-01-01,1\n".encode("utf-16"), "is not text in UTF-8"),
        ("t.csv", gzip.compress(b"date,sales\n", mtime=0), "is not text in UTF-8"),
        ("t.csv.gz", b"date,sales\n", "cannot be read as CSV"),
        ("t.xlsx", b"x", "save it as CSV"),
        ("t.json", b"{}", "is no kind of table"),
    ],
)
def test_a_file_that_is_no_table_is_told(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=told):
        read_table(tmp_path / name, LAYOUT)


def test_a_file_that_is_not_there_is_told_with_the_nearest_and_a_folder_as_such(tmp_path):
    write(tmp_path / "sales.csv")
    with pytest.raises(FileNotFoundError, match=r"no such file; did you mean 'sales.csv'"):
        read_table(tmp_path / "sale.csv", LAYOUT)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path, LAYOUT)


def test_one_column_may_not_have_two_purposes_and_no_series_may_be_nameless(tmp_path):
    path = write(tmp_path / "t.csv")
    with pytest.raises(ConfigError, match="column 'sales' is both --id and --target"):
        read_table(path, Layout(id="sales", time="date", target="sales"))
    path.write_text("store,date,sales\na,2024-01-01,1\n,2024-01-02,1\n")
    with pytest.raises(ConfigError, match="column `store` is empty in line 3"):
        read_table(path, Layout(id="store", time="date", target="sales"))


def test_numbers_are_written_with_the_figures_that_they_have_and_clashing_names_refused(tmp_path):
    forecasts = pd.DataFrame(
        {"unique_id": "a", "cutoff": 1, "ds": 2, "step": 1, "mean": np.float32([3.96, 1e12, 1e-12])}
    )
    text = write_table(named(forecasts, Layout(id="store", time="t")), None)
    assert text.splitlines() == ["store,cutoff,t,step,mean", "a,1,2,1,3.96", "a,1,2,1,1000000000000.0", "a,1,2,1,1e-12"]
    with pytest.raises(ConfigError, match="forecasts have a column `mean` of their own"):
        named(forecasts, Layout(id="mean", time="t"))


def test_issue_times_of_a_forecast_are_read_as_times_and_may_be_missing_with_it(tmp_path):
    path = tmp_path / "rain.csv"
    issued = [*(DAYS[:38] - pd.Timedelta(hours=6)).strftime("%Y-%m-%d %H:%M"), "", ""]
    rain = [*np.arange(38.0).astype(str), "", ""]
    rows = zip(DAYS.strftime("%Y-%m-%d"), range(40), rain, issued, strict=True)
    path.write_text("\n".join(["date,sales,rain,issued", *(",".join(map(str, row)) for row in rows)]) + "\n")
    frame = read_table(path, replace(LAYOUT, roles=Roles(forecasted={"rain": "issued"}))).frame
    assert frame["issued"].isna().tolist() == frame["rain"].isna().tolist() == [False] * 38 + [True] * 2
    assert frame["issued"].iloc[1] == pd.Timestamp("2024-01-01 18:00")
    with pytest.raises(ConfigError, match=r"there is no column 'issuance' \(--forecasted\)"):
        read_table(path, replace(LAYOUT, roles=Roles(forecasted={"rain": "issuance"})))
