# Scontrol.pm - parse the output of `scontrol show job -d` and `show node -d`
#
# A text becomes a list of records, a record a hash of its fields.  The lines
# of an allocation (`Nodes=n[1-2] CPU_IDs=0-3 Mem=100 GRES=...`) repeat inside
# a job, so they are kept apart, in $record->{alloc}.
package Scontrol;

use strict;
use warnings FATAL => 'all';
use Exporter 'import';

our @EXPORT_OK = qw(records hosts numbers gres);

# Fields whose value is the rest of the line, with blanks and '=': text of users
# and operators must not be parsed as a field.
my %to_end_of_line = map { $_ => 1 } qw(JobName Comment AdminComment
	SystemComment Extra Command WorkDir StdErr StdIn StdOut Reason:node OS);

# "JobState=RUNNING Reason=None" -> (JobState => "RUNNING", Reason => "None")
sub fields {
	my ($line, $kind) = @_;
	my %field;

	while ($line =~ m{\G\s*([A-Za-z_][\w/:]*)=}gc) {
		my $key = $1;
		my $whole = $to_end_of_line{$key} || $to_end_of_line{"$key:$kind"};
		my $value = $whole ? qr/\G(.*)/ : qr/\G(\S*)/;
		$line =~ /$value/gc;
		($field{$key} = $1) =~ s/\s+$// unless exists $field{$key};
	}
	return %field;
}

# All records of 'text' in their order.  Each has {kind}, "job" or "node".
sub records {
	my ($text) = @_;
	my @records;

	for my $line (split /\n/, $text) {
		if ($line =~ /^JobId=/) {
			push @records, { kind => 'job', alloc => [] };
		} elsif ($line =~ /^NodeName=/) {
			push @records, { kind => 'node' };
		}
		next if !@records;
		my $r = $records[-1];
		my %f = fields($line, $r->{kind});
		if ($r->{kind} eq 'job' && $line =~ /^\s+Nodes=\S+ CPU_IDs=/) {
			push @{ $r->{alloc} }, \%f;
		} else {
			%$r = (%f, %$r);
		}
	}
	return @records;
}

# "0-2,7" -> (0, 1, 2, 7); "", "N/A" and "(null)" are nothing.
sub numbers {
	my ($list) = @_;

	return map { /^(\d+)-(\d+)$/ ? ($1 .. $2) : /^\d+$/ ? ($_) : () }
		split /,/, $list // '';
}

# "n[1-2,4],login" -> (n1, n2, n4, login).  Width is kept: n[08-10].
sub hosts {
	my ($list) = @_;
	my @hosts;

	while ($list =~ /\G,?([^,\[]+)(?:\[([^\]]*)\])?/gc) {
		my ($stem, $ranges) = ($1, $2);
		if (!defined $ranges) {
			push @hosts, $stem;
			next;
		}
		for (split /,/, $ranges) {
			my ($from, $to) = /^(\d+)-(\d+)$/ ? ($1, $2) : ($_, $_);
			push @hosts, map { sprintf '%s%0*d', $stem, length $from, $_ }
				$from .. $to;
		}
	}
	return @hosts;
}

# "gpu:a100:2(IDX:0,3),gpu:h100:0(IDX:N/A)" -> one hash per entry with name,
# type ("" when untyped), count, index (a list) and has_index.
sub gres {
	my ($text) = @_;
	my @entries;

	for (($text // '') =~ /((?:\([^)]*\)|[^,(])+)/g) {
		my ($what, $index) = /^(.*?:\d+)(?:\(IDX:([^)]*)\))?/ or next;
		my ($name, $type, $count) =
			$what =~ /^([^:(]+)(?:\(null\))?(?::(.+))?:(\d+)$/ or next;
		$type = '' if !defined $type || $type eq '(null)';
		push @entries, { name => $name, type => $type, count => $count,
			index => [numbers($index)], has_index => defined $index };
	}
	return @entries;
}

1;
