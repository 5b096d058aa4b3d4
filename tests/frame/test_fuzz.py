"""Any frame at the door: it comes back equal from its panel, or our error says why not. Nothing else may happen."""

import enum
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forecast.frame import FrameError, Panel, check_frame

# What float32 loses is compared as float32; that it is told of is in test_schema.py.
pytestmark = pytest.mark.filterwarnings("ignore:.*one number in float32")

try:
    import narwhals  # noqa: F401
    import polars as pl
except ImportError:
    pl = None

FREQS = ["ms", "s", "10min", "15min", "h", "4h", "D", "2D", "B", "W-WED", "2W-SUN", "MS", "ME", "MS+14D", "MS+29D"]
FREQS += ["BMS", "BME", "SMS-15", "SME-15", "QS-FEB", "QE-DEC", "YS-JAN", "YE-JUN", "36h"]
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "+05:45",
]
PERIODS = ["M", "Q-DEC", "Q-FEB", "Y-DEC", "W-SUN", "W-TUE", "D", "h", "min", "s", "2M", "ms"]


class Shop(enum.Enum):
    NORTH = "n"
    SOUTH = "s"
    WEST = "w"


days = st.dates(date(1900, 1, 1), date(2199, 12, 31))
IDS = {
    "text": st.text(max_size=3),
    "integers": st.integers(-(2**63), 2**63 - 1),
    "floats": st.floats(allow_nan=False),
    "truth": st.booleans(),
    "tuples": st.tuples(st.text(max_size=1), st.integers(0, 3)),
    "moments": st.datetimes(datetime(1900, 1, 1), datetime(2199, 1, 1)).map(pd.Timestamp),
    "dates": days,
    "decimals": st.decimals(-10, 10, places=2),
    "members": st.sampled_from(Shop),
    "sets": st.frozensets(st.integers(0, 3), max_size=2),
    "bytes": st.binary(max_size=2),
    "mixed": st.text(max_size=1) | st.integers(0, 2) | st.booleans() | st.none() | days,
}
Y = st.floats(-1e30, 1e30) | st.just(float("nan")) | st.integers(-5, 5).map(float)
ODD = st.sampled_from([float("inf"), 1e39, -float("inf")])


@st.composite
def ids(draw):
    """Draw some ids of one kind, and the function that makes a column of them."""
    kind = draw(st.sampled_from(sorted(IDS)))
    names = draw(st.lists(IDS[kind], min_size=1, max_size=4, unique_by=draw(st.sampled_from([repr, hash]))))
    dtypes = {
        "text": [None, object, "category", "string"],
        "integers": [None, "Int64", "category"],
        "floats": [None, "Float64"],
        "truth": [None, "boolean"],
        "moments": [None],
    }
    return names, draw(st.sampled_from(dtypes.get(kind, [object])))


@st.composite
def axes(draw, size):
    """Draw a regular time axis of any kind, and the frequency to ask for."""
    kind = draw(st.sampled_from(["timestamps", "timestamps", "integers", "periods", "dates", "text", "objects"]))
    if kind == "integers":
        step = draw(st.integers(1, 1000))
        begin = draw(st.integers(-(2**62), 2**62) | st.integers(-100, 100))
        dtype = draw(st.sampled_from(["int64", "Int64", "int32", "uint8", "UInt64", "object"]))
        stamps = pd.Series([begin + step * row for row in range(size)], dtype=object)
        try:
            return stamps.astype(dtype), step
        except (OverflowError, ValueError, TypeError):
            return stamps, step
    begin = pd.Timestamp(draw(st.datetimes(datetime(1950, 1, 1), datetime(2090, 1, 1))))
    if kind == "periods":
        freq = draw(st.sampled_from(PERIODS))
        return pd.Series(pd.period_range(begin, periods=size, freq=freq)), None
    freq = draw(st.sampled_from(FREQS))
    if kind == "dates":
        stamps = grid(begin.normalize(), size, freq)
        return pd.Series([stamp.date() for stamp in stamps], dtype=object), freq
    begin = begin.floor(draw(st.sampled_from(["s", "h", "D"])))
    stamps = grid(begin, size, freq)
    if kind == "text":
        shapes = [
            "%Y-%m-%d",
            "%Y-%m",
            "%Y-%m-%dT%H",
            "%Y-%m-%d %H:%M",
            "%Y-%m-%dT%H:%M:%SZ",
            "%Y-%m-%dT%H:%M:%S.%f+02:00",
        ]
        shapes += ["%d.%m.%Y", "%Y%m%d"]
        dtype = draw(st.sampled_from([None, object, "string"]))
        return pd.Series(stamps.strftime(draw(st.sampled_from(shapes))), dtype=dtype), freq
    zone = draw(st.none() | st.sampled_from(ZONES))
    stamps = stamps.as_unit(draw(st.sampled_from(["s", "ms", "us", "ns"]))) if freq != "ms" else stamps
    if zone is not None and (freq in FREQS[:6] or freq == "36h"):
        stamps = stamps.tz_localize("UTC").tz_convert(zone)
    elif zone is not None:
        stamps = stamps.tz_localize(zone, nonexistent="shift_forward", ambiguous=np.ones(size, dtype=bool))
    if kind == "objects":
        python = draw(st.booleans())
        return pd.Series(
            [stamp.to_pydatetime() if python else stamp for stamp in stamps.floor("us")], dtype=object
        ), freq
    return pd.Series(stamps), freq


