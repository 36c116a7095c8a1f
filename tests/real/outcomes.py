"""Which of a package's tests passed? A pytest plugin (-p outcomes): one line "OUTCOME<tab>TEST" a test in the file $OUTCOMES."""

import os


def pytest_runtest_logreport(report):
    # Setup and teardown count only where they end the test otherwise than it would have ended.
    if report.when == "call" or report.outcome != "passed":
        with open(os.environ["OUTCOMES"], "a", encoding="utf-8") as file:
            file.write(f"{report.outcome}\t{report.nodeid!r}\n")
