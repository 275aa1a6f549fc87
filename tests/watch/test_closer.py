"""A stall and a death without a word, with what the host says when it is asked closer."""

from __future__ import annotations

from roles.watch import Verdict
from roles.watch.case import Case
from roles.watch.closer import closer, wants
from roles.watch.witness import Witness
from tests.watch.frames import board
from tests.watch.test_doctor import OOM, about, process, told

DIED = Verdict("failed", "TP1 on a died (killed by SIGKILL) while loading weights", "TP1", "a", id="rank-died")


def case(machine: dict[str, object] | None = None, **more: object) -> Case:
    return Case("tp2@a", (Witness("a", told(up=None, **more), {**about(), **(machine or {})}),))


def test_a_stall_tells_what_each_process_that_is_behind_does() -> None:
    procs = [process(10, "main"), process(11, state="D", wchan="nfs_wait"), process(12, cpu=1.0)]

    said = closer(Verdict("stalled", "nothing has moved for 30 min"), case(procs=procs), board(2, 1))

    assert said.witnesses == [
        "TP0 on a: its process (pid 11) waits in the kernel in nfs_wait, uses no CPU, reads nothing",
        "TP1 on a: its process (pid 12) sleeps in futex_wait_queue, uses 1.0 cores, reads nothing",
        "TP0 on a waits in the kernel (state D, nfs_wait, pid 11)",
    ]


def test_a_silent_death_that_the_kernel_explains_is_a_kill_for_lack_of_memory() -> None:
    kernel = {"lines": [{"t": 950.0, "kind": "oom", "pid": 12, "name": "sglang::schedul", "text": OOM}]}

    said = closer(DIED, case({"kernel": kernel}), board(2, 1))

    assert said.sentence == "TP1 on a was killed by the kernel for lack of memory"
    assert (said.id, said.cause) == ("oom-kill", f"the kernel killed TP1 on a for lack of memory: {OOM}")


def test_a_silent_death_of_which_the_kernel_says_nothing_stays_what_it_is() -> None:
    assert closer(DIED, case(), board(2, 1)) == DIED


def test_only_stalls_and_unexplained_deaths_are_looked_at_again() -> None:
    assert wants(DIED) and wants(Verdict("stalled", ""))
    assert not wants(Verdict("failed", "", id="model-path")) and not wants(Verdict("up", ""))
