#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds the fuzz targets of tests/fuzz with clang, libFuzzer, ASan and UBSan and runs each for its
# share of the time, as many at once as there are processors. One TAP line per target.
#
#	tools/run_fuzz.sh [BUILD [SECONDS [NAME ...]]]
#
# SECONDS are divided among all targets, or among those named: "analyze export_csv". tests/fuzz/meson.build defines, where
# get_option('fuzzers'), executables fuzz_NAME; inputs to begin with are in tests/fuzz/corpus/NAME. What was found lies in
# BUILD/findings and fails the target.
#
# A target that runs 30 s or longer does so in two parts. It then says what it covered at the start, after 2/3 of the time and at
# the end, and how much processor time it had: a soak is done when the last third covers nothing new.
# FUZZ_AT_ONCE=N: so many at once.

set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build-fuzz}
seconds=${2:-60}
shift $(($# < 2 ? $# : 2))
log=$build.log

if [ ! -e tests/fuzz/meson.build ]; then
	echo "1..0 # SKIP there are no fuzz targets"
	exit 0
fi
if ! command -v clang >/dev/null; then
	echo "1..0 # SKIP clang is not installed"
	exit 0
fi

if ! {
	[ -e "$build/build.ninja" ] ||
		CC=clang PATH=/usr/bin:/bin:$PATH meson setup "$build" -Dfuzzers=true -Dman=disabled \
			-Dbuildtype=debug -Doptimization=1 -Db_lundef=false \
			-Db_sanitize=address,undefined
} >"$log" 2>&1; then
	tail -n 20 "$log" | sed 's/^/#   /'
	echo "not ok 1 - fuzz build"
	echo "1..1"
	exit 1
fi
targets=$(ninja -C "$build" -t targets all | sed -n 's/^\(tests\/fuzz\/fuzz_[a-z0-9_]*\): .*_LINKER.*/\1/p')
if [ $# -gt 0 ]; then
	targets=$(for name; do echo "$targets" | grep -x "tests/fuzz/fuzz_$name" || echo "tests/fuzz/fuzz_$name"; done)
fi
# shellcheck disable=SC2086
if [ -z "$targets" ] || ! ninja -C "$build" $targets >>"$log" 2>&1; then
	# not the command lines: they name files called error
	grep -E 'error:|undefined reference|^ninja:' "$log" | tail -n 20 | sed 's/^/#   /'
	echo "not ok 1 - fuzz build"
	echo "1..1"
	exit 1
fi

count=$(echo "$targets" | wc -w)
share=$((seconds / count > 0 ? seconds / count : 1))
mkdir -p "$build/findings"

# fuzz TARGET: leaves its status and what there is to tell in BUILD/NAME.status and BUILD/NAME.told
fuzz() {
	local target=$1 name=${1##*/fuzz_}
	local corpus=$build/corpus/$name seeds=tests/fuzz/corpus/$name
	mkdir -p "$corpus"
	# a target that can write its own seeds says so by knowing the word
	if grep -qa -e '--seed' "$build/$target"; then
		timeout 30 "$build/$target" --seed "$corpus" >/dev/null 2>&1
	fi
	[ -d "$seeds" ] || seeds=
	: >"$build/$name.log"
	if [ "$share" -ge 30 ]; then
		run_part "$target" $((share - share / 3)) && run_part "$target" $((share / 3))
	else
		run_part "$target" "$share"
	fi
	echo $? >"$build/$name.status"
	{
		sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log" |
			awk -v seconds="$share" '{ runs += $1 } END { print runs + 0 " runs in " seconds " s" }'
		[ "$share" -lt 30 ] || describe_soak "$build/$name.log"
		grep -aE 'ERROR|SUMMARY|runtime error|Test unit written' "$build/$name.log"
	} >"$build/$name.told"
}

# run_part TARGET SECONDS: appends to the target's log; uses `name`, `corpus` and `seeds` of fuzz
run_part() {
	local TIMEFORMAT='cpu %U %S' status
	{
		# shellcheck disable=SC2086
		time "$build/$1" -max_total_time="$2" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
			-artifact_prefix="$build/findings/$name-" "$corpus" $seeds
		status=$?
	} >>"$build/$name.log" 2>&1
	return $status
}

# What was covered when the seeds had run, at the end of each part, and the processor time of all.
describe_soak() {
	awk '
		/INITED/ && !start { start = covered($0) }
		/ cov: / { last = covered($0) }
		/^cpu / { parts++; end[parts] = last; cpu += $2 + $3 }
		function covered(line) { sub(/.* cov: /, "", line); sub(/ corp:.*/, "", line); return line }
		END { printf "cov %s at the start, %s after 2/3, %s at the end; %d s of processor time\n", start, end[1], end[parts], cpu }
	' "$1"
}

for target in $targets; do
	rm -f "$build/${target##*/fuzz_}.status"
	while [ "$(jobs -rp | wc -l)" -ge "${FUZZ_AT_ONCE:-$(nproc)}" ]; do
		wait -n
	done
	fuzz "$target" &
done
wait

number=0
status=0
for target in $targets; do
	number=$((number + 1))
	name=${target##*/fuzz_}
	sed 's/^/#   /' "$build/$name.told"
	if [ "$(cat "$build/$name.status")" = 0 ]; then
		echo "ok $number - fuzz $name"
	else
		echo "not ok $number - fuzz $name"
		status=1
	fi
done
echo "1..$number"
exit $status
