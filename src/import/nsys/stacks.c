/* SPDX-License-Identifier: MIT
 *
 * import/nsys/stacks.c - call chains of CUDA calls and OS calls
 *
 * Runs in:  our own process
 * Gets:     a table of call chains: a row per frame, depth 0 is the innermost
 * Gives:    the stack of a chain by its id
 * Owns:     4 bytes for each chain
 * Fails:    -ENOMEM; -EBADMSG of SQLite
 * Why in the order of ids: the frames of a chain may lie anywhere in the table, and a stack is made
 *           from its outermost frame on
 */
#include "import/nsys/stacks.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/string.h"
#include "event/event.h"
#include "import/target.h"

/* Chains with larger ids are left out: 16 MiB. */
#define CHAINS_MAX (UINT32_C(1) << 22)

enum { CHAIN_ID, CHAIN_SYMBOL, CHAIN_MODULE, CHAIN_KERNEL_MODE, CHAIN_UNRESOLVED, CHAIN_DEPTH };
static const char *const columns[] = {
	"id", "symbol", "module", "kernelMode", "unresolved", "stackDepth",
};

int nsys_chains_open(struct nsys *nsys, const char *table, bool is_cuda, struct nsys_chains *chains)
{
	const struct sqlite_query query = {table, SQLITE_COLUMNS(columns, 2), NULL,
					   "id, stackDepth DESC"};
	bool can;
	int error = nsys_can_read(nsys, &query, &can);

	*chains = (struct nsys_chains){.nsys = nsys, .is_cuda = is_cuda};
	if (error || !can)
		return error;
	error = sqlite_cursor_open(&chains->cursor, &nsys->file, &query);
	if (error)
		return error;
	chains->status = sqlite_cursor_next(&chains->cursor);
	return chains->status < 0 ? chains->status : 0;
}

void nsys_chains_close(struct nsys_chains *chains)
{
	sqlite_cursor_close(&chains->cursor);
}

/* Bit of a value in nsys->frames: a frame inside of a call of CUDA. */
#define IS_INSIDE (UINT64_C(1) << 32)

/* Whether the frame is a function of CUDA's API, or lies in a library below it. */
static bool is_inside(const char *function, const char *module)
{
	static const char *const libraries[] = {"libcuda.so", "libcudart.so", "libcupti.so",
						"libToolsInjection", "libInjection"};
	const char *base = path_base(module);
	const size_t prefix = strncmp(function, "cuda", 4) == 0 ? 4 : 2;

	for (size_t i = 0; i < ARRAY_COUNT(libraries); i++)
		if (strncmp(base, libraries[i], strlen(libraries[i])) == 0)
			return true;
	return strncmp(function, "cu", 2) == 0 && isupper((unsigned char)function[prefix]) &&
	       !strpbrk(function, "<(: ");
}

/* The name of an unresolved function is its file: "[libcuda.so.1]". */
static int read_names(struct nsys *nsys, const struct sqlite_cursor *row,
		      struct string_builder *function, struct string_builder *module)
{
	const char *text;
	int error = nsys_texts_get(nsys, sqlite_cursor_number(row, CHAIN_MODULE), &text);

	if (error)
		return error;
	string_builder_append(module, text);
	if (sqlite_cursor_number(row, CHAIN_UNRESOLVED)) {
		const char *base = path_base(string_builder_text(module));

		string_builder_appendf(function, *base == '[' ? "%s" : "[%s]",
				       *base ? base : "unknown");
	} else {
		error = nsys_texts_get(nsys, sqlite_cursor_number(row, CHAIN_SYMBOL), &text);
		string_builder_append(function, !error && *text ? text : "[unknown]");
	}
	return error ? error : function->error ? function->error : module->error;
}

static int make_frame(struct nsys *nsys, const struct sqlite_cursor *row, uint64_t *ret_value)
{
	const enum event_frame_type type =
		sqlite_cursor_number(row, CHAIN_KERNEL_MODE) ? FRAME_KERNEL : FRAME_NATIVE;
	struct string_builder function = {0}, module = {0};
	uint32_t frame;
	int error = read_names(nsys, row, &function, &module);

	if (!error)
		error = import_target_frame(nsys->target, type, 0, string_builder_text(&function),
					    string_builder_text(&module), &frame);
	if (!error)
		*ret_value = frame | (is_inside(string_builder_text(&function),
						string_builder_text(&module))
					      ? IS_INSIDE
					      : 0);
	string_builder_fini(&function);
	string_builder_fini(&module);
	return error;
}

static int find_frame(struct nsys *nsys, const struct sqlite_cursor *row, uint64_t *ret_value)
{
	const bool is_unresolved = sqlite_cursor_number(row, CHAIN_UNRESOLVED);
	const uint64_t symbol = (uint64_t)sqlite_cursor_number(row, CHAIN_SYMBOL);
	const uint64_t module = (uint64_t)sqlite_cursor_number(row, CHAIN_MODULE);
	const uint64_t key = (is_unresolved ? UINT32_MAX >> 1 : symbol & UINT32_MAX >> 1) << 33 |
			     (module & UINT32_MAX) << 1 |
			     (sqlite_cursor_number(row, CHAIN_KERNEL_MODE) != 0);
	const uint64_t *known = hash_map_find(&nsys->frames, key);
	int error;

	if (known) {
		*ret_value = *known;
		return 0;
	}
	error = make_frame(nsys, row, ret_value);
	return error ? error : hash_map_put(&nsys->frames, key, *ret_value);
}

