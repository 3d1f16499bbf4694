"""The table that the layouts leave: which were cut, and in how many orders."""

from __future__ import annotations

import pytest

PROPERTY = "mig-layouts"
"""Name of the report's property that holds a line of the table."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table, from the reports: the tests may have run in another process."""
    rows = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "teardown"
        for name, value in report.user_properties
        if name == PROPERTY and isinstance(value, list)
    ]
    if not rows:
        return
    terminalreporter.section("MIG: published layouts, the orders of arrival run, and those served")
    for model, how, layouts, tried, served, *most in sorted(rows):
        best = f"; no chooser serves more than {most[0]}" if most and most[0] < tried else ""
        line = f"{model:12}{how:16}{layouts:3} x orders = {tried:6}   served {served:6}{best}"
        terminalreporter.write_line(line)
