# contrib - scripts for people with a checkout; distributed, not installed

EXTRA_DIST += contrib
