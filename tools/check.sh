#!/bin/bash
# SPDX-License-Identifier: MIT
#
# All tests and checks, in four builds, and one last line: "N passed, N failed[, N skipped]".
#
#	build         gcc, -Werror: every suite, the tree's own checks, the manual's examples
#	build-tsan    gcc, ThreadSanitizer: unit, rooms ring, collect, lib and sim, trace/ahead
#	build-asan    clang, -Werror, AddressSanitizer and UndefinedBehaviorSanitizer: unit; gcc where clang is missing
#	build-fuzz    clang, libFuzzer: FUZZ_SECONDS (60) of all targets together
#
# and, beside them, `make demo` on a bare Debian 12 (`make check-fresh`) from the start, because it mostly waits, and with the
# fuzzing the programs for the kernel in Debian's kernels, in virtual machines (`make check-vm`).
#
# A build that fails counts as one failure, and the rest goes on. Logs are in build*/meson-logs and
# build/check. STEP_SECONDS (7200): a step that takes longer is ended, and is a failure. With this script all that it has
# started ends.

set -u
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
logs=$build/check
started=$SECONDS
# Debian's own meson and python3, whatever else is first in PATH.
export PATH=/usr/bin:/bin:$PATH

summed=()
step_seconds=${STEP_SECONDS:-7200}

end_all() {
	local process
	for process in $(jobs -p); do
		kill -TERM "$process" 2>/dev/null
	done
	wait
}
trap end_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# limited COMMAND...: a step. timeout(1) gives it a process group of its own and passes signals on to all of it. A shell
# that waits, unlike one with a command in the foreground, heeds a signal at once.
limited() {
	start_limited "$@" <&0
	wait $!
}

start_limited() {
	timeout --kill-after=120 "$step_seconds" "$@" <&0 &
}

# note_end STATUS NAME TEXT: a failure where the step was ended
note_end() {
	[ "$1" != 124 ] || tap "time-$2" 1 "$3 in $step_seconds s"
}

heading() {
	printf '\n== %s (%d s)\n' "$*" $((SECONDS - started))
}

# tap NAME STATUS TEXT: one test of our own
tap() {
	printf '%s 1 - %s\n1..1\n' "$([ "$2" = 0 ] && echo ok || echo not ok)" "$3" >"$logs/$1.tap"
	summed+=("$logs/$1.tap")
}

# compile FOLDER TESTS OPTION...: configures, and builds what the tests need (all: everything); says what
# failed. TESTS: names as of names(), or suites, 'unit:'.
compile() {
	local folder=$1 tests=$2 log targets=()
	shift 2
	log=$logs/$(basename "$folder").log
	heading "$folder: meson $*"
	if [ -e "$folder/build.ninja" ]; then
		# only what differs: a configure touches every command line
		limited meson configure "$folder" "$@" >"$log" 2>&1
	else
		limited meson setup "$folder" "$@" >"$log" 2>&1
	fi && choose_targets "$folder" "$tests" && limited ninja -C "$folder" "${targets[@]}" >>"$log" 2>&1
	local status=$?
	[ $status = 0 ] || grep -E 'error:|ERROR|warning:|undefined reference|FAILED' "$log" | head -n 30
	tap "compile-$(basename "$folder")" $status "compile $folder"
	return $status
}

# Tests that wait for sockets, children and clocks more than they compute: so many at once.
at_once=$((2 * $(nproc)))

# run_tests FOLDER PATIENCE ARGUMENT...: meson's own lines, and its log among what is summed up. PATIENCE: times the
# tests' own limits, which are there for what hangs, not for what is slow.
run_tests() {
	local folder=$1 patience=$2
	shift 2
	rm -f "$folder/meson-logs/check.json"
	limited meson test -C "$folder" --no-rebuild --logbase check --print-errorlogs --num-processes "$at_once" \
		--timeout-multiplier "$patience" "$@" \
		>"$folder/meson-logs/check.out" 2>&1
	note_end $? "$(basename "$folder")" "the tests of $folder end"
	sed -n '/^Summary of Failures/,$p; /ERROR\|FAIL\|TIMEOUT/p; /^stderr:/,/^――/p' \
		"$folder/meson-logs/check.out" | awk '!seen[$0]++' | head -n 60
	run_again "$folder" "$patience"
	if [ -e "$folder/meson-logs/check.json" ]; then
		summed+=("$folder/meson-logs/check.json")
	else
		tap "run-$(basename "$folder")" 1 "run the tests of $folder"
	fi
}

