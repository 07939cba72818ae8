#!/bin/sh
# autogen.sh - makes ./configure from configure.ac, in a fresh checkout
set -e
cd "$(dirname "$0")"
mkdir -p build-aux
exec autoreconf --install --force
