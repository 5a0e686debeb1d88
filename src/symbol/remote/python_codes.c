/* SPDX-License-Identifier: MIT
 *
 * symbol/remote/python_codes.c - read and cache code objects of another process's CPython
 *
 * Runs in:  the recorder
 * Gets:     addresses that frames of the other process hold
 * Gives:    names, files, lines
 * Owns:     the contents of each code object, the texts
 * Fails:    -EAGAIN if another object is at an address, -ENOMEM, -ESRCH, -EPERM
 * Why:      an address does not identify a code object, because the next one may reuse it. So the
 *           heads of all code objects of a stack are read each time, 0.3 us each in one system
 *           call; names and line tables are read only if a head is new, which takes 6 us
 */
#include "symbol/remote/python_codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "shared/utf8.h"
#include "symbol/remote/python_lines.h"

enum {
	MAX_CODES = 1 << 17,
	MAX_TEXTS = 64 << 20,  /* bytes; they are never freed */
	MAX_OBJECT = 128,      /* bytes before the contents of a text or bytes object */
	MAX_NAME = 255,        /* characters */
	MAX_FILE = 1023,       /* characters */
	MAX_LINES = 60000,     /* bytes, as in the guest */
	MAX_TABLES = 64 << 20, /* bytes of all line tables */
	FULL_ROUNDS = 4096,    /* after this many rounds with full tables, everything is dropped */
	MAX_COMPARED = 4096    /* bytes of a line table that are compared each time */
};

struct python_codes {
	struct remote_memory *memory;         /* borrowed */
	const struct python_offsets *offsets; /* borrowed */
	struct python_types types;
	struct hash_map by_address; /* struct remote_python_code, owned */
	size_t table_bytes;         /* total size of the line tables */
	bool is_full;               /* one code object found no room */
	struct string_table texts;
	uint64_t round;
	size_t head_bytes;
	struct remote_python_code **asked; /* code objects of this round */
	size_t asked_count, asked_capacity;
	struct remote_piece *pieces;
	size_t pieces_capacity;
	uint8_t *bytes; /* buffer of the last read */
	size_t bytes_capacity;
};

static size_t larger(size_t one, size_t other)
{
	return one > other ? one : other;
}

/* ---- codes of a round ------------------------------------------------------------------------ */

struct python_codes *python_codes_new(struct remote_memory *memory,
				      const struct python_offsets *offsets,
				      const struct python_types *types)
{
	struct python_codes *codes = calloc(1, sizeof(*codes));
	const uint16_t used[] = {
		offsets->object_type,
		offsets->code_first_line,
		offsets->code_file,
		offsets->code_name,
		offsets->code_qualified_name,
		offsets->code_lines,
		offsets->code_first_traceable,
		offsets->code_version,
	};

	if (!codes)
		return NULL;
	codes->memory = memory;
	codes->offsets = offsets;
	codes->types = *types;
	for (size_t i = 0; i < ARRAY_COUNT(used); i++)
		codes->head_bytes = larger(codes->head_bytes, used[i] + sizeof(uint64_t));
	return codes;
}

static void drop_lines(struct python_codes *codes, struct remote_python_code *code)
{
	codes->table_bytes -= code->line_table_bytes;
	code->line_table_bytes = 0;
	free(code->line_table);
	code->line_table = NULL;
}

static void free_code(struct python_codes *codes, struct remote_python_code *code)
{
	drop_lines(codes, code);
	free(code);
}

static void forget_all(struct python_codes *codes)
{
	size_t cursor = 0;
	uint64_t value;

	while (hash_map_next(&codes->by_address, &cursor, NULL, &value))
		free_code(codes, (struct remote_python_code *)(uintptr_t)value);
	hash_map_clear(&codes->by_address);
	codes->is_full = false;
}

