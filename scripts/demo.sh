#!/bin/sh
# demo.sh: from nothing to a deployment and back, with the commands that a user types. Called by `make demo`.
set -u
say() { printf '\n\033[1m$ %s\033[0m\n' "$*" | { if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }; }
run() { say "$*"; "$@"; }

run inv lab.up --sglang || exit $?
run inv deploy --host lab --profile tiny-tp2pp2
code=$?
if [ "$code" -ne 0 ]; then
    echo "the demo's deploy ended with exit code $code; the lab is still there to look at (inv logs, inv lab.status, inv lab.down)" >&2
    exit "$code"
fi
run inv status || exit $?
run inv logs --rank PP1TP0 --lines 8 || exit $?
run inv teardown || exit $?
run inv lab.down
