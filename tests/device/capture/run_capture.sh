#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Captures what CUDA's profiling libraries say on this machine (README.md).
#
#	run_capture.sh answers|more OUT [--dry-run]
#
# answers: what the open questions need, F1 to F10 in short. more: PyTorch, the cost of each mode, the rest.
# Each ends within CAPTURE_BUDGET seconds (520), the build included; a step for which too little is left is
# skipped, and steps.tsv says so. OUT gets at most 8 files of less than 15 MiB.
# --dry-run: every step with tiny counts, against whatever libcuda is found.
# CAPTURE_BUILD: a folder for what is built; CAPTURE_ONLY: a regular expression of steps' names;
# CAPTURE_FLAGS: more flags for the compiler.

set -u
ulimit -c 0
SECONDS=0
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../../.." && pwd)
part=${1:-}
out=${2:-}
dry=no
[ "${3:-}" = --dry-run ] && dry=yes
case $part in answers | more) ;; *) part= ;; esac
if [ -z "$part" ] || [ -z "$out" ]; then
	sed -n '5,15s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
budget=${CAPTURE_BUDGET:-520}
reserve=45
[ $dry = yes ] && reserve=5
work=$(mktemp -d /tmp/capture.XXXXXX) || exit 1
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
build=${CAPTURE_BUILD:-$work/build}
mkdir -p "$build"
steps=$out/steps.tsv
printf 'step\tseconds\tstatus\tnote\n' >"$steps"
unset CUDA_INJECTION64_PATH CAPTURE CAPTURE_STEP_PID
export LC_ALL=C PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
group=none

# real COUNT, and the one of a dry run
n() {
	[ $dry = yes ] && echo "$2" || echo "$1"
}

left() {
	echo $((budget - reserve - SECONDS))
}

# BEGIN: tenths of seconds since that $EPOCHREALTIME
since() {
	local tenths=$(((${EPOCHREALTIME/./} - ${1/./}) / 100000))
	echo "$((tenths / 10)).$((tenths % 10))"
}

# NAME SECONDS STATUS LOG
note() {
	local word last
	case $3 in
	0) word=ok ;;
	124) word=timeout ;;
	137) word=killed ;; # by a step's own doing, or where it outlived its time
	3) word=none ;;
	*) word=failed-$3 ;;
	esac
	last=$(grep -v '^ *$' "$4" 2>/dev/null | tail -n 1 | tr '\t' ' ' | cut -c 1-200)
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$word" "$last" >>"$steps"
	printf '%4d s  %-28s %-10s %s\n' "$SECONDS" "$1" "$word" "$last"
}

# Whether a step of up to LIMIT seconds may begin; sets $limit.
may() {
	local room
	limit=$2
	room=$(left)
	if [ -n "${CAPTURE_ONLY:-}" ] && ! [[ $1 =~ $CAPTURE_ONLY ]]; then
		return 1
	fi
	[ $dry = yes ] && [ "$limit" -gt 20 ] && limit=20
	if [ "$room" -lt 4 ]; then
		printf '%s\t0\tskipped\t%s s are left\n' "$1" "$room" >>"$steps"
		echo "skipped $1: $room s are left"
		return 1
	fi
	[ "$limit" -gt "$room" ] && limit=$room
	return 0
}

# NAME LIMIT COMMAND…: output to the group's folder
step() {
	local name=$1 begin=$EPOCHREALTIME log=$work/$group/$1.txt status
	may "$name" "$2" || return 0
	shift 2
	{ timeout -k 3 "$limit" "$@" >"$log" 2>&1 </dev/null; } 2>/dev/null
	status=$?
	note "$name" "$(since "$begin")" $status "$log"
	return 0
}

# NAME LIMIT COMMAND…: goes on in the background until `settle`
declare -A behind begun
background() {
	local name=$1 log=$work/$group/$1.txt
	may "$name" "$2" || return 0
	shift 2
	timeout -k 3 "$limit" "$@" >"$log" 2>&1 </dev/null &
	behind[$name]=$!
	begun[$name]=$EPOCHREALTIME
}

