"""What was spent: an append-only account of releases, in SQLite or PostgreSQL."""

from inkblur.ledger.accountant import ReleaseAccount
from inkblur.ledger.events import Budget, Charge, Charged, Exceeded, Spent, micros, owned
from inkblur.ledger.ledger import Ledger, ledger_files, open_ledger

__all__ = [
    "Budget",
    "Charge",
    "Charged",
    "Exceeded",
    "Ledger",
    "ReleaseAccount",
    "Spent",
    "ledger_files",
    "micros",
    "open_ledger",
    "owned",
]
