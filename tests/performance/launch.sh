#!/bin/sh
# The launch script of the job that all tools but allranks do: runs the server, and leaves how it ended.
trap : TERM
cd "${0%/*}" || exit 1
"$HOME/server/bin/python" -m sglang.launch_server --model-path /root/model --tp-size 1 --port 31999
echo $? >./exit
