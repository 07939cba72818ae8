#!/bin/sh
# hold.sh - a job that runs until there is the file ~/go
until [ -e "$HOME/go" ]; do
	sleep 0.2
done
