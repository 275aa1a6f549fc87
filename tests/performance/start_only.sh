#!/bin/sh
# The least that starts a server anew. No facts, no lease, no record of who was started: the floor.
# shellcheck disable=SC2154  # $nonce is set by what is put before
set -e
mkdir -p job && cd job
ss -ltn | grep -q ":31999 " && exit 3
df -Pk . >/dev/null
cat >run.sh.new <<'END'
#!/bin/sh
echo "ready $NONCE"
exec sleep 600
END
chmod 755 run.sh.new && mv run.sh.new run.sh
if [ -s pid ] && kill -0 "$(cat pid)" 2>/dev/null; then
    kill "$(cat pid)"
    while kill -0 "$(cat pid)" 2>/dev/null; do sleep 0.01; done
fi
: >log
NONCE=$nonce setsid nohup ./run.sh >log 2>&1 </dev/null &
echo $! >pid
until grep -q "ready $nonce" log; do sleep 0.01; done
cat pid
tail -n 5 log
