/* read_command.h - the output of a command */
#ifndef EGS_LIB_READ_COMMAND_H
#define EGS_LIB_READ_COMMAND_H

/* Run 'command' in a shell.  Returns its output, which the caller frees; NULL
 * if it fails or prints nothing.
 */
char *egs_read_command(const char *command);

#endif
