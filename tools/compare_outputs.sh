#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Compares what two builds of duet print and write of the same traces: reports, exports, flame graphs, views.
#
#	tools/compare_outputs.sh OLD NEW [TRACE...]     programs; traces: tests/golden/trace/*.duet
#
# Prints one line for each output that differs, and the number of outputs; status 1 where one differs. KEEP=FOLDER: the
# outputs stay there, in OLD's folder a/ and NEW's folder b/, to be compared by hand.

set -u
old=$(realpath "$1") new=$(realpath "$2")
shift 2
cd "$(dirname "$0")/.." || exit 1
[ $# != 0 ] || set -- tests/golden/trace/*.duet
folder=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$folder"' EXIT

# write_outputs PROGRAM FOLDER TRACE: everything that the program makes of the trace
write_outputs() {
	local program=$1 to=$2/$(basename "$3" .duet) trace=$3 view format by
	mkdir -p "$to"
	"$program" report "$trace" >"$to/report" 2>&1
	"$program" report --json "$trace" >"$to/report.json" 2>&1
	"$program" info --json "$trace" >"$to/info.json" 2>&1
	for by in kernel stack line instruction queue stall wait cpu thread process range; do
		"$program" report --by "$by" "$trace" >"$to/report.$by" 2>&1
	done
	for format in $("$program" list formats | awk 'NR > 0 && /^[a-z_-]+ / { print $1 }'); do
		"$program" export --format "$format" -o "$to/export.$format" "$trace" >"$to/export.$format.said" 2>&1
	done
	for view in total gpu idle cpu offcpu; do
		"$program" flame --folded --view "$view" "$trace" >"$to/flame.$view" 2>&1
	done
	if [ -e "$to/export.sqlite" ]; then
		sqlite3 "$to/export.sqlite" .dump >"$to/export.sqlite.dump" 2>&1 && rm "$to/export.sqlite"
	fi
}

for trace; do
	write_outputs "$old" "$folder/a" "$trace"
	write_outputs "$new" "$folder/b" "$trace"
done
differ=0 count=0
while read -r path; do
	count=$((count + 1))
	# a program names itself, and where it writes
	if ! cmp -s <(sed "s,$folder/[ab],,g" "$folder/a/$path") <(sed "s,$folder/[ab],,g" "$folder/b/$path"); then
		differ=$((differ + 1))
		echo "differs: $path"
	fi
done < <(cd "$folder/a" && find . -type f | sort)
echo "$count outputs, $differ differ"
[ $differ = 0 ]
