#!/bin/sh
# slurm.sh PROGRAM: examples/slurm in a cluster of four nodes, all of them this machine: an array, one task of which is
# killed, one requeued, while a node is drained, comes to the database of one process. Says SKIPPED where Slurm cannot run.
set -eu
program=$1
examples=$(CDPATH= cd -- "$(dirname -- "$0")/../../examples" && pwd)

skip() {
  echo "SKIPPED: $*"
  exit 0
}
for each in munged slurmctld slurmd sbatch; do
  PATH="$PATH:/usr/sbin" command -v $each > /dev/null || skip "Slurm is not installed: no $each"
done
PATH="$PATH:/usr/sbin"

work=$(mktemp -d "${TMPDIR:-/tmp}/mmtune_slurm_XXXXXX") # short: it holds a socket
# within SECONDS COMMAND…: waits until the command succeeds.
within() {
  left=$(($1 * 5))
  shift
  until "$@" > /dev/null 2>&1; do
    left=$((left - 1))
    [ $left -gt 0 ] || return 1
    sleep 0.2
  done
}
all_ended() {
  for pid in $daemons; do
    ! kill -0 "$pid" 2> /dev/null || return 1
  done
}
# The daemons save their state when they end: only then is the folder removed.
stop() {
  [ ! -e "$work/slurmctld.pid" ] || scancel --user "$(id -un)" > /dev/null 2>&1 || true
  daemons=$(cat "$work"/*.pid 2> /dev/null) || true
  for pid in $daemons; do
    kill "$pid" 2> /dev/null || true
  done
  within 30 all_ended || true
  rm -rf "$work" || echo "left behind: $work"
}
trap stop EXIT
fail() {
  echo "$*"
  tail -n 30 "$work"/log/* "$work"/run/*.log || true
  exit 1
}

mkdir "$work/state" "$work/spool" "$work/log" "$work/bin" "$work/local" "$work/run"
ln -s "$program" "$work/bin/mmtune"
export PATH="$work/bin:$PATH" TMPDIR="$work/local" SLURM_CONF="$work/slurm.conf" MMTUNE_DB="$work/none.db"
port=$((20000 + $$ % 12000)) # below those that are given to clients
cat > "$SLURM_CONF" << END
ClusterName=mmtune
SlurmctldHost=localhost
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$port
AuthInfo=socket=$work/munge.sock
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool/%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/log/slurmctld
SlurmdLogFile=$work/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
NodeName=n[1-4] NodeHostname=localhost Port=[$((port + 1))-$((port + 4))] CPUs=16 Gres=gpu:1
PartitionName=all Nodes=ALL Default=YES State=UP
END
echo 'NodeName=n[1-4] Name=gpu File=/dev/null' > "$work/gres.conf"
(umask 077 && head -c 1024 /dev/urandom > "$work/munge.key")
munged --force --key-file="$work/munge.key" --socket="$work/munge.sock" --pid-file="$work/munged.pid" \
  --log-file="$work/log/munged" --seed-file="$work/munge.seed" 2> /dev/null || skip "Slurm does not run here: munged"
slurmctld || skip "Slurm does not run here: slurmctld"
for node in n1 n2 n3 n4; do
  slurmd -N $node || skip "Slurm does not run here: slurmd"
done
all_idle() { [ "$(sinfo -h -t idle -o %D)" = 4 ]; }
within 30 all_idle || skip "Slurm does not run here: $(sinfo -h -N -o '%N %T %E' 2>&1 | tr '\n' ' ')"

# What is tuned: enough that a task does not end before it is looked at.
set -- --device model:h200 --sizes 32..512:32 --family tiled --strategy exhaustive --jobs 1 --format csv
cp "$examples/shard.sh" "$examples/slurm/"*.sbatch "$work/run"
cd "$work/run"
array=$(sbatch --parsable --array=0-7 tune.sbatch "$@" -vv)
sbatch --parsable --dependency="afterany:$array" merge.sbatch > "$work/merge"

judges() { grep -q ': tiled TILE=' "mmtune-$1.log"; }
starts() { [ "$(grep -c 'by SLURM_ARRAY_TASK_ID' "mmtune-$1.log")" = "$2" ]; }
within 120 judges 0 && within 120 judges 1 && within 120 judges 2 || fail "the tasks do not begin"
scontrol update nodename=n4 state=drain reason=test
scancel --signal=KILL --full "${array}_0"
is_dead() { ! squeue -h -t R -o %K | grep -qx 0; }
within 30 is_dead || fail "task 0 outlives a kill"
for task in 0 1; do
  scontrol requeue "${array}_$task"
done
copied_out() { [ -e shard-1.db ]; }
within 60 copied_out || fail "task 1 was interrupted, and nothing was copied out"
is_pending() { squeue -h -t PD -o %K | grep -qx "$1"; }
for task in 0 1; do
  within 60 is_pending $task || fail "task $task is not queued again"
  scontrol update jobid="${array}_$task" starttime=now
done
is_over() { [ -z "$(squeue -h)" ]; }
within 400 is_over || fail "the array does not end: $(squeue)"

starts 0 2 && starts 1 2 && starts 3 1 || fail "tasks were not started as often as they should"
[ "$(sinfo -h -n n4 -o %T)" = drained ] || fail "n4 is not drained"
[ -z "$(ls "$work/local")" ] || fail "left on local disks: $(ls "$work/local")"
grep -q '^ *8 ' merge.log || fail "eight databases were not merged: $(cat merge.log)"

mmtune tune "$@" --shard none --db one.db > /dev/null 2>&1 || fail "one process cannot tune"
for db in fleet one; do
  mmtune show --trials --db $db.db --format csv | cut -d, -f1-15 | sort > $db.trials
  mmtune show --db $db.db --format csv | cut -d, -f1-15 > $db.winners
done
cmp fleet.trials one.trials && cmp fleet.winners one.winners || fail "the fleet came to another database"
echo "$(wc -l < one.trials) lines of trials, $(wc -l < one.winners) of winners, the same in both"
