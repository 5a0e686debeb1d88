#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Submissions to GPUs of sim/mock_xe as their driver sees them, with the jobs that become of them.
#
#	submissions.sh		records
#	submissions.sh work	waits until a recorder has its programs in the kernel, then submits
. /vm/ready.sh

if [ "$1" = work ]; then
	wait_ready
	/vm/xe_submit 0
	/vm/xe_work 1 2
	exit
fi
/vm/duet record --collect intel,drm -o /tmp/submissions.duet -- /vm/submissions.sh work
/vm/duet export -f jsonl /tmp/submissions.duet | sed 's/^/row /'
/vm/duet flame --view launch --folded -o - /tmp/submissions.duet 2>/dev/null | sed 's/^/flame /'
/vm/duet info /tmp/submissions.duet | sed 's/^/info /'
