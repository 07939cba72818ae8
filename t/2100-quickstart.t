#!/bin/bash
# shellcheck disable=SC2016,SC2034 # sharness: bodies, test_description
# 2100-quickstart.t - the quickstart runs to its end and leaves nothing behind
# long: 60 s, the whole quickstart twice and the beginning of a third
test_description='the quickstart runs to its end and leaves nothing behind'
. "${srcdir:=$(dirname "$0")/..}/t/lib/sh/cluster.sh"

# The name of the cluster is fixed, so the test has its own directory.
export EGS_SANDBOX_DIR=$EGS_SANDBOX_DIR-2100
sandbox down --all >/dev/null 2>&1
clusters=quickstart

# The daemons must not hold the descriptors that prove reads.
quickstart()
{
	"$srcdir/contrib/quickstart" "$@" 3>&- 4>&- 5>&- 6<&- </dev/null
}

# Files of the machine that a cluster with a leak would change.
machine()
{
	find /etc/slurm /etc/munge -printf '%p %m %u %s %T@\n' 2>/dev/null
	find /etc/slurm /etc/munge -type f -exec cksum {} + 2>/dev/null
	cksum /etc/passwd /etc/group /etc/hosts
}

nothing_left()
{
	! sandbox list | grep quickstart &&
	! grep "$EGS_SANDBOX_DIR" /proc/self/mounts &&
	! grep -lsa "$EGS_SANDBOX_DIR/" /proc/[0-9]*/cmdline &&
	machine >after &&
	test_cmp before after
}

test_expect_success 'no cluster of a quickstart is up before the test' '
	machine >before &&
	nothing_left
'

test_expect_success 'the quickstart runs to its end' '
	quickstart >story 2>&1 || { cat story; false; }
'

test_expect_success 'alice gets two GPUs and her phase is on the job' '
	grep -x "    alice\$ sbatch --phase=train --gres=gpu:2 work.sh" story &&
	grep "AdminComment=egs:1;phase=train;" story
'

test_expect_success 'a misspelt phase is refused with a list of phases' '
	grep "is not a phase; did you mean .train.? (phases: prep, train," story
'

test_expect_success 'an alias and a phase in a script become the phase of the job' '
	grep "AdminComment=egs:1;phase=infer;" story &&
	grep -x "    #SBATCH --phase=eval --gres=gpu:1 --array=0-3" story &&
	grep "AdminComment=egs:1;phase=eval;" story
'

test_expect_success 'a job on loan is preempted, saves and resumes' '
	grep "yield by alice: reported by the job" story &&
	grep "    resumes at step" story &&
	awk "\$2 == \"alice\" && \$3 == 16 && \$5 == \"yielded\" && \$6 == 0 &&
		\$8 < 60 && \$9 == 16 * (\$7 + \$8) { n++ } END { exit !n }" story
'

test_expect_success 'idle GPUs of a job go to a job that waits' '
	grep -E "^    n[1-4] +0 +a100 .*no process for" story &&
	grep -E "idle for [0-9]+ (s|min) and job [0-9]+ waits for 4" story
'

test_expect_success 'the job without a hint has no stamp' '
	sed -n "/^== carol/,/^== seven/p" story >carol &&
	grep "Submitted batch job" carol &&
	! grep AdminComment= carol
'

test_expect_success 'no GPU is in two jobs' '
	grep "^No GPU is in two jobs" story
'

test_expect_success 'egsctl shows quotas and loans, and egs why explains one' '
	grep -E "^    fraud +a100 +4 +4 +4 +1 " story &&
	grep -E "^    job 2: running on 1 a100 (within quota|on loan) .fraud uses 4 of 4, and 1 on loan" story
'

test_expect_success 'the report adds up, by job and by user and phase' '
	awk "
		/egs-report/ { part = \$3 }
		part == \"jobs\" && NF == 6 && \$1 != \"JOBID\" {
			jobs += \$6
			wrong += \$6 <= 0 || \$6 != \$4 * \$5
		}
		part == \"usage\" && NF == 8 && \$1 != \"USER\" {
			seen[\$1 \" \" \$2] = \$3 > 0
			usage += \$3
		}
		END {
			exit !(jobs > 0 && jobs == usage && !wrong &&
				seen[\"alice train\"] && seen[\"bob infer\"] &&
				seen[\"bob eval\"] && seen[\"carol -\"])
		}
	" story || { sed -n "/the jobs end/,/-report teams/p" story; return 1; }
'

test_expect_success 'the quickstart writes a page with its reports' '
	grep "^The page is build/quickstart.html" story &&
	grep "\"name\":\"wastage\"" "$srcdir/build/quickstart.html" &&
	grep "alice" "$srcdir/build/quickstart.html"
'

test_expect_success 'the quickstart leaves nothing behind' '
	nothing_left
'

test_expect_success '--keep leaves a cluster that runs jobs' '
	quickstart --keep >kept 2>&1 || { cat kept; false; } &&
	grep -x "    contrib/sandbox down quickstart" kept &&
	url=$(grep -o "http://127.0.0.1:.*" kept) &&
	"$srcdir/t/lib/check/http" "$url" | grep "<title>EGS</title>" &&
	sandbox exec quickstart --user=bob -- \
		srun --phase=eval --gres=gpu:1 printenv CUDA_VISIBLE_DEVICES >gpu &&
	echo 0 >expect &&
	test_cmp expect gpu
'

test_expect_success 'a second quickstart is refused and does not disturb the first' '
	test_expect_code 1 quickstart >output 2>error &&
	echo "quickstart: its cluster is up already; to stop it: contrib/sandbox down quickstart" >expect &&
	test_cmp expect error &&
	sandbox exec quickstart --user=carol -- sinfo
'

use_cluster quickstart
test_expect_success 'the invariants hold in the kept cluster' '
	invariants_hold_at_end
'

test_expect_success 'the kept cluster can be removed' '
	sandbox down quickstart &&
	nothing_left
'

test_expect_success 'an interrupted quickstart cleans up' '
	"$srcdir/contrib/quickstart" >interrupted 2>&1 \
		3>&- 4>&- 5>&- 6<&- </dev/null & pid=$! &&
	wait_until 120 "alice trains" grep "^== alice trains" interrupted &&
	kill -TERM $pid &&
	test_expect_code 130 wait $pid &&
	grep "failed at: interrupted" interrupted &&
	nothing_left
'

test_expect_success 'a failed quickstart names the step' '
	EGS_SANDBOX_DIR=/proc/none test_expect_code 1 quickstart >story 2>&1 &&
	grep "^quickstart: failed at: start a cluster" story &&
	nothing_left
'

test_expect_success 'unknown options and releases are refused' '
	test_expect_code 2 quickstart --kep 2>error &&
	echo "quickstart: unknown option or argument '\''--kep'\'' (try quickstart --help)" >expect &&
	test_cmp expect error &&
	test_expect_code 2 quickstart --slurm=19.05 2>error &&
	echo "quickstart: unknown Slurm release '\''19.05'\''; releases: 22.05 24.11 26.05" >expect &&
	test_cmp expect error
'

test_done
