"""Table and plot of the runs: error against the seconds until a model is fitted, import included."""

from collections.abc import Iterable
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from forecast.plots.style import MUTED, look

Row = dict[str, str]

COLOURS = {
    "foretell": "#d55e00",
    "neuralforecast": "#0072b2",
    "darts": "#009e73",
    "gluonts": "#a3507f",
    "pytorch-forecasting": "#8a7000",
}
MARKERS = {"lstm": "o", "tcn": "s", "transformer": "^"}
RULES = {"seasonal naive": (0, (1.2, 1.2)), "nlinear": (0, (5, 1.6))}
ERRORS = {"etth1": ("mse", "mae"), "m4_hourly": ("mase", "smape")}
SPELLED = {"mse": "MSE", "mae": "MAE", "mase": "MASE", "smape": "sMAPE"}
_OFF = 4  # times as wrong as the seasonal naive, beyond which a point is drawn at the edge
_NEAR = 1.2  # times as many seconds: numbers there would lie on each other
TITLES = {"etth1": "ETTh1, 96 steps, z-scored", "m4_hourly": "M4 hourly, 48 steps"}


def seconds_of(row: Row) -> float:
    """Give how long one waits for a fitted model: import and fit."""
    return float(row["import_seconds"]) + float(row["fit_seconds"])


def draw(rows: list[Row]) -> Figure:
    """Draw a panel for each data set: a point for each run, a line for each rule.

    Filled are ours and the peers' defaults, hollow the peers' runs with as many steps as ours. A point outside the
    panel, more than four times as wrong as the seasonal naive, is drawn at its upper edge with its error above it.
    """
    rows = [row for row in rows if not row["failure"]]
    names = [name for name in ERRORS if any(row["data"] == name for row in rows)]
    with look():
        figure = Figure(figsize=(10.4, 4.6), layout="constrained")
        for ax, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
            _panel(ax, name, [row for row in rows if row["data"] == name])
        figure.legend(handles=list(_legend(rows)), loc="outside lower center", ncols=6)
    return figure


def _panel(ax: Any, name: str, rows: list[Row]) -> None:
    metric = ERRORS[name][0]
    rules = {row["family"]: float(row[metric]) for row in rows if row["family"] in RULES}
    points = [row for row in rows if row["family"] in MARKERS]
    errors = [*rules.values(), *(float(row[metric]) for row in points)]
    highest = max(errors)
    top = min(1.05 * highest, _OFF * rules.get("seasonal naive", highest))
    for rule, error in rules.items():
        ax.axhline(error, color=MUTED, linestyle=RULES[rule], linewidth=1, zorder=1)
    told = 0.0, 0  # seconds of the last point that was told at the edge, and how many of about as many seconds were
    for row in sorted(points, key=seconds_of):
        error, colour = float(row[metric]), COLOURS[row["library"]]
        face = "none" if row["setting"] == "equal steps" else colour
        options = {"marker": MARKERS[row["family"]], "markersize": 7, "linestyle": "none", "clip_on": False}
        ax.plot(seconds_of(row), min(error, top), color=colour, markerfacecolor=face, zorder=3, **options)
        if error > top:
            seconds = seconds_of(row)
            told = seconds, told[1] + 1 if seconds < _NEAR * told[0] else 0
            above = {"textcoords": "offset points", "ha": "center", "size": 7, "color": colour}
            ax.annotate(f"{error:.3g}", (seconds, top), (0, 6 + 8 * told[1]), **above)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(left=0.8 * min(map(seconds_of, points), default=1.0))
    ax.set_ylim(0.95 * min(errors), top)
    for axis, marks in ((ax.xaxis, (1, 2, 5)), (ax.yaxis, (1, 1.2, 1.5, 2, 3, 4, 5, 7))):
        axis.set_major_locator(LogLocator(subs=marks))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())
    ax.set_title(TITLES[name], pad=40)
    ax.set_xlabel("seconds until fitted (import and fit)")
    ax.set_ylabel(SPELLED[metric])


def _legend(rows: list[Row]) -> Iterable[Line2D]:
    point = {"marker": "o", "linestyle": "none", "markersize": 7}
    libraries = [library for library in COLOURS if any(row["library"] == library for row in rows)]
    for library in libraries:
        yield Line2D([], [], color=COLOURS[library], label=library, **point)
    if len(libraries) % 2:  # columns of two: what follows begins one of its own
        yield Line2D([], [], linestyle="none", label=" ")
    for family, marker in MARKERS.items():
        if any(row["family"] == family for row in rows):
            yield Line2D([], [], color=MUTED, label=family, **point | {"marker": marker})
    if any(row["setting"] == "equal steps" for row in rows):
        yield Line2D([], [], color=MUTED, markerfacecolor="none", label="as many steps as ours", **point)
    for rule, dashes in RULES.items():
        yield Line2D([], [], color=MUTED, linestyle=dashes, label=rule)


def table_of(rows: list[Row]) -> str:
    """Give the table in Markdown, a part for each data set.

    The last column tells by how many times the seconds until fitted exceed those of our first run of the family.
    """
    by_name = {name: [row for row in rows if row["data"] == name] for name in ERRORS}
    return "\n\n".join(_part(name, part) for name, part in by_name.items() if part) + "\n"


def _part(name: str, rows: list[Row]) -> str:
    first, second = (SPELLED[metric] for metric in ERRORS[name])
    head = ["library", "family", "model", "setting", "seed", "steps", first, second, "windows", "import s", "fit s"]
    head += ["predict s", "process s", "peak MB", "x ours"]
    ours: dict[str, float] = {}
    lines = [f"## {TITLES[name]}", "", _line(head), _line(["---"] * 5 + ["---:"] * (len(head) - 5))]
    for row in rows:
        about = [row["library"], row["family"], row["model"], row["setting"], row["seed"]]
        if row["failure"]:
            lines.append(_line([*about, row["failure"].replace("|", "/"), *[""] * (len(head) - 6)]))
            continue
        if row["library"] == "foretell" and row["family"] in MARKERS:
            ours.setdefault(row["family"], seconds_of(row))
        errors = [f"{float(row[metric]):.3f}" for metric in ERRORS[name]]
        scored = row["windows"] if row["windows"] == row["all_windows"] else f"{row['windows']} of {row['all_windows']}"
        seconds = [f"{float(row[f'{part}_seconds']):.1f}" for part in ("import", "fit", "predict", "wall")]
        ratio = f"{seconds_of(row) / ours[row['family']]:.1f}" if row["family"] in ours else ""
        lines.append(_line([*about, row["steps"], *errors, scored, *seconds, f"{float(row['peak_mb']):.0f}", ratio]))
    return "\n".join(lines)


def _line(parts: Iterable[str]) -> str:
    return f"| {' | '.join(parts)} |"
