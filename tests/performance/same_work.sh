#!/bin/sh
# same_work.sh NONCE: what a deploy does on a host up to the first line of the log, as a careful person's shell script
# does it. Facts, lease, predecessor ended, launch script put, started in a session of its own, pid and log read back.
# As few programs as that takes: what it costs the host is what other tools are held against.
set -eu
umask 077
mkdir -p job/runs
cd job

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
[ ! -e /dev/nvidiactl ] || nvidia-smi --query-gpu=index,uuid,memory.used --format=csv,noheader

# The lease: under a lock, whole or not at all, and not while somebody else's stands.
exec 9>lock
flock -w 20 9
now=$(date +%s)
if [ -s lease ]; then
    read -r owner until <lease
    [ "$until" -lt "$now" ] || { echo "leased by $owner" >&2 && exit 3; }
fi
echo "$1 $((now + 30))" >lease.new
mv lease.new lease

# The predecessor, if its pid is still the process that was started; then the port must be free.
started() { cut -d ' ' -f 22 "/proc/$1/stat" 2>/dev/null; }
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

# The launch script, whole or not at all and on the disk; then the server, and who it is.
run=runs/$1
mkdir "$run"
cat >"$run/launch.sh.new" <<'END'
#!/bin/sh
trap : TERM
cd "${0%/*}"
"$HOME/server/bin/python" -m sglang.launch_server --model-path /root/model --tp-size 1 --port 31999
echo $? >exit
END
chmod 700 "$run/launch.sh.new"
sync "$run/launch.sh.new"
mv "$run/launch.sh.new" "$run/launch.sh"
NONCE=$1 setsid nohup "$run/launch.sh" >"$run/server.log" 2>&1 </dev/null 9>&- &
pid=$!
echo "$1 $pid $(started $pid)" >current.new
sync current.new
mv current.new current
while ! grep -q "ready $1" "$run/server.log"; do sleep 0.01; done
echo "$pid"
tail -n 5 "$run/server.log"
rm lease
