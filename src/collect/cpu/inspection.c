/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/inspection.c - whether blocked threads of processes may be inspected
 *
 * Runs in:  the recorder
 * Gets:     processes whose inspection the kernel has refused
 * Gives:    notes and warnings with the remedy
 * Owns:     nothing
 * Fails:    never
 * Why a trial: seccomp filters, Yama and capabilities all may refuse the inspection. Inspecting a
 *           child of the recorder as a trial takes 1 ms and shows the effect of all three.
 */
#include "collect/cpu/cpu_private.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "base/error.h"
#include "collect/cpu/perf_rights.h"
#include "collect/proc.h"

/* Whether the recorder may inspect blocked threads. The first call tries it on a child of its own;
 * that takes 1 ms, while the profiled program already runs. */
bool cpu_can_look(struct cpu *cpu)
{
	char text[1200];

	if (cpu->blocked.has_tried)
		return cpu->blocked.can_look;
	cpu->blocked.has_tried = true;
	cpu->blocked.can_look = blocked_try() == 0;
	if (cpu->blocked.can_look)
		return true;
	snprintf(text, sizeof(text), "wait locations are not recorded: %s", error_text());
	error_clear();
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	recording_warn(cpu->recording, text);
	return false;
}

/* Reports the first process of each reason at once, because a command may remove the reason. */
void cpu_note_closed(struct cpu *cpu, struct process *process)
{
	const int error = proc_try(process->row.pid);
	char name[64] = "", rights[PATH_MAX + 300], text[PATH_MAX + 600];

	if (process->is_closed || !cpu_can_look(cpu))
		return;
	process->is_closed = true;
	cpu->blocked.closed++;
	if (cpu->blocked.is_reported[error != 0])
		return;
	cpu->blocked.is_reported[error != 0] = true;
	if (error)
		snprintf(rights, sizeof(rights),
			 "it excludes debuggers, or has rights that its user lacks: record as "
			 "root (sudo duet record)");
	else
		ptrace_rights_text(ptrace_scope(), false, -EPERM, rights, sizeof(rights));
	proc_thread_name(process->row.pid, process->row.pid, name);
	snprintf(text, sizeof(text),
		 "wait locations and Python functions of process %u ('%s') are missing: %s",
		 process->row.pid, name, rights);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
	/* a program that excludes debuggers itself gets a hint, a rule of the system a warning */
	(error ? recording_hint : recording_warn)(cpu->recording, text);
}

void cpu_note_all_closed(struct cpu *cpu)
{
	char text[160];

	if (cpu->blocked.closed < 2)
		return;
	snprintf(text, sizeof(text),
		 "wait locations and Python functions of %llu processes are missing",
		 (unsigned long long)cpu->blocked.closed);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}
