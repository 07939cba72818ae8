#!/usr/bin/perl
# begin-and-end.pl - says that it begins, counts, and ends when there is ~/go
#
# It knows nothing of checkpoints; begun anew it would say so again.
use strict;
use warnings;

my $n = 0;

$| = 1;
print "begins\n";
until (-e "$ENV{HOME}/go") {
	open my $f, '>', 'count' or die "count: $!\n";
	print {$f} ++$n, "\n";
	close $f;
	select undef, undef, undef, 0.1;
}
print "ends\n";
