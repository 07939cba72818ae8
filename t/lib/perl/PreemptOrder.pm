# PreemptOrder.pm - who may take from whom, told from what Slurm shows and nothing else
#
# A second opinion beside policyd/core, for t/lib/check/random-jobs: written from the
# words of the documentation, for one type of GPUs.  A job is a hash with id,
# team (undef: unmanaged), tier (0 is the strongest), gpus (of all its nodes),
# nodes, running, start, held (GPUs by node).
#
# The daemon sees a moment later what Slurm does, and keeps a job owned until
# its MinRuntime is over.  So the question is never what a job is at one
# instant, but what it may have been in the last seconds.
package PreemptOrder;

use strict;
use warnings FATAL => 'all';
use Exporter 'import';
use List::Util qw(any sum0);

our @EXPORT_OK = qw(loans owed wrong);

# GPUs of the team's quota that jobs of this tier and stronger ones leave.
sub left {
	my ($conf, $team, $tier, @owned) = @_;

	return $conf->{quota}{$team} - sum0(map { $_->{gpus} }
		grep { $_->{tier} <= $tier } @owned);
}

# { id => 1 } of what is on loan: running jobs, and those that wait as if they
# had just started.
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

# How many nodes have room for the job once all loans there are gone?
sub room {
	my ($conf, $job, $loan, @jobs) = @_;
	my %free = map { $_ => $conf->{node_gpus} } @{ $conf->{nodes} };

	for my $other (grep { $_->{running} && !$loan->{ $_->{id} } } @jobs) {
		$free{$_} -= $other->{held}{$_} for keys %{ $other->{held} };
	}
	return grep { $_ >= $job->{gpus} / $job->{nodes} } values %free;
}

# Jobs that wait for what is their team's own, and that could have it.
sub owed {
	my ($conf, $loan, @jobs) = @_;

	return grep { my $job = $_; $job->{ready} && $job->{gpus}
		&& defined $job->{team} && !$loan->{ $job->{id} }
		&& room($conf, $job, $loan, @jobs) >= $job->{nodes} } @jobs;
}

# Is there a way in which P may take from V?  Each of the lists has what the
# job may have been: 1 on loan, 0 owned.  The sentence against it, or undef.
sub wrong {
	my ($conf, $p, $v, $p_was, $v_was, $ran) = @_;
	my $pair = "job $p->{id} from job $v->{id}";

	return "$pair: one of them is not managed"
		if !defined $p->{team} || !defined $v->{team};
	return "$pair: it needs no GPU" if !$p->{gpus};
	return if (any { $_ } @$v_was) && any { !$_ } @$p_was;
	return "$pair: a tier that is not weaker, and no loan"
		if $p->{tier} >= $v->{tier};
	return "$pair: it is owned, and an owner does not take for a loan"
		if (!any { $_ } @$v_was) && !any { !$_ } @$p_was;
	return "$pair: after $ran s, inside its MinRuntime"
		if $ran + 1 < $conf->{min_runtime}[ $v->{tier} ];
	return;
}

1;
