#!/bin/sh
# test.sh: all tests that this machine can run. Called by `make test`.
set -u
[ "$(uname -s)" = Linux ] || { echo "allranks: the tests need Linux" >&2; exit 1; }
echo "== everyday tests (no SGLang)"
python -m pytest -n 2 -m "not sglang and not lxc" tests || exit $?
echo "== the real SGLang on real hosts"
# The first run installs SGLang for the CPU; what cannot be installed here is said, and those tests are skipped by name.
python -c 'from pathlib import Path; from roles import lab; lab.sglang(Path.cwd(), print)' || echo "allranks: without SGLang the tests marked sglang are skipped" >&2
exec python -m pytest -m "sglang or lxc" -rs tests
