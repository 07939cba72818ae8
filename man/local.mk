# man - one page per command, file and plugin: dist_man_MANS += man/NAME.N

dist_man_MANS += man/egs.1
dist_man_MANS += man/egs.7
dist_man_MANS += man/egs.conf.5
dist_man_MANS += man/egs-report.1
dist_man_MANS += man/libegs.3
dist_man_MANS += man/egsctl.1
dist_man_MANS += man/egs-noded.8
dist_man_MANS += man/egs-plugins.8
dist_man_MANS += man/egs-policyd.8
dist_man_MANS += man/egs-webd.8

# The pictures of README.md.
EXTRA_DIST += man/page-dark.png man/page-light.png man/page-job.png
