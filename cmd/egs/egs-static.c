/* egs-static.c - the command egs for containers: only the run directory */
#include "cmd/egs/egs.h"

int main(int argc, char **argv)
{
	struct egs_cli cli = { .name = "egs" };

	return egs_cli_main(&cli, argc, argv);
}
