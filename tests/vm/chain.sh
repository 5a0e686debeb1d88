#!/bin/sh
# SPDX-License-Identifier: MIT
#
# From a program of Level Zero to the instructions that its kernels wait at: two processes on both GPUs of sim/mock_xe, below
# the real loader and sim/level_zero, recorded by duet.
#
#	chain.sh VARIANT	what the programs say of themselves, the recording's rows, its flame graph and its report
#	chain.sh work VARIANT	the programs
#
#	plain	both at once
#	alone	… without the guest in them: what the kernel saw of them, from when duet's programs are in it
#	losses	the first GPU is reset between them, and the second one loses rows
#	late	… of the first one's kernel come five seconds before it; others are of what nobody ever describes
#	hard	all of it at once, without the guest: one behind the other, the first with rows that come before its kernel, a reset
#		and a loss, the second with rows of what nobody describes

# One program. Its code is at $1 of each GPU: rows say an address and nothing else.
work() {
	code=$1
	shift
	export ZE_ENABLE_ALT_DRIVERS=/vm/libsim-level_zero.so
	SIM_LEVEL_ZERO=node=/dev/dri/renderD128:/dev/dri/renderD129,code=$code /vm/ze_work /vm/three_bmg.bin "$@" >"/tmp/work.$code"
}

. /vm/ready.sh

first=0x800000000000
second=0x800001000000

if [ "$1" = work ]; then
	case $2 in
	losses)
		work $first 2
		/vm/xe_stalls 0 reset
		/vm/xe_stalls 0 wait
		/vm/xe_stalls 1 drop
		/vm/xe_stalls 1 wait
		work $second 2 scale=2
		;;
	hard)
		wait_ready
		work $first 2 late=$first
		/vm/xe_stalls 0 reset
		/vm/xe_stalls 0 wait
		/vm/xe_stalls 1 drop
		/vm/xe_stalls 1 wait
		work $second 2 scale=2 unknown=0x800030000000
		;;
	late)
		work $first 1 late=$first &
		work $second 1 scale=2 unknown=0x800030000000
		wait
		;;
	*)
		[ "$2" = alone ] && wait_ready
		work $first 2 &
		work $second 2 scale=2
		wait
		;;
	esac
	exit
fi
case $1 in
alone | hard) collect=intel ;;
losses) collect=level_zero,intel:-driver ;; # sooner: nothing to load into the kernel
*) collect=level_zero,intel ;;
esac
/vm/duet record --collect $collect -o /tmp/run.duet -- /vm/chain.sh work "$1"
cat /tmp/work.*
rm /tmp/work.*

# What a command says, behind a word each line.
say() {
	word=$1
	shift
	"$@" >/tmp/said
	sed "s/^/$word /" /tmp/said
}
say row /vm/duet export -f jsonl /tmp/run.duet
say launch /vm/duet flame --view launch --folded /tmp/run.duet
say stall /vm/duet flame --view stall --folded /tmp/run.duet
say report /vm/duet report --by stall --top 1000 --json /tmp/run.duet
say info /vm/duet info /tmp/run.duet
