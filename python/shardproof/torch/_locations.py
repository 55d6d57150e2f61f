# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""Which source line an operator comes from: the user's, not the framework's.

A forward operator has it on its stack. A backward operator is made by the autograd engine, whose node remembers the stack of the forward
operator (anomaly mode keeps it); a hand-written backward has lines of its own on the stack, below the engine's.

The module that an operator belongs to is kept as one more frame, the outermost: a line in a layer's code says nothing about which layer it was.
A backward operator belongs to the module of the forward operator with its sequence number.
"""

from __future__ import annotations

import contextlib
import os
import re
import sysconfig
import traceback
from collections.abc import Iterator
from typing import Any

import torch
from torch.fx.proxy import TracerBase

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
_STDLIB = sysconfig.get_path("stdlib") + os.sep
_SITE = re.compile(r".*[/\\](?:site|dist)-packages[/\\]")
_DEVICES = "_devices.py"  # stands between the program and PyTorch
_ENGINE = os.path.join("torch", "autograd", "graph.py")
_MODULE = "<module>."  # in place of a file: the frame that names a module
# A frame may lack its line of code (the one that names a module does): the next line is then another frame.
_FRAME = re.compile(r'File "([^"]*)", line (\d+), in ([^\n]*)(?:\n[ \t]+(?!\s*File ")(\S[^\n]*))?')


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


class _Modules:
    """Which module runs, and which one made the autograd node of a sequence number."""

    def __init__(self, root: torch.nn.Module) -> None:
        self.names = {id(m): n for n, m in root.named_modules()}
        self.stack: list[str] = []
        self.made: dict[int, str] = {}

    def enter(self, module: torch.nn.Module, args: Any) -> None:
        self.stack.append(self.names.get(id(module), self.stack[-1] if self.stack else ""))

    def leave(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        if self.stack:
            self.stack.pop()

    def current(self) -> str:
        if self.stack:
            if torch._C._current_autograd_node() is None:
                self.made[torch.autograd._get_sequence_nr() - 1] = self.stack[-1]  # type: ignore[attr-defined]
            return self.stack[-1]
        node = torch._C._current_autograd_node()
        return "" if node is None else self.made.get(node._sequence_nr(), "")


@contextlib.contextmanager
def recorded(root: torch.nn.Module) -> Iterator[None]:
    """While this is active, traced operators carry the user's frames and their module's name."""
    original = TracerBase._filter_traceback_frames
    modules = _Modules(root)

    def choose(self: TracerBase, summary: traceback.StackSummary) -> traceback.StackSummary:
        frames = _choose(summary)
        if name := modules.current():
            frames.insert(0, traceback.FrameSummary(_MODULE + name, 1, "forward", lookup_line=False, line=""))
        return traceback.StackSummary.from_list(frames)

    hooks = [
        torch.nn.modules.module.register_module_forward_pre_hook(modules.enter),
        torch.nn.modules.module.register_module_forward_hook(modules.leave, always_call=True),
    ]
    TracerBase._filter_traceback_frames = choose  # type: ignore[method-assign]
    try:
        yield
    finally:
        TracerBase._filter_traceback_frames = original  # type: ignore[method-assign]
        for hook in hooks:
            hook.remove()


def module_of(node: torch.fx.Node) -> str:
    """The qualified name of the module that the operator, or the one whose gradient it computes, is in; "" if that is not known."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    return frames[0][0][len(_MODULE) :] if frames and frames[0][0].startswith(_MODULE) else ""


def of(node: torch.fx.Node) -> tuple[str, int, str, str] | None:
    """(file, line, function, code) of the innermost frame."""
    frames = [f for f in _FRAME.findall(node.meta.get("stack_trace") or "") if not f[0].startswith(_MODULE)]
    if not frames:
        return None
    file, line, function, code = frames[-1]
    return short(file), int(line), function.strip(), code.strip()
