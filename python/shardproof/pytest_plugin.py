# Copyright 2026 The shardproof authors. SPDX-License-Identifier: Apache-2.0
"""pytest plugin: a failing check shows its report.

from shardproof.pytest_plugin import assert_refines

def test_my_model():
    assert_refines("case/")                       # a manifest, a folder, a bundle, a Manifest, or a Report

@pytest.mark.shardproof("case/")                  # the same as a mark: the test gets the report as a fixture
def test_marked(shardproof_report):
    assert not shardproof_report.warnings
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from shardproof._report import Report
from shardproof._run import check


class RefinementError(AssertionError):
    """The distributed program was not proved to refine the sequential one."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


def assert_refines(subject: Any, *, allow_unknown: bool = False, **options: Any) -> Report:
    """Checks `subject` (or takes the Report that it is) and fails with the report unless it is PROVED."""
    report = subject if isinstance(subject, Report) else check(subject, **options)
    if report.proved or (allow_unknown and report.verdict == "UNKNOWN"):
        return report
    raise RefinementError(report)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "shardproof(manifest, **options): prove that the manifest's distributed program refines its sequential one before the test runs",
    )


@pytest.fixture
def shardproof_report(request: pytest.FixtureRequest) -> Report:
    """The report of the test's shardproof mark."""
    report: Report | None = getattr(request.node, "_shardproof_report", None)
    if report is None:
        raise pytest.UsageError("shardproof_report needs a mark: @pytest.mark.shardproof(manifest)")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    for mark in item.iter_markers("shardproof"):
        if mark.args:
            item._shardproof_report = assert_refines(mark.args[0], **mark.kwargs)  # type: ignore[attr-defined]
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, RefinementError):
        # The report says it all; a traceback through this file would hide it.
        report.longrepr = str(error.report)
        report.sections.append(("shardproof", f"verdict {error.report.verdict}"))
    return report
