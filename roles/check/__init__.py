"""Facts of each host + plan -> findings: what can be seen to be wrong is said at once, before anything starts. Pure."""

from __future__ import annotations

from roles.check.finding import Facts, Finding, Level, Node
from roles.check.judge import findings, refuse
from roles.check.question import question

__all__ = ["Facts", "Finding", "Level", "Node", "findings", "question", "refuse"]
