/* SPDX-License-Identifier: MIT
 *
 * unwind_walk and unwind_table on stacks of a living program, against elfutils' libdwfl; on stacks
 * made by hand.
 *
 *	test_unwind_walk VICTIM [STOPS]
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "harness.h"
#include "symbol/proc_maps.h"
#include "symbol/elf/unwind_table.h"
#include "symbol/elf/unwind_walk.h"

enum { MAX_FRAMES = 2048, STACK_BYTES = 64 << 10, MAX_FILES = 256 };

static const char *victim_path;
static int stops = 3000;

/* ---- stacks made by hand --------------------------------------------------------------------- */

/* Addresses of code, each with a rule of its own. */
enum {
	AT_SP = 0x401000, /* frame of 16 bytes, rbp at its begin - 16 */
	AT_BP = 0x402000, /* begins at rbp + 16 */
	AT_END = 0x403000,
	AT_NONE = 0x404000, /* code without a table */
	AT_SIGNAL = 0x405000,
	AT_POINTER = 0x406000,
	AT_PLAIN = 0x407000, /* frame of 8 bytes, rbp as it was */
	AT_CALL = 0x408000,  /* as AT_END, and behind a call */
	AT_POPPED = 0x409000 /* rbp was popped */
};
#define SP UINT64_C(0x7ffc00001000)

