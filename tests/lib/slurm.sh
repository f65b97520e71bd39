#!/bin/bash
# tests/lib/slurm.sh DIR: a Slurm of its own, as the first process of a namespace: munge, a controller and two nodes, n1 and
# n2, each with a slurmd. Everything lies in DIR, and the only network is a loopback of its own, so that two of them do not
# meet. It ends with this process. tests/lib/slurm.bash starts it.
set -euo pipefail
dir=$1

daemon() {
	setsid "$@" </dev/null >>"$dir/log/start" 2>&1
}

configure() {
	cat <<-EOF
		ClusterName=bed
		SlurmctldHost=localhost
		SlurmUser=root
		SlurmdUser=root
		AuthType=auth/munge
		AuthInfo=socket=$dir/munge/socket
		CredType=cred/munge
		SlurmctldPort=6817
		SlurmctldPidFile=$dir/slurmctld.pid
		SlurmdPidFile=$dir/slurmd-%n.pid
		SlurmctldLogFile=$dir/log/slurmctld
		SlurmdLogFile=$dir/log/slurmd-%n
		StateSaveLocation=$dir/state
		SlurmdSpoolDir=$dir/spool-%n
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_Core
		SchedulerType=sched/backfill
		SchedulerParameters=sched_min_interval=100000,bf_interval=2
		PreemptType=preempt/partition_prio
		PreemptMode=CANCEL
		AccountingStorageType=accounting_storage/none
		JobAcctGatherType=jobacct_gather/none
		MpiDefault=none
		ReturnToService=2
		SlurmctldTimeout=30
		SlurmdTimeout=${SLURM_BED_NODE_TIMEOUT:-20}
		InactiveLimit=0
		KillWait=5
		MinJobAge=300
		SlurmdParameters=config_overrides
		SlurmctldParameters=node_reg_mem_percent=1
		NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=17001 CPUs=128 RealMemory=1000
		NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=17002 CPUs=128 RealMemory=1000
		PartitionName=all Nodes=n1,n2 Default=YES LLN=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:64 PreemptMode=OFF
		PartitionName=plow Nodes=n2 MaxTime=INFINITE State=UP OverSubscribe=NO PriorityTier=1 PreemptMode=CANCEL GraceTime=3
		PartitionName=phigh Nodes=n2 MaxTime=INFINITE State=UP OverSubscribe=NO PriorityTier=10 PreemptMode=OFF
	EOF
}

umask 022
mkdir "$dir/log" "$dir/state" "$dir/spool-n1" "$dir/spool-n2" "$dir/munge"
ip link set lo up
# The C library resolves no address for a machine that has loopback addresses alone.
ip address add 10.78.0.1/32 dev lo
hostname localhost
(umask 077 && dd if=/dev/urandom of="$dir/munge/key" bs=128 count=1 status=none)
configure >"$dir/slurm.conf"
export SLURM_CONF=$dir/slurm.conf
# The directory is root's in a /tmp that is everyone's, which munged refuses without --force.
daemon munged --force --socket="$dir/munge/socket" --key-file="$dir/munge/key" --pid-file="$dir/munge/pid" \
	--log-file="$dir/log/munged" --seed-file="$dir/munge/seed"
daemon slurmctld -f "$dir/slurm.conf"
daemon slurmd -N n1 -f "$dir/slurm.conf"
daemon slurmd -N n2 -f "$dir/slurm.conf"
touch "$dir/started"
# What daemons and jobs leave behind is reaped here: bash waits for every child while it waits for one.
while :; do
	sleep 1000 &
	wait $! || true
done
