"""What is wrong in a config file, and where: `file:line:col: field: message`, one line for each fault.

Holds `Fault`, the `ConfigError` made of faults, `Source` (a YAML file that knows the place of every key and value), and
`nearest`, the hint at a known name.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

Field = tuple[str | int, ...]  # the way from the top of a config to a value: ("forecasters", "LSTM", "training")


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: with the value of a field, or with its key."""

    field: Field
    message: str
    at_key: bool = False
    line: int | None = None  # where a place in the file is known without the field
    column: int | None = None


class ConfigError(ValueError):
    """A config that cannot be used; one line for each fault, in the order of the file."""


def nearest(name: object, known: Iterable[str]) -> str:
    """Give `did you mean 'this'? ` for a known name that is close to a name, else nothing."""
    lowered = {one.lower(): one for one in known}
    near = difflib.get_close_matches(str(name).lower(), lowered, n=1, cutoff=0.6)
    return f"did you mean {lowered[near[0]]!r}? " if near else ""


def unknown_key(field: Field, known: Sequence[str]) -> Fault:
    """Give the fault of a key that does not exist."""
    return Fault(field, f"unknown key; {nearest(field[-1], known)}allowed: {', '.join(known)}", at_key=True)


class _Loader(yaml.SafeLoader):
    """The safe loader without dates: a cutoff is read by the calendar of the data, as it was written."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True)
class Source:
    """A YAML file as read: `content` in plain Python, and the nodes that know where everything stands."""

    path: Path
    content: Any
    node: Node | None
    faults: tuple[Fault, ...]  # keys that come twice, which plain Python cannot hold

    @classmethod
    def read(cls, path: Path) -> "Source":
        """Read a file. Raises ConfigError where it is no YAML, OSError where it cannot be read."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path}:1:1: file: not text in UTF-8 ({error.reason}); save it as UTF-8") from error
        try:
            loader = _Loader(text)
            node = loader.get_single_node()
            twice = tuple(_repeated_keys(node, (), set()))
            content = None if node is None else loader.construct_document(node)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            problem = " ".join(filter(None, [error.context, error.problem]))
            raise ConfigError(f"{path}:{line}:{column}: file: not readable as YAML: {problem}") from error
        except (yaml.YAMLError, RecursionError) as error:
            raise ConfigError(f"{path}:1:1: file: not readable as YAML: {' '.join(str(error).split())}") from error
        return cls(path, content, node, twice)

    def error(self, faults: Iterable[Fault]) -> ConfigError:
        """Give the error that lists faults in the order of the file."""
        placed: dict[tuple[int, int, str], list[str]] = {}
        for fault in faults:
            placed.setdefault(self._place(fault), []).append(fault.message)
        return ConfigError(
            "\n".join(
                f"{self.path}:{line}:{column}: {name}: {', or '.join(placed[line, column, name])}"
                for line, column, name in sorted(placed)
            )
        )

    def _place(self, fault: Fault) -> tuple[int, int, str]:
        """Give line, column and field as the file has it; of what is not there, the place that should hold it."""
        node, mark, names = self.node, None, []
        for position, part in enumerate(fault.field):
            child = _child(node, part)
            if child is None:
                # A key that is missing is named; the number of a single value that stands for a list of one is not.
                if isinstance(part, str) and (node is None or isinstance(node, MappingNode)):
                    names.append(part)
                continue
            key, node = child
            names.append(str(part))
            mark = (key if fault.at_key and position == len(fault.field) - 1 else node).start_mark
        name = ".".join(names) or "file"
        if fault.line is not None:
            return fault.line, fault.column or 1, name
        return (1, 1, name) if mark is None else (mark.line + 1, mark.column + 1, name)


def _child(node: Node | None, part: str | int) -> tuple[Node, Node] | None:
    """Give the key and the value node of one part of a field; a member of a list is its own key."""
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key, value
    if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    return None


def _repeated_keys(node: Node | None, field: Field, seen: set[int]) -> Iterable[Fault]:
    """Give a fault for each key that stands twice in one mapping: YAML would keep the last without a word."""
    if node is None or id(node) in seen:  # an alias, met before
        return
    seen.add(id(node))
    if isinstance(node, SequenceNode):
        for number, value in enumerate(node.value):
            yield from _repeated_keys(value, (*field, number), seen)
    if isinstance(node, MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key.value, str) else "?"
            mark = key.start_mark
            if name in first and name != "<<":
                message = f"this key stands in line {first[name]} already; keep one of the two"
                yield Fault((*field, name), message, line=mark.line + 1, column=mark.column + 1)
            first.setdefault(name, mark.line + 1)
            yield from _repeated_keys(value, (*field, name), seen)
