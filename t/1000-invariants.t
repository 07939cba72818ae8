#!/usr/bin/perl
# 1000-invariants.t - the invariant checker lets good clusters pass and
# catches each kind of violation
#
# The texts are what Slurm 22.05 prints, shortened.  Each case takes the good
# cluster and spoils one thing in it.
use strict;
use warnings;
use File::Temp qw(tempdir);
use FindBin;
use Test::More;

my $checker = "$FindBin::RealBin/lib/check/invariants";
my $dir = tempdir(CLEANUP => 1);

# Two GPU types on n1 and n2; job 1 is suspended, 2 spans both nodes, 9 is
# a task of an array, 7 a component of a het job, 10 is on its way out, 11 gone.
my $jobs = <<'END';
JobId=1 JobName=wrap
   UserId=alice(5001) GroupId=alice(5001) MCS_label=N/A
   JobState=SUSPENDED Reason=None Dependency=(null)
   NodeList=n1
   JOB_GRES=gpu:a100:1,gpu:h100:2
     Nodes=n1 CPU_IDs=0-1 Mem=500 GRES=gpu:a100:1(IDX:0),gpu:h100:2(IDX:2-3)
   TresPerNode=gres:gpu:a100:1,gres:gpu:h100:2

JobId=2 JobName=a JobState=FAILED
   UserId=bob(5002) GroupId=bob(5002) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   NodeList=n[1-2]
   JOB_GRES=gpu:a100:2,gpu:h100:0
     Nodes=n1 CPU_IDs=2-3 Mem=100 GRES=gpu:a100:1(IDX:1),gpu:h100:0(IDX:)
     Nodes=n2 CPU_IDs=0 Mem=100 GRES=gpu:a100:1(IDX:0),gpu:h100:0(IDX:)
   Comment=JobId=77 JobState=RUNNING Nodes=n1 CPU_IDs=1-7 Mem=1

JobId=9 ArrayJobId=3 ArrayTaskId=2 JobName=wrap
   UserId=bob(5002) GroupId=bob(5002) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
     Nodes=n2 CPU_IDs=1,3-4 Mem=50 GRES=gpu:a100:0(IDX:),gpu:h100:1(IDX:2)

JobId=3 ArrayJobId=3 ArrayTaskId=3-40%2 JobName=wrap
   UserId=bob(5002) GroupId=bob(5002) MCS_label=N/A
   JobState=PENDING Reason=JobArrayTaskLimit Dependency=(null)

JobId=7 HetJobId=6 HetJobOffset=1 JobName=wrap
   HetJobIdSet=6-7
   UserId=bob(5002) GroupId=bob(5002) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
     Nodes=n[1-2] CPU_IDs=7 Mem=0 GRES=

JobId=10 JobName=wrap
   UserId=carol(5003) GroupId=carol(5003) MCS_label=N/A
   JobState=COMPLETING Reason=None Dependency=(null)
     Nodes=n[1-2] CPU_IDs=0 Mem=100 GRES=

JobId=11 JobName=wrap
   UserId=dave(5004) GroupId=dave(5004) MCS_label=N/A
   JobState=COMPLETED Reason=None Dependency=(null)
     Nodes=n[1-2] CPU_IDs=0 Mem=100 GRES=

END

my $nodes = <<'END';
NodeName=n1 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=3 CPUEfctv=8 CPUTot=8 CPULoad=0.37
   Gres=gpu:a100:2,gpu:h100:2
   GresDrain=N/A
   GresUsed=gpu:a100:2(IDX:0-1),gpu:h100:2(IDX:2-3)
   OS=Linux 6.1.0 State=DOWN #1 SMP
   RealMemory=8000 AllocMem=600 FreeMem=23116 Sockets=8 Boards=1
   State=MIXED+COMPLETING ThreadsPerCore=1 TmpDisk=0 Weight=1
   Partitions=batch

NodeName=n2 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=5 CPUEfctv=8 CPUTot=8 CPULoad=0.37
   Gres=gpu:a100:2,gpu:h100:2
   GresDrain=N/A
   GresUsed=gpu:a100:1(IDX:0),gpu:h100:1(IDX:2)
   RealMemory=8000 AllocMem=150 FreeMem=23115 Sockets=8 Boards=1
   State=MIXED ThreadsPerCore=1 TmpDisk=0 Weight=1