void python_codes_free(struct python_codes *codes)
{
	if (!codes)
		return;
	forget_all(codes);
	hash_map_fini(&codes->by_address);
	string_table_fini(&codes->texts);
	free(codes->asked);
	free(codes->pieces);
	free(codes->bytes);
	free(codes);
}

void python_codes_begin(struct python_codes *codes)
{
	codes->round++;
	codes->asked_count = 0;
	if (codes->by_address.count >= MAX_CODES ||
	    (codes->is_full && codes->round % FULL_ROUNDS == 0))
		forget_all(codes);
}

struct remote_python_code *python_codes_ask(struct python_codes *codes, uint64_t address)
{
	struct remote_python_code *code = hash_map_find_pointer(&codes->by_address, address);

	if (code && code->round == codes->round)
		return code;
	if (array_grow(codes->asked, codes->asked_capacity, codes->asked_count + 1))
		return NULL;
	if (!code) {
		code = calloc(1, sizeof(*code));
		if (!code || hash_map_put_pointer(&codes->by_address, address, code)) {
			free(code);
			return NULL;
		}
		code->address = address;
	}
	code->round = codes->round;
	codes->asked[codes->asked_count++] = code;
	return code;
}

/* ---- texts and tables of a new code object --------------------------------------------------- */

/* Position of an object's contents; size 0: it is not of the expected type. */
struct contents {
	struct remote_piece at;
	uint32_t kind; /* bytes of a character */
};

/* state: 2 bits interned, 3 bits bytes per character, compact, ascii. Texts that are not compact
 * are of subclasses of str. */
static struct contents text_contents(const struct python_codes *codes, uint64_t object,
				     const uint8_t *head, size_t most)
{
	enum { KIND_SHIFT = 2, COMPACT = 1 << 5, ASCII = 1 << 6 };
	const struct python_offsets *at = codes->offsets;
	const uint64_t length = word_at(head, at->text_length);
	const uint32_t state = half_at(head, at->text_state), kind = state >> KIND_SHIFT & 7;

	if (word_at(head, at->object_type) != codes->types.text || length > INT32_MAX ||
	    !(state & COMPACT) || (kind != 1 && kind != 2 && kind != 4) ||
	    (state & ASCII && kind != 1))
		return (struct contents){0};
	return (struct contents){
		.at = {object + (state & ASCII ? at->text_ascii : at->text_compact),
		       (length < most ? length : most) * kind},
		.kind = kind,
	};
}

static struct contents bytes_contents(const struct python_codes *codes, uint64_t object,
				      const uint8_t *head)
{
	const struct python_offsets *at = codes->offsets;
	const uint64_t length = word_at(head, at->bytes_length);

	if (word_at(head, at->object_type) != codes->types.bytes || length > MAX_LINES)
		return (struct contents){0};
	return (struct contents){.at = {object + at->bytes_data, length}, .kind = 1};
}

static const char *keep_text(struct python_codes *codes, const uint8_t *bytes,
			     const struct contents *contents)
{
	char text[MAX_FILE * 4 + 1] = "";
	size_t used = 0;
	uint32_t id;

	if (!contents->kind || codes->texts.arena.bytes >= MAX_TEXTS)
		return NULL;
	for (size_t i = 0; i < contents->at.size; i += contents->kind) {
		uint32_t character = 0;

		memcpy(&character, bytes + i, contents->kind);
		used += utf8_encode(character, text + used);
	}
	id = string_table_add(&codes->texts, text, used);
	return id || !used ? string_table_text(&codes->texts, id, NULL) : NULL;
}

/* Without room the code has no lines. */
static void keep_lines(struct python_codes *codes, struct remote_python_code *code,
		       const uint8_t *bytes, const struct contents *contents)
{
	drop_lines(codes, code);
	if (!contents->kind)
		return;
	if (contents->at.size > MAX_TABLES - codes->table_bytes) {
		codes->is_full = true;
		return;
	}
	code->line_table = malloc(contents->at.size + 1);
	if (!code->line_table)
		return;
	memcpy(code->line_table, bytes, contents->at.size);
	code->line_table_bytes = contents->at.size;
	codes->table_bytes += contents->at.size;
	code->last_instruction = UINT32_MAX;
}

