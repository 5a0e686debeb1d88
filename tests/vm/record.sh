#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A recording of GPU jobs, of a program and of another one that nobody records: what both say of themselves, the
# recording's rows, and its report.
#
#	record.sh	both, and what came of them
#	record.sh jobs	waits until a recorder has its programs in the kernel, then submits
links() {
	ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c bpf_link
}

if [ "$1" = jobs ]; then
	before=0
	while now=$(links); [ "$now" -eq 0 ] || [ "$now" -ne "$before" ]; do
		before=$now
		sleep 1
	done
	exec /vm/submit 10
fi
/vm/record.sh jobs >/tmp/other &
/vm/duet record --collect drm -o /tmp/run.duet -- /vm/record.sh jobs
wait
sed 's/^/other /' /tmp/other
/vm/duet export --absolute -f jsonl /tmp/run.duet | sed 's/^/row /'
/vm/duet report --json /tmp/run.duet | sed 's/^/report /'
