/* nvml-library.c - which functions a libnvidia-ml.so.1 lacks
 *
 * Prints a line for each function that egs-noded asks for and the library has
 * under no name, and then what nvmlInit() says.
 */
#include <stdio.h>

#include "noded/nvml_session.h"

static void print_missing(const char *name, const char *older_name, bool found)
{
	if (!found)
		printf("no %s%s%s\n", name, older_name ? " or " : "",
		       older_name ? older_name : "");
}

int main(int argc, char **argv)
{
	static struct egs_nvml_session session;
	struct egs_node_gpus gpus = { .n = 1 };
	struct egs_err err = { "the driver answers" };
	struct egs_nvml nvml;

	if (argc != 2 || egs_nvml_open(&nvml, argv[1], &err) != 0) {
		printf("%s\n", err.msg);
		return 0;
	}
	egs_nvml_each_symbol(&nvml, print_missing);
	egs_nvml_close(&nvml);
	egs_nvml_session_open(&session, argv[1], &gpus, &err);
	egs_nvml_session_close(&session);
	fprintf(stderr, "%s\n", err.msg);
	return 0;
}
