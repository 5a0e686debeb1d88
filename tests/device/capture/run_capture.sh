#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Captures what CUDA's profiling libraries say on this machine (README.md).
#
#	run_capture.sh answers|more OUT [--dry-run]
#
# answers: what the open questions need, F1 to F10 in short. more: PyTorch, the cost of each mode, the rest.
# Each ends within CAPTURE_BUDGET seconds (520), the build included; a step for which too little is left is
# skipped, and steps.tsv says so. OUT gets at most 8 files of less than 15 MiB, CAPTURE_BYTES (60 MiB) all in all.
# Status 1: a step failed, hung or captured nothing.
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
mkdir -p "$build" "$work/base"
steps=$out/steps.tsv
log=$work/base/script.txt
printf 'step\tseconds\tstatus\tnote\n' >"$steps"
unset CUDA_INJECTION64_PATH CAPTURE CAPTURE_STEP_PID
export LC_ALL=C PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
group=none
bad=0
exec 2> >(tee -a "$log" >&2)

# real COUNT, and the one of a dry run
n() {
	[ $dry = yes ] && echo "$2" || echo "$1"
}

# To whoever runs this, and into the base group
tell() {
	printf '%s\n' "$*" | tee -a "$log"
}

left() {
	echo $((budget - reserve - SECONDS))
}

# BEGIN: tenths of seconds since that $EPOCHREALTIME
since() {
	local tenths=$(((${EPOCHREALTIME/./} - ${1/./}) / 100000))
	echo "$((tenths / 10)).$((tenths % 10))"
}

# ---- steps ----

# What a step has to show, for it to be ok, is in three variables that its caller may set:
#	needs		words that its capture has to have; none: it has no capture
#	lacks		a text that its capture must not have
#	expects		killed: that is how it ends; any: whatever comes of it is an answer
needs=
lacks=
expects=

# NAME: steps of one family hang for one reason; after the first time the others are left out
family_of() {
	case $1 in
	pc-serialized | pc-graphs-serialized | overlap-serialized) echo pc-serialized ;;
	pc-alone | pc-ranges | pc-old-kernel | pc-plain | overlap-*) echo "$1" ;;
	pm-context | pm-triage | pm-overflow | pm-after-pc | leak-base | torch-version) echo "$1" ;;
	pc-* | torch-pc) echo pc-continuous ;;
	cost-*) echo "${1%-*}" ;;
	*) echo "${1%%-*}" ;;
	esac
}
declare -A hung

# NAME STATUS: sets $word, and $missing where something is
judge() {
	local file=$work/$group/$1.cap need
	missing=
	case $2 in
	0) word=ok ;;
	124) word=timeout ;;
	137) [ "$expects" = killed ] && word=ok || word=killed ;;
	3) word=none ;;
	*) word=failed-$2 ;;
	esac
	if [ -n "$needs" ] && grep -aqF exit=stuck "$file" 2>/dev/null; then
		word=stuck
	elif [ $word = ok ] && [ -n "$needs" ]; then
		[ -s "$file" ] || missing="no capture"
		for need in $needs; do
			grep -aqF -- "$need" "$file" 2>/dev/null || missing=${missing:-no $need}
		done
		[ -n "$lacks" ] && grep -aqF -- "$lacks" "$file" 2>/dev/null && missing=${missing:-$lacks}
		[ -n "$missing" ] && word=empty
	fi
	case $word in timeout | killed | stuck) hung[$(family_of "$1")]=$1 ;; esac
	case $word in
	ok | none) ;;
	*) [ "$expects" = any ] || bad=$((bad + 1)) ;;
	esac
}

# NAME SECONDS STATUS LOG
note() {
	local word missing last
	judge "$1" "$3"
	last=$(grep -v '^ *$' "$4" 2>/dev/null | tail -n 1 | tr '\t' ' ' | cut -c 1-200)
	[ -n "$missing" ] && last="$missing; $last"
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$word" "$last" >>"$steps"
	tell "$(printf '%4d s  %-28s %-10s %s' "$SECONDS" "$1" "$word" "$last")"
}

# NAME WHY
skip() {
	printf '%s\t0\tskipped\t%s\n' "$1" "$2" >>"$steps"
	tell "skipped $1: $2"
}

