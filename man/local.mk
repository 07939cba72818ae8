# man - one page per command, file and plugin: dist_man_MANS += man/NAME.N
