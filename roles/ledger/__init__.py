"""What was done when, by whom, with what result: one folder a run beneath `runs/`, written whole or not at all."""

from roles.ledger.ledger import Ledger, Record
from roles.ledger.measurements import Measurements

__all__ = ["Ledger", "Measurements", "Record"]
