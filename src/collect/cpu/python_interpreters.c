/* SPDX-License-Identifier: MIT
 *
 * collect/cpu/python_interpreters.c - finds and opens the Python interpreters of processes
 *
 * Runs in:  the recorder
 * Gets:     processes and their mappings
 * Gives:    process->python, with which the frames of its threads can be read
 * Owns:     nothing; the process owns its opened interpreter
 * Fails:    with a note; samples of the process then have the interpreter's native frames
 * Why an interpreter that was refused is not tried again: the result would be the same, except if
 *           the interpreter was not initialised yet. Then it is tried again.
 */
#include "collect/cpu/cpu_private.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "collect/guest/stacks.h"
#include "collect/host_clocks.h"
#include "collect/stack/memory_map.h"

uint32_t cpu_python_of(struct cpu *cpu, const struct process *process, struct code_file *file)
{
	struct stacks_file about = {.path = file->path};

	if (file->python != PYTHON_NOT_ASKED)
		return file->python;
	code_files_describe(&cpu->walker->files, file);
	about.path_string = file->path_string;
	about.build_id_string = file->build_id_string;
	file->python = stacks_python(cpu->recording, process->row.pid,
				     process->exe ? process->exe : "", &about);
	return file->python;
}

/* Finds the load address of a file: the number to add to its symbol values, computed from one
 * mapped code segment. */
static bool find_load_address(int fd, const struct memory_piece *piece, uint64_t *ret_address)
{
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (pread_all(fd, &head, sizeof(head), 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_phentsize != sizeof(part))
		return false;
	for (uint64_t i = 0; i < head.e_phnum; i++) {
		if (pread_all(fd, &part, sizeof(part), head.e_phoff + i * sizeof(part)))
			return false;
		if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) ||
		    piece->file_offset + (piece->end - piece->start) <= part.p_offset ||
		    piece->file_offset >= part.p_offset + part.p_filesz)
			continue;
		*ret_address = piece->start - (part.p_vaddr + piece->file_offset - part.p_offset);
		return true;
	}
	return false;
}

static bool open_piece(struct cpu *cpu, const struct process *process,
		       const struct memory_piece *piece, struct python_remote_file *ret_file)
{
	ret_file->fd = code_files_open(&cpu->walker->files, piece->file, process->row.pid);
	if (ret_file->fd < 0)
		return false;
	if (find_load_address(ret_file->fd, piece, &ret_file->load_address))
		return true;
	close(ret_file->fd);
	return false;
}

static const struct memory_piece *find_program(const struct process *process)
{
	const struct memory_map *memory = process->memory;

	for (size_t i = 0; process->exe && i < memory->count; i++) {
		const struct memory_piece *piece = memory_map_at(memory, i);

		if (piece->file && !strcmp(piece->file->path, process->exe))
			return piece;
	}
	return NULL;
}

/* Notes each text once, because most processes of a recording run the same Python. */
static void note_refused(struct cpu *cpu)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "the Python functions of a process are unknown, its samples have the "
		 "interpreter's native frames instead: %s",
		 error_text());
	if (identities_find(&cpu->python.notes, text))
		return;
	identities_remember(&cpu->python.notes, text, 1);
	recording_note(cpu->recording, "cpu", COLLECTOR_PARTIAL, 0, text);
}

/* python_remote_new returns -EAGAIN while a new interpreter is not initialised; a later call tries
 * again. */
void cpu_python_open(struct cpu *cpu, struct process *process, const struct memory_piece *piece)
{
	const struct memory_piece *found = find_program(process);
	struct python_remote_file file, program = {.fd = -1};
	uint64_t begin_ns = host_clocks_now_ns();
	bool has_program;
	int error;

	if (!cpu->python.is_wanted || process->python || process->is_python_refused ||
	    !lookup_budget_is_due(&process->looks, begin_ns) ||
	    !open_piece(cpu, process, piece, &file))
		return;
	has_program =
		found && found->file != piece->file && open_piece(cpu, process, found, &program);
	error = python_remote_new(process->row.pid, &file, has_program ? &program : NULL,
				  &process->python);
	close(file.fd);
	if (has_program)
		close(program.fd);
	cpu->python.is_there |= error == 0;
	if (!error && cpu->rings)
		perf_rings_wake(cpu->rings);
	process->is_python_refused = error && error != -EAGAIN;
	if (error == -EPERM && cpu_can_look(cpu))
		cpu_note_closed(cpu, process);
	else if (error == -EPERM || error == -ENOTSUP)
		note_refused(cpu);
	if (error)
		error_clear();
	lookup_budget_spend(&process->looks, begin_ns, host_clocks_now_ns());
}