# NAME LIMIT: whether it may begin; sets $limit
may() {
	local room family
	limit=$2
	room=$(left)
	family=$(family_of "$1")
	if [ -n "${CAPTURE_ONLY:-}" ] && ! [[ $1 =~ $CAPTURE_ONLY ]]; then
		return 1
	fi
	if [ -n "${hung[$family]:-}" ]; then
		skip "$1" "${hung[$family]} hung"
		return 1
	fi
	if [ "$room" -lt 4 ]; then
		skip "$1" "$room s are left"
		return 1
	fi
	[ "$limit" -gt "$room" ] && limit=$room
	return 0
}

# PID LIMIT: its status; 137 where not even SIGKILL ends it, as in a call of the driver that does not return
finish() {
	local until=$((SECONDS + $2 + 6))
	while kill -0 "$1" 2>/dev/null; do
		[ $SECONDS -gt $until ] && return 137
		sleep 0.03
	done
	wait "$1"
}

# NAME LIMIT COMMAND…: output to the group's folder
step() {
	local name=$1 begin=$EPOCHREALTIME log_of=$work/$group/$1.txt status
	may "$name" "$2" || return 0
	shift 2
	timeout -k 3 "$limit" "$@" >"$log_of" 2>&1 </dev/null &
	{ finish $! "$limit"; } 2>/dev/null
	status=$?
	note "$name" "$(since "$begin")" $status "$log_of"
	return 0
}

# NAME LIMIT COMMAND…: goes on in the background until `settle`
declare -A behind begun limits
background() {
	local name=$1 log_of=$work/$group/$1.txt
	may "$name" "$2" || return 0
	shift 2
	: >"$log_of"
	timeout -k 3 "$limit" "$@" >"$log_of" 2>&1 </dev/null &
	behind[$name]=$!
	begun[$name]=$EPOCHREALTIME
	limits[$name]=$limit
}

# NAME WORDS: until its output has them, or it ended
await() {
	local i
	[ -n "${behind[$1]:-}" ] || return 0
	for ((i = 0; i < 400; i++)); do
		grep -q "$2" "$work/$group/$1.txt" && return 0
		kill -0 "${behind[$1]}" 2>/dev/null || return 0
		sleep 0.05
	done
	tell "$1 did not say '$2' in 20 s"
}

settle() {
	local status
	[ -n "${behind[$1]:-}" ] || return 0
	{ finish "${behind[$1]}" "${limits[$1]}"; } 2>/dev/null
	status=$?
	unset "behind[$1]"
	note "$1" "$(since "${begun[$1]}")" $status "$work/$group/$1.txt"
}

# NAME: it has done its work
dismiss() {
	local status
	[ -n "${behind[$1]:-}" ] || return 0
	kill -TERM "${behind[$1]}" 2>/dev/null
	{ finish "${behind[$1]}" 3; } 2>/dev/null
	status=$?
	[ $status = 124 ] || [ $status = 143 ] && status=0
	unset "behind[$1]"
	note "$1" "$(since "${begun[$1]}")" $status "$work/$group/$1.txt"
}

# OPTIONS: what a capture made with them has to have
needs_of() {
	needs="started=1 exit=complete"
	lacks=
	[[ $1 =~ (^|,)pc=[csr] ]] && needs="$needs pc.on=1" && lacks="pc.session=samples 0 "
	[[ $1 =~ (^|,)(mode=|kinds=none) ]] || needs="$needs records."
	[[ $1 =~ mode=null ]] && needs=
	return 0
}

# NAME OPTIONS: prints the agent's variable for `env`
capture_of() {
	echo "CAPTURE=out=$work/$group/$1.cap,what=$1,driver=$driver,$2"
}

# NAME LIMIT OPTIONS COMMAND…: with the agent in the program
agent() {
	local name=$1 limit=$2 options=$3 needs=$needs lacks=$lacks
	shift 3
	[ -n "$needs" ] || needs_of "$options"
	step "$name" "$limit" env CUDA_INJECTION64_PATH="$build/libcapture.so" "$(capture_of "$name" "$options")" "$@"
}

# NAME LIMIT OPTIONS COMMAND…: the program loads the agent by hand, when it has a context
late() {
	local name=$1 limit=$2 options=$3 needs lacks
	shift 3
	needs_of "$options"
	step "$name" "$limit" env "$(capture_of "$name" "$options")" "$@"
}

# ---- groups ----

begin_group() {
	group=$1
	mkdir -p "$work/$group"
	chmod 777 "$work/$group"
}

