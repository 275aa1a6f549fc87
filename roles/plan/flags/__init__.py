"""A command line + an SGLang release -> what its parser would say, without a host. The table is scripts/flags.py's."""

from __future__ import annotations

from roles.plan.flags.offline import Issue, check, check_plan, refuse
from roles.plan.flags.table import Option, known_releases, options_of

__all__ = ["Issue", "Option", "check", "check_plan", "known_releases", "options_of", "refuse"]
