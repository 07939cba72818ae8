#!/usr/bin/perl
# 0410-gpu-report.t - the quickstart's report counts every GPU-second once
use strict;
use warnings;
use FindBin;
use IPC::Open2;
use Test::More;

my $report = "$FindBin::RealBin/../contrib/lib/gpu-report";

# (its exit status, what it prints) for the jobs in 'text'
sub report_of {
	my ($text) = @_;
	my $pid = open2(my $out, my $in, $report);

	print $in $text;
	close $in;
	my $table = do { local $/; <$out> };
	waitpid $pid, 0;
	return ($? >> 8, $table);
}

# What Slurm prints, shortened: a job that is over, one that runs on two
# nodes, one that waits, one without GPUs, and a comment that is no stamp.
my ($status, $table) = report_of(<<'END');
JobId=1 JobName=train
   UserId=alice(2001) GroupId=alice(2001) MCS_label=N/A
   JobState=COMPLETED Reason=None Dependency=(null)
   RunTime=00:01:40 TimeLimit=365-00:00:00 TimeMin=N/A
   JOB_GRES=gpu:a100:2
     Nodes=n1 CPU_IDs=0 Mem=1000 GRES=
   AdminComment=ticket 12 egs:1;phase=train;id=bbe2daff8eaa3cae

JobId=2 JobName=two-types
   UserId=bob(2002) GroupId=vision(3002) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   RunTime=1-00:00:01 TimeLimit=365-00:00:00 TimeMin=N/A
   JOB_GRES=gpu:a100:1,gpu:h100:2,nic:4
     Nodes=n[1-2] CPU_IDs=0 Mem=1000 GRES=gpu:a100:1(IDX:2)
   AdminComment=egs:1;id=0a7ef54a31a3dc96;phase=infer

JobId=3 JobName=waits
   UserId=bob(2002) GroupId=vision(3002) MCS_label=N/A
   JobState=PENDING Reason=Resources Dependency=(null)
   RunTime=00:00:00 TimeLimit=365-00:00:00 TimeMin=N/A

JobId=4 JobName=egs:1;phase=eval
   UserId=carol(2003) GroupId=vision(3002) MCS_label=N/A
   JobState=COMPLETED Reason=None Dependency=(null)
   RunTime=00:00:07 TimeLimit=365-00:00:00 TimeMin=N/A
   JOB_GRES=gpu:1
   Comment=egs:1;phase=eval
   AdminComment=see egs:1
END

is($table, <<'END', 'each job counts its GPUs times its run time');
GPU-seconds     train    infer     none      all
alice             200        0        0      200
bob                 0   259203        0   259203
carol               0        0        7        7
all               200   259203        7   259410
Added up by user 259410, by phase 259410, by job 259410.
END
is($status, 0, 'and the sums are the same');

($status, $table) = report_of('');
is($table, <<'END', 'no jobs, no GPU-seconds');
GPU-seconds       all
all                 0
Added up by user 0, by phase 0, by job 0.
END
is($status, 0, 'which is no error');

done_testing();
