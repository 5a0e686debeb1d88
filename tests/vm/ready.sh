# SPDX-License-Identifier: MIT
#
# wait_ready, for scripts that duet records: until a recorder has its programs in the kernel.

# What it holds of the kernel, and what its threads do: "links states".
recorder() {
	pid=$(pidof duet) && echo $(ls -l "/proc/$pid/fd" | grep -c bpf_link) $(sed 's/.*) \(.\).*/\1/' "/proc/$pid"/task/*/stat)
}

# Each program takes the kernel as long as the machine lets it: while there are more to come, the recorder does not sleep.
# After half a minute there are none.
wait_ready() {
	before= same=0 looks=0
	while [ $same -lt 4 ] && [ $looks -lt 100 ]; do
		looks=$((looks + 1))
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
