#!/bin/sh
# SPDX-License-Identifier: MIT
#
# bench/run.sh [BUILD [OPTION...]] - what `make bench` runs; the options are those of bench/run.py
build=${1:-build}
[ $# -gt 0 ] && shift
exec "$(dirname "$0")/run.py" --build "$build" "$@"
