#!/bin/busybox sh
# SPDX-License-Identifier: MIT
#
# The first process of a virtual machine of tests/vm: loads modules, runs what /tests says, line for line, and ends the
# machine. What it says goes to the second serial line; the first one is the kernel's.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tracefs tracefs /sys/kernel/tracing
mount -t bpf bpf /sys/fs/bpf
exec >/dev/ttyS1 2>&1
stty raw
export TERM=dumb # both outputs are one line: no progress between the rows

while read -r module options; do
	insmod "/modules/$module.ko" $options && echo "module $module loaded"
done </modules/order

while read -r name command; do
	echo "begin $name"
	timeout -s KILL 600 $command </dev/null
	echo "end $name $?"
done </tests

echo "finished $(cut -d' ' -f1 /proc/uptime)"
poweroff -f
