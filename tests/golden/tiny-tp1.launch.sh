#!/usr/bin/env bash
# SGLang on lab1: tiny-tp1@lab1.
# Written by allranks. The next deploy writes it anew, so change the profile rather than this file.
#
# It runs the server and waits for it; the server's log is what this script prints. How the server
# ended is left in the file "exit" beside this script: its exit code, or 128 + n after signal n.

# shellcheck disable=SC2016  # a $ in single quotes is meant as it stands
set -u

# Into this script's own folder, from wherever it was called.
if [[ ${BASH_SOURCE[0]} == */* ]]; then
    CDPATH='' cd -P -- "${BASH_SOURCE[0]%/*}/" || exit 1
fi

# In one write of a few bytes: whoever reads "exit" meanwhile finds it empty, never half a number.
finish() {
    printf '%s\n' "$1" >./exit
    exit "$1"
}

# TERM and INT are meant for the server, which ends in its own way. This shell stays to say how.
trap ':' TERM INT

# The profile's environment.
export SGLANG_USE_CPU_ENGINE=1
export HF_HUB_OFFLINE=1
export TORCHDYNAMO_DISABLE=1
export PYTHONUNBUFFERED=1

# The virtual environment: its programs come first, and no other Python takes its place.
if [[ ! -x /opt/allranks/venv/bin/python ]]; then
    printf 'allranks: %s: no Python at %s; make the virtual environment or correct venv\n' lab1 /opt/allranks/venv/bin/python >&2
    finish 127
fi
export VIRTUAL_ENV=/opt/allranks/venv
export PATH=/opt/allranks/venv/bin:"${PATH:-/usr/local/bin:/usr/bin:/bin}"
unset PYTHONHOME

allranks_argv=(
    /opt/allranks/venv/bin/python
    -m sglang.launch_server
    --model-path /opt/allranks/models/tiny-llama
    --served-model-name tiny
    --tp-size 1
    --pp-size 1
    --host 0.0.0.0
    --port 31000
    --device cpu
    --load-format dummy
    --max-total-tokens 2048
    --mem-fraction-static 0.1
)

# In the foreground: a child in the background of a script would ignore INT and QUIT.
"${allranks_argv[@]}"
finish "$?"
