#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The first commands of a user, on a new Debian 12: `make demo` in a clone of HEAD inside a bare bootstrap.
#
#	tools/check_fresh.sh [check]     check: `make check` in it, too (half an hour)
#
# Prints TAP, with the seconds and megabytes that the demo takes. Needs root, mmdebstrap, and Debian 12's packages from
# where this machine has its own; skipped otherwise. The bootstrap is a folder below TMPDIR (/var/tmp) of 1.5 GB, with
# `check` 6 GB, and is removed at the end. Mounts are made in a namespace of their own, which ends with this script.
# CHECK_FRESH=no: skipped; it is set inside, so that `make check` there makes no further bootstrap.
# STEP_SECONDS (3600; of `make check` 14400): what takes longer inside is ended, and fails. With this script all that it has
# started ends.

set -u
cd "$(dirname "$0")/.." || exit 1
suite=bookworm
inside=/root/duet # a home of Debian 12: only its owner may enter it
with_tests=${1:-}
number=0 failures=0
step_seconds=${STEP_SECONDS:-3600}

# limited COMMAND...: for so long; ends with this script. A shell that waits, unlike one with a command in the foreground,
# heeds a signal at once.
limited() {
	timeout --kill-after=30 "$step_seconds" "$@" <&0 &
	wait $!
}

skip_all() {
	echo "1..0 # SKIP $*"
	exit 0
}

# tap STATUS TEXT
tap() {
	number=$((number + 1))
	[ "$1" = 0 ] || failures=$((failures + 1))
	echo "$([ "$1" = 0 ] && echo ok || echo not ok) $number - $2"
}

# comment FILE: its last lines
comment() {
	tail -n "${2:-25}" "$1" | sed 's/^/#   /'
}

# ---- what makes the bootstrap ----

# One line each: the sources of Debian 12's packages that this machine uses.
print_sources() {
	local folder=$1 found
	found=$(list_sources /var/lib/apt/lists)
	if [ -z "$found" ]; then
		# This machine's lists are empty. They are fetched to another folder, so that it stays as it is.
		mkdir -p "$folder/partial"
		limited apt-get update -q -o Dir::State::lists="$folder" >&2
		found=$(list_sources "$folder")
	fi
	echo "$found"
}

# LISTS: from the lists in this folder. Sources that are folders of this machine are not in the bootstrap.
list_sources() {
	# shellcheck disable=SC2016
	apt-get indextargets -o Dir::State::lists="$1" --format '$(ORIGIN) $(CODENAME) deb $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | sed -nE "s/^Debian ${suite}[^ ]* (deb https?:)/\1/p" | sort -u
}

# What this machine's apt needs to reach them, such as a proxy.
print_apt_options() {
	apt-config dump | grep -E '^Acquire::(http|https|ftp|Check|Retries)[^ ]* "[^"]'
}

make_bootstrap() {
	print_sources "$work/lists" >"$work/sources"
	grep -q . "$work/sources" || return 3
	print_apt_options >"$work/apt.conf"
	limited mmdebstrap --mode=root --variant=minbase --include=git,make,ca-certificates --aptopt="$work/apt.conf" \
		--format=directory "$suite" "$root" - <"$work/sources" &&
		cp /etc/hosts /etc/resolv.conf "$root/etc/"
}

# ---- what runs in it ----

# enter COMMAND...: inside, as root of a machine would
enter() {
	# shellcheck disable=SC2016
	limited unshare --mount --propagation private --fork --kill-child -- bash -euc '
		root=$1
		shift
		mount --bind "$root" "$root"
		mount --rbind /dev "$root/dev"
		mount --rbind /sys "$root/sys"
		mount -t proc proc "$root/proc"
		cd "$root"
		pivot_root . mnt
		umount -l /mnt
		cd /
		exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LC_ALL=C.UTF-8 CHECK_FRESH=no \
			${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"' - "$root" "$@"
}

# timed LOG COMMAND...: inside, with the seconds since the start before each line
timed() {
	local log=$1 begin=$SECONDS status lines out
	shift
	exec {out}> >(
		while IFS= read -r line; do
			printf '%d %s\n' $((SECONDS - begin)) "$line"
		done >"$log"
	)
	lines=$!
	enter "$@" </dev/null >&"$out" 2>&1 {out}>&-
	status=$?
	exec {out}>&-
	wait $lines
	return $status
}

installed_megabytes() {
	dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Installed-Size}\n' | awk '{ sum += $1 } END { print int(sum / 1024) }'
}

check_clone() {
	git clone -q --no-hardlinks . "$root$inside" >"$work/clone" 2>&1
	local status=$?
	[ $status = 0 ] || comment "$work/clone"
	tap $status "git clone"
	return $status
}

# An ordinary user gets the command that root has to run.
check_ordinary_user() {
	local log=$work/ordinary
	mkdir "$root/srv/duet"
	cp -r Makefile packages*.debian tools "$root/srv/duet/"
	! enter setpriv --reuid=65534 --regid=65534 --clear-groups make -C /srv/duet demo </dev/null >"$log" 2>&1 &&
		grep -q '^ *apt-get update && apt-get install .*meson' "$log"
	local status=$?
	[ $status = 0 ] || comment "$log"
	tap $status "without root's rights make demo prints the command that installs the packages"
}

