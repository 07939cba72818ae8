# policyd/cmd - the commands: a line in bin_PROGRAMS or sbin_PROGRAMS each
