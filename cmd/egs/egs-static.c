/* egs-static.c - the command egs for containers: the run directory alone */
#include "cmd/egs/egs.h"

int main(int argc, char **argv)
{
	struct egs_cli cli = { .name = "egs" };

	return egs_cli_main(&cli, argc, argv);
}
