/* SPDX-License-Identifier: MIT
 *
 * collect/start/rights.c - the recorder's capabilities, and how it drops them
 *
 * Runs in:  the recorder, in each thread for itself; duet doctor
 * Gets:     the capability sets of the calling thread
 * Gives:    smaller sets
 * Owns:     nothing
 * Fails:    never; sets that cannot be read count as empty, and the kernel never refuses a smaller
 *           set
 * Why:      the recorder parses untrusted data: memory and files of programs, records of guests. A
 *           bug in this parsing could give an attacker the recorder's rights. The recorder
 *           therefore drops the rights to change the kernel as soon as nothing is left to load.
 */
#include "collect/start/rights.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

#define RIGHT(capability) (UINT64_C(1) << (capability))

/* Added in Linux 5.8 and 5.9; older headers lack them. */
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_PERFMON            38
#define CAP_BPF                39
#define CAP_CHECKPOINT_RESTORE 40
#endif
enum { LAST_CAPABILITY = CAP_CHECKPOINT_RESTORE };

static const uint64_t to_load = RIGHT(CAP_BPF) | RIGHT(CAP_PERFMON);

/* Each with the purpose that needs it. */
static const uint64_t to_record =
	RIGHT(CAP_SYS_PTRACE) |        /* memory and /proc of other users' programs, or of one that
					* excludes debuggers */
	RIGHT(CAP_DAC_READ_SEARCH) |   /* … and its files, for function names */
	RIGHT(CAP_DAC_OVERRIDE) |      /* the trace and its archive in a user's own folder */
	RIGHT(CAP_FOWNER) |            /* … replacing a user's file in /tmp */
	RIGHT(CAP_KILL) |              /* to pass a signal on to another user's program */
	RIGHT(CAP_SYSLOG) |            /* addresses in /proc/kallsyms, for modules loaded later */
	RIGHT(CAP_CHECKPOINT_RESTORE); /* /proc/PID/map_files: a library that was deleted */

/* ---- sets ------------------------------------------------------------------------------------ */

struct rights {
	uint64_t effective, permitted;
};

static uint64_t join(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

static struct rights held(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capget, &head, sets))
		return (struct rights){0};
	return (struct rights){join(sets[0].effective, sets[1].effective),
			       join(sets[0].permitted, sets[1].permitted)};
}

/* Drops all capabilities but `kept`. The inheritable set becomes empty, because no program that
 * duet starts should have these rights. */
static void keep(uint64_t kept)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
	const struct rights now = held();

	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		sets[i].effective = (uint32_t)((now.effective & kept) >> 32 * i);
		sets[i].permitted = (uint32_t)((now.permitted & kept) >> 32 * i);
	}
	syscall(SYS_capset, &head, sets);
}

/* Reduces the bounding set, from which root would get capabilities again at each exec. An error is
 * ignored: it means that the thread lacks CAP_SETPCAP. */
static void bound(uint64_t kept)
{
	for (int i = 0; i <= LAST_CAPABILITY; i++)
		if (!(kept & RIGHT(i)))
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
}

/* ---- dropping capabilities ------------------------------------------------------------------- */

bool rights_can_load(void)
{
	const uint64_t effective = held().effective;

	return (effective & to_load) == to_load || (effective & RIGHT(CAP_SYS_ADMIN));
}

bool rights_can_observe(void)
{
	return held().effective & (RIGHT(CAP_PERFMON) | RIGHT(CAP_SYS_ADMIN));
}

/* Whether this is a user namespace other than the machine's, which maps all ids to themselves. */
static bool is_in_user_namespace(void)
{
	auto_fclose FILE *file = fopen("/proc/self/uid_map", "re");
	unsigned int inside, outside, count;

	return file && fscanf(file, "%u %u %u", &inside, &outside, &count) == 3 &&
	       (inside || outside || count != UINT32_MAX);
}