# NAME WORD: until the output has the word, or the program ended
await() {
	local i
	[ -n "${behind[$1]:-}" ] || return 0
	for ((i = 0; i < 200; i++)); do
		grep -q "$2" "$work/$group/$1.txt" && return 0
		kill -0 "${behind[$1]}" 2>/dev/null || return 0
		sleep 0.1
	done
}

settle() {
	local status
	[ -n "${behind[$1]:-}" ] || return 0
	wait "${behind[$1]}"
	status=$?
	unset "behind[$1]"
	note "$1" "$(since "${begun[$1]}")" $status \
		"$work/$group/$1.txt"
}

# NAME LIMIT OPTIONS COMMAND…: with the agent in the program
agent() {
	local name=$1 limit=$2 options=$3
	shift 3
	step "$name" "$limit" env CUDA_INJECTION64_PATH="$build/libcapture.so" \
		CAPTURE="out=$work/$group/$name.cap,what=$name,driver=$driver,$options" "$@"
}

# NAME: it has done its work
dismiss() {
	local status
	[ -n "${behind[$1]:-}" ] || return 0
	kill -TERM "${behind[$1]}" 2>/dev/null
	wait "${behind[$1]}" 2>/dev/null
	status=$?
	[ $status = 124 ] || [ $status = 143 ] && status=0
	unset "behind[$1]"
	note "$1" "$(since "${begun[$1]}")" $status \
		"$work/$group/$1.txt"
}

begin_group() {
	group=$1
	mkdir -p "$work/$group"
	chmod 777 "$work/$group"
}

# One file of the group, at once: what comes later may not get there.
end_group() {
	python3 "$here/pack_captures.py" "$work/$group" "$out/$part-$group.tar.gz" || :
	cp "$steps" "$work/steps.tsv"
}

# ---- building ----

compile() {
	local library="capture_cupti.c capture_file.c" parts
	cd "$here" || return 1
	local cc="${CC:-gcc} -std=gnu17 -O2 -g -D_GNU_SOURCE -fno-strict-aliasing -fno-omit-frame-pointer -I$source/src ${CAPTURE_FLAGS:-}"
	parts="capture_agent.c capture_options.c capture_activity.c capture_callbacks.c capture_stack.c capture_pc.c"
	$cc -fPIC -shared -fvisibility=hidden -fexceptions -fasynchronous-unwind-tables \
		-ftls-model=initial-exec -static-libgcc -Wl,--exclude-libs,ALL -Wl,-z,nodelete $parts $library \
		"$source/src/inject/unwind.c" "$source/src/inject/unwind_rules.c" \
		"$source/src/inject/libraries.c" \
		-o "$build/libcapture.so" -ldl -lpthread &
	$cc -rdynamic capture_toy.c capture_toy_bursts.c capture_toy_shapes.c capture_toy_trouble.c $library -o "$build/capture_toy" -ldl -lpthread &
	$cc capture_pm.c capture_pm_host.c capture_pm_offline.c $library -o "$build/capture_pm" \
		-ldl -lpthread -lm &
	$cc capture_nvml.c capture_file.c -o "$build/capture_nvml" -ldl -lpthread -lm &
	wait
	[ -x "$build/libcapture.so" ] && [ -x "$build/capture_toy" ] && [ -x "$build/capture_pm" ] &&
		[ -x "$build/capture_nvml" ] && echo built
}

compile_runtime() {
	local nvcc
	nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
	[ -n "$nvcc" ] || { echo "there is no nvcc" && return 3; }
	"$nvcc" -O2 -lineinfo -arch=sm_90 "$here/capture_runtime.cu" -o "$build/capture_runtime" ||
		"$nvcc" -O2 -lineinfo "$here/capture_runtime.cu" -o "$build/capture_runtime"
}