def grid(begin, size, freq):
    """The grid of a frequency, by pandas; fixed days of the month from the first days of months."""
    base, _, later = freq.partition("+")
    stamps = pd.date_range(begin, periods=size, freq=base)
    if later:
        stamps += pd.to_timedelta([min(int(later[:-1]), month.days_in_month - 1) for month in stamps], "D")
    return stamps


@st.composite
def frames(draw):
    """Draw a frame, most often one that may enter, with the options that it is given with."""
    size = draw(st.integers(1, 12))
    axis, freq = draw(axes(size))
    pieces = []
    names, dtype = draw(ids())
    for _ in names:
        begin = draw(st.integers(0, size - 1))
        kept = draw(
            st.lists(st.booleans(), min_size=size - begin, max_size=size - begin) | st.just([True] * (size - begin))
        )
        pieces.append(np.flatnonzero(kept) + begin)
    column = pd.Series([name for name, piece in zip(names, pieces, strict=True) for _ in piece], dtype=dtype)
    rows = np.concatenate(pieces).astype(int)
    y = draw(st.lists(Y | ODD if draw(st.integers(0, 15)) == 0 else Y, min_size=len(rows), max_size=len(rows)))
    frame = pd.DataFrame({"unique_id": column, "ds": axis.iloc[rows].reset_index(drop=True)})
    frame["y"] = pd.Series(
        y,
        dtype=draw(st.sampled_from(["float64", "float32", "Float64"]))
        if max(map(abs, y), default=0) < 3e38
        else "float64",
    )
    flaw = draw(
        st.sampled_from(["nothing"] * 5 + ["shuffled", "repeated", "missing id", "missing stamp", "moved", "extra"])
    )
    if flaw == "shuffled":
        frame = frame.iloc[draw(st.permutations(range(len(frame))))]
    elif flaw == "repeated" and len(frame):
        frame = frame.iloc[[*range(len(frame)), draw(st.integers(0, len(frame) - 1))]]
    elif flaw.startswith("missing") and len(frame):
        column = "unique_id" if flaw == "missing id" else "ds"
        frame[column] = frame[column].astype(object)
        frame.iloc[draw(st.integers(0, len(frame) - 1)), frame.columns.get_loc(column)] = None
    elif flaw == "moved" and len(frame) and frame["ds"].dtype.kind == "M":
        frame["ds"] = frame["ds"].where(np.arange(len(frame)) != len(frame) // 2, frame["ds"] + pd.Timedelta("1s"))
    elif flaw == "extra":
        frame["note"] = "x"
    asked = [None, freq, "steps"] if flaw != "extra" else [draw(st.sampled_from([*FREQS, 3, "3", "steps", "x", 0]))]
    door = {"freq": draw(st.sampled_from(asked)), "gaps": draw(st.sampled_from(["error", "mask", "fill"]))}
    door["unsorted"] = draw(st.sampled_from(["error", "sort"]))
    return frame, door, draw(st.sampled_from(["pandas", "pandas", "polars", "index"]))


def as_kind(frame, kind):
    """Give the frame as another kind, if that can hold it."""
    if kind == "index" and len(frame):
        try:
            indexed = frame.set_index(["unique_id", "ds"])
            return indexed, indexed.reset_index()  # pandas has other dtypes in an index
        except (TypeError, ValueError):
            return frame, frame
    if kind != "polars" or pl is None:
        return frame, frame
    try:
        columns = {name: pl.Series(name, frame[name].to_list(), nan_to_null=False) for name in frame}
    except Exception:  # polars has no such type
        return frame, frame
    if any(column.dtype == pl.Object for column in columns.values()):
        return frame, frame
    return pl.DataFrame(columns), pl.DataFrame(columns)


def check(drawn):
    """Assert that the door gives a panel that comes back equal, or raises our errors; tell which."""
    frame, door, kind = drawn
    given_frame, came = as_kind(frame, kind)
    before, panel, refusal = frame.copy(deep=True), None, None
    try:
        panel = check_frame(given_frame, **door)
    except (TypeError, ValueError) as error:
        refusal = error
    if refusal is not None:
        assert type(refusal) is FrameError or "`freq`" in str(refusal), refusal
        assert "`" in str(refusal) or str(refusal) == "the frame has no rows", refusal
    pd.testing.assert_frame_equal(frame, before)
    if panel is not None:
        assert isinstance(panel, Panel)
        assert_comes_back(panel, came, door)
    return panel is not None


def assert_comes_back(panel, came, door):
    again = panel.form.give(panel.to_frame())
    assert type(again) is type(came)
    assert np.isfinite(panel.values[panel.observed]).all()
    polars = not isinstance(came, pd.DataFrame)
    wanted = came.select("unique_id", "ds", "y") if polars else came[["unique_id", "ds", "y"]]
    types = (again.schema, wanted.schema) if polars else (again.dtypes, wanted.dtypes)
    assert all(types[0][name] == types[1][name] for name in ("unique_id", "ds"))
    keys, values = listed(again)
    came_keys, came_values = listed(wanted)
    # Every row that came is there once, with its value as float32; all others are missing ones between them.
    assert len(set(map(repr, came_keys))) == len(came_keys)
    given_rows = {repr(key): value for key, value in zip(came_keys, came_values, strict=True)}
    kept = [place for place, key in enumerate(keys) if repr(key) in given_rows]
    assert [repr(keys[place]) for place in kept] == list(map(repr, in_order(came_keys, panel)))
    with np.errstate(over="ignore"):
        for place, (key, value) in enumerate(zip(keys, values, strict=True)):
            expected = np.float32(given_rows.get(repr(key), np.nan))
            assert np.array_equal(np.float32(value), expected, equal_nan=True)
            assert panel.observed[place] == ~np.isnan(expected)
    if len(kept) < len(keys):
        assert door["gaps"] != "error"


def in_order(keys, panel):
    """The rows by series, first come first, and by time."""
    firsts = {}
    for name, _ in keys:
        firsts.setdefault(repr(name), len(firsts))
    stamp_order = {repr(stamp): place for place, stamp in enumerate(sorted({key[1] for key in keys}))}
    return sorted(keys, key=lambda key: (firsts[repr(key[0])], stamp_order[repr(key[1])]))


def listed(frame):
    """The keys and the values of a frame of any kind, as Python has them."""
    columns = [frame[name].to_list() for name in ("unique_id", "ds", "y")]
    values = [np.nan if value is None or value is pd.NA else value for value in columns[2]]
    return list(zip(columns[0], columns[1], strict=True)), values


QUICK = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@QUICK
@given(frames())
def test_a_frame_comes_back_equal_or_is_refused_by_our_error(drawn):
    check(drawn)


@pytest.mark.slow
@settings(QUICK, max_examples=3000)
@given(frames())
def test_thousands_of_frames_come_back_equal_or_are_refused_by_our_error(drawn):
    check(drawn)


def test_most_frames_of_the_fuzz_may_enter():
    counts = []

    @settings(QUICK, max_examples=60, database=None)
    @given(frames())
    def count(drawn):
        counts.append(check(drawn))

    count()
    assert sum(counts) > len(counts) / 4