# One file of the group, at once: what comes later may not get there. What others need at least stays free.
bytes=${CAPTURE_BYTES:-$((60 << 20))}
end_group() {
	local file=$out/$part-$group.tar.gz used limit
	used=$(find "$out" -name '*.tar.gz' ! -name "$part-$group.tar.gz" -size +0 -exec cat {} + | wc -c)
	groups_left=$((groups_left - 1))
	limit=$((bytes - used - groups_left * bytes / 12))
	[ $limit -gt $((15 << 20)) ] && limit=$((15 << 20))
	python3 "$here/pack_captures.py" "$work/$group" "$file" "$limit" | tee -a "$log"
	cp "$steps" "$work/steps.tsv"
}

# Between two steps the driver would let the GPU sleep, and waking it takes seconds and resets its clocks.
hold_gpu() {
	if [ -r /dev/nvidia0 ] && [ -w /dev/nvidia0 ]; then
		{ exec 9<>/dev/nvidia0; } 2>/dev/null &&
			tell "the GPU is kept up by a descriptor of /dev/nvidia0" && return
	fi
	tell "the GPU is not kept up: /dev/nvidia0 cannot be opened here"
}

# ---- building ----

compile() {
	local library="capture_cupti.c capture_file.c" parts
	# what an earlier run left is not to be taken for what is built now
	rm -f "$build"/{libcapture.so,capture_toy,capture_pm,capture_nvml}
	cd "$here" || return 1
	local cc="${CC:-gcc} -std=gnu17 -O2 -g -D_GNU_SOURCE -fno-strict-aliasing -fno-omit-frame-pointer -I$source/src -I$source ${CAPTURE_FLAGS:-}"
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

# Prints a program for the place of the one that nvcc could not make; its steps have not what they need.
without_runtime() {
	printf '#!/bin/sh\necho "there is no nvcc, so no program with <<<>>>"\nexit 3\n' >"$build/no_runtime"
	chmod +x "$build/no_runtime"
	echo "$build/no_runtime"
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
	[ -x "$build/capture_runtime" ] || background build-runtime 90 bash -c compile_runtime
	step build 120 bash -c compile
	settle build-runtime
	cupti=$(find_cupti)
	library_path=${LD_LIBRARY_PATH:-}${cupti:+:$cupti}
	tell "libcupti: ${cupti:-only where the loader looks}"
	toy="env LD_LIBRARY_PATH=${library_path#:} $build/capture_toy"
	runtime="env LD_LIBRARY_PATH=${library_path#:} $build/capture_runtime"
	pm="env LD_LIBRARY_PATH=${library_path#:} $build/capture_pm"
	nvml="$build/capture_nvml"
	step check 60 $toy check # the first to wake the GPU
	hold_gpu
	driver=$(sed -n 's/^check driver=//p' "$work/base/check.txt" 2>/dev/null)
	driver=${driver:-0}
	[ -x "$build/capture_runtime" ] || runtime=$(without_runtime)
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
	step machine 20 bash -c machine
	step nvml-idle 20 $nvml "$work/base/nvml-idle.cap" seconds="$(n 3 1)" what=nvml-idle
	step tables 30 bash -c tables
}

# ---- F2, F3, F6: records, callbacks, clocks ----

all_kinds=default+9+8+4+5+17+38
f2() {
	begin_group activity
	local full="callbacks=all,cubins=1,kinds=$all_kinds,max=30000"
	agent launches 20 "$full" $toy launches "$(n 5000 200)"
	agent runtime 20 "$full" $runtime "$(n 5000 50)"
	agent calls 20 "$full" $toy calls "$(n 20 3)"
	agent threads 20 "$full" $toy threads "$(n 100 8)"
	agent graphs-node 20 "$full,graphs=node" $toy graphs "$(n 200 10)"
	agent graphs-trace 20 "$full,graphs=trace" $toy graphs "$(n 200 10)"
	agent copies 20 "$full" $toy copies "$(n 100 5)"
	agent known 20 "callbacks=1,cubins=1,kinds=default+51,max=30000" $toy graphs "$(n 100 10)"
	agent stamp-default 20 "callbacks=1,stamp=default" $toy launches "$(n 3000 100)"
	agent stamp-biased 20 "callbacks=1,stamp=biased" $toy launches "$(n 3000 100)"
	agent stack-unwind 20 "callbacks=1,stack=unwind" $toy launches "$(n 10000 100)"
	agent stack-fp 20 "callbacks=1,stack=fp" $toy launches "$(n 10000 100)"
	agent stack-runtime 20 "callbacks=1,stack=unwind" $runtime "$(n 10000 50)"
	end_group
}

# ---- F4: PC samples ----

f4() {
	begin_group pc
	local ms at
	ms=$(n 200 2)
	agent pc-plain 20 "pc=off" $toy stalls "$ms"
	agent pc-continuous 20 "pc=continuous,cubins=1,callbacks=1" $toy stalls "$ms"
	agent pc-serialized 20 "pc=serialized,cubins=1,callbacks=1" $toy stalls "$ms"
	agent pc-ranges 20 "pc=ranges,callbacks=1" $toy stalls "$ms"
	agent pc-alone 20 "pc=continuous,cubins=1,kinds=none" $toy stalls "$ms"
	agent pc-old-kernel 20 "pc=continuous,kinds=3" $toy stalls "$ms"
	# four kernels that overlap, unless what looks at them serializes them
	agent overlap-plain 20 "callbacks=1" $toy overlap "$(n 20 5)"
	agent overlap-continuous 20 "pc=continuous,callbacks=1" $toy overlap "$(n 20 5)"
	agent overlap-serialized 20 "pc=serialized,callbacks=1" $toy overlap "$(n 20 5)"
	agent overlap-old-kernel 20 "kinds=3" $toy overlap "$(n 20 5)"
	agent pc-runtime 20 "pc=continuous,cubins=1" $runtime "$(n 20000 50)"
	agent pc-threads 20 "pc=continuous,callbacks=1" $toy threads "$(n 500 8)"
	for at in 8 12 16; do
		agent "pc-period-$at" 20 "pc=continuous,period=$at" $toy stalls "$ms"
	done
	late late-pc 20 "pc=continuous,late=1" $toy late "$(n 100 10)" "$build/libcapture.so"
	step golden 30 bash -c "$(declare -f golden); work=$work group=pc here=$here; golden"
	end_group
}

f4_more() {
	local at
	begin_group pc
	for at in 5 6 10 14 20; do
		agent "pc-period-$at" 20 "pc=continuous,period=$at" $toy stalls "$(n 400 2)"
	done
	agent pc-graphs 20 "pc=continuous,callbacks=1" $toy graphs "$(n 5000 10)"
	agent pc-graphs-serialized 20 "pc=serialized,callbacks=1" $toy graphs "$(n 500 10)"
	agent pc-again 20 "pc=continuous,cubins=1,callbacks=1" $toy stalls "$(n 1000 2)"
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

# NAME WORDS…
pm_step() {
	local name=$1 needs="pm.samples="
	shift
	step "$name" 20 $pm "$work/$group/$name.cap" "what=$name" seconds="$(n 4 0.5)" "$@"
}

# NAME SECONDS WORDS…: until `settle`, and it samples when this returns
pm_behind() {
	local name=$1 seconds=$2
	shift 2
	background "$name" $((seconds + 15)) $pm "$work/$group/$name.cap" "what=$name" images=0 seconds="$seconds" "$@"
	await "$name" 'pm ready'
}

# Which of the two ways of sampling excludes the other, and which other.
pm_beside_others() {
	local expects=any
	pm_behind pm-beside-pc "$(n 12 3)" hz=1000
	agent pc-beside-pm 20 "pc=continuous,callbacks=1" $toy stalls "$(n 300 2)"
	agent trace-beside-pm 20 "callbacks=1" $toy launches "$(n 20000 100)"
	settle pm-beside-pc
	background pc-before-pm 25 env CUDA_INJECTION64_PATH="$build/libcapture.so" \
		"$(capture_of pc-before-pm "pc=continuous,callbacks=1,max=20000")" $toy busy "$(n 8 3)" "$(n 512 4)"
	await pc-before-pm 'busy ready'
	pm_step pm-after-pc hz=1000 images=0
	needs="started=1 exit=complete pc.on=1" settle pc-before-pm
	pm_behind pm-first "$(n 8 3)" hz=1000
	pm_step pm-second hz=1000 images=0
	settle pm-first
}

f5() {
	begin_group pm
	background nvml-busy 75 $nvml "$work/pm/nvml-busy.cap" seconds="$(n 70 12)" what=nvml-busy
	await nvml-busy 'nvml ready'
	background busy 75 $toy busy "$(n 70 12)" "$(n 512 4)"
	await busy 'busy ready'
	pm_step pm-base-1k hz=1000 images=2
	# the clocks while nobody samples
	step nvml-between 10 $nvml "$work/pm/nvml-between.cap" seconds="$(n 4 0.5)" what=nvml-between
	pm_step pm-base-10k hz=10000 images=1
	pm_step pm-context hz=1000 images=0 context=1
	pm_step pm-biased hz=1000 stamp=biased images=0
	pm_step pm-default hz=1000 stamp=default images=0
	pm_step pm-triage hz=1000 set=triage images=1
	pm_step pm-overflow hz=10000 images=0 overflow=1
	dismiss busy
	dismiss nvml-busy
	if [ -f "$work/pm/pm-base-1k.cap" ]; then
		step pm-offline 20 $pm --offline "$work/pm/pm-base-1k.cap"
	else
		skip pm-offline "pm-base-1k left nothing"
	fi
	pm_beside_others
	end_group
}

# ---- F7: what each mode costs ----

# ROUNDS LIMIT NAME COMMAND…: a step a mode and round
matrix() {
	local rounds=$1 limit=$2 name=$3 round mode options
	shift 3
	for ((round = 1; round <= rounds; round++)); do
		step "cost-$name-none-$round" "$limit" "$@"
		for mode in $modes; do
			case $mode in
			null) options=mode=null ;;
			subscribe) options=mode=subscribe ;;
			nokinds) options=kinds=none ;;
			activity) options=mode=activity ;;
			callbacks) options=callbacks=1,kinds=none ;;
			fp) options=stack=fp ;;
			unwind) options=stack=unwind ;;
			trace) options=graphs=trace ;;
			pc) options=pc=continuous,kinds=none ;;
			esac
			# an empty kernel gives no PC samples to speak of
			case $mode in
			null) needs= ;;
			pc) needs="started=1 exit=complete pc.on=1" ;;
			*) needs="started=1 exit=complete" ;;
			esac
			agent "cost-$name-$mode-$round" "$limit" "max=1000,$options" "$@"
			needs=
		done
	done
}

