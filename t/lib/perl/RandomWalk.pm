# RandomWalk.pm - functions of the random tests, which run as root in a cluster
package RandomWalk;

use strict;
use warnings FATAL => 'all';
use Exporter 'import';
use Time::HiRes qw(time sleep);

our @EXPORT_OK = qw(run must by one_of chance wait_for end_daemon settle);

# Called with a sentence after a failure; does not return.
our $fail = sub { die "@_\n" };

# The exit status and the output of a shell command.
sub run {
	my $text = qx(@_ 2>&1);

	return ($? == 0, $text);
}

sub must {
	my ($fine, $text) = run(@_);

	$fail->("@_: $text") if !$fine;
	return $text;
}

# The words of a command to run as a user.
sub by {
	my $user = shift;

	return ("runuser -u $user -- env HOME=/home/$user", @_);
}

sub one_of { return $_[rand @_] }

sub chance { return rand() < $_[0] }

sub wait_for {
	my ($words, $test) = @_;
	my $end = time + 120;

	until ($test->()) {
		$fail->("after 120 s still not: $words") if time > $end;
		sleep 0.2;
	}
}

# Since 23.11 slurmctld restarts itself for a reconfigure, and Debian's then has
# the name of its file.
sub end_daemon {
	my ($name, $signal) = @_;
	my $names = "'$name(-wlm)?'";

	run("pkill -$signal -x $names");
	wait_for("$name is gone", sub { !(run("pgrep -x $names"))[0] });
}

# Nodes register with a new slurmctld one by one.
sub settle {
	wait_for('the nodes report', sub {
		my ($fine, $text) = run('scontrol show node -d');
		$fine && $text =~ /NodeName=/
			&& $text !~ / State=[A-Z+_]*(\*|DOWN|UNK|NOT_RESP)/
			&& !grep { !/IDX/ } $text =~ /GresUsed=(\S*)/g;
	});
}

1;
