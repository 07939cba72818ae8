#!/bin/sh
# nested.sh - a job that submits another one without a word about its phase
sbatch --parsable /srv/egs/t/jobs/say.sh