# Where the loader does not find libcupti by itself: the folder with the one of the toolkit, or of a wheel. Behind
# what is there, so that stand-ins come first; for the programs here only, as PyTorch brings its own.
find_cupti() {
	local place
	for place in /usr/local/cuda/extras/CUPTI/lib64 /usr/local/cuda/lib64 \
		/usr/local/cuda/targets/x86_64-linux/lib \
		"$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"/nvidia/{cu13,cuda_cupti}/lib; do
		ls "$place"/libcupti.so.1[0-9] >/dev/null 2>&1 && echo "$place" && return
	done
}

build_all() {
	begin_group base
	export -f compile compile_runtime
	export here source build
	step build 120 bash -c compile
	[ -x "$build/capture_runtime" ] || step build-runtime 90 bash -c compile_runtime
	cupti=$(find_cupti)
	library_path=${LD_LIBRARY_PATH:-}${cupti:+:$cupti}
	echo "libcupti: ${cupti:-only where the loader looks}" | tee "$work/base/cupti.txt"
	toy="env LD_LIBRARY_PATH=${library_path#:} $build/capture_toy"
	runtime="env LD_LIBRARY_PATH=${library_path#:} $build/capture_runtime"
	pm="env LD_LIBRARY_PATH=${library_path#:} $build/capture_pm"
	nvml="$build/capture_nvml"
	step check 30 $toy check
	driver=$(sed -n 's/^check driver=//p' "$work/base/check.txt" 2>/dev/null)
	driver=${driver:-0}
	[ -x "$build/capture_runtime" ] || runtime="echo there is no nvcc, so no program with <<<>>>:"
}

# ---- F1, F8: what machine this is ----

machine() {
	uname -a
	cat /proc/driver/nvidia/version /proc/driver/nvidia/params 2>&1 | head -n 60
	grep -E '^Cap|^Seccomp|^NoNewPrivs' /proc/self/status
	echo "perf_event_paranoid $(cat /proc/sys/kernel/perf_event_paranoid 2>&1)"
	echo "clocksource $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource 2>&1)"
	grep -m 1 'model name' /proc/cpuinfo
	nproc
	nvidia-smi -q 2>&1 | head -n 120
	ldconfig -p | grep -E 'libcuda|libcupti|libnvidia-ml|libnvperf'
	"${nvcc:-nvcc}" --version 2>&1 | tail -n 2
	gcc --version | head -n 1
	echo machine done
}

# Question 8: how much of the driver's code has unwind tables.
tables() {
	local library
	library=$(LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-} python3 -c '
import ctypes
ctypes.CDLL("libcuda.so.1")
print(next(line.split()[-1] for line in open("/proc/self/maps") if "libcuda.so" in line))') || {
		echo "there is no libcuda" && return 3
	}
	echo "tables library $library"
	readelf -SW "$library" | grep -E ' \.(eh_frame|eh_frame_hdr|debug_frame|text|plt)'
	readelf --debug-dump=frames "$library" 2>/dev/null | python3 "$here/make_answers.py" --frames
}

f1() {
	export -f machine tables
	step machine 30 bash -c machine
	step nvml-idle 30 $nvml "$work/base/nvml-idle.cap" seconds="$(n 3 1)" what=nvml-idle
	step tables 40 bash -c tables
}

# ---- F2, F3, F6: records, callbacks, clocks ----

all_kinds=default+9+8+4+5+17+38
f2() {
	begin_group activity
	local full="callbacks=all,cubins=1,kinds=$all_kinds,max=30000"
	agent launches 40 "$full" $toy launches "$(n 5000 200)"
	agent runtime 40 "$full" $runtime "$(n 5000 50)"
	agent threads 40 "$full" $toy threads "$(n 100 8)"
	agent graphs-node 40 "$full,graphs=node" $toy graphs "$(n 200 10)"
	agent graphs-trace 40 "$full,graphs=trace" $toy graphs "$(n 200 10)"
	agent copies 40 "$full" $toy copies "$(n 100 5)"
	agent known 40 "callbacks=1,cubins=1,kinds=default+51,max=30000" $toy graphs "$(n 100 10)"
	agent stamp-default 40 "callbacks=1,stamp=default" $toy launches "$(n 3000 100)"
	agent stamp-biased 40 "callbacks=1,stamp=biased" $toy launches "$(n 3000 100)"
	agent stack-unwind 40 "callbacks=1,stack=unwind" $toy launches "$(n 10000 100)"
	agent stack-fp 40 "callbacks=1,stack=fp" $toy launches "$(n 10000 100)"
	agent stack-runtime 40 "callbacks=1,stack=unwind" $runtime "$(n 10000 50)"
	end_group
}

