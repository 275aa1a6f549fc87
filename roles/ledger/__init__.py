"""What was done when, by whom, with what result: one folder a run beneath `runs/`, written whole or not at all."""

from roles.ledger.ledger import Ledger, Record

__all__ = ["Ledger", "Record"]
