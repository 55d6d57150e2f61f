# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""The answer of a check as typed values, and how it looks in a terminal and in a notebook."""

from __future__ import annotations

import dataclasses
import html
import pathlib
from collections.abc import Mapping
from typing import Any, Literal, NoReturn

Verdict = Literal["PROVED", "REFUTED", "UNKNOWN"]
_COLOURS = {"PROVED": "green", "REFUTED": "red", "UNKNOWN": "yellow", "UNCHECKED": "bright_black"}
_HTML_COLOURS = {"PROVED": "#1a7f37", "REFUTED": "#cf222e", "UNKNOWN": "#9a6700", "UNCHECKED": "#656d76"}


class ShardproofError(Exception):
    """Anything that keeps shardproof from giving an answer."""


class InputError(ShardproofError):
    """A manifest or a program that cannot be read, or that does not fit: exit code 2 of the command."""

    def __init__(self, message: str, code: str = "SP200", file: str = "", line: int = 0, column: int = 0) -> None:
        place = ":".join(str(p) for p in (file, line, column) if p)
        super().__init__(f"{place}: [{code}] {message}" if place else f"[{code}] {message}")
        self.message, self.code, self.file, self.line, self.column = message, code, file, line, column


@dataclasses.dataclass(frozen=True)
class Site:
    """An operator in one of the programs, with the source line that it came from where the graph says so."""

    node: str
    op: str = ""
    file: str = ""
    line: int = 0
    rank: int | None = None  # None: the one-device program

    @classmethod
    def _of(cls, raw: Mapping[str, Any]) -> Site:
        return cls(
            node=str(raw.get("node") or ""),
            op=str(raw.get("op") or ""),
            file=str(raw.get("file") or ""),
            line=int(raw.get("line") or 0),
            rank=raw.get("rank"),
        )

    def __str__(self) -> str:
        where = f" at {self.file}:{self.line}" if self.file and self.line else f" in {self.file}" if self.file else ""
        who = "" if self.rank is None else f"rank {self.rank}: "
        return f"{who}{self.node}" + (f" ({self.op})" if self.op else "") + where


@dataclasses.dataclass(frozen=True)
class Blame:
    """Where the first wrong output goes wrong, why, and what would repair it."""

    code: str
    kind: str
    explanation: str
    repair: str | None
    sequential: Site | None
    distributed: tuple[Site, ...]
    parameters: tuple[str, ...] = ()  # that the operator reads

    @classmethod
    def _of(cls, raw: Mapping[str, Any] | None) -> Blame | None:
        if not raw:
            return None
        sequential = raw.get("sequential")
        return cls(
            code=str(raw.get("code") or ""),
            kind=str(raw.get("kind") or ""),
            explanation=str(raw.get("explanation") or ""),
            repair=raw.get("repair") or None,
            sequential=Site._of(sequential) if sequential else None,
            distributed=tuple(Site._of(d) for d in raw.get("distributed") or ()),
            parameters=tuple(raw.get("parameters") or ()),
        )

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.kind}: {self.explanation}" if self.kind else self.explanation]
        if self.sequential:
            lines.append(f"  one device: {self.sequential}")
        lines += [f"  {site}" for site in self.distributed]
        if self.parameters:
            lines.append(f"  parameters: {', '.join(self.parameters)}")
        if self.repair:
            lines.append(f"  repair: {self.repair}")
        return "\n".join(lines)


@dataclasses.dataclass(frozen=True)
class Output:
    """One output of the one-device program: its status and the relation that was found for it."""

    name: str
    status: str  # PROVED, REFUTED, UNKNOWN or UNCHECKED
    label: str | None = None
    relation: str | None = None
    expected: str | None = None
    reason: str | None = None
    blame: Blame | None = None

    @classmethod
    def _of(cls, raw: Mapping[str, Any]) -> Output:
        def text(key: str) -> str | None:
            value = raw.get(key)
            return None if value is None else value if isinstance(value, str) else str(value)

        return cls(
            name=str(raw["name"]),
            status=str(raw["status"]),
            label=text("label"),
            relation=text("relation"),
            expected=text("expected"),
            reason=text("reason"),
            blame=Blame._of(raw.get("blame")),
        )

    @property
    def title(self) -> str:
        return f"{self.label} ({self.name})" if self.label and self.label != self.name else self.name


@dataclasses.dataclass(frozen=True)
class Replay:
    """What `shardproof replay` found: does the witness confirm the refutation, and the two values that differ."""

    confirmed: bool
    text: str

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Recheck:
    """What `shardproof-check` found: does the proof hold, and what it rests on, or why it was rejected."""

    accepted: bool
    text: str

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return self.text


