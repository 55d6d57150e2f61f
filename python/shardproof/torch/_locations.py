# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Which source line an operator comes from: the user's, not the framework's.

A forward operator has it on its stack. A backward operator is made by the autograd engine, whose node remembers the stack of the forward
operator (anomaly mode keeps it); a hand-written backward has lines of its own on the stack, below the engine's.
"""

from __future__ import annotations

import contextlib
import os
import re
import sysconfig
import traceback
from collections.abc import Iterator

import torch
from torch.fx.proxy import TracerBase

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_STDLIB = sysconfig.get_path("stdlib") + os.sep
_SITE = re.compile(r".*[/\\](?:site|dist)-packages[/\\]")
_DEVICES = "_devices.py"  # stands between the program and PyTorch
_ENGINE = os.path.join("torch", "autograd", "graph.py")
_FRAME = re.compile(r'File "([^"]*)", line (\d+), in ([^\n]*)(?:\n\s+([^\n]*))?')


def is_users(filename: str) -> bool:
    """Is the file neither PyTorch's, nor ours, nor the interpreter's?"""
    if filename.startswith("<"):
        return False
    if _SITE.match(filename):
        return not filename.startswith((_TORCH, _OURS))
    return not filename.startswith((_TORCH, _OURS, _STDLIB))


def short(filename: str) -> str:
    """The path as a report should show it: below the working directory, or below site-packages."""
    below = _SITE.sub("", filename)
    if below != filename:
        return below
    here = os.getcwd() + os.sep
    return filename[len(here) :] if filename.startswith(here) else os.path.basename(filename)


def _forward_frames(texts: list[str]) -> list[traceback.FrameSummary]:
    return [
        traceback.FrameSummary(file, int(line), name, lookup_line=False, line=(code or "").strip())
        for text in texts
        for file, line, name, code in _FRAME.findall(text)
    ]


def _below_capture(frames: list[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """What called the capture is no part of the program."""
    ours = (i for i, f in enumerate(frames) if f.filename.startswith(_OURS) and not f.filename.endswith(_DEVICES))
    return frames[max(ours, default=-1) + 1 :]


def _choose(summary: traceback.StackSummary) -> list[traceback.FrameSummary]:
    frames = list(summary)
    frames = _below_capture(frames)
    node = torch._C._current_autograd_node()
    if node is not None:
        engine = max((i for i, f in enumerate(frames) if f.filename.endswith(_ENGINE)), default=-1)
        own = [f for f in frames[engine + 1 :] if is_users(f.filename)]
        if not own:
            own = _below_capture(_forward_frames(node.metadata.get("traceback_", [])))
        frames = own
    return [f for f in frames if is_users(f.filename)]


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """While this is active, traced operators carry the user's frames."""
    original = TracerBase._filter_traceback_frames

    def choose(self: TracerBase, summary: traceback.StackSummary) -> traceback.StackSummary:
        return traceback.StackSummary.from_list(_choose(summary))

    TracerBase._filter_traceback_frames = choose  # type: ignore[method-assign]
    try:
        yield
    finally:
        TracerBase._filter_traceback_frames = original  # type: ignore[method-assign]


def of(node: torch.fx.Node) -> tuple[str, int, str, str] | None:
    """(file, line, function, code) of the innermost frame."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    if not frames:
        return None
    file, line, function, code = frames[-1]
    return short(file), int(line), function.strip(), code.strip()