/* name: part of the file's name; "": any file. */
static void find_interpreter(struct cpu *cpu, struct process *process, const char *name)
{
	const struct memory_map *memory = process->memory;

	for (size_t i = 0; memory && i < memory->count && !process->python; i++) {
		const struct memory_piece *piece = memory_map_at(memory, i);
		struct code_file *file = piece->file;

		if (file && file->path[0] == '/' && strstr(strrchr(file->path, '/'), name) &&
		    cpu_python_of(cpu, process, file) != PYTHON_NONE)
			cpu_python_open(cpu, process, piece);
	}
}

void cpu_python_watch(struct cpu *cpu, struct process *process)
{
	struct kernel_python places;

	if (!cpu->who.is_ready || process->is_python_watched || !process->python ||
	    python_remote_places(process->python, &places))
		return;
	process->is_python_watched = true;
	kernel_watch_add_python(cpu->who.watch, process->row.pid, &places);
}

/* For processes without a native stack that contains a frame of the interpreter. */
void cpu_python_find(struct cpu *cpu, struct process *process)
{
	find_interpreter(cpu, process, "");
}

/* For a recording of the whole machine, which has no records of mappings, and may have looked at
 * the process before its exec. */
static bool runs_python(uint32_t pid)
{
	char path[64], exe[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	length = readlink(path, exe, sizeof(exe) - 1);
	exe[length > 0 ? length : 0] = '\0';
	return strstr(exe, "python") != NULL;
}

/* A process may wait for the lock before the first stack with a frame of the interpreter was seen.
 * Searches after 1, 2, 4 … waits, because most programs have no interpreter. */
static void find_for_wait(struct cpu *cpu, struct process *process)
{
	uint32_t looks;

	if (process->python || process->is_python_refused || !cpu->python.is_wanted)
		return;
	looks = ++process->python_looks;
	if (looks & (looks - 1))
		return;
	if (cpu->who.is_machine && runs_python(process->row.pid))
		cpu_read_memory(cpu, process);
	find_interpreter(cpu, process, "python");
}

/* The trace's id of a thread; 0 for one that is younger than the wait: its thread state may lie
 * where the holder's was. */
static uint32_t describe_holder(struct cpu *cpu, struct process *process, uint32_t tid,
				uint64_t since_ns)
{
	struct process_thread *holder = process_thread(cpu->processes, process, tid, since_ns);

	return holder && holder->row.begin_ns <= since_ns
		       ? process_thread_describe(cpu->processes, process, holder)
		       : 0;
}

bool cpu_python_lock(struct cpu *cpu, struct process *process, const struct cpu_futex *futex,
		     struct cpu_lock *ret_lock)
{
	const struct kernel_lock *copied = futex->copied;
	struct python_remote_copy copy = {.address = futex->address - KERNEL_BEFORE_LOCK};
	struct python_remote_holder holder = {0};
	uint64_t lock;

	*ret_lock = (struct cpu_lock){0};
	find_for_wait(cpu, process);
	if (!process->python || python_remote_lock(process->python, futex->address, &lock) != 1)
		return false;
	if (copied) {
		copy.bytes = copied->before;
		copy.size = sizeof(copied->before);
	}
	if (python_remote_holder(process->python, futex->tid, lock, copied ? &copy : NULL,
				 &holder) == 0 &&
	    holder.tid && holder.tid != futex->tid)
		*ret_lock = (struct cpu_lock){
			describe_holder(cpu, process, holder.tid, futex->since_ns),
			holder.switches};
	return true;
}
