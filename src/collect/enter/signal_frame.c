/* SPDX-License-Identifier: MIT
 *
 * collect/enter/signal_frame.c - writes a signal frame onto the stack of a borrowed thread (x86-64)
 *
 * Runs in:  the recorder, in the injecting thread
 * Gets:     the registers of a stopped thread
 * Gives:    a frame on its stack that restores them by rt_sigreturn
 * Owns:     nothing
 * Fails:    with -errno; the thread's registers are unchanged
 * Why:      if the recorder is killed, the thread returns through this frame and continues as after
 *           a signal handler.
 */
#include "collect/enter/remote_call_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { RED_ZONE_BYTES = 128 };

/* struct sigcontext of the kernel. */
struct frame_context {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, di, si, bp, bx, dx, ax, cx, sp, ip, flags;
	uint16_t cs, gs, fs, ss;
	uint64_t error, trap, old_mask, fault, state, reserved[8];
};

/* Return addresses below the signal frame: mmap returns to raise(signal), which returns to the
 * restorer. */
struct chain {
	uint64_t align; /* a ret instruction, which aligns the stack for the call of raise */
	uint64_t load, signal;
	uint64_t raise;
};

struct signal_frame {
	uint64_t restorer;
	uint64_t flags, link;
	struct {
		uint64_t sp;
		uint64_t flags, size;
	} alternate;
	struct frame_context context;
	uint64_t mask;
	uint8_t info[128];
};
_Static_assert(sizeof(struct chain) == SIGNAL_FRAME_CHAIN_BYTES, "declared size");
_Static_assert(sizeof(struct frame_context) == 256, "as the kernel has it");
_Static_assert(offsetof(struct signal_frame, mask) == 304, "as the kernel has it");

/* struct _fpx_sw_bytes: size of the vector registers in a frame; at offset STATE_SAID_AT. */
struct frame_state {
	uint32_t magic, extended_bytes;
	uint64_t features;
	uint32_t bytes, padding[7];
};
enum {
	STATE_SAID_AT = 464,
	STATE_FEATURES_AT = 512,
	STATE_MAGIC = 0x46505853,
	STATE_END_MAGIC = 0x46505845,
	FRAME_FLAGS = 7,       /* uc_flags: extended state, stack segment saved */
	ALTERNATE_NONE = 0x80, /* invalid flag, so that the alternate stack is not changed */
	/* XSAVE feature number of AMX tile data, which a process must request */
	TILES = 18
};

static uint64_t word_of(const uint8_t *bytes, size_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

/* Size of the state up to the end of its last feature; AMX tiles are left out if they are not in
 * use. */
size_t signal_frame_measure(uint8_t *state, size_t bytes, uint64_t *ret_features)
{
	uint64_t features = word_of(state, STATE_SAID_AT),
		 in_use = word_of(state, STATE_FEATURES_AT);
	size_t end = MIN_SIGNAL_FRAME_STATE;

	if (!(in_use >> TILES & 1))
		features &= ~(UINT64_C(1) << TILES);
	for (unsigned int i = 2; i < 63; i++) {
		unsigned int size, at, c, d;

		if (!(features >> i & 1) || !__get_cpuid_count(0xd, i, &size, &at, &c, &d))
			continue;
		if (at + size > end)
			end = at + size;
	}
	*ret_features = features;
	return end < bytes ? end : bytes;
}

/* Copies the registers; an interrupted call gets the result, or the restart, that the kernel would
 * have given it. */
static void copy_registers(const struct user_regs_struct *regs, struct frame_context *context)
{
	*context = (struct frame_context){
		.r8 = regs->r8,
		.r9 = regs->r9,
		.r10 = regs->r10,
		.r11 = regs->r11,
		.r12 = regs->r12,
		.r13 = regs->r13,
		.r14 = regs->r14,
		.r15 = regs->r15,
		.di = regs->rdi,
		.si = regs->rsi,
		.bp = regs->rbp,
		.bx = regs->rbx,
		.dx = regs->rdx,
		.ax = regs->rax,
		.cx = regs->rcx,
		.sp = regs->rsp,
		.ip = regs->rip,
		.flags = regs->eflags,
		.cs = (uint16_t)regs->cs,
		.ss = (uint16_t)regs->ss,
	};
	if ((int64_t)regs->orig_rax < 0)
		return;
	switch (-(int64_t)regs->rax) {
	case RESTART_SYS:
	case RESTART_NO_INTERRUPT:
	case RESTART_NO_HANDLER:
		context->ax = regs->orig_rax;
		context->ip -= CALL_INSTRUCTION_BYTES;
		break;
	case RESTART_BLOCK: /* only the kernel knows its deadline, so it cannot be restarted */
		context->ax = (uint64_t)-EINTR;
		break;
	default:
		break;
	}
}

uint64_t signal_frame_bytes(const struct borrowed_thread *borrowed)
{
	return RED_ZONE_BYTES + borrowed->frame_state_bytes + sizeof(struct signal_frame) + 192;
}

int signal_frame_write_chain(const struct borrowed_thread *borrowed)
{
	const struct chain chain = {.align = borrowed->target->load_argument + 1,
				    .load = borrowed->target->load_argument,
				    .signal = (uint64_t)borrowed->signal,
				    .raise = borrowed->target->raise};

	return target_identity_write(&borrowed->target->identity, borrowed->frame - sizeof(chain),
				     &chain, sizeof(chain));
}

int signal_frame_write(struct borrowed_thread *borrowed)
{
	const struct target_identity *identity = &borrowed->target->identity;
	const uint32_t end = STATE_END_MAGIC;
	struct signal_frame frame = {.restorer = borrowed->target->restorer,
				     .flags = FRAME_FLAGS,
				     .alternate = {.flags = ALTERNATE_NONE},
				     .mask = borrowed->mask};
	struct frame_state said = {.magic = STATE_MAGIC};
	auto_free uint8_t *state = malloc(borrowed->state_bytes);
	uint64_t at;
	size_t size;
	int error;

	if (!state)
		return -ENOMEM;
	memcpy(state, borrowed->state, borrowed->state_bytes);
	size = signal_frame_measure(state, borrowed->state_bytes, &said.features);
	said.bytes = (uint32_t)size;
	said.extended_bytes = said.bytes + sizeof(end);
	memcpy(state + STATE_SAID_AT, &said, sizeof(said));
	at = (borrowed->regs.rsp - RED_ZONE_BYTES - size - sizeof(end)) & ~UINT64_C(63);
	copy_registers(&borrowed->regs, &frame.context);
	frame.context.state = at;
	/* becomes the return address of the called function */
	borrowed->frame = ((at - sizeof(frame)) & ~UINT64_C(15)) - 8;
	error = target_identity_write(identity, at, state, size);
	if (!error)
		error = target_identity_write(identity, at + size, &end, sizeof(end));
	if (!error)
		error = target_identity_write(identity, borrowed->frame, &frame, sizeof(frame));
	return error ? error : signal_frame_write_chain(borrowed);
}

/* Whether a signal handler is running: searches for a signal frame, by the address of the restorer
 * and the segment registers. */
bool signal_frame_is_on(const struct injector_target *target, const uint8_t *stack, size_t bytes)
{
	for (size_t at = 0; at + sizeof(struct signal_frame) <= bytes; at += 8) {
		struct signal_frame frame;

		if (word_of(stack, at) != target->restorer)
			continue;
		memcpy(&frame, stack + at, sizeof(frame));
		if (frame.context.cs == CODE_SEGMENT && frame.context.ss == STACK_SEGMENT)
			return true;
	}
	return false;
}

#endif