/* Adds the frame of the cursor's row and goes on. *outside: the stack without the frames inside of
 * a call. */
static int push_frame(struct nsys_chains *chains, uint32_t *stack, uint32_t *outside)
{
	uint64_t value = 0;
	int error = find_frame(chains->nsys, &chains->cursor, &value);

	if (!error)
		error = import_target_push_id(chains->nsys->target, (uint32_t)value, stack);
	if (error)
		return error;
	if (!(value & IS_INSIDE))
		*outside = *stack;
	chains->status = sqlite_cursor_next(&chains->cursor);
	return chains->status < 0 ? chains->status : 0;
}

int nsys_chains_next(struct nsys_chains *chains, int64_t *ret_id, uint32_t *ret_stack,
		     bool *ret_is_kernel)
{
	struct sqlite_cursor *row = &chains->cursor;
	uint32_t stack = 0, outside = 0;
	int error = 0;

	if (chains->status <= 0)
		return chains->status;
	*ret_id = sqlite_cursor_number(row, CHAIN_ID);
	while (!error && chains->status > 0 && sqlite_cursor_number(row, CHAIN_ID) == *ret_id) {
		*ret_is_kernel = sqlite_cursor_number(row, CHAIN_KERNEL_MODE);
		error = push_frame(chains, &stack, &outside);
	}
	*ret_stack = chains->is_cuda && outside ? outside : stack;
	return error ? error : 1;
}

/* ---- stacks by id ---- */

int nsys_stacks_read(struct nsys *nsys, const char *table, bool is_cuda, struct nsys_stacks *stacks)
{
	struct nsys_chains chains;
	uint32_t stack;
	int64_t id;
	bool is_kernel;
	int status = nsys_chains_open(nsys, table, is_cuda, &chains), error = status;

	while (!error && (status = nsys_chains_next(&chains, &id, &stack, &is_kernel)) > 0) {
		if (id < 0 || id >= CHAINS_MAX) {
			stacks->left_out++;
			continue;
		}
		if (array_grow(stacks->stacks, stacks->capacity, (size_t)id + 1))
			error = -ENOMEM;
		else
			stacks->stacks[id] = stack;
	}
	nsys_chains_close(&chains);
	return error ? error : status;
}

void nsys_stacks_close(struct nsys_stacks *stacks)
{
	free(stacks->stacks);
	*stacks = (struct nsys_stacks){0};
}

uint32_t nsys_stacks_get(const struct nsys_stacks *stacks, int64_t id)
{
	return id >= 0 && (size_t)id < stacks->capacity ? stacks->stacks[id] : 0;
}

/* ---- the numbers of CUDA's chains ---- */

/* Calls to look at; each costs two searches in the table of chains. */
enum { VOTES_MAX = 16 };

/* Sets *ret_has if the chain has a frame with this name. */
static int has_symbol(struct sqlite_cursor *chains, int64_t chain, int64_t name, bool *ret_has)
{
	int status = sqlite_cursor_restart(chains, chain, name);

	if (!status)
		status = sqlite_cursor_next(chains);
	*ret_has = status > 0;
	return status < 0 ? status : 0;
}

static int count_votes(struct sqlite_cursor *calls, struct sqlite_cursor *chains,
		       unsigned int votes[2])
{
	int status = 0;

	for (int i = 0; i < VOTES_MAX && (status = sqlite_cursor_next(calls)) > 0; i++) {
		for (int shift = 0; shift < 2; shift++) {
			bool has;
			int error =
				has_symbol(chains, nsys_add(sqlite_cursor_number(calls, 0), shift),
					   sqlite_cursor_number(calls, 1), &has);

			if (error)
				return error;
			votes[shift] += has;
		}
	}
	return status < 0 ? status : 0;
}

/* nsys 2021 counted chains from 0 in the calls and from 1 in the table of chains: 3 of 17 calls
 * were in their chain, and 18 of 18 in the next one. */
int nsys_stacks_find_shift(struct nsys *nsys, int64_t *ret_shift)
{
	static const char *const call_columns[] = {"callchainId", "nameId", "eventClass"};
	static const char *const chain_columns[] = {"id", "symbol"};
	static const struct sqlite_query call_query = {"CUPTI_ACTIVITY_KIND_RUNTIME",
						       SQLITE_COLUMNS(call_columns, 0),
						       "eventClass = 67", NULL};
	static const struct sqlite_query chain_query = {"CUDA_CALLCHAINS",
							SQLITE_COLUMNS(chain_columns, 0),
							"id = ?1 AND symbol = ?2", NULL};
	struct sqlite_cursor calls = {0}, chains = {0};
	unsigned int votes[2] = {0};
	bool has_calls, has_chains;
	int error = nsys_has_table(nsys, call_query.table, &has_calls);

	*ret_shift = 0;
	if (!error)
		error = nsys_has_table(nsys, chain_query.table, &has_chains);
	if (error || !has_calls || !has_chains)
		return error;
	error = sqlite_cursor_open(&calls, &nsys->file, &call_query);
	if (!error)
		error = sqlite_cursor_open(&chains, &nsys->file, &chain_query);
	if (!error)
		error = count_votes(&calls, &chains, votes);
	sqlite_cursor_close(&calls);
	sqlite_cursor_close(&chains);
	*ret_shift = votes[1] > votes[0];
	return error;
}