# ---- F4: PC samples ----

f4() {
	begin_group pc
	local ms="$(n 200 2)" at
	agent pc-continuous 60 "pc=continuous,cubins=1,callbacks=1" $toy stalls "$ms"
	agent pc-serialized 60 "pc=serialized,cubins=1,callbacks=1" $toy stalls "$ms"
	agent pc-alone 60 "pc=continuous,cubins=1,kinds=none" $toy stalls "$ms"
	agent pc-old-kernel 60 "pc=continuous,kinds=3" $toy stalls "$ms"
	agent pc-runtime 60 "pc=continuous,cubins=1" $runtime "$(n 20000 50)"
	agent pc-threads 60 "pc=continuous,callbacks=1" $toy threads "$(n 500 8)"
	agent pc-plain 60 "pc=off" $toy stalls "$ms"
	for at in 8 12 16; do
		agent "pc-period-$at" 60 "pc=continuous,period=$at" $toy stalls "$ms"
	done
	step golden 40 bash -c "$(declare -f golden); work=$work group=pc here=$here; golden"
	end_group
}

f4_more() {
	local at
	begin_group pc
	for at in 5 6 10 14 20; do
		agent "pc-period-$at" 60 "pc=continuous,period=$at" $toy stalls "$(n 400 2)"
	done
	agent pc-graphs 60 "pc=continuous,callbacks=1" $toy graphs "$(n 5000 10)"
	agent pc-graphs-serialized 60 "pc=serialized,callbacks=1" $toy graphs "$(n 500 10)"
	agent pc-again 60 "pc=continuous,cubins=1,callbacks=1" $toy stalls "$(n 1000 2)"
	end_group
}

