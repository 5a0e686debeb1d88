#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds the fuzz targets of tests/fuzz with clang, libFuzzer, ASan and UBSan and runs each for its
# share of the time, as many at once as there are processors. One TAP line per target.
#
#	tools/run_fuzz.sh [BUILD [SECONDS]]
#
# tests/fuzz/meson.build defines, where get_option('fuzzers'), executables fuzz_NAME; inputs to begin
# with are in tests/fuzz/corpus/NAME. What was found lies in BUILD/findings and fails the target.

set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build-fuzz}
seconds=${2:-60}
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
	# shellcheck disable=SC2086
	"$build/$target" -max_total_time="$share" -timeout=10 -rss_limit_mb=2048 \
		-print_final_stats=1 -artifact_prefix="$build/findings/$name-" \
		"$corpus" $seeds >"$build/$name.log" 2>&1
	echo $? >"$build/$name.status"
	{
		sed -n "s/^stat::number_of_executed_units: *\(.*\)/\1 runs in $share s/p" "$build/$name.log"
		grep -aE 'ERROR|SUMMARY|runtime error|Test unit written' "$build/$name.log"
	} >"$build/$name.told"
}

for target in $targets; do
	rm -f "$build/${target##*/fuzz_}.status"
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do
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