f7() {
	begin_group cost
	modes="null subscribe nokinds activity fp unwind"
	matrix "$(n 3 1)" 20 launches $toy launches "$(n 200000 1000)"
	modes="callbacks pc"
	matrix 1 20 launches2 $toy launches "$(n 200000 1000)"
	pm_behind cost-pm "$(n 8 2)" hz=10000
	step cost-launches-pm-1 20 $toy launches "$(n 200000 1000)"
	settle cost-pm
}

# ---- F10: what goes wrong ----

# NAME LIMIT COMMAND…
nobody() {
	local name=$1 limit=$2 needs=$needs expects=any
	shift 2
	step "$name" "$limit" python3 "$here/make_answers.py" --as-nobody "$@"
}

f10() {
	local inject="env CUDA_INJECTION64_PATH=$build/libcapture.so"
	agent second-subscriber 20 "hold=1,mode=subscribe" $toy second-subscriber 50
	needs="started=1 exit=complete" agent exit-without-sync 20 "callbacks=1" $toy exit-without-sync "$(n 200 20)"
	needs="started=1" expects=killed agent kill-self 20 "callbacks=1" $toy kill-self "$(n 20000 500)"
	agent fork-after-init 20 "callbacks=1" $toy fork-after-init "$(n 1000 50)"
	late late 20 "callbacks=1,cubins=1" $toy late "$(n 100 10)" "$build/libcapture.so"
	needs="started=1 exit=complete records." nobody nobody-trace 20 $inject "$(capture_of nobody-trace "")" \
		$toy launches 100
	needs="started=1 exit=complete" nobody nobody-pc 20 $inject "$(capture_of nobody-pc pc=continuous)" $toy stalls 2
	needs="pm.samples=" nobody nobody-pm 20 $pm "$work/cost/nobody-pm.cap" what=nobody-pm seconds=1
}

