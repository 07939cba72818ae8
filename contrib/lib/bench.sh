# shellcheck shell=bash disable=SC2154 # common.sh, the script
# bench.sh - the private cluster of a benchmark, whose name is $name
#
#   bench_cluster WORD...	contrib/sandbox WORD...
#   bench_machine	print the machine, its load, and versions
#   bench_end DIR	remove the cluster and DIR

bench_cluster()
{
	"$egs_top/contrib/sandbox" "$@"
}

bench_machine()
{
	echo "machine: $(nproc) x $(sed -n 's/^model name.*: //p' \
		/proc/cpuinfo | head -n 1), load $(cut -d' ' -f1 /proc/loadavg)"
	bench_cluster exec "$name" -- sh -c 'slurmctld -V; egs-policyd --version'
}

bench_end()
{
	bench_cluster down "$name" >/dev/null 2>&1
	rm -rf "$1"
}
