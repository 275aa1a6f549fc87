#!/bin/sh
# start_only.sh NONCE: the least that starts a server anew. No facts, no lease, no record of who was started: the floor.
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
NONCE=$1 setsid nohup ./run.sh >log 2>&1 </dev/null &
echo $! >pid
while ! grep -q "ready $1" log; do sleep 0.01; done
cat pid
tail -n 5 log
