"""Set what holds for every test.

Examples of laws have no time limit: a busy machine makes an example slow, never wrong. ``make soak`` tries many more.
"""

import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import settings

from autoscaling.runtime.collector import caches_uncollected
from tests.forking import preload

settings.register_profile("evenkeel", deadline=None, max_examples=50)
settings.register_profile("soak", deadline=None, max_examples=2000)
settings.load_profile("evenkeel")

# No test trusts whom the machine trusts, and each client would take a fortieth of a second to load those certificates.
os.environ["SSL_CERT_FILE"] = os.devnull

# A shell that runs the tests in the background lets them ignore interrupts, and so would the programs they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark of the files that take longest, and say what is imported before anything is forked."""
    preload()
    config.addinivalue_line(
        "markers", "lengthy: takes seconds; begun first, so that no worker ends long after the other"
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from the modules and tests that are here to stay: to go through them takes long."""
    with caches_uncollected():
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; the order is otherwise as it was."""
    items.sort(key=lambda item: item.get_closest_marker("lengthy") is None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell the figures that tests have recorded, whichever worker they ran on."""
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        for name, value in report.user_properties:
            if name == "figures":
                terminalreporter.write_line(f"{report.nodeid}: {value}")
