"""The marker `stallhound` and the option `--stallhound` of pytest; registered by the wheel.

    @pytest.mark.stallhound(waits=0)      # arguments as those of stallhound.budget
    def test_step(): ...

A marked test fails if it has more sync points than allowed, with a line for each. Without a GPU it is skipped. Without the
recorder it runs unchecked, with a warning. Under --stallhound what cannot be checked is skipped, not passed.
"""

import os

import pytest

from stallhound import _budget, _gpu, _marker, _relaunch

MARKER = "stallhound(waits=0, pageable_copies=None, allocations=None, loads=None, sync_points=None): the most sync points the test may have"


def pytest_addoption(parser):
    parser.getgroup("stallhound").addoption(
        "--stallhound", action="store_true", help="record the tests with Stallhound, so that its marker is checked"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", MARKER)


# Outermost, so that pytest has not yet taken stdout and stderr, and before any conftest.py is imported.
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config):
    if early_config.known_args_namespace.stallhound:
        try:
            command = _relaunch.hunt_command()
        except _relaunch.CannotRelaunch as error:
            raise pytest.UsageError(str(error)) from error
        if command:
            os.execv(command[0], command)
    yield


def _budget_of(item):
    """The budget that the item's marker asks for, or None."""
    marker = item.get_closest_marker("stallhound")
    return None if marker is None else _budget.budget(*marker.args, **marker.kwargs)


def pytest_runtest_setup(item):
    # Before the look for a GPU: a mistake in a marker shows on every machine.
    try:
        budget = _budget_of(item)
    except (TypeError, ValueError) as error:
        message = f"marker stallhound of {item.nodeid}: {error} (arguments: {MARKER})"
        raise pytest.fail.Exception(message, pytrace=False) from None
    if budget is not None and _gpu.missing():
        pytest.skip(f"stallhound: {_gpu.missing()}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    budget = _budget_of(item)
    if budget is None:
        yield
        return
    budget.start()
    outcome = yield
    error = _marker.after_test(budget, outcome.excinfo is not None, item.config.getoption("stallhound"))
    if isinstance(error, _marker.Unchecked):
        error = pytest.skip.Exception(str(error))
    if error is not None:
        outcome.force_exception(error)
