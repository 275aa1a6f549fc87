#!/usr/bin/env bash
# SGLang on gpu-lxc: tp4pp2@gpu-lxc.
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
export NCCL_IB_DISABLE=1
export NCCL_P2P_LEVEL=5
export NCCL_MIN_NCHANNELS=8
export OMP_NUM_THREADS=8
export SAFETENSORS_FAST_GPU=1
export CUDA_HOME=/usr/local/cuda-12.8
export PYTHONUNBUFFERED=1

# The virtual environment: its programs come first, and no other Python takes its place.
if [[ ! -x /root/ml-env/bin/python ]]; then
    printf 'allranks: %s: no Python at %s; make the virtual environment or correct venv\n' gpu-lxc /root/ml-env/bin/python >&2
    finish 127
fi
export VIRTUAL_ENV=/root/ml-env
export PATH=/root/ml-env/bin:"${PATH:-/usr/local/bin:/usr/bin:/bin}"
unset PYTHONHOME

allranks_argv=(
    /root/ml-env/bin/python
    -m sglang.launch_server
    --model-path lukealonso/GLM-5-NVFP4
    --served-model-name glm-5
    --tp-size 4
    --pp-size 2
    --host 0.0.0.0
    --port 8000
    --reasoning-parser glm45
    --tool-call-parser glm47
    --trust-remote-code
    --mem-fraction-static 0.92
    --max-running-requests 1024
    --kv-cache-dtype auto
    --quantization modelopt_fp4
    --attention-backend flashinfer
    --fp8-gemm-backend cutlass
    --nsa-decode-backend trtllm
    --nsa-prefill-backend trtllm
    --moe-runner-backend flashinfer_cutlass
    --disable-cuda-graph
    --disable-radix-cache
)

# In the foreground: a child in the background of a script would ignore INT and QUIT.
"${allranks_argv[@]}"
finish "$?"
