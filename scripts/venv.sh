#!/bin/sh
# venv.sh PYTHON FOLDER: the virtual environment of this checkout. What cannot be had is one clear line.
set -u
python=$1 folder=$2
fail() { echo "allranks: $1" >&2; exit 1; }

[ "$(uname -s)" = Linux ] || fail "this is $(uname -s): the lab and its tests need Linux (deploying from here does not: pip install -r requirements.txt)"
command -v "$python" >/dev/null || fail "no $python: install Python 3.10 or later (Debian, Ubuntu: apt-get install python3 python3-venv)"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
    || fail "$("$python" --version) is too old: Python 3.10 or later is needed (make PYTHON=python3.11 ...)"
"$python" -c 'import venv, ensurepip' 2>/dev/null \
    || fail "$python cannot make virtual environments (Debian, Ubuntu: apt-get install python3-venv)"

echo "allranks: installing what it needs into $folder (about 45 MB to download)"
"$python" -m venv "$folder" || fail "$folder could not be made"
log=$folder/pip.log
"$folder/bin/python" -m pip install --disable-pip-version-check --quiet --requirement requirements-dev.txt >"$log" 2>&1 && exit 0
grep -v '^WARNING' "$log" | tail -n 3 >&2
fail "pip could not install requirements-dev.txt (no network?); all it said is in $log"
