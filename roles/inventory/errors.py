"""The errors that reach the operator: one message, what to do, and the exit code of the command.

Nothing heavy is imported here: every room and `inv --list` import this module.
"""

# ruff: noqa: N818 (a class is named after what happened: Refused, Lost)
from __future__ import annotations


class AllranksError(Exception):
    """Something the operator must know. The message names host, file, key or rank; `do` is the next step."""

    exit_code: int = 1

    def __init__(self, message: str, *, do: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.do = do

    def __str__(self) -> str:
        if not self.do:
            return self.message
        return f"{self.message}{' ' if self.message.endswith('?') else '; '}{self.do}"

    def __reduce__(self) -> tuple[object, ...]:
        # Exception pickles its positional arguments only; `do` must survive a process pool too.
        return (_rebuild, (type(self), self.message, self.do))


def _rebuild(kind: type[AllranksError], message: str, do: str) -> AllranksError:
    return kind(message, do=do)


class InputError(AllranksError):
    """The inventory, a profile or an argument is wrong. Nothing was connected to."""

    exit_code = 2


class Refused(AllranksError):
    """A check said no. Nothing was changed."""

    exit_code = 3


class Leased(Refused):
    """Another operator's command is changing it just now. Nothing was changed by this one."""


class Unreachable(AllranksError):
    """A host could not be reached, or is not the host it was: SSH, network, host key."""

    exit_code = 4


class NeverUp(AllranksError):
    """The deployment ended before it was up."""

    exit_code = 5


class Lost(AllranksError):
    """The deployment was up and is not any more."""

    exit_code = 6


class NotYet(AllranksError):
    """Still loading, or stalled. It was left running."""

    exit_code = 7


class Different(AllranksError):
    """It runs, but not as it was asked to."""

    exit_code = 8


class SomeHosts(AllranksError):
    """Of several hosts or deployments some did what was asked. Each has said what became of it."""

    exit_code = 10


class NoHost(AllranksError):
    """Of several hosts or deployments none did what was asked. Each has said why."""

    exit_code = 11