# NAME OPTIONS SECONDS: replays of a graph, its records flushed or not
leak() {
	local seconds=$(($(left) - 20))
	[ "$seconds" -gt "$3" ] && seconds=$3
	[ "$seconds" -lt 1 ] && skip "leak-$1" "too little is left" && return
	agent "leak-$1" $((seconds + 15)) "max=1000,kinds=10,$2" $toy leak "$(n 30000000 300000)" "$seconds"
}

# The same without any agent: what grows then is not the library's.
leak_base() {
	step leak-base 25 $toy leak "$(n 30000000 100000)" "$(n 10 2)"
}

# ---- PyTorch ----

torch() {
	local work_py=$here/torch_work.py
	begin_group torch
	step torch-version 60 python3 -c '
import sys
try:
    import torch
except ImportError:
    sys.exit(print("there is no PyTorch") or 3)
print("torch", torch.__version__, torch.cuda.is_available())
sys.exit(0 if torch.cuda.is_available() else 3)'
	if ! grep -q '^torch .* True' "$work/torch/torch-version.txt" 2>/dev/null; then
		return
	fi
	agent torch-eager 60 "callbacks=1,stack=unwind,max=30000" python3 "$work_py" eager "$(n 100 1)"
	agent torch-graph 60 "callbacks=1,max=30000" python3 "$work_py" graph "$(n 500 1)"
	agent torch-profiler 60 "callbacks=1,hold=1,max=5000" python3 "$work_py" eager "$(n 50 1)" --profiler
	agent torch-pc 60 "pc=continuous,max=1000" python3 "$work_py" eager "$(n 300 1)"
	agent torch-compile 90 "callbacks=1,stack=unwind,max=30000" python3 "$work_py" compile "$(n 100 1)"
}

