#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Records the two examples, reports and exports them into demo/.
#
#	tools/demo.sh [BUILD]

set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
duet=$build/duet
mkdir -p demo

say() {
	printf '\n\033[1m$ %s\033[0m\n' "$*"
	"$@"
}

[ -t 1 ] || say() {
	printf '\n$ %s\n' "$*"
	"$@"
}

# Status 4: the report says what is incomplete, on a machine that is very busy. The demo goes on.
report() {
	say "$duet" report "$1" || [ $? = 4 ]
}

say "$duet" doctor
say "$duet" record -o demo/render.duet -- "$build/examples/render" --output demo/render.ppm
report demo/render.duet
say "$duet" record -o demo/heat.duet -- /usr/bin/python3 examples/heat.py
report demo/heat.duet
say "$duet" flame -o demo/render.svg demo/render.duet
say "$duet" flame -o demo/heat.svg demo/heat.duet
say "$duet" view -o demo/render.html demo/render.duet
say "$duet" view -o demo/heat.html demo/heat.duet
for format in $("$duet" list formats | cut -d' ' -f1); do
	case $format in
	perfetto) suffix=pftrace ;;
	pprof) suffix=pb.gz ;;
	speedscope) suffix=speedscope.json ;;
	sqlite) suffix=db ;;
	*) suffix=$format ;;
	esac
	rm -rf "demo/heat.$suffix"
	say "$duet" export demo/heat.duet --format "$format" -o "demo/heat.$suffix"
done
say "$duet" export demo/render.duet --format perfetto -o demo/render.pftrace
echo
echo "Flame graphs, for a browser: demo/render.svg demo/heat.svg"
echo "The whole run in a page, for a browser: demo/render.html demo/heat.html"
echo "Timelines, for https://ui.perfetto.dev: demo/render.pftrace demo/heat.pftrace"
echo
ls -l demo