END

my $processes = <<"END";
/proc/1/status:Name:\tinit
/proc/1/status:State:\tS (sleeping)
/proc/1/status:Uid:\t0\t0\t0\t0
/proc/44/status:Name:\tsleep
/proc/44/status:State:\tS (sleeping)
/proc/44/status:Uid:\t5001\t5001\t5001\t5001
/proc/45/status:Name:\tsleep
/proc/45/status:State:\tS (sleeping)
/proc/45/status:Uid:\t5003\t5003\t5003\t5003
/proc/46/status:Name:\tsleep
/proc/46/status:State:\tZ (zombie)
/proc/46/status:Uid:\t5004\t5004\t5004\t5004
END

my $log = <<'END';
[2026-11-16T10:35:46.449] error: Configured MailProg is invalid
[2026-11-16T10:35:46.470] error: Could not open job state file /x/job_state
[2026-11-16T10:36:02.277] _slurm_rpc_submit_batch_job: JobId=7 error: none
[2026-11-16T10:36:03.277] error: gres/gpu: job 7 underflow on node n1
[2026-11-16T10:36:04.277] error: provoked by the test
END

my $known = <<'END';
# no mail on this machine
any    Configured MailProg is invalid
22.05  ^error: Could not open job state file .*$
24.11  .*
END

my $stock_log = <<'END';
[2026-11-16T09:00:03.000] error: gres/gpu: job 1234 underflow on node n2
END

sub put {
	my ($name, $text) = @_;

	open my $f, '>', "$dir/$name" or die "$dir/$name: $!";
	print $f $text;
	close $f or die "$dir/$name: $!";
	return "$dir/$name";
}

