"""Stallhound in a Python program: windows, budgets and a pytest marker. README.md beside this package's source says more.

    with stallhound.window("step"):          # a named range, and where `hunt --window-api` records
        train_step()

    with stallhound.budget(waits=0):         # raises BudgetExceeded with the lines that made the host wait
        train_step()

Both need the recorder in the process (`stallhound hunt -- python ...`). Without it a window does nothing, and a budget
warns that it did not check.
"""

from stallhound._budget import BudgetExceeded, NotCheckedWarning, budget
from stallhound._window import window

__all__ = ["BudgetExceeded", "NotCheckedWarning", "budget", "window"]