/* Two system calls for a new code object: the heads of its name, file and line table, then their
 * contents. */
static int read_texts(struct python_codes *codes, struct remote_python_code *code)
{
	enum { NAME, FILE_NAME, LINES, OBJECTS };
	const struct python_code_facts *facts = &code->facts;
	const uint64_t name = facts->qualified_name ? facts->qualified_name : facts->name;
	/* no more than the shortest text has: the bytes after it may lie in a page that was never
	 * touched */
	const size_t head = codes->offsets->text_state + sizeof(uint32_t);
	const struct remote_piece heads[OBJECTS] = {
		{name, head}, {facts->file, head}, {facts->lines, codes->offsets->bytes_data}};
	uint8_t bytes[OBJECTS * MAX_OBJECT], *data;
	struct contents contents[OBJECTS];
	struct remote_piece pieces[OBJECTS];
	size_t size = 0;
	int64_t got = remote_memory_gather(codes->memory, heads, OBJECTS, bytes);

	if (got < 0)
		return (int)got;
	if ((size_t)got != head * 2 + codes->offsets->bytes_data)
		return -EAGAIN;
	contents[NAME] = text_contents(codes, name, bytes, MAX_NAME);
	contents[FILE_NAME] = text_contents(codes, facts->file, bytes + head, MAX_FILE);
	contents[LINES] = bytes_contents(codes, facts->lines, bytes + head * 2);
	for (size_t i = 0; i < OBJECTS; i++) {
		pieces[i] = contents[i].at;
		size += pieces[i].size;
	}
	data = malloc(size + 1);
	if (!data)
		return -ENOMEM;
	got = remote_memory_gather(codes->memory, pieces, OBJECTS, data);
	if ((size_t)got == size) {
		code->function = keep_text(codes, data, &contents[NAME]);
		code->file = keep_text(codes, data + pieces[NAME].size, &contents[FILE_NAME]);
		keep_lines(codes, code, data + pieces[NAME].size + pieces[FILE_NAME].size,
			   &contents[LINES]);
	}
	free(data);
	return got < 0 ? (int)got : (size_t)got == size ? 0 : -EAGAIN;
}

/* ---- check all of them ----------------------------------------------------------------------- */

static bool has_table_compared(const struct remote_python_code *code)
{
	return code->is_known && code->is_doubtful && code->line_table &&
	       code->line_table_bytes <= MAX_COMPARED;
}

static struct python_code_facts facts_of(const struct python_offsets *at, const uint8_t *head)
{
	return (struct python_code_facts){
		.name = word_at(head, at->code_name),
		.qualified_name =
			at->code_qualified_name ? word_at(head, at->code_qualified_name) : 0,
		.file = word_at(head, at->code_file),
		.lines = word_at(head, at->code_lines),
		.version = at->code_version ? half_at(head, at->code_version) : 0,
		.first_line = half_at(head, at->code_first_line),
		.first_traceable =
			at->code_first_traceable ? half_at(head, at->code_first_traceable) : 0,
	};
}

static bool is_same(const struct python_code_facts *one, const struct python_code_facts *other)
{
	return one->name == other->name && one->qualified_name == other->qualified_name &&
	       one->file == other->file && one->lines == other->lines &&
	       one->version == other->version && one->first_line == other->first_line &&
	       one->first_traceable == other->first_traceable;
}

