"""The certificate: what each probe of an audit asked, whether it passed, and the evidence; read, written and shown."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any

import pandas as pd

_FORMAT = 1
_WIDTH = 120
_MARKS = {True: "passed", False: "FAILED", None: "does not apply"}
_CELL = "text-align:left; vertical-align:top; padding:.1em 1.2em .1em 0; background:none; border:none"


@dataclass(frozen=True)
class Finding:
    """What one probe found.

    Attributes
    ----------
    probe: its id, such as `"P1"`.
    name: what has to hold, as a short sentence.
    asks: what was done to find out.
    passed: whether it holds; None where the probe does not apply, and the evidence says why.
    evidence: figures: how much moved, and first where.
    milliseconds: what it took.

    """

    probe: str
    name: str
    asks: str
    passed: bool | None
    evidence: str
    milliseconds: float


@dataclass(frozen=True)
class Certificate:
    """What an audit found of one forecaster, or of one network.

    Attributes
    ----------
    forecaster: what was audited, spelled with its arguments.
    version: of foretell.
    facts: how it was audited, as JSON can hold it: data, cutoffs, what was cut short.
    findings: one per probe, in the order in which they were run.

    """

    forecaster: str
    version: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[Finding] = ()

    @property
    def passed(self) -> bool:
        """Whether some probe applied and none failed."""
        verdicts = [finding.passed for finding in self.findings]
        return True in verdicts and False not in verdicts

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The probes that failed."""
        return tuple(finding for finding in self.findings if finding.passed is False)

    @property
    def badge(self) -> str:
        """A line for a report: how many of the probes that apply passed, and which did not."""
        applied = sum(finding.passed is not None for finding in self.findings)
        told = f"{applied - len(self.failed)}/{applied} probes passed"
        return f"{told}, failed: {', '.join(finding.probe for finding in self.failed)}" if self.failed else told

    def table(self) -> pd.DataFrame:
        """Give one row per probe: `probe, name, asks, passed, evidence, milliseconds`; `passed` True, False or None."""
        names = [one.name for one in fields(Finding)]
        rows = [[getattr(finding, name) for name in names] for finding in self.findings]
        table = pd.DataFrame(rows, columns=pd.Index(names), dtype="object")
        return table.astype({"milliseconds": "float64"})

    def content(self) -> dict[str, Any]:
        """Give all of it as JSON can hold it."""
        return {
            "format": _FORMAT,
            "forecaster": self.forecaster,
            "version": self.version,
            "passed": self.passed,
            "badge": self.badge,
            "facts": dict(self.facts),
            "findings": [asdict(finding) for finding in self.findings],
        }

    def write(self, path: str | Path) -> None:
        """Write it as JSON."""
        text = json.dumps(self.content(), indent=2, ensure_ascii=False, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read what `write` wrote.

        Raises
        ------
        FileNotFoundError: there is no such file.
        ValueError: it holds no certificate, or one of a format that this version does not read.

        """
        text = Path(path).read_bytes()
        try:
            content = json.loads(text)
            if content["format"] != _FORMAT:
                raise ValueError(f"format {content['format']!r}; this version reads {_FORMAT}")
            findings = tuple(Finding(**finding) for finding in content["findings"])
            for finding in findings:
                if finding.passed not in _MARKS:
                    raise ValueError(f"probe {finding.probe} passed {finding.passed!r}; allowed: true, false, null")
            return cls(content["forecaster"], content["version"], content["facts"], findings)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"`path` {str(path)!r} holds no certificate that can be read: {error}") from error

    def __str__(self) -> str:
        lines = [f"audit of {self.forecaster}", f"{self.badge} (foretell {self.version})", ""]
        probe, mark = (max(map(len, column), default=0) for column in (self._probes(), _MARKS.values()))
        indent = " " * (probe + mark + 4)
        for finding in self.findings:
            head = f"{finding.probe:<{probe}}  {_MARKS[finding.passed]:<{mark}}  "
            lines.append(f"{head}{finding.name} ({finding.milliseconds:,.0f} ms)")
            lines.append(fill(finding.evidence, _WIDTH, initial_indent=indent, subsequent_indent=indent))
        lines += ["", *(f"{name}: {value}" for name, value in self.facts.items())]
        return "\n".join(lines)

    def _probes(self) -> list[str]:
        return [finding.probe for finding in self.findings]

    def _repr_html_(self) -> str:
        heads = ("probe", "", "asks", "evidence", "ms")
        rows = [_row("th", heads)]
        for one in self.findings:
            rows.append(_row("td", (one.probe, _MARKS[one.passed], one.name, one.evidence, f"{one.milliseconds:,.0f}")))
        facts = "".join(_row("td", (name, value)) for name, value in self.facts.items())
        return (
            f"<div><b>{escape(self.badge)}</b> <code>{escape(self.forecaster)}</code>"
            f"<table>{''.join(rows)}</table><details><summary>how it was audited</summary><table>{facts}</table>"
            f"</details></div>"
        )


def _row(kind: str, cells: Sequence[Any]) -> str:
    inner = "".join(f'<{kind} style="{_CELL}">{escape(str(cell))}</{kind}>' for cell in cells)
    return f'<tr style="background:none">{inner}</tr>'
