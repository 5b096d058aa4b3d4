"""What an experiment is: the schema of its YAML file, and the objects that it stands for.

Every fault of a file is found before anything is computed, and told with its place. Arguments of forecasters and of the
plan are checked against the constructors that will take them, so that each default is stated once, there.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, ValidationError, ValidationInfo, field_validator

from forecast.evaluation.metrics import DEFAULTS, METRICS
from forecast.evaluation.plan import Plan
from forecast.experiment.arguments import canonical
from forecast.experiment.datasets import Dataset, Gaps, Name, Strict, Whole, unknown_datasets
from forecast.experiment.faults import ConfigError, Fault, Source, nearest, unknown_key
from forecast.experiment.forecasters import build_ablations, build_fallback, build_forecasters, build_plan
from forecast.experiment.levels import check_scored_at, check_with_interval
from forecast.experiment.published import Published, misplaced
from forecast.experiment.regimes import Regime, build_regime
from forecast.experiment.shipped import find_config
from forecast.experiment.variants import Variant, is_suite, variants_of
from forecast.forecaster import DECILES, Forecaster
from forecast.frame import Panel

Label = Annotated[str, Field(min_length=1)]


class FromFile(Strict):
    """A config that may come from a file, and knows where things stand in it.

    Attributes
    ----------
    name: of the folder of its results; the file's stem where none is given.

    """

    name: Name
    _source: Source | None = PrivateAttr(None)
    _variant: Variant | None = PrivateAttr(None)

    @property
    def folder(self) -> Path:
        """The folder of the config file, from which paths in it start; the current one without a file."""
        return self._source.path.parent if self._source else Path()

    @property
    def text(self) -> str | None:
        """The config file as written; None without a file."""
        return self._source.path.read_text(encoding="utf-8-sig") if self._source else None

    def error(self, faults: list[Fault]) -> ConfigError:
        """Give the error that tells faults with their places in the file, or by field where there is no file."""
        if self._source:
            return self._source.error([self._variant.placed(one) for one in faults] if self._variant else faults)
        return ConfigError("\n".join(f"{'.'.join(map(str, fault.field))}: {fault.message}" for fault in faults))

    def sound(self, built: Any, faults: list[Fault]) -> Any:
        """Give what was built. Raises ConfigError where there are faults."""
        if faults:
            raise self.error(faults)
        return built


class Experiment(FromFile):
    """Which forecasters are compared, on what, and how; `load_experiment` reads one from a file.

    Attributes
    ----------
    datasets: one or more, each a name of the catalogue or a mapping (`Dataset`); a single one may stand without a list.
    horizon: steps to forecast.
    gaps: what to do with missing rows, as `check_frame` takes it.
    plan: arguments of `Plan` but for the horizon: `n_folds` or `cutoffs`, `stride`, `window`, `refit`, ...
    seeds: of forecasters that have any; all others run once.
    regime: what is made equal between networks before they are compared: `as_given` for nothing, `matched_parameters`,
        `matched_compute`, `tuned`; or a mapping of `type` and the options of one, see `forecast.experiment.regimes`.
    quantile_levels: of all forecasters, rising, with 0.1, 0.5 and 0.9 among them; where 0.05 and 0.95 are, too, tables
        have the coverage of the 90 % interval.
    forecasters: label -> `type` (a class of the library, or `package.module:Class`; the label where none is given) and
        arguments of its constructor.
    ablations: label -> arguments that are exchanged, of a config inside those alone that are given, in every forecaster
        that has them: each gives one more, beside the comparison, called by both labels: `LSTM, no anchor`.
    fallback: a forecaster whose forecast is scored where one fails or forecasts no finite number, and counted: the name
        of a class, or `type` and arguments; none, for such a cell to fail.
    metrics: names of `METRICS` that tables have beside those that they always have, such as `smape`.
    standardised: whether tables have `mse` and `mae` of values z-scored by the rows that the first fit learns from, as
        published tables of long horizons do; see `forecast.evaluation.standardised`. All else is in plain units.
    published: figures of others, shown beside ours; see `Published`.
    ledger: whether the long table of all forecasts is written once more, for people; cells hold the same.
    audit: whether each forecaster is audited once on a cut of each data set; see `forecast.audit`.
    context_lengths: at which every forecaster that has one is fitted anew, beside the comparison; none for no sweep.
    history_lengths: at which the cost of a prediction by each network is measured; none for no measurement.

    """

    datasets: Annotated[list[Dataset], Field(min_length=1)]
    horizon: Whole
    gaps: Gaps = "error"
    plan: dict[str, Any]
    seeds: list[Annotated[int, Field(strict=True, ge=0)]] = Field([0], min_length=1)
    regime: str | dict[str, Any] = "as_given"
    quantile_levels: list[Annotated[float, Field(strict=True)]] = Field(list(DECILES))
    forecasters: Annotated[dict[Label, dict[str, Any]], Field(min_length=1)]
    ablations: dict[Label, Annotated[dict[str, Any], Field(min_length=1)]] = Field({})
    fallback: str | dict[str, Any] | None = None
    metrics: list[str] = Field([])
    standardised: Annotated[bool, Field(strict=True)] = False
    published: list[Published] = Field([])
    ledger: Annotated[bool, Field(strict=True)] = True
    audit: Annotated[bool, Field(strict=True)] = True
    context_lengths: list[Whole] = Field([])
    history_lengths: list[Whole] = Field([])
    _panels: Mapping[str, Panel] | None = PrivateAttr(None)

    @classmethod
    def on(cls, panels: Mapping[str, Panel], **keys: Any) -> Self:
        """Give an experiment on panels that are read already, named as its `datasets`."""
        experiment = cls(**keys)
        experiment._panels = panels
        return experiment

    @field_validator("datasets", mode="before")
    @classmethod
    def _as_list(cls, given: Any) -> Any:
        return [given] if isinstance(given, str | Mapping) else given

    @field_validator("forecasters", mode="before")
    @classmethod
    def _nothing_is_no_arguments(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        return {label: {} if arguments is None else arguments for label, arguments in given.items()}

    @field_validator("quantile_levels")
    @classmethod
    def _with_an_interval(cls, given: list[float]) -> list[float]:
        check_with_interval(given)
        return given

    @field_validator("metrics")
    @classmethod
    def _known(cls, given: list[str], info: ValidationInfo) -> list[str]:
        if unknown := [name for name in given if name not in METRICS]:
            raise ValueError(
                f"unknown metric {unknown[0]!r}; {nearest(unknown[0], METRICS)}known: {', '.join(METRICS)}"
            )
        check_scored_at(given, info.data.get("quantile_levels", DECILES))
        return given

    @field_validator("seeds", "datasets", "metrics", "context_lengths", "history_lengths")
    @classmethod
    def _each_once(cls, given: list) -> list:
        names = [one.name if isinstance(one, Dataset) else one for one in given]
        if twice := [name for position, name in enumerate(names) if name in names[:position]]:
            raise ValueError(f"{twice[0]!r} comes twice; give each once")
        return given

    @property
    def scored(self) -> list[str]:
        """The metrics that tables have."""
        return list(dict.fromkeys([*DEFAULTS, *(["mse"] if self.standardised else []), *self.metrics]))

    def build_plan(self) -> Plan:
        """Give the plan. Raises ConfigError."""
        faults: list[Fault] = []
        plan = build_plan(self.plan, self.horizon, faults)
        return self.sound(plan, faults)

    def build_forecasters(self) -> dict[str, Forecaster]:
        """Give the forecasters by label, not fitted, then the ablations of them. Raises ConfigError."""
        faults: list[Fault] = []
        of = (self.horizon, self.quantile_levels, faults)
        forecasters = build_forecasters(self.forecasters, *of)
        ablations = build_ablations(self.ablations, self.forecasters, forecasters, *of)
        return self.sound({**forecasters, **ablations}, faults)

    def build_fallback(self) -> Forecaster | None:
        """Give the fallback, not fitted; None where there is none. Raises ConfigError."""
        faults: list[Fault] = []
        return self.sound(build_fallback(self.fallback, self.horizon, self.quantile_levels, faults), faults)

    def build_regime(self) -> Regime:
        """Give the regime. Raises ConfigError."""
        faults: list[Fault] = []
        return self.sound(build_regime(self.regime, self.build_forecasters(), faults), faults)

    def panels(self) -> dict[str, Panel]:
        """Read all data sets through the door, and give them by name. Raises ConfigError."""
        if self._panels is not None:
            return dict(self._panels)
        panels = {}
        for number, dataset in enumerate(self.datasets):
            try:
                panels[dataset.name] = dataset.panel(self.gaps, self.folder)
            except (OSError, ValueError, TypeError, ImportError) as error:
                raise self.error([Fault(("datasets", number), str(error))]) from error
        return panels

    def canonical(self) -> dict[str, Any]:
        """Give all that results depend on, every default spelled out, as JSON can hold it. Raises ConfigError."""
        # Levels, and what is exchanged, stand with each forecaster.
        built = {"plan", "regime", "quantile_levels", "forecasters", "ablations", "fallback"}
        plain = self.model_dump(mode="json", exclude=built)
        if self.ablations:
            plain["ablations"] = list(self.ablations)
        plan = {name: value for name, value in canonical(self.build_plan()).items() if name not in ("type", "horizon")}
        regime = self.build_regime()
        return {
            **plain,
            "plan": plan,
            "regime": {**canonical(regime, "regime"), "type": regime.name},
            "forecasters": canonical(self.build_forecasters(), "forecasters"),
            "fallback": canonical(self.build_fallback(), "fallback"),
        }


def load_experiment(path: str | Path, *, quick: bool = False) -> Experiment:
    """Read an experiment from a YAML file, or a shipped one by its name, as in `load_experiment("default")`.

    With `quick` the keys that the file has under `quick` replace those of the file.

    Raises ConfigError, with one line `file:line:col: field: message` for each fault.
    """
    source = Source.read(find_config(path))
    if is_suite(source, quick=quick):
        place = ("experiments",) if "experiments" in source.content else ("horizon",)
        raise source.error([Fault(place, "makes it a file of several experiments; `run_suite` runs them")])
    return load_experiments(source, quick=quick)[0][1]


def load_experiments(source: Source, *, quick: bool = False) -> list[tuple[str, Experiment]]:
    """Give the experiments of a file, each with its label. Raises ConfigError."""
    if not isinstance(source.content, Mapping):
        keys = ", ".join(name for name, one in Experiment.model_fields.items() if one.is_required() and name != "name")
        raise source.error([Fault((), f"an experiment is a mapping with the keys {keys}; got {source.content!r}")])
    if "cost" in source.content:
        raise source.error([Fault(("cost",), "is what an experiment on costs has; `run_costs` runs it", at_key=True)])
    if "recall" in source.content:
        told = "is what an experiment on memory has; `run_recalls` runs it"
        raise source.error([Fault(("recall",), told, at_key=True)])
    faults, found = list(source.faults), []
    for variant in variants_of(source, quick=quick):
        own: list[Fault] = []
        found.append((variant.label, _read(variant, source, own)))
        faults += [variant.placed(one) for one in own]
    if faults:
        raise source.error(dict.fromkeys(faults))  # several experiments share most of a file, and its faults
    return [(label, experiment) for label, experiment in found if experiment is not None]


def _read(variant: Variant, source: Source, faults: list[Fault]) -> Experiment | None:
    """Give an experiment of a file, or add to `faults` what speaks against it."""
    content = variant.content
    experiment = None
    try:
        experiment = Experiment.model_validate(content)
    except ValidationError as error:
        faults += [fault_of(one, Experiment) for one in error.errors()]
    horizon, levels = (experiment.horizon, experiment.quantile_levels) if experiment else (1, list(DECILES))
    faults += unknown_datasets(content.get("datasets"))
    if isinstance(content.get("plan"), Mapping):
        build_plan(content["plan"], horizon, faults)
    forecasters = None
    if isinstance(content.get("forecasters"), Mapping):
        before, given = len(faults), content["forecasters"]
        forecasters = build_forecasters(given, horizon, levels, faults)
        if len(faults) == before and isinstance(content.get("ablations"), Mapping):
            forecasters |= build_ablations(content["ablations"], given, forecasters, horizon, levels, faults)
        forecasters = forecasters if len(faults) == before else None  # with whom a regime goes is not known yet
    if isinstance(content.get("fallback"), str | Mapping):
        build_fallback(content["fallback"], horizon, levels, faults)
    if isinstance(content.get("regime"), str | Mapping):
        build_regime(content["regime"], forecasters, faults)
    if experiment is not None:
        names = [dataset.name for dataset in experiment.datasets]
        faults += misplaced(experiment.published, names, experiment.scored)
        experiment._source, experiment._variant = source, variant
    return experiment


_OUR_WORD = {
    ("models",): "what is compared stands under `forecasters`",
    ("tune",): "a search is a regime: `regime: {type: tuned, trials: 20}`",
}  # for keys that users of other tools bring along

_IN_OUR_WORDS = {
    "bool_type": "true or false",
    "dict_type": "a mapping",
    "float_type": "a number",
    "int_type": "a whole number",
    "list_type": "a list",
    "string_pattern_mismatch": "letters, digits, blanks and any of _ . + -, a letter or digit first",
    "string_type": "text",
}


def fault_of(error: Any, schema: type[Strict]) -> Fault:
    """Give a fault that pydantic has found in a config of this schema, in our words."""
    field, given = tuple(part for part in error["loc"] if part != "[key]"), error["input"]
    if error["type"] == "extra_forbidden":
        if schema is Experiment and field in _OUR_WORD:
            return Fault(field, f"unknown key; {_OUR_WORD[field]}", at_key=True)
        inside = {"published": Published}.get(str(field[0]), Dataset)
        return unknown_key(field, list((schema if len(field) == 1 else inside).model_fields))
    if error["type"] == "missing":
        dataset = "needs a `name` of the catalogue, a `file`, or a process, `synthetic`"
        inside = dataset if field[0] == "datasets" else "this key is missing"
        return Fault(field, inside)
    if error["type"] == "value_error":
        return Fault(field, error["msg"].removeprefix("Value error, "))
    wanted = _IN_OUR_WORDS.get(error["type"]) or error["msg"].removeprefix("Input should be ")
    shown = f"; got {given!r}" if isinstance(given, str | int | float | None) else ""
    return Fault(field, f"should be {wanted}{shown}", at_key="[key]" in error["loc"])