# run_again FOLDER PATIENCE: programs that failed beside others, where they are few, once more and one at a time. The sum
# names each that passes then.
run_again() {
	local folder=$1 patience=$2 failed=()
	rm -f "$folder/meson-logs/check-again.json"
	[ -e "$folder/meson-logs/check.json" ] || return 0
	mapfile -t failed < <(/usr/bin/python3 tools/sum_tests.py --failed "$folder/meson-logs/check.json")
	if [ ${#failed[@]} = 0 ] || [ ${#failed[@]} -gt 8 ]; then
		return 0
	fi
	echo "once more, alone: ${failed[*]}"
	limited meson test -C "$folder" --no-rebuild --logbase check-again --num-processes 1 \
		--timeout-multiplier "$patience" "${failed[@]}" >"$folder/meson-logs/check-again.out" 2>&1
}

# names FOLDER ROOM...: tests of the rooms
names() {
	local folder=$1
	shift
	meson test -C "$folder" --list 2>/dev/null | sed 's/.* //' |
		grep -E "^($(IFS='|' && echo "$*"))(-|\$)" | sort -u
}

# choose_targets FOLDER TESTS: sets `targets`
choose_targets() {
	local list
	[ "$2" != all ] || return 0
	# shellcheck disable=SC2046,SC2086
	list=$(tools/test_targets.py "$1" $(case $2 in *:) echo $2 ;; *) names "$1" $2 ;; esac)) || return 1
	mapfile -t targets <<<"$list"
}

export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

mkdir -p "$logs"

# nice: it shall not hold up the tests beside it
start_limited nice -n 5 tools/check_fresh.sh >"$logs/check-fresh.tap" 2>"$logs/check-fresh.log"
fresh=$!
if compile "$build" all -Dwerror=true; then
	run_tests "$build" 3
fi
threaded='ring collect lib sim trace-ahead'
if compile build-tsan "$threaded" -Dman=disabled -Dbuildtype=debug -Doptimization=1 -Db_lundef=false \
	-Db_sanitize=thread; then
	# shellcheck disable=SC2086
	mapfile -t chosen < <(names build-tsan $threaded)
	[ ${#chosen[@]} = 0 ] || run_tests build-tsan 8 "${chosen[@]}"
fi
# All targets, so that clang compiles every file with its own warnings.
asan_compiler=gcc
! command -v clang >/dev/null || asan_compiler=clang
if CC=$asan_compiler compile build-asan all -Dman=disabled -Dwerror=true -Dbuildtype=debug -Doptimization=1 -Db_lundef=false \
	-Db_sanitize=address,undefined; then
	run_tests build-asan 8 --suite unit
fi

# not beside other work: a machine that gets no processor loses samples
start_limited /usr/bin/python3 tests/vm/check_vm.py "$build" >"$logs/check-vm.tap" 2>"$logs/check-vm.log"
vm=$!
heading "fuzz: ${FUZZ_SECONDS:-60} s, and the end of kernels in virtual machines and of a bare Debian 12"
step_seconds=$((step_seconds + ${FUZZ_SECONDS:-60})) start_limited tools/run_fuzz.sh build-fuzz "${FUZZ_SECONDS:-60}" >"$logs/fuzz.tap"
wait $!
note_end $? fuzz "the fuzzing ends"
wait $vm
note_end $? vm "the kernels in virtual machines end"
wait $fresh
note_end $? fresh "a bare Debian 12 ends"
grep -hv '^1\.\.' "$logs/fuzz.tap" "$logs/check-fresh.tap"
grep -E '^not ok|^#' "$logs/check-vm.tap"
tail -n 5 "$logs/check-vm.log"
summed+=("$logs/fuzz.tap" "$logs/check-vm.tap" "$logs/check-fresh.tap")

heading "sum"
/usr/bin/python3 tools/sum_tests.py "${summed[@]}"