static union unwind_rule find_made_rule(void *context, uint64_t pc)
{
	static const struct {
		uint64_t pc;
		union unwind_rule rule;
	} rules[] = {
		{AT_SP, {.type = RULE_SP, .cfa = 16, .saved = BP_AT_CFA, .bp = -16}},
		{AT_BP, {.type = RULE_BP, .cfa = 16, .saved = BP_AT_CFA, .bp = -16}},
		{AT_END, {.type = RULE_OUTERMOST}},
		{AT_SIGNAL, {.type = RULE_SIGNAL}},
		{AT_POINTER, {.type = RULE_BP_POINTER, .cfa = -8, .saved = BP_AT_BP, .bp = 0}},
		{AT_PLAIN, {.type = RULE_SP, .cfa = 8}},
		{AT_CALL, {.type = RULE_OUTERMOST}},
		{AT_POPPED, {.type = RULE_SP, .cfa = 8, .saved = BP_AT_CFA, .bp = -16}},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (pc - rules[i].pc < 0x800 || pc + 1 == rules[i].pc)
			return rules[i].rule;
	return (union unwind_rule){.type = RULE_UNKNOWN};
}

static enum unwind_code find_made_code(void *context, uint64_t pc)
{
	return pc >> 12 == AT_CALL >> 12           ? UNWIND_CODE_AFTER_CALL
	       : pc >= AT_SP && pc < AT_POPPED + 1 ? UNWIND_CODE_SOME
						   : UNWIND_CODE_NONE;
}

struct made {
	uint64_t words[40];
	size_t count;
	uint64_t ip, bp;
	bool has_no_bp, can_guess;
	size_t most;
	/* what it becomes */
	struct unwind_walk_frame frames[16];
	enum unwind_walk_end end;
};

static size_t walk_made(struct made *made)
{
	struct unwind_state state = {made->ip,        SP,
				     made->bp,        (const uint8_t *)made->words,
				     made->count * 8, !made->has_no_bp};

	return unwind_walk(&state, find_made_rule, made->can_guess ? find_made_code : NULL, NULL,
			   made->frames, made->most ? made->most : 16, &made->end);
}

TEST(by_sp_and_bp)
{
	struct made made = {.ip = AT_SP,
			    .bp = 1,
			    .words = {SP + 32, AT_BP, 5, 5, SP + 64, AT_END, 0, 0},
			    .count = 8};

	CHECK_EQUAL(walk_made(&made), 3);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
	CHECK_EQUAL(made.frames[0].pc, AT_SP);
	CHECK(!made.frames[0].is_return);
	CHECK_EQUAL(made.frames[1].pc, AT_BP);
	CHECK(made.frames[1].is_return);
	CHECK_EQUAL(made.frames[2].pc, AT_END);
	CHECK(!made.frames[2].is_guessed);
}

TEST(by_pointer)
{
	/* the frame's begin is kept at rbp - 8, its own rbp at rbp */
	struct made made = {.ip = AT_POINTER,
			    .bp = SP + 16,
			    .words = {0, SP + 40, SP + 48, 0, AT_BP, 0, 1, AT_END},
			    .count = 8};

	CHECK_EQUAL(walk_made(&made), 3);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
	CHECK_EQUAL(made.frames[1].pc, AT_BP);
	CHECK_EQUAL(made.frames[2].pc, AT_END);
}

TEST(through_a_signal)
{
	struct made made = {.ip = AT_SIGNAL, .bp = 1, .count = 40};

	made.words[120 / 8] = SP + 37 * 8;
	made.words[160 / 8] = SP + 30 * 8;
	made.words[168 / 8] = AT_BP;
	made.words[38] = AT_END;
	CHECK_EQUAL(walk_made(&made), 3);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
	CHECK_EQUAL(made.frames[1].pc, AT_BP);
	CHECK(!made.frames[1].is_return);
	CHECK(made.frames[2].is_return);
	made.words[160 / 8] = SP + (1 << 20); /* the handler ran on a stack of its own */
	made.words[168 / 8] = AT_PLAIN;
	CHECK_EQUAL(walk_made(&made), 2);
	CHECK_EQUAL(made.end, UNWIND_WALK_STACK_SHORT);
}

TEST(a_short_copy)
{
	struct made made = {.ip = AT_SP, .bp = 1, .words = {SP + 32, AT_BP, 5, 5, SP + 64, AT_END}};

	CHECK_EQUAL(walk_made(&made), 1);
	CHECK_EQUAL(made.end, UNWIND_WALK_STACK_SHORT);
	made.count = 1;
	CHECK_EQUAL(walk_made(&made), 1);
	CHECK_EQUAL(made.end, UNWIND_WALK_STACK_SHORT);
	for (made.count = 2; made.count < 6; made.count++) {
		CHECK_EQUAL(walk_made(&made), 2);
		CHECK_EQUAL(made.end, UNWIND_WALK_STACK_SHORT);
	}
	CHECK_EQUAL(walk_made(&made), 3);
}

TEST(no_rule)
{
	struct made made = {.ip = AT_NONE, .bp = SP, .words = {SP + 16, AT_END}, .count = 2};

	CHECK_EQUAL(walk_made(&made), 1);
	CHECK_EQUAL(made.end, UNWIND_WALK_NO_RULE);
}

TEST(broken)
{
	/* rbp points below the frame that was left */
	struct made made = {.ip = AT_SP, .words = {SP, AT_BP, AT_END, 0}, .count = 4};

	CHECK_EQUAL(walk_made(&made), 2);
	CHECK_EQUAL(made.end, UNWIND_WALK_BROKEN);
	made = (struct made){.ip = AT_PLAIN, .words = {UINT64_C(1) << 60}, .count = 1};
	CHECK_EQUAL(walk_made(&made), 1);
	CHECK_EQUAL(made.end, UNWIND_WALK_BROKEN);
	made = (struct made){.ip = 0, .words = {AT_END}, .count = 1};
	CHECK_EQUAL(walk_made(&made), 0);
	CHECK_EQUAL(made.end, UNWIND_WALK_BROKEN);
	made = (struct made){.ip = AT_BP, .bp = UINT64_MAX - 8, .words = {1}, .count = 1};
	CHECK_EQUAL(walk_made(&made), 1);
	CHECK_EQUAL(made.end, UNWIND_WALK_BROKEN);
}

TEST(returns_to_nowhere)
{
	struct made made = {.ip = AT_PLAIN, .words = {AT_PLAIN, 0, AT_END}, .count = 3};

	CHECK_EQUAL(walk_made(&made), 2);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
}

TEST(full)
{
	struct made made = {.ip = AT_PLAIN,
			    .words = {AT_PLAIN, AT_PLAIN, AT_PLAIN, AT_END},
			    .count = 4,
			    .most = 4};

	CHECK_EQUAL(walk_made(&made), 4);
	CHECK_EQUAL(made.end, UNWIND_WALK_FULL);
	made.most = 5;
	CHECK_EQUAL(walk_made(&made), 5);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
}

TEST(without_bp)
{
	struct made made = {.ip = AT_BP, .has_no_bp = true, .words = {SP, AT_END}, .count = 2};

	CHECK_EQUAL(walk_made(&made), 1);
	CHECK_EQUAL(made.end, UNWIND_WALK_NO_RULE);
	/* an inner frame had saved it */
	made = (struct made){.ip = AT_PLAIN,
			     .has_no_bp = true,
			     .words = {AT_SP, SP + 32, AT_BP, 0, 7, AT_END},
			     .count = 6};
	CHECK_EQUAL(walk_made(&made), 4);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
}

TEST(popped_bp)
{
	struct made made = {
		.ip = AT_POPPED, .bp = SP + 16, .words = {AT_BP, 0, 1, AT_END}, .count = 4};

	CHECK_EQUAL(walk_made(&made), 3);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
}

TEST(guessed_leaf)
{
	struct made made = {.ip = AT_NONE, .can_guess = true, .words = {AT_CALL}, .count = 1};

	CHECK_EQUAL(walk_made(&made), 2);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
	CHECK_EQUAL(made.frames[1].pc, AT_CALL);
	CHECK(made.frames[1].is_return && made.frames[1].is_guessed);
	CHECK(!made.frames[0].is_guessed);
	made.words[0] = AT_END; /* code, but no call before it */
	CHECK_EQUAL(walk_made(&made), 1);
	CHECK_EQUAL(made.end, UNWIND_WALK_NO_RULE);
}

TEST(guessed_by_bp)
{
	struct made made = {.ip = AT_NONE,
			    .bp = SP + 8,
			    .can_guess = true,
			    .words = {5, SP + 24, AT_NONE, SP + 40, AT_BP, 7, AT_END},
			    .count = 7};

	/* two frames without rules, then one that needs the rbp they kept */
	CHECK_EQUAL(walk_made(&made), 4);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
	CHECK(made.frames[1].is_guessed && made.frames[2].is_guessed && !made.frames[3].is_guessed);
	made.bp = SP + 1;
	CHECK_EQUAL(walk_made(&made), 1);
	made.bp = SP - 8;
	CHECK_EQUAL(walk_made(&made), 1);
	made.bp = UINT64_MAX - 7;
	CHECK_EQUAL(walk_made(&made), 1);
	made.has_no_bp = true;
	CHECK_EQUAL(walk_made(&made), 1);
	CHECK_EQUAL(made.end, UNWIND_WALK_NO_RULE);
}

/* A frame of which nothing is known: behind what is no code, code without a call before it and a
 * call in code without tables comes the one. */
TEST(guessed_by_search)
{
	struct made made = {.ip = AT_NONE,
			    .bp = 3,
			    .can_guess = true,
			    .words = {5, AT_END, AT_CALL + 0x900, 7, AT_CALL, AT_END},
			    .count = 6};

	CHECK_EQUAL(walk_made(&made), 2);
	CHECK_EQUAL(made.end, UNWIND_WALK_OUTERMOST);
	CHECK_EQUAL(made.frames[1].pc, AT_CALL);
	CHECK(made.frames[1].is_return && made.frames[1].is_guessed);
	made.count = 4; /* the copy ends before it */
	CHECK_EQUAL(walk_made(&made), 1);
	CHECK_EQUAL(made.end, UNWIND_WALK_NO_RULE);
	made.can_guess = false;
	made.count = 6;
	CHECK_EQUAL(walk_made(&made), 1);
}

TEST(after_call)
{
	static const struct {
		uint8_t bytes[7];
		bool is_call;
	} cases[] = {
		{{0, 0, 0xe8, 1, 2, 3, 4}, true},       /* call rel32 */
		{{0, 0, 0, 0, 0, 0xff, 0xd0}, true},    /* call *%rax */
		{{0, 0, 0, 0, 0, 0xff, 0x10}, true},    /* call *(%rax) */
		{{0, 0, 0, 0, 0xff, 0x50, 0x18}, true}, /* call *0x18(%rax) */
		{{0, 0, 0, 0, 0xff, 0x14, 0xc0}, true}, /* call *(%rax,%rax,8) */
		{{0, 0, 0, 0xff, 0x54, 0x24, 8}, true}, /* call *8(%rsp) */
		{{0, 0xff, 0x15, 1, 2, 3, 4}, true},    /* call *1(%rip) */
		{{0, 0xff, 0x92, 1, 2, 3, 4}, true},    /* call *1(%rdx) */
		{{0xff, 0x94, 0xc3, 1, 2, 3, 4}, true}, /* call *1(%rbx,%rax,8) */
		{{0xff, 0x14, 0xc5, 1, 2, 3, 4}, true}, /* call *1(,%rax,8) */
		{{0, 0, 0, 0, 0, 0xff, 0xe0}, false},   /* jmp *%rax */
		{{0, 0, 0, 0, 0, 0xff, 0x14}, false},   /* cut */
		{{0, 0xe8, 1, 2, 3, 4, 0x90}, false},
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQUAL(unwind_is_after_call(cases[i].bytes, 7), cases[i].is_call);
	CHECK(!unwind_is_after_call(cases[0].bytes + 7, 0));
	CHECK(!unwind_is_after_call(cases[1].bytes + 6, 1));
	CHECK(unwind_is_after_call(cases[1].bytes + 5, 2));
}

/* ---- a living program ------------------------------------------------------------------------ */

struct file {
	uint64_t start, end, file_offset;
	struct unwind_table *table;
	char name[64];
};

static struct process {
	pid_t pid;
	struct file files[MAX_FILES];
	size_t count;
	uint8_t stack[STACK_BYTES];
	struct unwind_walk_frame frames[MAX_FRAMES];
	size_t frame_count;
	enum unwind_walk_end end;
	bool can_guess;
} process;

static struct unwind_table *open_mapping(pid_t pid, const struct proc_mapping *mapping)
{
	struct unwind_table *table = NULL;
	size_t size = mapping->end - mapping->start;
	auto_free void *image = malloc(size);
	struct iovec here = {image, size}, there = {(void *)mapping->start, size};
	auto_close int fd = -1;

	if (mapping->kind == PROC_MAPPING_FILE) {
		fd = open(mapping->path, O_RDONLY | O_CLOEXEC);
		unwind_table_open(fd, &table);
	} else if (process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size) {
		unwind_table_open_memory(image, size, &table);
	}
	return table;
}

static void open_files(struct process *of)
{
	struct proc_maps maps;

	if (proc_maps_read(of->pid, &maps))
		return;
	for (size_t i = 0; i < maps.count && of->count < MAX_FILES; i++) {
		const struct proc_mapping *mapping = &maps.mappings[i];
		struct unwind_table *table;

		if (!mapping->is_executable || strcmp(mapping->path, "[vsyscall]") == 0)
			continue;
		table = open_mapping(of->pid, mapping);
		if (!table)
			printf("# no tables: %s\n", mapping->path);
		else
			of->files[of->count++] = (struct file){mapping->start, mapping->end,
							       mapping->file_offset, table};
	}
	proc_maps_fini(&maps);
}

static union unwind_rule find_rule(void *context, uint64_t pc)
{
	struct process *in = context;

	for (size_t i = 0; i < in->count; i++) {
		struct file *file = &in->files[i];

		if (pc >= file->start && pc < file->end)
			return unwind_table_find(file->table, pc - file->start + file->file_offset);
	}
	return (union unwind_rule){.type = RULE_UNKNOWN};
}

static bool start_victim(struct process *ret_process, const char *argument)
{
	int ends[2];
	char byte;

	if (pipe(ends))
		return false;
	ret_process->pid = fork();
	if (ret_process->pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execl(victim_path, victim_path, argument, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	if (ret_process->pid < 0 || read(ends[0], &byte, 1) != 1)
		byte = 1;
	close(ends[0]);
	return !byte;
}

static void end_victim(struct process *of)
{
	kill(of->pid, SIGKILL);
	waitpid(of->pid, NULL, 0);
	for (size_t i = 0; i < of->count; i++)
		unwind_table_close(of->files[i].table);
}

/* Code is what is mapped so; what precedes it is read from the process. */
static enum unwind_code find_code(void *context, uint64_t pc)
{
	struct process *in = context;
	uint8_t bytes[7];
	struct iovec here = {bytes, 7}, there = {(void *)(pc - 7), 7};

	for (size_t i = 0; i < in->count; i++)
		if (pc - 7 >= in->files[i].start && pc < in->files[i].end)
			return process_vm_readv(in->pid, &here, 1, &there, 1, 0) == 7 &&
					       unwind_is_after_call(bytes, 7)
				       ? UNWIND_CODE_AFTER_CALL
				       : UNWIND_CODE_SOME;
	return UNWIND_CODE_NONE;
}

static bool walk_victim(struct process *of, bool has_bp)
{
	struct user_regs_struct registers;
	struct unwind_state state = {0};
	struct iovec here = {of->stack, STACK_BYTES}, there;
	ssize_t got;

	if (ptrace(PTRACE_GETREGS, of->pid, 0, &registers))
		return false;
	/* where the stack ends earlier, less is read */
	there = (struct iovec){(void *)registers.rsp, STACK_BYTES};
	got = process_vm_readv(of->pid, &here, 1, &there, 1, 0);
	if (got < 0)
		return false;
	state = (struct unwind_state){registers.rip, registers.rsp, has_bp ? registers.rbp : 0,
				      of->stack,     (size_t)got,   has_bp};
	of->frame_count = unwind_walk(&state, find_rule, of->can_guess ? find_code : NULL, of,
				      of->frames, MAX_FRAMES, &of->end);
	return true;
}

/* The second opinion. */
struct opinion {
	struct unwind_walk_frame frames[MAX_FRAMES + 1];
	size_t count;
	bool is_whole;
};

static int on_dwfl_frame(Dwfl_Frame *frame, void *context)
{
	struct opinion *opinion = context;
	Dwarf_Addr pc;
	bool is_exact;

	if (opinion->count > MAX_FRAMES || !dwfl_frame_pc(frame, &pc, &is_exact))
		return DWARF_CB_ABORT;
	opinion->frames[opinion->count++] = (struct unwind_walk_frame){pc, 0, !is_exact, false};
	return DWARF_CB_OK;
}

static Dwfl *open_dwfl(pid_t pid)
{
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo};
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (dwfl && (dwfl_linux_proc_report(dwfl, pid) || dwfl_report_end(dwfl, NULL, NULL) ||
		     dwfl_linux_proc_attach(dwfl, pid, true))) {
		printf("# libdwfl: %s\n", dwfl_errmsg(-1));
		dwfl_end(dwfl);
		return NULL;
	}
	return dwfl;
}

/* Frames that are the same from the innermost on. */
static size_t count_same(const struct process *of, const struct opinion *opinion)
{
	size_t same = 0;

	while (same < of->frame_count && same < opinion->count &&
	       of->frames[same].pc == opinion->frames[same].pc &&
	       of->frames[same].is_return == opinion->frames[same].is_return)
		same++;
	return same;
}

struct tally {
	int stops, same, short_same, unknown, other, libdwfl_short;
	int ends[UNWIND_WALK_FULL + 1];
	int shown;
	uint64_t frames;
};

static void show(struct tally *tally, const struct process *of, const struct opinion *opinion,
		 size_t same)
{
	if (tally->shown++ >= 5)
		return;
	printf("# differs at frame %zu, ours %zu (end %d), libdwfl %zu: %s\n", same,
	       of->frame_count, of->end, opinion->count, opinion->is_whole ? "" : dwfl_errmsg(-1));
	for (size_t i = same ? same - 1 : 0; i < same + 2; i++)
		printf("#   %#llx %#llx\n",
		       i < of->frame_count ? (unsigned long long)of->frames[i].pc : 0,
		       i < opinion->count ? (unsigned long long)opinion->frames[i].pc : 0);
}

static void compare(struct tally *tally, const struct process *of, const struct opinion *opinion)
{
	size_t same = count_same(of, opinion);
	bool is_prefix = same == of->frame_count;

	tally->stops++;
	tally->ends[of->end]++;
	tally->frames += of->frame_count;
	if (is_prefix && of->frame_count == opinion->count) {
		tally->same++;
	} else if (is_prefix &&
		   (of->end == UNWIND_WALK_STACK_SHORT || of->end == UNWIND_WALK_FULL)) {
		tally->short_same++;
	} else if (same == opinion->count && !opinion->is_whole) {
		tally->libdwfl_short++;
	} else {
		*(is_prefix && of->end == UNWIND_WALK_NO_RULE ? &tally->unknown : &tally->other) +=
			1;
		show(tally, of, opinion, same);
	}
}

/* Until the next stop that is ours; signals go to the program. One that is stopped by a signal is
 * not interrupted as well: it would stop again before it ran. */
static bool run_until_stop(pid_t pid, enum __ptrace_request how)
{
	bool is_run = how == PTRACE_CONT;
	struct timespec pause = {0, 1000 * (rand() % 400)};
	int status, number = 0;
	pid_t stopped = 0;

	for (;;) {
		if (ptrace(how, pid, 0, number))
			return false;
		if (is_run) {
			nanosleep(&pause, NULL);
			stopped = waitpid(pid, &status, __WALL | WNOHANG);
			if (!stopped)
				ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		}
		if (!stopped)
			stopped = waitpid(pid, &status, __WALL);
		if (stopped != pid || !WIFSTOPPED(status))
			return false;
		number = WSTOPSIG(status);
		if (status >> 16 == PTRACE_EVENT_STOP || (!is_run && number == SIGTRAP))
			return true;
		stopped = 0;
	}
}

static bool seize(pid_t pid)
{
	int status;

	return !ptrace(PTRACE_SEIZE, pid, 0, 0) && !ptrace(PTRACE_INTERRUPT, pid, 0, 0) &&
	       waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void print_tally(const struct tally *tally, const char *what)
{
	printf("# %s: %d stops, %.1f frames each: %d identical, %d identical as far as the copy or "
	       "the array "
	       "goes, %d end without a rule, %d where libdwfl ends first, %d other (%.2f %% "
	       "agree)\n",
	       what, tally->stops, (double)tally->frames / tally->stops, tally->same,
	       tally->short_same, tally->unknown, tally->libdwfl_short, tally->other,
	       100.0 * (tally->same + tally->short_same) / tally->stops);
	printf("#   ends: outermost %d, copy short %d, no rule %d, broken %d, full %d\n",
	       tally->ends[0], tally->ends[1], tally->ends[2], tally->ends[3], tally->ends[4]);
}

/* At random times, a few instructions on, and in a system call. */
static const enum __ptrace_request hows[] = {
	PTRACE_CONT, PTRACE_SINGLESTEP, PTRACE_SINGLESTEP, PTRACE_SINGLESTEP, PTRACE_SINGLESTEP,
	PTRACE_CONT, PTRACE_CONT,       PTRACE_CONT,       PTRACE_CONT,       PTRACE_SYSCALL,
};

static void sample(struct process *of, Dwfl *dwfl, struct tally *all, struct tally *without)
{
	struct opinion *opinion = calloc(1, sizeof(*opinion));

	for (int i = 0; opinion && i < stops; i++) {
		enum __ptrace_request how = hows[i % (sizeof(hows) / sizeof(hows[0]))];

		if (!run_until_stop(of->pid, how) || !walk_victim(of, true))
			break;
		opinion->count = 0;
		opinion->is_whole = !dwfl_getthread_frames(dwfl, of->pid, on_dwfl_frame, opinion);
		compare(all, of, opinion);
		if (how == PTRACE_SYSCALL && walk_victim(of, false))
			compare(without, of, opinion);
	}
	free(opinion);
}

/* The last stop again and again. */
static void measure(struct process *of)
{
	enum { ROUNDS = 2000 };
	double begin, end;
	struct user_regs_struct registers;
	struct unwind_state state;

	if (ptrace(PTRACE_GETREGS, of->pid, 0, &registers) || !walk_victim(of, true))
		return;
	state = (struct unwind_state){registers.rip, registers.rsp, registers.rbp,
				      of->stack,     STACK_BYTES,   true};
	begin = now_ns();
	for (int i = 0; i < ROUNDS; i++)
		unwind_walk(&state, find_rule, NULL, of, of->frames, MAX_FRAMES, &of->end);
	end = now_ns();
	printf("# %.1f ns a frame whose rule is known (stack of %zu frames, %zu files)\n",
	       (end - begin) / ROUNDS / (double)of->frame_count, of->frame_count, of->count);
}

/* A stopped program. False: why is in *ret_reason. */
static bool begin(struct process *ret_process, const char *argument, const char **ret_reason)
{
	*ret_process = (struct process){.pid = -1};
	*ret_reason = "the program to be stopped does not start";
	if (!start_victim(ret_process, argument))
		return false;
	*ret_reason = "ptrace is not allowed here";
	if (!seize(ret_process->pid)) {
		end_victim(ret_process);
		return false;
	}
	open_files(ret_process);
	return true;
}

TEST(living)
{
	struct tally all = {0}, without = {0};
	const char *reason;
	Dwfl *dwfl;

	if (!begin(&process, NULL, &reason))
		SKIP(reason);
	dwfl = open_dwfl(process.pid);
	CHECK(dwfl != NULL);
	if (dwfl) {
		sample(&process, dwfl, &all, &without);
		measure(&process);
		dwfl_end(dwfl);
	}
	end_victim(&process);
	CHECK_EQUAL(all.stops, stops);
	print_tally(&all, "all registers");
	print_tally(&without, "in system calls, rbp not known");
	/* what is left: ten instructions of a function that aligns its stack, where only r10 knows
	 * the frame; and guesses of libdwfl's */
	CHECK(all.same + all.short_same + all.libdwfl_short >= stops * 99 / 100);
	CHECK(all.other <= stops / 500 && without.other <= stops / 500);
}

/* In code without tables: the frames that have them are found behind a guess. */
static void step_bare(const char *argument, int least_percent)
{
	int whole = 0, guessed = 0;
	const char *reason;

	if (!begin(&process, argument, &reason))
		SKIP(reason);
	process.can_guess = true;
	for (int i = 0; i < 1000; i++) {
		bool is_guessed = false;

		if (!run_until_stop(process.pid, PTRACE_SINGLESTEP) || !walk_victim(&process, true))
			break;
		for (size_t j = 0; j < process.frame_count; j++)
			is_guessed |= process.frames[j].is_guessed;
		guessed += is_guessed;
		whole += process.end == UNWIND_WALK_OUTERMOST;
	}
	end_victim(&process);
	printf("#   %s: %d of 1000 whole, %d with a guess\n", argument, whole, guessed);
	CHECK(whole >= 10 * least_percent);
	CHECK(guessed > 500);
}

TEST(bare_leaf)
{
	step_bare("leaf", 100);
}

/* Between the push of rbp and its move nobody can tell. */
TEST(bare_frame)
{
	step_bare("frame", 98);
}

int main(int argc, char **argv)
{
	victim_path = argc > 1 ? argv[1] : "";
	stops = argc > 2 ? atoi(argv[2]) : stops;
	RUN(by_sp_and_bp);
	RUN(by_pointer);
	RUN(through_a_signal);
	RUN(a_short_copy);
	RUN(no_rule);
	RUN(broken);
	RUN(returns_to_nowhere);
	RUN(full);
	RUN(without_bp);
	RUN(popped_bp);
	RUN(guessed_leaf);
	RUN(guessed_by_bp);
	RUN(guessed_by_search);
	RUN(after_call);
	RUN(living);
	RUN(bare_leaf);
	RUN(bare_frame);
	return harness_end();
}
