#!/bin/sh
# hold.sh - a job that runs until its user makes the file ~/go
until [ -e "$HOME/go" ]; do
	sleep 0.2
done
