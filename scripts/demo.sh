#!/bin/sh
# demo.sh: from nothing to a deployment and back, with the commands that a user types. Called by `make demo`.
# demo.sh announce: what is about to happen, and how much it downloads.
set -u
bold() { if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then printf '\033[1m%s\033[0m\n' "$1"; else printf '%s\n' "$1"; fi; }
run() { printf '\n'; bold "$ $*"; "$@"; }

announce() {
    bold "allranks: SGLang on a host of this machine, four ranks on the CPU; then nothing of it is left"
    [ -e .venv/.made ] || echo "First time here: 45 MB of Python packages go to .venv."
    [ -e .lab/opt/stamp ] || echo "First time here: SGLang's CPU build, 330 MB, goes to .lab/opt (1.6 GB on disk)."
    [ -e .lab/opt/stamp ] && [ -e .venv/.made ] || echo "'make clean' removes both. Ctrl-C stops at any point; the next run goes on from there."
    PATH=$PATH:/usr/sbin:/sbin command -v sshd >/dev/null && return
    echo "allranks: the demo needs an SSH server, which is not on this machine; as root: apt-get install openssh-server" >&2
    exit 2
}

[ "${1:-}" = announce ] && { announce; exit; }

run inv lab.up --sglang || exit $?
run inv deploy --host lab --profile tiny-tp2pp2
code=$?
if [ "$code" -ne 0 ]; then
    echo "the demo's deploy ended with exit code $code; the lab is still there to look at (inv logs, inv lab.status, inv lab.down)" >&2
    exit "$code"
fi
echo "  (a tiny model of random weights: that it answers is the point, not what)"
run inv status || exit $?
run inv logs --host lab --rank PP1TP0 --lines 8 || exit $?
run inv teardown --host lab || exit $?
run inv lab.down || exit $?
printf '\nThat was it. The same by hand: . .venv/bin/activate; inv lab.up; inv --list\n'
echo "Your own host: README.md, \"Your first own host\""
