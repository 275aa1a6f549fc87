#!/bin/sh
# What a deploy does on a host up to the first line of the log, as a careful person's shell script does it. As few
# programs as that takes: what it costs a host is what the others are held against. In steps, since most tools run one
# at a time; jobs.py puts them together, and the launch script where it is sent along.
# shellcheck disable=SC2154  # $nonce is set by what is put before
set -eu
umask 077
mkdir -p job/runs
cd job
started() { cut -d ' ' -f 22 "/proc/$1/stat" 2>/dev/null; }

#: facts
# The host: whose it is, its boot, memory, disks, addresses, limits, and how logins end here.
uname -nrm
id -un
read -r boot </proc/sys/kernel/random/boot_id
echo "boot $boot"
grep MemAvailable /proc/meminfo
df -Pm . /tmp /dev/shm
ip -o addr
cat /proc/self/limits /proc/self/cgroup
[ ! -d /run/systemd/system ] || grep -s KillUserProcesses /etc/systemd/logind.conf || true
# What the server needs: SGLang and its version, the model, GPUs.
[ -x ../server/bin/python ]
command -v bash
ls -d ../server/lib/python3*/site-packages/sglang-*.dist-info
ls -l ../model
[ ! -e /dev/nvidiactl ] || nvidia-smi --query-gpu=index,uuid,memory.used --format=csv,noheader || true

#: lease
# Under a lock, whole or not at all, and not while somebody else's stands.
exec 9>lock
flock -w 20 9
now=$(date +%s)
if [ -s lease ]; then
    read -r owner until <lease
    [ "$until" -lt "$now" ] || { echo "leased by $owner" >&2 && exit 3; }
fi
echo "$nonce $((now + 30))" >lease.new
mv lease.new lease
exec 9>&-

#: stop
# The predecessor, if its pid is still the process that was started; then the port must be free.
if [ -s current ]; then
    read -r old pid start <current
    if [ "$(started "$pid")" = "$start" ]; then
        ps -o pid,ppid,stat,rss,time,args -s "$pid"
        kill -- "-$pid"
        while kill -0 -- "-$pid" 2>/dev/null; do sleep 0.01; done
    fi
    [ ! -s "runs/$old/exit" ] || cat "runs/$old/exit"
fi
! ss -Hltnp | grep ':31999 ' || exit 3

#: start
# The launch script is there already: onto the disk, then to its place; the server in a session of its own, and who it is.
run=runs/$nonce
mkdir "$run"
sync launch.sh.new
mv launch.sh.new "$run/launch.sh"
NONCE=$nonce setsid nohup "$run/launch.sh" >"$run/server.log" 2>&1 </dev/null &
pid=$!
echo "$nonce $pid $(started $pid)" >current.new
sync current.new
mv current.new current

#: read
# Its first lines, and the lease back.
read -r _ pid _ <current
looked=0
until grep -q "ready $nonce" "runs/$nonce/server.log"; do
    looked=$((looked + 1))
    [ $looked -lt 1000 ] # 10 s and more
    sleep 0.01
done
echo "$pid"
tail -n 5 "runs/$nonce/server.log"
rm lease
