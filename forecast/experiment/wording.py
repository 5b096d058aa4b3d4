"""What a command says of its work: notes, and refusals in the words of its options."""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from forecast.experiment.faults import ConfigError

_IN_A_COMMAND = {
    r"\b(gaps|freq)=[\"'](\w+)[\"']": r"`--\1 \2`",
    r"`(freq|gaps|horizon|future|steps)`": r"`--\1`",
    r"Remove them with frame\.drop_duplicates\([^)]*\), or aggregate": (
        "Keep one of each, or add them up; the column that tells several series apart is named with `--id`"
    ),
    r"leave the short ones out: short=.drop.": "take the short ones out of the table",
    r"by NaN where they are unknown, or rescale": "leave the field empty where a value is unknown, or rescale",
    r"roles=Roles\((\w+)=\([^)]*\)\)": r"`--\1`",
    r"; forecaster\.future_frame\(\) gives the rows to fill in": "",
}


class Notes:
    """What a person should know of how forecasts came about: said at once, and kept."""

    def __init__(self, say: Callable[[str], object]):
        self.say = say
        self.lines: list[str] = []

    def take(self, *lines: str) -> None:
        """Take in lines, each once."""
        for line in lines:
            if line not in self.lines:
                self.lines.append(line)
                self.say(line)

    @contextmanager
    def of_warnings(self) -> Iterator[None]:
        """Take in what is warned of meanwhile."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            yield
        told = [warning for warning in caught if issubclass(warning.category, UserWarning)]
        self.take(*(as_options(str(warning.message)) for warning in told))


@contextmanager
def in_options() -> Iterator[None]:
    """Tell what the library refuses in the words of the command."""
    try:
        yield
    except ConfigError:
        raise
    except (ValueError, TypeError) as error:
        raise ConfigError(f"error: {as_options(str(error))}") from error


def as_options(message: str) -> str:
    """Give a message with remedies for a table and the options of a command, on one line."""
    message = " ".join(message.split())
    for pattern, words in _IN_A_COMMAND.items():
        message = re.sub(pattern, words, message)
    return message
