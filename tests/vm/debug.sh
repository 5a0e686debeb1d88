#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A recorder that is the debugger of a program on a GPU of sim/mock_xe: its code objects, how many threads it has; a
# recorder that is killed; drivers that cannot be debugged.
parameters=/sys/module/xe/parameters

/vm/duet record --collect intel:debug,intel:debug-stop=0 -o /tmp/debug.duet -- /vm/xe_debug 0 /vm/three_bmg.bin
/vm/duet export -f jsonl /tmp/debug.duet | sed 's/^/row /'
/vm/duet flame --view stall --folded /tmp/debug.duet 2>/dev/null | sed 's/^/stall /'
/vm/duet info /tmp/debug.duet | sed 's/^/info /'
echo "left $(cat $parameters/debuggers) $(cat $parameters/unresumed)"

# somebody waits for its debugger, which is killed
/vm/xe_debug 0 /vm/three_bmg.bin again &
program=$!
/vm/duet record --collect intel:-driver,intel:debug -o /tmp/killed.duet -p $program &
recorder=$!
looks=0
while [ "$(cat $parameters/debuggers)" = 0 ] && [ $looks -lt 100 ]; do
	looks=$((looks + 1))
	sleep 0.05
done
echo "debugged $(cat $parameters/debuggers)"
kill -9 $recorder
wait $program && echo "survived"
wait $recorder 2>/dev/null
echo "left $(cat $parameters/debuggers) $(cat $parameters/unresumed)"

for is in 0 1; do
	echo $is >$parameters/debug
	/vm/duet record --collect intel:-driver,intel:debug -o /tmp/refused.duet -- /vm/xe_work 0 1 >/dev/null
	/vm/duet info /tmp/refused.duet | sed "s/^/refused $is /"
done
echo 2 >$parameters/debug
