# Policyd.pm - start, end and ask egs-policyd, for tests
package Policyd;
use strict;
use warnings FATAL => 'all';
use Exporter 'import';
use IO::Socket::UNIX;
use JSON::PP;
use POSIX 'WNOHANG';
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(start ended end_by ask ask_raw listed);

my $socket = '/run/egs/policyd.sock';

# start VARIABLE => VALUE...: start a daemon with this environment; returns its
# process id.
sub start {
	my (%env) = @_;
	my $pid = fork // die "fork: $!";

	return $pid if $pid;
	open STDERR, '>>', '/var/log/egs-policyd.log' or die;
	open STDOUT, '>&', \*STDERR or die;
	exec qw(setpriv --reuid=slurm --regid=slurm --clear-groups env),
		(map { "$_=$env{$_}" } keys %env),
		'/opt/egs/sbin/egs-policyd' or die;
}

# ended PID: the signal that ended it, or "exit N"; false while it runs.
sub ended {
	my ($pid) = @_;

	return unless waitpid($pid, WNOHANG) == $pid;
	return $? & 127 ? $? & 127 : 'exit ' . ($? >> 8);
}

# end_by SIGNAL, PID
sub end_by {
	my ($signal, $pid) = @_;

	kill $signal, $pid;
	waitpid $pid, 0;
	return $?;
}

# ask_raw VERB, NAME => VALUE...: the text of the answer; undef without one.
sub ask_raw {
	my ($verb, %args) = @_;
	my $s = IO::Socket::UNIX->new(Peer => $socket) or return;
	my $request = encode_json({ verb => $verb, %args });
	my $answer = '';

	local $SIG{PIPE} = 'IGNORE';
	print {$s} pack('N/a*', $request) and $s->flush or return;
	while (length $answer < 4
		or length $answer < 4 + unpack 'N', $answer) {
		sysread $s, $answer, 65536, length $answer or return;
	}
	return substr $answer, 4;
}

# ask VERB, NAME => VALUE...: the answer; undef without one.
sub ask {
	my $answer = ask_raw(@_) // return;

	return decode_json($answer);
}

# listed SUBJECT: the rows of "show", each as COLUMN => VALUE; undef without an
# answer.
sub listed {
	my $answer = ask('show', what => $_[0]) or return;

	return [
		map { my %row; @row{ @{ $answer->{columns} } } = @$_; \%row }
			@{ $answer->{rows} }
	];
}

1;
