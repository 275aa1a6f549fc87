"""Profile + hosts -> Plan. Pure: nothing here connects, starts or asks the clock."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roles.plan.build import plan_for
    from roles.plan.plan import NodePlan, Plan, Seat

__all__ = ["NodePlan", "Plan", "Seat", "plan_for"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{'build' if name == 'plan_for' else 'plan'}"), name)


def __dir__() -> list[str]:
    return __all__
