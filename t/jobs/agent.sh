#!/bin/bash
# agent.sh - starts a worker in a session of its own and passes TERM on to it
trap 'kill -TERM "$worker"; wait "$worker"; exit 1' TERM
setsid /srv/egs/t/jobs/trainer.sh TERM 1 true & worker=$!
wait "$worker"
