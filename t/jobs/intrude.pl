#!/usr/bin/perl
# intrude.pl - N processes have FILE open with FLAGS of open() until END exists
#
# Usage: intrude.pl N FLAGS FILE END [TITLE]; TITLE is their argv[0].
use strict;
use warnings;

my ($n, $flags, $path, $end, $title) = @ARGV;
exec {'/usr/bin/perl'} $title, $0, @ARGV[0 .. 3] if defined $title;
for (1 .. $n) {
	next if fork;
	sysopen(my $fh, $path, oct $flags) or die "$path: $!\n";
	select undef, undef, undef, 0.2 until -e $end;
	exit;
}
