#!/bin/sh
# environment.sh - a job that prints the environment of its script and a step
env | sort | sed 's/^/batch: /'
srun -n1 env | sort | sed 's/^/step: /'