/* Lists all heads, then the line tables to be compared. Returns the bytes of heads and tables. */
static size_t prepare(struct python_codes *codes, size_t *ret_pieces)
{
	const size_t before = codes->offsets->bytes_data - codes->offsets->bytes_length;
	size_t count = 0, size = 0;

	if (array_grow(codes->pieces, codes->pieces_capacity, codes->asked_count * 2))
		return 0;
	for (size_t i = 0; i < codes->asked_count; i++)
		codes->pieces[count++] =
			(struct remote_piece){codes->asked[i]->address, codes->head_bytes};
	for (size_t i = 0; i < codes->asked_count; i++)
		if (has_table_compared(codes->asked[i]))
			codes->pieces[count++] = (struct remote_piece){
				codes->asked[i]->facts.lines + codes->offsets->bytes_length,
				before + codes->asked[i]->line_table_bytes};
	for (size_t i = 0; i < count; i++)
		size += codes->pieces[i].size;
	if (array_grow(codes->bytes, codes->bytes_capacity, size))
		return 0;
	*ret_pieces = count;
	return size;
}

/* Marks codes whose line table has changed; `size` bytes of the tables could be read. */
static void compare_tables(struct python_codes *codes, const uint8_t *bytes, size_t size)
{
	const size_t before = codes->offsets->bytes_data - codes->offsets->bytes_length;
	size_t at = 0;

	for (size_t i = 0; i < codes->asked_count; i++) {
		struct remote_python_code *code = codes->asked[i];

		if (!has_table_compared(code))
			continue;
		at += before + code->line_table_bytes;
		if (at > size ||
		    word_at(bytes, at - before - code->line_table_bytes) !=
			    code->line_table_bytes ||
		    memcmp(bytes + at - code->line_table_bytes, code->line_table,
			   code->line_table_bytes) != 0)
			code->is_known = code->is_seen = false;
	}
}

static void forget_code(struct python_codes *codes, struct remote_python_code *code)
{
	hash_map_remove(&codes->by_address, code->address, NULL);
	free_code(codes, code);
}

/* 0: as known; 1: new. */
static int update(struct python_codes *codes, struct remote_python_code *code, const uint8_t *head)
{
	const struct python_code_facts facts = facts_of(codes->offsets, head);
	bool is_seen;
	int r;

	if (word_at(head, codes->offsets->object_type) != codes->types.code)
		return -EAGAIN;
	is_seen = code->is_seen && is_same(&facts, &code->facts);
	if (is_seen && code->is_known)
		return 0;
	code->is_known = code->is_seen = false;
	code->facts = facts;
	r = read_texts(codes, code);
	if (r)
		return r;
	code->is_seen = true;
	code->is_known = code->function && code->file;
	code->is_doubtful = !facts.version && (!code->file || code->file[0] == '<');
	return !is_seen;
}

int python_codes_read(struct python_codes *codes)
{
	const size_t heads = codes->head_bytes * codes->asked_count;
	size_t pieces, size;
	int64_t got;
	int first = 0;

	if (codes->asked_count == 0)
		return 0;
	size = prepare(codes, &pieces);
	if (!size)
		return -ENOMEM;
	got = remote_memory_gather(codes->memory, codes->pieces, pieces, codes->bytes);
	if (got < 0)
		return (int)got;
	compare_tables(codes, codes->bytes + heads, (size_t)got > heads ? (size_t)got - heads : 0);
	for (size_t i = 0; i < codes->asked_count; i++) {
		int r = codes->head_bytes * (i + 1) > (size_t)got
				? -EAGAIN
				: update(codes, codes->asked[i],
					 codes->bytes + codes->head_bytes * i);

		if (r < 0)
			forget_code(codes, codes->asked[i]);
		if (r < 0 ? first >= 0 : first == 0)
			first = r;
	}
	return first;
}

uint32_t python_codes_line(const struct python_codes *codes, struct remote_python_code *code,
			   uint32_t instruction)
{
	uint32_t line;

	if (!code->line_table)
		return 0;
	if (code->last_instruction == instruction)
		return code->last_line;
	if (python_line(codes->offsets->version, code->line_table, code->line_table_bytes,
			code->facts.first_line, instruction, &line))
		line = 0;
	code->last_instruction = instruction;
	code->last_line = line;
	return line;
}
