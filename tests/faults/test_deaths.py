"""A process dies: who and where is said at once, and whether it had been up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from roles.lab.host import LabHost
from roles.watch import Board, Change, Stage
from tests.faults.watched import Watched
from tests.hosts import seen
from tests.hosts.clone import Clone, eventually, finished
from tests.hosts.labs import disk

pytestmark = pytest.mark.hosts
SMALL = ("deploy", "--host", "lab", "--profile", "small")
TOLD_WITHIN = 2.0  # seconds from a rank's death to the verdict


@pytest.fixture
def holding(clone: Clone, port: int) -> Callable[..., Clone]:
    """The profile `small` waits at a place of its start: loading, bind or ready."""

    def hold(place: str, **environment: str) -> Clone:
        return clone.profile("small", port, environment={"STANDIN_HOLD": place, **environment})

    return hold


def go(host: LabHost, port: int) -> None:
    """End the hold."""
    (disk(host) / f"go-{port}").touch()


def loading(host: LabHost) -> None:
    """Wait until all four ranks hold, and whoever follows has seen which process is which (ranks.json says so)."""
    eventually(lambda: read_log(host).count("Load weight begin") == 4)
    eventually(lambda: written(host, "ranks.json").count("sglang::scheduler_PP") == 4)


def read_log(host: LabHost) -> str:
    """The log of the host's one run."""
    return written(host, "server.log")


def written(host: LabHost, name: str) -> str:
    """A file of the host's one run; empty when it is not there yet."""
    return "".join(path.read_text() for path in (disk(host) / ".allranks/runs").glob(f"*/{name}"))


def test_a_rank_killed_while_loading_is_named_within_two_seconds(holding: Callable[..., Clone], host: LabHost) -> None:
    clone = holding("loading", STANDIN_PAUSE="10")  # main itself would not notice for long
    watched = Watched(clone.root, "lab", "small")
    loading(host)

    killed = seen.kill(seen.titled(host, "sglang::scheduler_PP1_TP0"))

    dead = watched.until(lambda board: [s for s in board.ranks.values() if s.stage is Stage.DEAD])
    verdict = watched.report().verdict
    assert verdict is not None
    assert (verdict.kind, verdict.rank, verdict.host) == ("failed", "PP1 TP0", "lab")
    assert dead - killed < TOLD_WITHIN
    assert "died" in verdict.sentence
    assert seen.servers(host) == []  # what was left of it is stopped


def test_the_same_as_a_command_ends_with_5(holding: Callable[..., Clone], host: LabHost) -> None:
    deploying = holding("loading").start(*SMALL)
    loading(host)

    seen.kill(seen.titled(host, "sglang::scheduler_PP0_TP1"))

    done = finished(deploying)
    assert done.code == 5
    assert "small@lab is not up: PP0 TP1 on lab died" in done.out


def test_keep_leaves_what_is_left_of_a_failed_run(holding: Callable[..., Clone], host: LabHost) -> None:
    deploying = holding("loading", STANDIN_PAUSE="60").start(*SMALL, "--keep")
    loading(host)

    seen.kill(seen.titled(host, "sglang::scheduler_PP0_TP1"))

    assert finished(deploying).code == 5
    assert len(seen.mains(host)) == 1


def test_a_rank_killed_when_up_is_named_by_status(clone: Clone, host: LabHost, port: int) -> None:
    clone.profile("small", port, environment={"STANDIN_PAUSE": "60"})
    clone.ok(*SMALL)

    seen.kill(seen.titled(host, "sglang::scheduler_PP0_TP1"))

    status = clone.inv("status", "--json")
    (row,) = status.json["deployments"]
    assert (status.code, row["state"], row["missing"]) == (6, "lost", ["PP0 TP1"])
    assert "it was up, then PP0 TP1 on lab died" in row["sentence"]


def test_the_first_to_die_is_still_named_when_all_the_others_are_dead_too(clone: Clone, host: LabHost) -> None:
    clone.ok(*SMALL)
    seen.kill(seen.titled(host, "sglang::scheduler_PP1_TP1"))
    eventually(lambda: not seen.servers(host))

    status = clone.inv("status")

    assert status.code == 6
    assert "it was up, then PP1 TP1 on lab died" in status.out
    again = clone.ok(*SMALL, "--json").json  # what has ended is in nobody's way
    assert again["up"] is True


def test_main_killed_while_loading_is_told_as_that(holding: Callable[..., Clone], host: LabHost) -> None:
    deploying = holding("loading").start(*SMALL)
    loading(host)
    (main,) = seen.mains(host)

    seen.kill(main)

    done = finished(deploying)
    assert done.code == 5
    assert "main on lab was killed by" in done.out
    assert "SIGKILL" in done.out


def test_a_server_that_ends_at_once_is_told_with_its_status(clone: Clone, port: int) -> None:
    clone.profile("small", port, environment={"STANDIN_EXIT": "3"})

    done = clone.inv(*SMALL)

    assert done.code == 5
    assert "status 3" in done.out


def test_settings_other_than_asked_are_told_and_it_is_stopped(clone: Clone, host: LabHost, port: int) -> None:
    clone.profile("small", port, environment={"STANDIN_SETTINGS": '{"tp_size": 4}'})

    done = clone.inv(*SMALL, "--json")

    assert done.code == 8
    assert done.json["verdict"]["differences"] == ["tp_size: asked 2, the server reports 4"]
    assert seen.servers(host) == []


def test_a_host_that_was_restarted_has_nothing_of_the_run_left(
    holding: Callable[..., Clone], clone: Clone, host: LabHost
) -> None:
    clone.ok(*SMALL)
    host.crash()
    host.boot()

    status = clone.inv("status", "--json")

    (row,) = status.json["deployments"]
    assert (status.code, row["state"], row["living"]) == (6, "gone", 0), row["sentence"]
    assert "the host was restarted" in row["sentence"]
    assert clone.ok("teardown").out
    assert clone.ok(*SMALL, "--json").json["up"] is True


class DiesWhenUp(Watched):
    """Kills a rank at the moment at which every condition holds, before the hosts have written down that it is up."""

    host: LabHost
    killed: list[int]

    def board(self, board: Board, changes: Sequence[Change], now: float) -> None:
        """As an Observer; called before the verdict of the same board."""
        super().board(board, changes, now)
        if board.up_at is not None and not self.killed:
            self.killed.append(seen.titled(self.host, "sglang::scheduler_PP1_TP1"))
            seen.kill(self.killed[0])
            eventually(lambda: not seen.cmdline(self.killed[0]))


def test_a_rank_that_dies_between_up_and_the_end_of_the_deploy_makes_it_lost(clone: Clone, host: LabHost) -> None:
    DiesWhenUp.host, DiesWhenUp.killed = host, []
    for _ in range(3):
        DiesWhenUp.killed = []
        report = DiesWhenUp(clone.root, "lab", "small").report()

        assert DiesWhenUp.killed and not report.up
        assert report.verdict is not None
        assert (report.verdict.kind, report.verdict.rank) == ("lost", "PP1 TP1"), report.verdict
        assert seen.servers(host) == []