const char *rights_why_root_is_refused(void)
{
	if (geteuid() != 0)
		return NULL;
	if (!(held().effective & RIGHT(CAP_SYS_PTRACE)))
		return "this root lacks cap_sys_ptrace, as in a container; start the container "
		       "with --cap-add SYS_PTRACE, or record from the host";
	if (is_in_user_namespace())
		return "duet runs in a user namespace (a container) whose root has no rights over "
		       "this process; record from the host";
	return "the kernel refuses this even to root with cap_sys_ptrace. A security module "
	       "(SELinux, AppArmor) or a sandbox protects the process; its log (dmesg) may name "
	       "the rule";
}

void rights_keep_loading(bool of_modules)
{
	const bool has_own = (held().effective & to_load) == to_load;

	keep(has_own && !of_modules ? to_load : to_load | RIGHT(CAP_SYS_ADMIN));
}

void rights_keep_observing(void)
{
	const bool has_own = held().effective & RIGHT(CAP_PERFMON);

	keep(has_own ? RIGHT(CAP_PERFMON) : RIGHT(CAP_SYS_ADMIN));
}

void rights_keep_none(void)
{
	keep(0);
}

void rights_keep_recording(bool keeps_bpf)
{
	const uint64_t kept = to_record | (keeps_bpf ? RIGHT(CAP_BPF) : 0);

	bound(kept);
	keep(kept);
}

void rights_keep_agent(bool keeps_events)
{
	const uint64_t kept = to_record | (keeps_events ? to_load : 0);

	bound(kept);
	keep(kept);
}

void rights_keep_reading(void)
{
	bound(RIGHT(CAP_DAC_READ_SEARCH));
	keep(RIGHT(CAP_DAC_READ_SEARCH));
}

/* By system calls of this thread alone: the C library would change all threads, and ends the
 * process if one of them has no right to. A saved id may be taken without a right. */
int rights_enter_saved_user(void)
{
	const uint64_t to_change =
		RIGHT(CAP_DAC_OVERRIDE) | RIGHT(CAP_FOWNER) | RIGHT(CAP_KILL) | RIGHT(CAP_CHOWN);
	const int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	uid_t real, effective, saved;
	gid_t real_group, effective_group, saved_group;

	if (bits < 0 || !(bits & SECBIT_NO_SETUID_FIXUP) || getresuid(&real, &effective, &saved) ||
	    getresgid(&real_group, &effective_group, &saved_group))
		return 0;
	if (syscall(SYS_setresgid, saved_group, saved_group, saved_group) ||
	    syscall(SYS_setresuid, saved, saved, saved))
		return -errno;
	bound(held().permitted & ~to_change);
	keep(held().permitted & ~to_change);
	return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* cap_syslog is for addresses in /proc/kallsyms: ordinary users see them only if
 * kernel.perf_event_paranoid is at most 1 and kernel.kptr_restrict is 0. */
#define CAPABILITIES "cap_perfmon,cap_syslog"

/* Whether the command must name this capability: it is wanted, or duet's file already has it (a
 * user other than root gets capabilities only from the file). */
static bool is_named(unsigned int further, unsigned int which, uint64_t right)
{
	return (further & which) || (geteuid() && (held().permitted & right));
}

void rights_setcap_text(unsigned int further, char *ret_text, size_t size)
{
	char duet[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", duet, sizeof(duet) - 1);

	if (length < 0)
		length = snprintf(duet, sizeof(duet), "FILE");
	duet[length] = '\0';
	snprintf(ret_text, size,
		 "give duet alone the right: 'sudo setcap " CAPABILITIES "%s%s+ep %s'",
		 is_named(further, RIGHTS_BPF, RIGHT(CAP_BPF)) ? ",cap_bpf" : "",
		 is_named(further, RIGHTS_LOOKS, RIGHT(CAP_SYS_PTRACE)) ? ",cap_sys_ptrace" : "",
		 duet);
}
