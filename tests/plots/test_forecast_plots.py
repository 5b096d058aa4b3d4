"""Fans, backtests, learning curves, covariates: what the data hold is drawn, and nothing odd breaks a picture."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from forecast import Plan, Roles, SeasonalNaive, check_frame, plots
from forecast.plots.bands import band_name, bands_of, between_levels

DAYS = pd.date_range("2024-01-01", periods=60)
LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]


def render(figure):
    assert isinstance(figure, Figure)
    FigureCanvasAgg(figure).draw()
    return figure


def lines(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes]


def history_of(ids, stamps=DAYS, scale=1.0):
    values = np.sin(np.arange(len(stamps)) / 7 * 2 * np.pi) * scale
    tables = [pd.DataFrame({"unique_id": [one] * len(stamps), "ds": stamps, "y": values}) for one in ids]
    return pd.concat(tables, ignore_index=True)


def forecast_of(ids, stamps=DAYS, steps=7, scale=1.0):
    """Forecasts of the last steps, with bands that widen."""
    rows = []
    for one in ids:
        ahead = np.arange(1, steps + 1)
        table = pd.DataFrame({"unique_id": one, "cutoff": stamps[-steps - 1], "ds": stamps[-steps:], "step": ahead})
        rows.append(table.assign(prediction=0.1 * scale, mean=0.1 * scale))
        for level in LEVELS:
            rows[-1][str(level)] = (0.1 + (level - 0.5) * ahead) * scale
    return pd.concat(rows, ignore_index=True)


def test_a_fan_holds_history_median_bands_and_what_came_true():
    forecast, history = forecast_of(["a", "b"]), history_of(["a", "b"])
    figure = render(plots.plot_forecast(forecast, history, tail=20))
    assert titles(figure) == ["a, from 2024-02-22", "b, from 2024-02-22"]
    for ax in figure.axes:
        drawn = lines(ax)
        np.testing.assert_array_equal(drawn["median"].get_ydata(), forecast["prediction"][:7])
        np.testing.assert_array_equal(drawn["history"].get_ydata(), history["y"][33:53])
        np.testing.assert_array_equal(drawn["actual"].get_ydata(), history["y"][53:60])
        wide, narrow = (band.get_paths()[0].vertices[:, 1] for band in ax.collections)
        assert (wide.min(), wide.max()) == (forecast["0.1"].min(), forecast["0.9"].max())
        assert (narrow.min(), narrow.max()) == (forecast["0.25"].min(), forecast["0.75"].max())
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert keys == ["history", "actual", "median forecast", "50 % interval", "80 % interval", "cutoff"]


def test_actuals_may_stand_in_the_forecasts_or_in_a_frame_of_their_own():
    forecast, history = forecast_of(["a"]), history_of(["a"])
    own = plots.plot_forecast(forecast.assign(y=2.0))
    assert set(lines(own.axes[0])["actual"].get_ydata()) == {2.0}
    given = plots.plot_forecast(forecast, history[:53], actuals=history.assign(y=3.0))
    assert set(lines(given.axes[0])["actual"].get_ydata()) == {3.0}
    none = render(plots.plot_forecast(forecast, history[:53]))
    assert "actual" not in lines(none.axes[0])
    assert "actual" not in [text.get_text() for text in none.legends[0].get_texts()]


@pytest.mark.parametrize(
    ("levels", "names"),
    [
        (None, ["80 % interval", "50 % interval"]),
        ((0.25, 0.75), ["50 % interval"]),
        ((0.1, 0.5, 0.9), ["80 % interval"]),
        ((0.1, 0.2, 0.6, 0.8), ["0.1 to 0.8", "0.2 to 0.6"]),
        ((), []),
    ],
)
def test_levels_are_paired_from_the_outside_in(levels, names):
    assert [band_name(band) for band in bands_of(forecast_of(["a"]), levels)] == names


def test_forecasts_without_the_usual_levels_show_their_widest_band_or_none():
    rows = forecast_of(["a"])
    assert bands_of(rows.drop(columns=["0.1", "0.25", "0.9"]), None) == [(0.5, 0.75)]
    assert bands_of(rows.drop(columns=["0.1", "0.9"]), None) == [(0.25, 0.75)]
    assert bands_of(rows.drop(columns=[str(level) for level in LEVELS]), None) == []
    assert between_levels(rows, (0.05, 0.95)) is None


@pytest.mark.parametrize("levels", [(0.1,), (0.9, 0.1), (0.1, 1.5), (0.01, 0.99)])
def test_levels_that_make_no_bands_are_refused(levels):
    with pytest.raises(ValueError, match="`levels` is"):
        plots.plot_forecast(forecast_of(["a"]), levels=levels)


def test_of_many_series_the_first_are_drawn_and_the_others_counted():
    ids = [f"series {number}" for number in range(40)]
    figure = render(plots.plot_forecast(forecast_of(ids), history_of(ids)))
    assert len(figure.axes) == 6
    assert figure.get_suptitle() == "Forecasts of 6 series (34 more series not shown)"
    chosen = plots.plot_forecast(forecast_of(ids), ids=["series 7"])
    assert titles(chosen) == ["series 7, from 2024-02-22"]
    assert chosen.get_suptitle() == ""


def test_of_several_cutoffs_the_last_of_each_series_is_drawn_or_the_one_asked_for():
    early, late = forecast_of(["a"], DAYS[:50]), forecast_of(["a", "b"])
    both = pd.concat([early, late], ignore_index=True)
    assert titles(plots.plot_forecast(both)) == ["a, from 2024-02-22", "b, from 2024-02-22"]
    assert titles(plots.plot_forecast(both, ids=["a"], cutoff="2024-02-12")) == ["a, from 2024-02-12"]
    with pytest.raises(ValueError, match=r"`cutoff` .* is not in the forecasts of series 'b'"):
        plots.plot_forecast(both, ids=["b"], cutoff="2024-02-12")


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"forecast": [1, 2]}, TypeError, "`forecast` is a list; give a frame"),
        (
            {"forecast": forecast_of(["a"]).drop(columns="cutoff")},
            ValueError,
            r"`forecast` lacks the columns \['cutoff'\]",
        ),
        ({"forecast": forecast_of(["a"])[:0]}, ValueError, "`forecast` has no row"),
        ({"history": history_of(["a"]).drop(columns="y")}, ValueError, r"`history` lacks the columns \['y'\]"),
        ({"ids": ["z"]}, ValueError, "`ids` 'z' is not in `forecast`; it holds a, b"),
        ({"ids": "a"}, TypeError, "`ids` must be a list of names"),
        ({"ids": []}, ValueError, "`ids` is empty"),
    ],
)
def test_a_fan_refuses_what_it_cannot_draw(given, error, told):
    with pytest.raises(error, match=told):
        plots.plot_forecast(**{"forecast": forecast_of(["a", "b"]), **given})


def test_forecasts_of_several_forecasters_are_for_another_plot(ledger):
    with pytest.raises(ValueError, match=r"`forecast` holds 9 forecasters.*plot_forecasts"):
        plots.plot_forecast(ledger.forecasts)
    one = ledger.forecasts[ledger.forecasts["forecaster"] == "TCN direct"]
    drawn = lines(render(plots.plot_forecast(one, ids=["plant A"])).axes[0])
    assert len(drawn["median"].get_ydata()) == 24


CLOCKS = {
    "dates": DAYS,
    "time zone": pd.date_range("2024-03-25", periods=60, tz="Europe/Berlin"),
    "nanoseconds": DAYS.as_unit("ns"),
    "periods": pd.period_range("2020-01", periods=60, freq="M"),
    "days as objects": pd.Index([day.date() for day in DAYS]),
    "texts": pd.Index(DAYS.strftime("%Y-%m-%d")),
    "whole numbers": pd.RangeIndex(60),
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_fan_is_drawn_on_any_clock(clock):
    stamps = CLOCKS[clock]
    figure = render(plots.plot_forecast(forecast_of(["a"], stamps), history_of(["a"], stamps)))
    drawn = lines(figure.axes[0])
    assert len(drawn["history"].get_ydata()) == 24
    assert len(drawn["actual"].get_ydata()) == 7


def test_frames_of_polars_are_drawn_as_those_of_pandas():
    polars = pytest.importorskip("polars")
    forecast, history = forecast_of(["a"]), history_of(["a"])
    other = [polars.DataFrame({name: table[name].to_list() for name in table}) for table in (forecast, history)]
    for tables in ((other[0], other[1]), (other[0].lazy(), history)):
        drawn = lines(plots.plot_forecast(*tables).axes[0])
        for name, line in lines(plots.plot_forecast(forecast, history).axes[0]).items():
            np.testing.assert_array_equal(drawn[name].get_ydata(), line.get_ydata())


@pytest.mark.parametrize("scale", [1e12, 1e-12, 3e38, 0.0])
def test_values_of_any_size_are_drawn(scale):
    render(plots.plot_forecast(forecast_of(["a"], scale=scale), history_of(["a"], scale=scale)))


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("known", [0, 1, 60])
def test_few_steps_and_little_history_are_drawn(steps, known):
    history = history_of(["a"])[60 - known : 60 - steps] if known else history_of(["b"])
    figure = render(plots.plot_forecast(forecast_of(["a"], steps=steps), history if len(history) else None))
    assert len(lines(figure.axes[0])["median"].get_ydata()) == steps


def test_holes_and_infinite_values_are_left_out():
    forecast, history = forecast_of(["a"]), history_of(["a"])
    forecast.loc[2, ["prediction", "0.1"]] = np.nan
    forecast.loc[4, "prediction"] = np.inf
    history.loc[[40, 55], "y"] = np.nan
    drawn = lines(render(plots.plot_forecast(forecast, history)).axes[0])
    assert np.isnan(drawn["median"].get_ydata()).tolist() == [False, False, True, False, True, False, False]
    nothing = forecast.assign(prediction=np.nan, **{str(level): np.nan for level in LEVELS})
    render(plots.plot_forecast(nothing, history.assign(y=np.nan)))


def test_steps_whose_dates_are_not_known_are_told():
    forecast = forecast_of(["a", "b"])
    forecast.loc[forecast["unique_id"] == "b", "ds"] = pd.NaT
    forecast.loc[6, "ds"] = pd.NaT
    figure = render(plots.plot_forecast(forecast))
    assert len(lines(figure.axes[0])["median"].get_ydata()) == 6
    assert "does not tell when" in figure.axes[1].texts[0].get_text()


def test_what_a_forecaster_gives_is_drawn_with_its_panel():
    panel = check_frame(history_of(["a", 7, ("x", 1)]))
    figure = render(plots.plot_forecast(SeasonalNaive(7).fit(panel).predict(), panel))
    assert titles(figure) == [f"{one}, from 2024-02-29" for one in ("a", 7, "('x', 1)")]


def figures_of_axes(count):
    figure = Figure(layout="constrained", figsize=(9, 7))
    return figure, figure.subplots(count + 1)


def covariates_of(future=14):
    days = np.arange(60)
    frame = history_of(["a", "b"]).assign(
        price=np.tile(days % 5 / 5, 2), promo=np.tile(np.where(days % 9, "none", "sale"), 2)
    )
    frame["weather"], frame["report"], frame["region"] = np.tile(days * 1.0, 2), np.tile(days * 2.0, 2), "north"
    frame["y"] = frame["y"].where(np.tile(days < 60 - future, 2))
    return frame


ROLES = Roles(static=("region",), known=("price", "promo"), past=("weather",), delayed={"report": 3})
LOSSES = pd.DataFrame(
    {"step": [10, 20, 30, 40], "train_loss": [1.0, 0.5, 0.3, 0.25], "validation_loss": [np.nan, 0.7, 0.4, 0.5]}
)


@pytest.mark.parametrize(
    ("draw", "count"),
    [
        (lambda ledger, ax: plots.plot_forecast(forecast_of(["a", "b", "c"]), ax=ax), 2),
        (lambda ledger, ax: plots.plot_backtest(ledger, ax=ax), 2),
        (lambda ledger, ax: plots.plot_forecasts(ledger, ids=["plant A"], forecasters=["Naive", "NLinear"], ax=ax), 2),
        (lambda ledger, ax: plots.plot_covariates(covariates_of(), roles=ROLES, ax=ax), 5),
        (lambda ledger, ax: plots.plot_learning_curve(LOSSES, ax=ax[0]), 1),
    ],
    ids=["forecast", "backtest", "forecasts", "covariates", "learning curve"],
)
def test_a_plot_goes_into_the_axes_that_are_given(ledger, draw, count):
    figure, axes = figures_of_axes(count)
    before = dict(matplotlib.rcParams)
    assert draw(ledger, axes[:count]) is figure
    assert all(ax.lines for ax in axes[:count])
    assert not axes[count].lines
    assert figure.get_suptitle() == ""
    assert dict(matplotlib.rcParams) == before
    render(figure)


def test_as_many_axes_as_panels_are_asked_for(ledger):
    _, axes = figures_of_axes(2)
    with pytest.raises(ValueError, match="`ax` holds 3 axes, and 2 panels are drawn"):
        plots.plot_forecast(forecast_of(["a", "b"]), ids=["a", "b"], ax=axes)
    with pytest.raises(ValueError, match="`ax` holds 3 axes, and 5 panels are drawn"):
        plots.plot_covariates(covariates_of(), roles=ROLES, ax=axes)
    one = plots.plot_forecast(forecast_of(["a", "b"]), ax=axes[0])
    assert titles(one)[0] == "a, from 2024-02-22"
    assert axes[0].get_xlabel() == "1 more series not shown"


def test_a_backtest_draws_every_fold_over_the_actuals(ledger, history):
    figure = render(plots.plot_backtest(ledger, history, ids=["plant B"], forecasters=["NLinear"]))
    table = ledger.forecasts
    own = table[(table["forecaster"] == "NLinear") & (table["unique_id"] == "plant B")]
    ax = figure.axes[0]
    drawn = np.split(lines(ax)["NLinear"].get_ydata(), np.arange(25, 500, 25))
    assert len(drawn) == 20
    for values, (_, fold) in zip(drawn, own.groupby("cutoff", sort=True), strict=True):
        np.testing.assert_array_equal(values[:24], fold["prediction"])
        assert np.isnan(values[24:]).all()
    assert len(ax.collections[0].get_paths()) == 20
    np.testing.assert_array_equal(lines(ax)["actual"].get_ydata(), own["y"])
    before = history[(history["unique_id"] == "plant B") & (history["ds"] <= own["cutoff"].min())]
    np.testing.assert_array_equal(lines(ax)["history"].get_ydata(), before["y"].tail(48))
    assert sum(line.get_label() == "_cutoff" for line in ax.lines) == 20


def test_of_many_cutoffs_the_last_are_drawn_or_those_asked_for(synthetic):
    ledger, history = synthetic.make_ledger(series=1, cutoffs=60, horizon=12, seeds=1, forecasters=["NLinear"])
    figure = plots.plot_backtest(ledger, history)
    assert figure.get_suptitle() == "Backtest: 41 of 60 cutoffs, 12 steps ahead"
    cutoffs = sorted(ledger.forecasts["cutoff"].unique())
    assert np.isfinite(lines(figure.axes[0])["NLinear"].get_ydata()).sum() == 41 * 12
    asked = plots.plot_backtest(ledger, history, cutoffs=[cutoffs[3], str(cutoffs[9])])
    assert np.isfinite(lines(asked.axes[0])["NLinear"].get_ydata()).sum() == 2 * 12
    with pytest.raises(ValueError, match=r"`cutoffs` .* is not in the ledger"):
        plots.plot_backtest(ledger, cutoffs=["1999-01-01"])


def test_a_backtest_of_many_draws_the_best_of_each_family_and_counts_the_rest(synthetic):
    ledger, _ = synthetic.make_ledger(series=7, cutoffs=2, horizon=4, seeds=2)
    figure = render(plots.plot_backtest(ledger))
    assert len(figure.axes) == 4
    assert figure.get_suptitle() == "Backtest: 2 cutoffs, 4 steps ahead (3 more series not shown)"
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert keys[0] == "actual"
    assert keys[-1] == "cutoff"
    assert len(keys) == 5
    assert not any(ax.collections for ax in figure.axes)


@pytest.mark.parametrize(
    "shape",
    [
        {"series": 1, "cutoffs": 1, "seeds": 1, "horizon": 1},
        {"series": 1, "cutoffs": 2, "seeds": 3, "horizon": 4, "clock": "int"},
        {"series": 1, "cutoffs": 45, "horizon": 2, "seeds": 1, "zone": "Europe/Berlin"},
    ],
    ids=["one of all", "integer ds", "time zone, many cutoffs"],
)
@pytest.mark.parametrize("hole", ["some", "all"])
def test_odd_backtests_are_drawn(synthetic, shape, hole):
    ledger, history = synthetic.make_ledger(**shape, forecasters=["SeasonalNaive", "LSTM direct"])
    table = ledger.forecasts.copy()
    table.loc[{"some": table["step"] == 1, "all": table["step"] > 0}[hole], "y"] = np.nan
    render(
        plots.plot_backtest(
            synthetic.with_forecasts(ledger, table),
            history if hole == "some" else None,
        )
    )


def test_what_is_trained_on_and_what_is_scored_never_overlap_in_the_picture_of_the_folds():
    plan = Plan(horizon=7, n_folds=3, refit="never").table(check_frame(history_of(["a"])))
    ax = render(plots.plot_folds(plan)).axes[0]
    bars = [(patch.get_x(), patch.get_x() + patch.get_width(), round(patch.get_y() + 0.31)) for patch in ax.patches]
    for row in range(3):
        spans = sorted(span[:2] for span in bars if span[2] == row)
        assert len(spans) == 2
        assert spans[0][1] < spans[1][0]


def test_a_learning_curve_holds_the_losses_and_marks_the_lowest():
    ax = render(plots.plot_learning_curve(LOSSES)).axes[0]
    drawn = lines(ax)
    np.testing.assert_array_equal(drawn["training"].get_ydata(), LOSSES["train_loss"])
    np.testing.assert_array_equal(drawn["validation"].get_xydata(), [[20, 0.7], [30, 0.4], [40, 0.5]])
    np.testing.assert_array_equal(drawn["lowest, 0.4 at step 30"].get_xydata(), [[30, 0.4]])
    assert ax.get_yscale() == "linear"


@pytest.mark.parametrize(
    ("losses", "scale"),
    [
        (LOSSES.drop(columns="validation_loss"), "linear"),
        (LOSSES.assign(validation_loss=np.nan), "linear"),
        (LOSSES.assign(train_loss=[1e6, 1e3, 1.0, 1e-3]), "log"),
        (LOSSES.assign(train_loss=0.0), "linear"),
        (LOSSES.assign(train_loss=np.inf), "linear"),
        (LOSSES[:1], "linear"),
        (LOSSES.assign(train_loss=np.nan, validation_loss=np.nan), None),
    ],
)
def test_odd_losses_are_drawn(losses, scale):
    ax = render(plots.plot_learning_curve(losses)).axes[0]
    if scale is None:
        assert ax.texts[0].get_text() == "no loss was kept"
    else:
        assert ax.get_yscale() == scale


def test_several_fits_share_a_picture_and_no_frame_is_none():
    names = "lstm", "tcn", "a very long name of a network that was fitted twice", "$a$"
    fits = dict.fromkeys(names, LOSSES)
    figure = render(plots.plot_learning_curve(fits))
    keys = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert keys[:2] == ["lstm", "tcn"]
    assert keys[-3:] == ["training", "validation", "lowest"]
    box = figure.axes[0].get_legend().get_window_extent()
    assert box.y0 >= 0
    for wrong, error in (
        ({}, ValueError),
        (LOSSES.drop(columns="step"), ValueError),
        (LOSSES[:0], ValueError),
        (3, TypeError),
    ):
        with pytest.raises(error, match="`losses`"):
            plots.plot_learning_curve(wrong)


def test_covariates_show_what_may_be_read_and_what_is_known_ahead():
    figure = render(plots.plot_covariates(covariates_of(), roles=ROLES, tail=30))
    told = dict(zip(["target", "price", "promo", "weather", "report"], figure.axes, strict=True))
    assert titles(figure) == [
        *("target", "price: known, all of 14 steps ahead", "promo: known, all of 14 steps ahead"),
        *("weather: past", "report: delayed by 3"),
    ]
    assert figure.get_suptitle() == "a at the cutoff 2024-02-15; region north"
    np.testing.assert_allclose(lines(told["price"])["known ahead"].get_ydata(), np.arange(45, 60) % 5 / 5)
    np.testing.assert_array_equal(lines(told["weather"])["read"].get_ydata(), np.arange(15, 46))
    np.testing.assert_array_equal(lines(told["weather"])["not read"].get_ydata(), np.arange(45, 60))
    np.testing.assert_array_equal(lines(told["report"])["read"].get_ydata(), np.arange(15, 43) * 2)
    assert [text.get_text() for text in told["promo"].get_yticklabels()] == ["sale", "none"]


def test_a_known_covariate_that_does_not_reach_is_counted():
    frame = covariates_of()
    frame.loc[frame["ds"] > DAYS[52], "price"] = np.nan
    figure = plots.plot_covariates(frame, roles=ROLES, unique_id="b")
    assert titles(figure)[1] == "price: known, 7 of 14 steps ahead"
    history = frame[frame["y"].notna()]
    assert titles(plots.plot_covariates(history, roles=ROLES, horizon=5))[2] == "promo: known, 0 of 5 steps ahead"
    future = covariates_of()[lambda table: table["y"].isna()]
    figure = plots.plot_covariates(history, roles=ROLES, future=future)
    assert titles(figure)[2] == "promo: known, all of 14 steps ahead"


@pytest.mark.parametrize("clock", ["time zone", "whole numbers"])
def test_covariates_are_drawn_on_any_clock_and_with_holes(clock):
    frame = covariates_of()
    frame["ds"] = [*CLOCKS[clock], *CLOCKS[clock]]
    frame.loc[5:9, ["price", "weather"]] = np.nan
    frame["report"] = np.nan
    figure = render(plots.plot_covariates(check_frame(frame, roles=ROLES), cutoff=frame["ds"][30], horizon=4))
    assert titles(figure)[1] == "price: known, all of 4 steps ahead"
    assert "no value here" in [text.get_text() for text in figure.axes[4].texts]


def test_covariates_that_are_not_there_are_told():
    with pytest.raises(ValueError, match="`frame` has no covariate"):
        plots.plot_covariates(history_of(["a"]))
    with pytest.raises(ValueError, match="`unique_id` is 'z'; the frame has the series 'a', 'b'"):
        plots.plot_covariates(covariates_of(), roles=ROLES, unique_id="z")
    with pytest.raises(ValueError, match="`cutoff` is 2031-01-01; series 'a' goes from 2024-01-01"):
        plots.plot_covariates(covariates_of(), roles=ROLES, cutoff="2031-01-01")
