/* as-root.c - run PROGRAM as root for any user, as a line in sudoers would
 *
 * For private clusters only; the test that builds it makes it setuid.  The
 * variable CALLER has the calling user.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef PROGRAM
#define PROGRAM "/usr/sbin/criu"
#endif

int main(int argc, char **argv)
{
	char caller[16];

	(void)argc;
	snprintf(caller, sizeof(caller), "%d", (int)getuid());
	setenv("CALLER", caller, 1);
	if (setgid(0) == 0 && setuid(0) == 0)
		execv(PROGRAM, argv);
	return EXIT_FAILURE;
}
