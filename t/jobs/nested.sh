#!/bin/sh
# nested.sh - a job that submits another job without a phase
sbatch --parsable /srv/egs/t/jobs/say.sh