torch_cost() {
	local work_py=$here/torch_work.py
	begin_group cost
	if grep -q '^torch .* True' "$work/torch/torch-version.txt" 2>/dev/null; then
		modes="null subscribe nokinds activity unwind"
		matrix 1 45 eager python3 "$work_py" eager "$(n 1000 1)"
		modes="null activity trace"
		matrix 1 45 torchgraph python3 "$work_py" graph "$(n 5000 1)"
	fi
	modes="null subscribe nokinds activity trace"
	matrix "$(n 2 1)" 20 graphs $toy graphs "$(n 10000 50)"
	end_group
}

drift() {
	needs="started=1 exit=complete" agent clocks $(($(n 40 1) + 20)) "stamp=default" $toy idle "$(n 40 1)"
	step nvml-later 25 $nvml "$work/rest/nvml-later.cap" seconds="$(n 10 1)" what=nvml-later
}

beside_ncu() {
	local expects=any
	command -v ncu >/dev/null || { echo "there is no ncu" >"$work/rest/ncu.txt" && return; }
	step ncu-alone 60 ncu --clock-control none --section SpeedOfLight $toy launches 3
	pm_behind pm-beside-ncu "$(n 20 2)" hz=1000
	step ncu-beside-pm 60 ncu --clock-control none --section SpeedOfLight $toy launches 3
	settle pm-beside-ncu
	needs=started=1 agent ncu-with-agent 60 "mode=activity" ncu --clock-control none --section SpeedOfLight \
		$toy launches 3
}

# ---- the two parts ----

driver=0
groups_left=6
build_all
if [ "$part" = answers ]; then
	f1
	end_group
	groups_left=$((groups_left + 1)) # it is packed again at the end
	f2
	f5
	f4
	f7
	f10
	end_group
	begin_group leak
	leak_base
	leak pool flush=none,pool=8 "$(n 10 1)"
	leak plain flush=none "$(n 45 2)"
	leak forced flush=forced "$(n 45 2)"
	end_group
else
	end_group
	groups_left=$((groups_left + 1))
	torch
	end_group
	torch_cost
	f4_more
	begin_group rest
	beside_ncu
	drift
	end_group
	begin_group leak
	leak_base
	leak pool-forced flush=forced,pool=8 "$(n 10 1)"
	leak normal flush=normal "$(n 45 2)"
	end_group
fi
reserve=0
group=base
step answers "$(n 60 30)" python3 "$here/make_answers.py" "$work"
cp "$work/base/answers.txt" "$out/answers.txt" 2>/dev/null || echo "no answers" >"$out/answers.txt"
count() {
	awk -F '\t' -v "word=$1" '$3 ~ word { count++ } END { print count + 0 }' "$steps"
}
tell "$part: $SECONDS s, $(count '^ok$') steps ok, $(count '^none$') without what they need, $(count '^skipped$') skipped," \
	"$(count '^empty$') empty, $(count '^(timeout|killed|stuck)$') hung, $(count '^failed') failed; $bad of these not expected"
end_group
ls -l "$out"
[ $bad = 0 ]
