#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tools/check.sh with commands that stand in for meson and ninja: whatever ends it, nothing that it has started is left.
# One TAP line per case.

set -u
cd "$(dirname "$0")/.." || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
number=0 failures=0
# By which what is left is found: no other command sleeps for so long.
mark=98765.$$

# stand_in PATH: a command that stands in, from standard input
stand_in() {
	{ echo '#!/bin/bash' && cat; } >"$folder/$1"
	chmod +x "$folder/$1"
}

mkdir -p "$folder/bin" "$folder/tools" "$folder/tests/vm"
grep -v '^export PATH=' tools/check.sh >"$folder/tools/check.sh"
chmod +x "$folder/tools/check.sh"
cp tools/sum_tests.py tools/test_targets.py "$folder/tools/"
echo 'print("1..0 # SKIP stands in")' >"$folder/tests/vm/check_vm.py"
stand_in tools/check_fresh.sh <<<'echo "1..0 # SKIP stands in"'
stand_in tools/run_fuzz.sh <<<'echo "1..0 # SKIP stands in"'
stand_in bin/ninja <<<'exit 0'
stand_in bin/meson <<'END'
case "$1" in
setup) mkdir -p "$2/meson-logs" && touch "$2/build.ninja" ;;
test)
	[[ " $* " != *" --list "* ]] || exit 0
	# a test, and what that has started
	(sleep "$MARK" & exec sleep "$MARK")
	;;
esac
END

start() {
	rm -rf "$folder"/build*
	PATH=$folder/bin:$PATH MARK=$mark env --unset=CI --default-signal=INT "$folder/tools/check.sh" >"$folder/out" 2>&1 &
	check=$!
}

# Until a test runs.
await() {
	for _ in {1..200}; do
		pgrep -f "sleep $mark" >/dev/null && return
		sleep 0.1
	done
	return 1
}

is_nothing_left() {
	for _ in {1..100}; do
		pgrep -f "sleep $mark" >/dev/null || return 0
		sleep 0.1
	done
	pgrep -f "sleep $mark" | xargs -r kill
	return 1
}

# No test came to run: ends the script all the same, which would wait for it. Fails.
give_up() {
	echo "no test ran within 20 s" >>"$folder/out"
	kill "$check"
	for _ in {1..50}; do
		kill -0 "$check" 2>/dev/null || break
		sleep 0.1
	done
	kill -KILL "$check" 2>/dev/null
	wait "$check"
	is_nothing_left
	return 1
}

# tap STATUS TEXT
tap() {
	number=$((number + 1))
	[ "$1" = 0 ] || failures=$((failures + 1))
	[ "$1" = 0 ] || sed 's/^/#   /' "$folder/out"
	echo "$([ "$1" = 0 ] && echo ok || echo not ok) $number - $2"
}

for signal in INT TERM HUP; do
	start
	if await; then
		kill -$signal $check
		wait $check
		[ $? -gt 128 ] && is_nothing_left
	else
		give_up
	fi
	tap $? "SIG$signal ends the script and its tests"
done

# The other steps only start a few commands: on a busy machine that takes a second.
STEP_SECONDS=4 start
wait $check
[ $? = 1 ] && is_nothing_left && grep -q 'failed: .*the tests of build end in 4 s' "$folder/out"
tap $? "a step that takes too long ends, and is a failure"

echo "1..$number"
[ $failures = 0 ]
