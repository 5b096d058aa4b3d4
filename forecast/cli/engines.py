"""The engine that options of a command ask for."""

from typing import TYPE_CHECKING, Annotated

from forecast.cli.options import work_option

if TYPE_CHECKING:
    from forecast.experiment.engine import Engine

EngineName = Annotated[
    str, work_option("Where cells are computed: local, on this machine; ray, on a cluster.", "--engine")
]
FileEngine = Annotated[
    str, work_option("Where a folder is forecast: local, on this machine; ray, on a cluster.", "--engine")
]
Address = Annotated[
    str | None, work_option("Of the head of a Ray cluster, host:port; one on this machine is started if not given.")
]
Workers = Annotated[
    int | None,
    work_option(
        "Cells at once, each in a process; 1 for all in this one. One for each processor core if not given, where "
        "there are cells enough.",
        min=1,
    ),
]
FileWorkers = Annotated[
    int | None,
    work_option(
        "Files of a folder at once, each in a process; one for each processor core if not given, where they are large "
        "enough.",
        min=1,
    ),
]
Timeout = Annotated[
    float | None, work_option("Seconds after which a cell is given up, and kept as one that failed.", min=0.1)
]
FileTimeout = Annotated[
    float | None, work_option("Seconds after which a file of a folder is given up, as one that failed.", min=0.1)
]


def engine_from(name: str, address: str | None, workers: int | None, timeout: float | None) -> "Engine":
    """Give the engine. Raises ConfigError, which names the option that is at fault."""
    from forecast.experiment.engine import ENGINES, Local, Ray
    from forecast.experiment.faults import ConfigError, nearest

    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise ConfigError(f"error: `--engine` is {name!r}; {nearest(name, ENGINES)}allowed: {known}")
    if name == "local":
        if address is not None:
            raise ConfigError(
                f"error: `--address` is {address!r}, for `--engine ray` alone: give that, or leave it out"
            )
        return Local(workers=workers, timeout=timeout)
    try:
        return Ray(address=address, workers=workers, timeout=timeout)
    except ValueError as error:
        raise ConfigError(f"error: {str(error).replace('`engine`', '`--engine`')}") from error
