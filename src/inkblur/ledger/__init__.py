"""What was spent: an append-only account of releases, in SQLite or PostgreSQL."""

from inkblur.ledger.account import Charged, ReleaseAccount
from inkblur.ledger.charges import Budget, Charge, Exceeded, micros
from inkblur.ledger.ledger import Ledger, ledger_files, open_ledger

__all__ = [
    "Budget",
    "Charge",
    "Charged",
    "Exceeded",
    "Ledger",
    "ReleaseAccount",
    "ledger_files",
    "micros",
    "open_ledger",
]