check_demo() {
	local log=$work/demo before begin=$SECONDS status
	before=$(installed_megabytes)
	timed "$log" make -C $inside demo
	status=$?
	[ $status = 0 ] || comment "$log" 40
	tap $status "make demo"
	awk -v seconds=$((SECONDS - begin)) -v megabytes=$(($(installed_megabytes) - before)) '
		/ ninja: Entering directory/ && !building { building = $1 }
		match($0, /\[[0-9]+\/[0-9]+\]/) { split(substr($0, RSTART + 1, RLENGTH - 2), steps, "/"); built = $1 }
		END { printf "# make demo: %d s, of them %d s until all packages (%d MB) are installed and %d s for %d steps of ninja\n",
			seconds, building, megabytes, built - building, steps[2] }' "$log"
	find "$root$inside/build/tests" "$root$inside/build/sim" "$root$inside/build/bench" -name '*.o' 2>/dev/null >"$work/others"
	[ -x "$root$inside/build/duet" ] && [ ! -s "$work/others" ]
	status=$?
	[ $status = 0 ] || comment "$work/others" 5
	tap $status "make demo builds no test, simulator or benchmark"
}

# The report of what the demo recorded: a device, and launches that are all accounted for.
check_report() {
	local log=$work/report
	enter $inside/build/duet report --json $inside/demo/render.duet >"$log" 2>&1 &&
		enter python3 -c '
import json, sys
report = json.load(sys.stdin)
ledger = report["ledger"]
print("#", len(report["devices"]), "device,", ledger["launched"], "launched,", ledger["matched"], "matched")
sys.exit(not report["devices"] or ledger["launched"] < 1 or ledger["launched"] != ledger["matched"])' <"$log" &&
		[ -s "$root$inside/demo/heat.html" ] && [ -s "$root$inside/demo/render.pftrace" ]
	local status=$?
	[ $status = 0 ] || comment "$log"
	tap $status "the demo recorded, reported and exported"
}

check_tests() {
	local log=$work/check status
	step_seconds=${STEP_SECONDS:-14400} timed "$log" env FUZZ_SECONDS="${FUZZ_SECONDS:-60}" make -C $inside check
	status=$?
	cp "$log" build/check-fresh.log 2>/dev/null
	grep -E '^[0-9]+ (== |failed: |unsteady: |skipped: |once more)' "$log" | sed 's/^/#   /'
	tail -n 3 "$log" | sed 's/^/#   /'
	tap $status "make check"
}

# ---- the end ----

# Whatever still runs in the bootstrap, such as a daemon of a test. What they have started meanwhile comes in another round.
end_processes() {
	local process found round
	for round in {1..100}; do
		found=
		for process in /proc/[0-9]*; do
			[ "$process/root" -ef "$root" ] && kill -KILL "${process#/proc/}" 2>/dev/null && found=$round
		done
		[ -n "$found" ] || return
		sleep 0.1
	done
}

remove_all() {
	local process
	# Output may go into a pipe that has lost its reader by the same signal.
	trap '' INT TERM HUP PIPE
	for process in $(jobs -p); do
		kill -TERM "$process" 2>/dev/null
	done
	end_processes
	wait
	rm -rf --one-file-system "$work"
}

# Skips where this machine cannot make a bootstrap.
check_ground() {
	[ "${CHECK_FRESH:-}" != no ] || skip_all "CHECK_FRESH is no"
	[ "$(id -u)" = 0 ] || skip_all "only root can make a bootstrap of Debian"
	command -v mmdebstrap >/dev/null || skip_all "mmdebstrap is not installed"
	unshare --mount --propagation private true 2>/dev/null || skip_all "no mount namespace can be made here (unshare --mount)"
}

make_folder() {
	local megabytes=2500
	[ "$with_tests" != check ] || megabytes=8000
	work=$(mktemp -d "${TMPDIR:-/var/tmp}/duet-fresh.XXXXXX") || exit 1
	root=$work/root
	trap remove_all EXIT
	trap 'exit 1' INT TERM HUP
	chmod 755 "$work"
	[ "$(df --output=avail -m "$work" | tail -n 1)" -gt "$megabytes" ] ||
		skip_all "less than $megabytes MB are free in ${TMPDIR:-/var/tmp}"
	# Root may clone a tree of another user.
	printf '[safe]\n\tdirectory = *\n' >"$work/gitconfig"
	export GIT_CONFIG_GLOBAL=$work/gitconfig
	git rev-parse -q --verify HEAD >/dev/null 2>&1 || skip_all "this is no git repository"
}

check_bootstrap() {
	local begin=$SECONDS status
	make_bootstrap >"$work/bootstrap" 2>&1
	status=$?
	[ $status != 3 ] || skip_all "apt reaches no sources of Debian 12 ($suite) over HTTP here"
	if [ $status != 0 ]; then
		comment "$work/bootstrap"
		skip_all "no bootstrap of Debian 12 could be made"
	fi
	tap 0 "a bootstrap of Debian 12"
	echo "# $((SECONDS - begin)) s, $(installed_megabytes) MB"
}

main() {
	check_ground
	make_folder
	check_bootstrap
	if check_clone; then
		check_ordinary_user
		check_demo
		check_report
		[ "$with_tests" != check ] || check_tests
	fi
	echo "1..$number"
	[ $failures = 0 ]
}

main
exit
