#!/usr/bin/perl
# begin-and-end.pl - a program that counts and ends when there is ~/go
#
# It has no checkpoint code; if it starts again, it prints "begins" again.
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
