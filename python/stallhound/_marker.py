"""What becomes of a test with the marker; apart from pytest_plugin, which needs pytest to be imported."""

import warnings

from stallhound import _budget


class Unchecked(Exception):
    """The test ran, its budget was not checked, and that is not good enough."""


def after_test(budget, has_failed, must_check):
    """Ends the budget of a test that ran: None if the test's own result stands, else a BudgetExceeded or an Unchecked."""
    if has_failed:
        budget.abandon()
        return None
    try:
        budget.stop()
    except _budget.BudgetExceeded as error:
        return error
    if budget.was_checked:
        return None
    if must_check:
        return Unchecked(f"stallhound: not checked: {budget.reason}")
    warnings.warn(f"budget not checked: {budget.reason}", _budget.NotCheckedWarning, stacklevel=2)
    return None
