#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the OA unit of the second of two GPUs of sim/mock_xe counts; it loses reports, and its stream ends. Then: what it counts
# by a metric set of the driver's list; who has no rights, and what doctor says of drivers that have less.
/vm/duet record --collect intel:oa=100 -o /tmp/oa.duet -- sh -c '
	/vm/xe_oa 1 steps 0 20
	sleep 1
	/vm/xe_oa 1 lose
	sleep 1
	/vm/xe_oa 1 end
	sleep 1
	/vm/xe_oa 1 steps 20 10'
/vm/duet export -f jsonl /tmp/oa.duet | sed 's/^/row /'
/vm/duet info /tmp/oa.duet | sed 's/^/info /'

set=01234567-89ab-cdef-0123-456789abcdef
/vm/xe_oa 1 set $set
/vm/duet list oa-sets | sed 's/^/set list /'
/vm/duet record --collect intel:oa-set=$set -o /tmp/set.duet -- sh -c '
	/vm/xe_oa 1 steps 0 10
	sleep 1' | sed 's/^/set /'
/vm/duet export -f jsonl /tmp/set.duet | sed 's/^/set row /'
/vm/duet info /tmp/set.duet | sed 's/^/set info /'

# by its name in Intel's library of sets, of which there is a stand-in
if [ -e /vm/libigdmd.so.1 ]; then
	export DUET_IGDMD=/vm/libigdmd.so.1
	/vm/duet list oa-sets | sed 's/^/named list /'
	/vm/duet record --collect intel:oa-set=SimBasic -o /tmp/named.duet -- sh -c '
		ls /sys/class/drm/card*/metrics | sed "s/^/meanwhile /"
		/vm/xe_oa 1 steps 0 10
		sleep 1' | sed 's/^/named /'
	/vm/duet export -f jsonl /tmp/named.duet | sed 's/^/named row /'
	/vm/duet info /tmp/named.duet | sed 's/^/named info /'
	ls /sys/class/drm/card*/metrics | sed 's/^/after /'
	unset DUET_IGDMD
fi

doctor() {
	"$@" doctor --json | tr -d '\n' | sed "s/^/doctor $name /"
	echo
}
chmod 666 /dev/dri/renderD*
name=root doctor /vm/duet
name=user doctor /vm/setpriv --reuid 1000 --clear-groups /vm/duet
echo 0 >/proc/sys/dev/xe/observation_paranoid
name=open doctor /vm/setpriv --reuid 1000 --clear-groups /vm/duet
echo 1 >/proc/sys/dev/xe/observation_paranoid
echo 0 >/sys/module/xe/parameters/stalls
name=old doctor /vm/duet
echo 0 >/sys/module/xe/parameters/oa
name=oldest doctor /vm/duet
# as it was
echo 1 >/sys/module/xe/parameters/oa
echo 1 >/sys/module/xe/parameters/stalls
