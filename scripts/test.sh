#!/bin/sh
# test.sh: all tests that this machine can run. Called by `make test`.
set -u
[ "$(uname -s)" = Linux ] || { echo "allranks: the tests need Linux" >&2; exit 1; }

# What fails is tried once more, one test at a time: on a busy machine a real sshd or server can be late. It is said.
tests() {
    python -m pytest "$@" && return
    code=$?
    [ "$code" -eq 1 ] || return "$code"
    echo "== once more, one at a time: what failed above"
    python -m pytest -n 0 --last-failed --last-failed-no-failures none "$@"
}

echo "== everyday tests (no SGLang)"
tests -n 2 -m "not sglang and not lxc" tests || exit $?
echo "== the real SGLang on real hosts"
# The first run installs SGLang for the CPU; what cannot be installed here is said, and those tests are skipped by name.
python -c 'from pathlib import Path; from roles import lab; lab.sglang(Path.cwd(), print)' || echo "allranks: without SGLang the tests marked sglang are skipped" >&2
tests -m "sglang or lxc" -rs tests
