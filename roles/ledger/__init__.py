"""What was done when, by whom, with what result: one folder a run beneath `runs/`, written whole or not at all."""

from roles.ledger.ledger import Ledger
from roles.ledger.lessons import Cause, Lesson, lessons
from roles.ledger.measurements import Measurements
from roles.ledger.record import RESULTS, Record

__all__ = ["RESULTS", "Cause", "Ledger", "Lesson", "Measurements", "Record", "lessons"]
