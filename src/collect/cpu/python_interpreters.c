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

/* For processes without a native stack that contains a frame of the interpreter. */
void cpu_python_find(struct cpu *cpu, struct process *process)
{
	const struct memory_map *memory = process->memory;

	for (size_t i = 0; memory && i < memory->count && !process->python; i++) {
		const struct memory_piece *piece = memory_map_at(memory, i);
		struct code_file *file = piece->file;

		if (file && file->path[0] == '/' &&
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

bool cpu_python_lock(struct cpu *cpu, struct process *process, uint32_t tid, uint64_t address,
		     uint32_t *ret_holder)
{
	struct process_thread *holder;
	uint32_t holder_tid = 0;

	*ret_holder = 0;
	if (!process->python || python_remote_lock(process->python, tid, address, &holder_tid) != 1)
		return false;
	if (holder_tid && holder_tid != tid) {
		holder = process_thread(cpu->processes, process, holder_tid, host_clocks_now_ns());
		*ret_holder = holder ? process_thread_describe(cpu->processes, process, holder) : 0;
	}
	return true;
}
