# Browser.pm - open pages in headless Chromium, for tests
package Browser;
use strict;
use warnings;
use Exporter 'import';
use File::Temp 'tempdir';
use JSON::PP;
use MIME::Base64;
use POSIX qw(dup2 setpgid);
use Time::HiRes qw(sleep time);

our @EXPORT_OK = qw(start_browser open_url evaluate wait_for load_script
	set_view take_picture list_requests end_browser);

my ($to, $from, $session, $pid, $home, @events);
my ($next, $rest) = (1, '');

# Chromium reads commands on its descriptor 3 and answers on 4.
sub run_chromium
{
	my ($in, $out) = @_;

	setpgid(0, 0);
	dup2(fileno($in), 13);
	dup2(fileno($out), 14);
	dup2(13, 3);
	dup2(14, 4);
	open(STDOUT, '>', '/dev/null');
	open(STDERR, '>', "$home/err");
	$^F = 14;
	$ENV{HOME} = $home;
	exec('chromium', '--headless', '--no-sandbox', '--disable-gpu',
		'--disable-dev-shm-usage', '--no-first-run', '--hide-scrollbars',
		'--remote-debugging-pipe', "--user-data-dir=$home/data",
		'about:blank');
	die "chromium: $!\n";
}

# start_browser SECONDS: everything together may take that long
sub start_browser
{
	my ($seconds) = @_;

	$home = tempdir(CLEANUP => 1);
	pipe(my $in, $to) && pipe($from, my $out) or die "pipe: $!\n";
	$to->autoflush(1);
	$pid = fork() // die "fork: $!\n";
	run_chromium($in, $out) unless $pid;
	$SIG{ALRM} = sub { end_browser(); die "Chromium takes too long\n" };
	$SIG{PIPE} = 'IGNORE';
	alarm $seconds;
	my $target = call('Target.createTarget', url => 'about:blank');
	$session = call('Target.attachToTarget', targetId => $target->{targetId},
		flatten => JSON::PP::true)->{sessionId};
	call('Network.enable');
	call('Page.enable');
}

sub read_message
{
	while ($rest !~ /\0/) {
		my $n = sysread($from, $rest, 65536, length $rest);
		die "Chromium has gone\n" if !$n;
	}
	$rest =~ s/^([^\0]*)\0//;
	my $m = decode_json($1);
	push @events, $m if $m->{method};
	return $m;
}

# call METHOD ARGUMENT...: its result
sub call
{
	my ($method, %params) = @_;
	my $id = $next++;
	my $text = encode_json({ id => $id, method => $method,
		params => \%params, $session ? (sessionId => $session) : () });

	syswrite($to, "$text\0") or die "Chromium: $!\n";
	while (1) {
		my $m = read_message();

		next if ($m->{id} // 0) != $id;
		die "$method: $m->{error}{message}\n" if $m->{error};
		return $m->{result};
	}
}

# open_url URL: and wait until it is loaded
sub open_url
{
	@events = ();
	call('Page.navigate', url => $_[0]);
	read_message() until grep { $_->{method} eq 'Page.loadEventFired' } @events;
}

# evaluate SCRIPT: its value in the page, also of a promise
sub evaluate
{
	my $r = call('Runtime.evaluate', expression => $_[0],
		awaitPromise => JSON::PP::true, returnByValue => JSON::PP::true);
	my $e = $r->{exceptionDetails};

	die(($e->{exception}{description} // $e->{text}) . "\n") if $e;
	return $r->{result}{value};
}

# wait_for SCRIPT, SECONDS: until its value is true
sub wait_for
{
	my ($script, $seconds) = @_;
	my $end = time + $seconds;

	until (evaluate($script)) {
		die "after $seconds s not true: $script\n" if time > $end;
		sleep 0.2;
	}
}

# load_script FILE: run it in the page
sub load_script
{
	open(my $file, '<:encoding(UTF-8)', $_[0]) or die "$_[0]: $!\n";
	evaluate(do { local $/; <$file> } . ';0');
}

# set_view WIDTH, HEIGHT, SCHEME: the size of the window; light or dark
sub set_view
{
	my ($width, $height, $scheme) = @_;

	call('Emulation.setDeviceMetricsOverride', width => $width + 0,
		height => $height + 0, deviceScaleFactor => 1,
		mobile => JSON::PP::false);
	call('Emulation.setEmulatedMedia', features => [
		{ name => 'prefers-color-scheme', value => $scheme }]);
}

# take_picture FILE: a PNG of the window
sub take_picture
{
	open(my $out, '>:raw', $_[0]) or die "$_[0]: $!\n";
	print $out decode_base64(call('Page.captureScreenshot')->{data});
	close $out;
}

# list_requests: the addresses requested since open_url
sub list_requests
{
	return map { $_->{params}{request}{url} }
		grep { $_->{method} eq 'Network.requestWillBeSent' } @events;
}

sub end_browser
{
	# Its helpers are in its process group, and write to its directory.
	kill 'KILL', -$pid, $pid if $pid;
	waitpid($pid, 0) if $pid;
	$pid = 0;
}

1;
