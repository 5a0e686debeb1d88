#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A recording of GPU jobs, of a program and of another one that nobody records: what both say of themselves, the
# recording's rows, and its report.
#
#	record.sh	both, and what came of them
#	record.sh jobs	waits until a recorder has its programs in the kernel, then submits, both at once

# What it holds of the kernel, and what its threads do: "links states".
recorder() {
	pid=$(pidof duet) && echo $(ls -l "/proc/$pid/fd" | grep -c bpf_link) $(sed 's/.*) \(.\).*/\1/' "/proc/$pid"/task/*/stat)
}

# Each program takes the kernel as long as the machine lets it: while there are more to come, the recorder does not sleep.
wait_ready() {
	before= same=0
	while [ $same -lt 4 ]; do
		now=$(recorder 2>/dev/null)
		case $now in
		'' | 0* | *[RD]*) same=0 ;;
		"$before") same=$((same + 1)) ;;
		*) same=1 ;;
		esac
		before=$now
		sleep 0.3
	done
}

# Waits until both are here.
meet() {
	echo >"/tmp/$1.$$"
	while [ "$(ls "/tmp/$1".* | wc -l)" -lt 2 ]; do
		sleep 0.1
	done
}

if [ "$1" = jobs ]; then
	wait_ready
	meet ready
	/vm/submit 20
	# the recording ends with its program
	meet done
	exit
fi
/vm/record.sh jobs >/tmp/other &
/vm/duet record --collect drm -o /tmp/run.duet -- /vm/record.sh jobs
wait
sed 's/^/other /' /tmp/other
/vm/duet export --absolute -f jsonl /tmp/run.duet | sed 's/^/row /'
/vm/duet report --json /tmp/run.duet | sed 's/^/report /'