# Runs the checker over the good texts, those in %with in place of theirs.
# Returns its status and words.
sub check {
	my (%with) = @_;
	my %text = (jobs => $jobs, nodes => $nodes, processes => $processes,
		log => $log, known => $known, 'stock-log' => $stock_log, %with);
	my @files = map { "--$_=" . put($_, $text{$_}) }
		grep { defined $text{$_} && $_ !~ /^(slurm|allow)$/ } sort keys %text;

	open my $out, '-|', $checker, @files, '--slurm=' . ($with{slurm} // '22.05'),
		'--allow=' . ($with{allow} // 'provoked') or die "$checker: $!";
	my $words = do { local $/; <$out> } // '';
	close $out;
	return ($? >> 8, $words);
}

# 'text' with one thing replaced, which has to be there.
sub spoilt {
	my ($text, $from, $to) = @_;

	$text =~ s/\Q$from\E/$to/ or die "nothing to spoil: $from";
	return $text;
}

my ($status, $words) = check();
is($words, '', 'a cluster in order: nothing to say');
is($status, 0, 'and status 0');

# What is asked of, what becomes of it, status, a sentence, name.
my @cases = (
	[{ jobs => spoilt($jobs, '(IDX:1)', '(IDX:0)') },
		2, 'n1: gpu 0 is in jobs 1 2', 'a GPU in two jobs'],
	[{ jobs => spoilt($jobs, 'gpu:h100:2(IDX:2-3)', 'gpu:h100:2(IDX:1-2)') },
		2, 'n1: gpu 1 is in jobs 1 2', 'of a suspended job too'],
	[{ jobs => spoilt($jobs, 'CPU_IDs=2-3', 'CPU_IDs=2,7') },
		2, 'n1: CPU 7 is in jobs 2 7', 'a CPU in two jobs'],
	[{ jobs => spoilt($jobs, '(IDX:2-3)', '(IDX:2)') },
		2, 'job 1: 2 gpu on n1 but 1 indices', 'a count unlike its indices'],
	[{ jobs => spoilt($jobs, 'gpu:h100:1(IDX:2)', 'gpu:h100:4(IDX:0-3)') },
		2, 'n2: gpu is over what the node has', 'more GPUs than there are'],
	[{ jobs => spoilt($jobs, 'CPU_IDs=1,3-4', 'CPU_IDs=1,3-9') },
		2, 'n2: CPU is over what the node has', 'more CPUs than there are'],
	[{ jobs => spoilt($jobs, 'Mem=50 ', 'Mem=9000 ') },
		2, 'n2: memory is over what the node has', 'more memory too'],
	[{ nodes => spoilt($nodes, '1(IDX:0),', '0(IDX:N/A),') },
		1, 'n2: jobs hold 1 of gpu:a100, GresUsed says 0',
		'a GPU the node forgot'],
	[{ nodes => spoilt($nodes, '1(IDX:0),', '1(IDX:1),') },
		1, 'n2: jobs hold gpu indices [0,2], GresUsed has [1,2]',
		'another GPU than the node thinks'],
	[{ nodes => spoilt($nodes, '1(IDX:2)', '2(IDX:2-3)') },
		1, 'n2: jobs hold 1 of gpu:h100, GresUsed says 2',
		'a GPU nobody holds any more'],
	[{ nodes => spoilt($nodes, ',gpu:h100:1(IDX:2)', '') },
		1, 'n2: jobs hold 1 of gpu:h100, GresUsed does not know it',
		'a type the node does not know'],
	[{ nodes => spoilt($nodes, 'CPUAlloc=3', 'CPUAlloc=5') },
		1, 'n1: jobs hold 3, CPUAlloc=5', 'CPUs that do not add up'],
	[{ nodes => spoilt($nodes, 'AllocMem=600', 'AllocMem=100') },
		1, 'n1: jobs hold 600, AllocMem=100', 'memory that does not add up'],
	[{ nodes => spoilt($nodes, 'State=MIXED T', 'State=MIXED+DRAIN T') },
		1, 'n2: State=MIXED+DRAIN', 'a drained node'],
	[{ nodes => spoilt($nodes, 'State=MIXED T', 'State=DOWN T') },
		1, 'n2: State=DOWN', 'a node that is down'],
	[{ nodes => spoilt($nodes, 'State=MIXED T', 'State=IDLE* T') },
		1, 'n2: State=IDLE*', 'a node that does not respond'],
	[{ nodes => spoilt($nodes, 'NodeName=n2', 'NodeName=n3') },
		1, 'n2: jobs run there, but it is not a node', 'a node that is gone'],
	[{ nodes => '' },
		1, "no node in scontrol's answer", 'no answer is no good answer'],
	[{ processes => spoilt($processes, 'Z (zombie)', 'S (sleeping)') },
		1, 'process 46 (sleep) of dave is left over', 'a process left over'],
	[{ allow => 'nothing' },
		2, 'slurmctld: error: provoked by the test', 'an error in the log'],
	[{ slurm => '26.05' },
		2, 'slurmctld: error: Could not open job state file /x/job_state',
		'an error known of another version only'],
	[{ 'stock-log' => '' },
		2, 'slurmctld: error: gres/gpu: job 7 underflow on node n1',
		'an error stock Slurm did not have'],
	[{ log => "$log\[now] fatal: out of luck\n" },
		2, 'slurmctld: fatal: out of luck', 'a fatal error'],
);

for (@cases) {
	my ($with, $want, $sentence, $name) = @$_;
	($status, $words) = check(%$with);
	like($words, qr/^\Q$sentence\E$/m, "$name: its sentence");
	is($status, $want, "$name: status $want");
}

# Untyped GPUs, and what a node says right after slurmctld started.
my $untyped = <<'END';
JobId=1 JobName=wrap
   UserId=alice(5001) GroupId=alice(5001) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
     Nodes=n[08-10] CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0,3)
END
my $untyped_nodes = join "\n", map { <<"END" } qw(n08 n09 n10);
NodeName=$_ Arch=x86_64
   CPUAlloc=1 CPUEfctv=8 CPUTot=8 CPULoad=0.37
   Gres=gpu:4(S:0-1)
   GresUsed=gpu:(null):2(IDX:0,3)
   RealMemory=8000 AllocMem=0
   State=MIXED
END
($status, $words) = check(jobs => $untyped, nodes => $untyped_nodes,
	processes => undef);
is($words, '', 'untyped GPUs on n[08-10] add up');

done_testing();