@dataclasses.dataclass(frozen=True)
class Report:
    """The answer of a check. It has no truth value: ask for `proved`, or compare the verdict."""

    verdict: Verdict
    outputs: tuple[Output, ...]
    blame: Blame | None
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    reason: str | None = None  # why UNKNOWN
    stats: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    certificate: pathlib.Path | None = None
    witness: pathlib.Path | None = None
    raw: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False, compare=False)
    manifest: pathlib.Path | None = None
    text: str = dataclasses.field(
        default="", repr=False, compare=False
    )  # the command's own report, where it was asked for

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], *, manifest: pathlib.Path | None = None, text: str = "") -> Report:
        """From the object that `shardproof check --json` prints. Raises InputError if that is an error."""
        if "error" in raw:
            error = raw["error"]
            raise InputError(
                str(error.get("message")),
                str(error.get("code") or "SP200"),
                str(error.get("file") or ""),
                int(error.get("line") or 0),
                int(error.get("column") or 0),
            )

        def path(key: str) -> pathlib.Path | None:
            return pathlib.Path(raw[key]) if raw.get(key) else None

        return cls(
            verdict=raw["verdict"],
            outputs=tuple(Output._of(o) for o in raw.get("outputs") or ()),
            blame=Blame._of(raw.get("blame")),
            assumptions=tuple(raw.get("assumptions") or ()),
            warnings=tuple(raw.get("warnings") or ()),
            reason=raw.get("reason"),
            stats=raw.get("stats") or {},
            certificate=path("certificate"),
            witness=path("witness"),
            raw=raw,
            manifest=manifest,
            text=text,
        )

    @property
    def proved(self) -> bool:
        return self.verdict == "PROVED"

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a report is not true or false: there are three verdicts; use `report.proved` or `report.verdict`"
        )

    def output(self, name: str) -> Output:
        """The output with this name or label."""
        for output in self.outputs:
            if name in (output.name, output.label):
                return output
        raise KeyError(name)

    def raise_unless_proved(self) -> Report:
        """The report itself if all was proved; else an AssertionError that shows it."""
        if not self.proved:
            raise AssertionError(f"shardproof: {self}")
        return self

    def _headline(self) -> str:
        counts: dict[str, int] = {}
        for output in self.outputs:
            counts[output.status] = counts.get(output.status, 0) + 1
        numbers = ", ".join(f"{n} {status.lower()}" for status, n in counts.items())
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.verdict}{reason}: {numbers}" if numbers else f"{self.verdict}{reason}"

    def __str__(self) -> str:
        if self.text:
            return self.text.rstrip("\n")
        lines = [self._headline()]
        for output in self._shown():
            detail = output.relation or output.reason or ""
            if output.expected and output.expected != output.relation:
                detail = f"{detail} (expected {output.expected})" if detail else f"expected {output.expected}"
            lines.append(f"  {output.status:<9} {output.title}" + (f": {detail}" if detail else ""))
        if self.blame:
            lines += ["", *str(self.blame).splitlines()]
        for word, entries in (("warning", self.warnings), ("assumed", self.assumptions)):
            lines += [f"{word}: {entry}" for entry in entries]
        if self.witness:
            lines.append(f"witness: {self.witness}")
        return "\n".join(lines)

    def _shown(self, limit: int = 40) -> list[Output]:
        """What is not proved first, and not hundreds of lines of what is."""
        wrong = [o for o in self.outputs if o.status != "PROVED"]
        right = [o for o in self.outputs if o.status == "PROVED"]
        return (wrong + right)[:limit]

    def __rich__(self) -> Any:
        from rich.console import Group
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False)
        for title in ("output", "status", "relation", "expected"):
            table.add_column(title)
        for output in self._shown():
            colour = _COLOURS.get(output.status, "")
            table.add_row(
                Text(output.title),
                Text(output.status, style=colour),
                Text(output.relation or output.reason or ""),
                Text(output.expected or ""),
            )
        parts: list[Any] = [table]
        if self.blame:
            parts.append(Text("\n" + str(self.blame)))
        parts += [Text(f"warning: {w}", style="yellow") for w in self.warnings]
        parts += [Text(f"assumed: {a}", style="dim") for a in self.assumptions]
        return Panel(Group(*parts), title=self._headline(), border_style=_COLOURS[self.verdict], title_align="left")

    def _repr_html_(self) -> str:
        esc = html.escape

        def colour(status: str) -> str:
            return f'style="color:{_HTML_COLOURS.get(status, "#000")};font-weight:600"'

        rows = "".join(
            f"<tr><td>{esc(o.title)}</td><td {colour(o.status)}>{esc(o.status)}</td><td>{esc(o.relation or o.reason or '')}</td><td>{esc(o.expected or '')}</td></tr>"
            for o in self._shown()
        )
        parts = [f"<div><p {colour(self.verdict)}>{esc(self._headline())}</p>"]
        parts.append(
            f'<table style="text-align:left"><thead><tr><th>output</th><th>status</th><th>relation</th><th>expected</th></tr></thead><tbody>{rows}</tbody></table>'
        )
        if self.blame:
            parts.append(f'<pre style="white-space:pre-wrap">{esc(str(self.blame))}</pre>')
        for title, entries in (("warnings", self.warnings), ("assumptions", self.assumptions)):
            if entries:
                items = "".join(f"<li>{esc(e)}</li>" for e in entries)
                parts.append(f"<details><summary>{len(entries)} {title}</summary><ul>{items}</ul></details>")
        return "".join(parts) + "</div>"
