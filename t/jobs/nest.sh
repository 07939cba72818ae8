#!/bin/sh
# nest.sh - a job that submits another one, from its script or what it is told
exec sbatch --parsable "$@" /srv/egs/t/jobs/told.sh
