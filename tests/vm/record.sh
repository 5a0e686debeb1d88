#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A recording of GPU jobs, of a program and of another one that nobody records: what both say of themselves, the
# recording's rows, and its report.
#
#	record.sh	both, and what came of them
#	record.sh jobs	waits until a recorder has its programs in the kernel, then submits, both at once

. /vm/ready.sh

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
