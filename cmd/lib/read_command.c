/* read_command.c - the output of a command */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/lib/read_command.h"

enum { TEXT_MAX = 64 << 20 };

char *egs_read_command(const char *command)
{
	FILE *in = popen(command, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t len;

	if (!in)
		return NULL;
	len = getdelim(&text, &room, '\0', in);
	if (pclose(in) == 0 && len > 0 && len < TEXT_MAX)
		return text;
	free(text);
	return NULL;
}