# The cubins' texts, by NVIDIA's own disassembler.
golden() {
	local file tool
	mkdir -p "$work/$group/cubins"
	for file in "$work"/pc/pc-continuous.cap "$work"/pc/pc-runtime.cap; do
		[ -f "$file" ] && python3 "$here/read_capture.py" --cubins "$work/$group/cubins" "$file"
	done
	ls "$work/$group/cubins"/*.cubin >/dev/null 2>&1 || { echo "there are no cubins" && return 3; }
	tool=$(command -v nvdisasm || ls /usr/local/cuda/bin/nvdisasm 2>/dev/null)
	[ -n "$tool" ] || { echo "there is no nvdisasm" && return 3; }
	for file in "$work/$group"/cubins/*.cubin; do
		"$tool" -c -g "$file" >"$file.sass" 2>&1
		"$tool" -c -hex "$file" >"$file.hex" 2>&1
		"$tool" -json "$file" >"$file.json" 2>&1
	done
	echo "golden $(ls "$work/$group"/cubins/*.sass | wc -l) cubins"
}

# ---- F5, F8, F9: counters of the whole device, the work being in another process ----

pm_step() {
	local name=$1 limit=$2
	shift 2
	step "$name" "$limit" $pm "$work/$group/$name.cap" "what=$name" seconds="$(n 3 1)" "$@"
}

f5() {
	begin_group pm
	background busy 90 $toy busy "$(n 60 12)"
	await busy ready
	background nvml-busy 90 $nvml "$work/pm/nvml-busy.cap" seconds="$(n 50 8)" what=nvml-busy
	[ $dry = yes ] || sleep 3
	pm_step pm-base-1k 30 hz=1000 images=2
	[ $dry = yes ] || sleep 2
	pm_step pm-base-10k 30 hz=10000 images=1
	pm_step pm-biased 30 hz=1000 stamp=biased images=0
	pm_step pm-default 30 hz=1000 stamp=default images=0
	pm_step pm-triage 40 hz=1000 set=triage images=1
	pm_step pm-overflow 30 hz=10000 images=0 overflow=1
	[ $dry = yes ] || sleep 2
	dismiss busy
	dismiss nvml-busy
	step pm-offline 40 $pm --offline "$work/pm/pm-base-1k.cap"
	# question 3, and whether tracing minds
	background pm-beside-pc 60 $pm "$work/pm/pm-beside-pc.cap" what=pm-beside-pc hz=1000 images=0 \
		seconds="$(n 12 3)"
	[ $dry = yes ] || sleep 2
	agent pc-beside-pm 40 "pc=continuous,callbacks=1" $toy stalls "$(n 300 2)"
	agent trace-beside-pm 40 "callbacks=1" $toy launches "$(n 20000 100)"
	settle pm-beside-pc
	background pm-first 30 $pm "$work/pm/pm-first.cap" what=pm-first hz=1000 images=0 seconds="$(n 5 2)"
	[ $dry = yes ] || sleep 2
	pm_step pm-second 20 hz=1000 images=0
	settle pm-first
	end_group
}

# ---- F7: what each mode costs ----

# ROUNDS LIMIT NAME COMMAND…: prints one line a mode and round
matrix() {
	local rounds=$1 limit=$2 name=$3 round mode options
	shift 3
	for ((round = 1; round <= rounds; round++)); do
		step "cost-$name-none-$round" "$limit" "$@"
		for mode in $modes; do
			case $mode in
			null) options=mode=null ;;
			subscribe) options=mode=subscribe ;;
			activity) options=mode=activity ;;
			callbacks) options=callbacks=1,kinds=none ;;
			fp) options=stack=fp ;;
			unwind) options=stack=unwind ;;
			trace) options=graphs=trace ;;
			pc) options=pc=continuous,kinds=none ;;
			esac
			agent "cost-$name-$mode-$round" "$limit" "max=1000,$options" "$@"
		done
	done
}

f7() {
	begin_group cost
	modes="null subscribe activity fp unwind"
	matrix "$(n 3 1)" 30 launches $toy launches "$(n 300000 200)"
	modes="callbacks pc"
	matrix 1 40 launches2 $toy launches "$(n 300000 200)"
	background cost-pm 40 $pm "$work/cost/cost-pm.cap" what=cost-pm hz=10000 images=0 seconds="$(n 8 2)"
	[ $dry = yes ] || sleep 2
	step cost-launches-pm-1 30 $toy launches "$(n 300000 200)"
	settle cost-pm
}

# ---- F10: what goes wrong ----

f10() {
	agent second-subscriber 30 "hold=1,mode=subscribe" $toy second-subscriber 50
	agent exit-without-sync 60 "callbacks=1" $toy exit-without-sync "$(n 200 20)"
	agent kill-self 30 "callbacks=1" $toy kill-self "$(n 20000 500)"
	agent fork-after-init 40 "callbacks=1" $toy fork-after-init "$(n 1000 50)"
	step late 60 env CAPTURE="out=$work/cost/late.cap,what=late,driver=$driver,callbacks=1,cubins=1" $toy late \
		"$(n 100 10)" "$build/libcapture.so"
	step late-pc 60 env CAPTURE="out=$work/cost/late-pc.cap,what=late-pc,pc=continuous" $toy late \
		"$(n 100 10)" "$build/libcapture.so"
	step nobody-trace 40 python3 "$here/make_answers.py" --as-nobody \
		env CUDA_INJECTION64_PATH="$build/libcapture.so" \
		CAPTURE="out=$work/cost/nobody-trace.cap,what=nobody-trace" $toy launches 100
	step nobody-pc 40 python3 "$here/make_answers.py" --as-nobody \
		env CUDA_INJECTION64_PATH="$build/libcapture.so" \
		CAPTURE="out=$work/cost/nobody-pc.cap,what=nobody-pc,pc=continuous" $toy stalls 2
	step nobody-pm 40 python3 "$here/make_answers.py" --as-nobody \
		$pm "$work/cost/nobody-pm.cap" what=nobody-pm seconds=1
}

# NAME FLUSH SECONDS
leak() {
	local seconds=$(($(left) - 25))
	[ "$seconds" -gt "$3" ] && seconds=$3
	agent "leak-$1" $(($3 + 60)) "flush=$2,max=1000,kinds=10" $toy leak "$(n 30000000 300000)" "$seconds"
}

# ---- PyTorch ----

torch() {
	local work_py=$here/torch_work.py
	begin_group torch
	step torch-version 60 python3 -c 'import torch; print("torch", torch.__version__, torch.cuda.is_available())'
	agent torch-eager 90 "callbacks=1,stack=unwind,max=30000" python3 "$work_py" eager "$(n 100 1)"
	agent torch-graph 90 "callbacks=1,max=30000" python3 "$work_py" graph "$(n 500 1)"
	agent torch-profiler 90 "callbacks=1,hold=1,max=5000" python3 "$work_py" eager "$(n 50 1)" --profiler
	agent torch-compile 120 "callbacks=1,stack=unwind,max=30000" python3 "$work_py" compile "$(n 100 1)"
	agent torch-pc 90 "pc=continuous,max=1000" python3 "$work_py" eager "$(n 300 1)"
	end_group
}

torch_cost() {
	local work_py=$here/torch_work.py
	begin_group cost
	modes="null subscribe activity unwind"
	matrix 1 60 eager python3 "$work_py" eager "$(n 1000 1)"
	modes="null activity trace"
	matrix 1 60 torchgraph python3 "$work_py" graph "$(n 5000 1)"
	modes="null subscribe activity trace"
	matrix "$(n 2 1)" 40 graphs $toy graphs "$(n 30000 10)"
}

drift() {
	begin_group clocks
	agent clocks 90 "stamp=default" $toy idle "$(n 40 1)"
	step nvml-later 60 $nvml "$work/clocks/nvml-later.cap" seconds="$(n 10 1)" what=nvml-later
	end_group
}

beside_ncu() {
	begin_group ncu
	command -v ncu >/dev/null || { echo "there is no ncu" >"$work/ncu/ncu.txt" && end_group && return; }
	step ncu-alone 60 ncu --clock-control none --section SpeedOfLight $toy launches 3
	background pm-beside-ncu 60 $pm "$work/ncu/pm-beside-ncu.cap" what=pm-beside-ncu hz=1000 images=0 \
		seconds="$(n 20 2)"
	[ $dry = yes ] || sleep 2
	step ncu-beside-pm 60 ncu --clock-control none --section SpeedOfLight $toy launches 3
	settle pm-beside-ncu
	agent ncu-with-agent 60 "mode=activity" ncu --clock-control none --section SpeedOfLight \
		$toy launches 3
	end_group
}

driver=0
build_all
if [ "$part" = answers ]; then
	f1
	end_group
	f2
	f5
	f4
	f7
	f10
	leak plain none "$(n 45 3)"
	leak forced forced "$(n 45 3)"
	end_group
else
	end_group
	torch
	torch_cost
	leak normal normal "$(n 45 3)"
	end_group
	f4_more
	beside_ncu
	drift
fi
reserve=0
group=base
step answers "$(n 60 30)" python3 "$here/make_answers.py" "$work"
cp "$work/base/answers.txt" "$out/answers.txt" 2>/dev/null || echo "no answers" >"$out/answers.txt"
echo "$part: $SECONDS s, $(grep -c -P '\tok\t' "$steps") steps ok, $(grep -c -P '\tskipped\t' "$steps") skipped"
ls -l "$out"
exit 0
