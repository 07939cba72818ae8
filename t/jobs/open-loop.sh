#!/bin/sh
# open-loop.sh - open and close FILEs without end; print "opened" once
exec perl -e '
	$| = 1;
	for (my $n = 0;; $n++) {
		for my $path (@ARGV) {
			sysopen(my $file, $path, 010000000) or die "$path: $!\n"; # O_PATH
		}
		print "opened\n" if $n == 0;
		select undef, undef, undef, 0.01;
	}' "$@"
