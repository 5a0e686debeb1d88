#!/bin/sh
# SPDX-License-Identifier: MIT
#
# EU stalls of a program on the second of two GPUs of sim/mock_xe, which are reset and lose rows before it begins.
/vm/duet record --collect intel:500,intel:-driver -o /tmp/stalls.duet -- sh -c '
	/vm/xe_stalls 1 reset
	sleep 1
	/vm/xe_stalls 1 drop
	sleep 1
	/vm/xe_work 1 2'
/vm/duet export -f jsonl /tmp/stalls.duet | sed 's/^/row /'
/vm/duet info /tmp/stalls.duet | sed 's/^/info /'
