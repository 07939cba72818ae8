# PreemptOrder.pm - which job may preempt which, computed from what Slurm shows
#
# A second implementation beside policyd/policy, for t/lib/check/random-jobs.  It
# is written from the manual pages, for one type of GPUs.  A job is a hash with
# id, team (undef: unmanaged), tier (0 is the strongest), gpus (of all its nodes),
# nodes, running, start, held (GPUs by node).
#
# The daemon polls a moment after Slurm has acted, and a job stays owned until its
# MinRuntime is over.  So the functions here do not ask what a job is now, but
# what it may have been in the last seconds.
package PreemptOrder;

use strict;
use warnings FATAL => 'all';
use Exporter 'import';
use List::Util qw(any sum0);

our @EXPORT_OK = qw(loans owed wrong);

# GPUs of the team's quota beside jobs of this tier and stronger tiers.
sub left {
	my ($conf, $team, $tier, @owned) = @_;

	return $conf->{quota}{$team} - sum0(map { $_->{gpus} }
		grep { $_->{tier} <= $tier } @owned);
}

# { id => 1 } of jobs on loan: running jobs, and pending jobs as if they had just
# started.
sub loans {
	my ($conf, @jobs) = @_;
	my (%loan, %owned);

	for my $job (sort { $a->{tier} <=> $b->{tier} || $a->{start} <=> $b->{start}
			|| $a->{id} <=> $b->{id} }
			grep { $_->{running} && defined $_->{team} } @jobs) {
		my $mine = $owned{ $job->{team} } //= [];
		if ($conf->{always}[ $job->{tier} ]
				|| $job->{gpus} > left($conf, $job->{team}, 99, @$mine)) {
			$loan{ $job->{id} } = 1;
		} else {
			push @$mine, $job;
		}
	}
	for my $job (grep { !$_->{running} && defined $_->{team} } @jobs) {
		$loan{ $job->{id} } = 1 if $conf->{always}[ $job->{tier} ]
			|| $job->{gpus} > left($conf, $job->{team}, $job->{tier},
				@{ $owned{ $job->{team} } // [] });
	}
	return \%loan;
}

# How many nodes have room for the job without all loans?
sub room {
	my ($conf, $job, $loan, @jobs) = @_;
	my %free = map { $_ => $conf->{node_gpus} } @{ $conf->{nodes} };

	for my $other (grep { $_->{running} && !$loan->{ $_->{id} } } @jobs) {
		$free{$_} -= $other->{held}{$_} for keys %{ $other->{held} };
	}
	return grep { $_ >= $job->{gpus} / $job->{nodes} } values %free;
}

# Jobs that wait within quota and would fit without all loans.
sub owed {
	my ($conf, $loan, @jobs) = @_;

	return grep { my $job = $_; $job->{ready} && $job->{gpus}
		&& defined $job->{team} && !$loan->{ $job->{id} }
		&& room($conf, $job, $loan, @jobs) >= $job->{nodes} } @jobs;
}

# May P have preempted V?  Each list has what the job may have been: 1 on loan, 0
# owned.  Returns undef, or a sentence that says why not.
sub wrong {
	my ($conf, $p, $v, $p_was, $v_was, $ran) = @_;
	my $pair = "job $p->{id} preempted job $v->{id}";

	return "$pair: one of them is unmanaged"
		if !defined $p->{team} || !defined $v->{team};
	return "$pair: the first needs no GPU" if !$p->{gpus};
	return if (any { $_ } @$v_was) && any { !$_ } @$p_was;
	return "$pair: the second is neither on loan nor of a weaker tier"
		if $p->{tier} >= $v->{tier};
	return "$pair: the first is on loan and the second is owned"
		if (!any { $_ } @$v_was) && !any { !$_ } @$p_was;
	return "$pair: the second ran for $ran s, within its MinRuntime"
		if $ran + 1 < $conf->{min_runtime}[ $v->{tier} ];
	return;
}

1;
