#!/bin/sh
# nest.sh - a job that submits another job, with its arguments as options
exec sbatch --parsable "$@" /srv/egs/t/jobs/told.sh
