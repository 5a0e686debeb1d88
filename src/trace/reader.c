/* SPDX-License-Identifier: MIT
 *
 * trace/reader.c - read a trace file, complete or damaged
 *
 * Runs in:  our own process, in all commands that read a trace (report, export, info); after open,
 *           any of their threads
 * Gets:     a path or bytes; gives texts, entities, clock pairs, losses and rows
 * Owns:     the descriptor and everything it gives out, except the rows of a chunk
 * Fails:    -errno as listed in reader.h; damage costs the damaged chunk and is counted
 * Why pread and not mmap: the recorder may shorten the file while it is read, which would raise
 *           SIGBUS in a mapping. The price is one copy of about 30 KB per chunk.
 */
#include "trace/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "trace/reader_private.h"
#include "trace/unpack.h"

#include "duet_trace.pb-c.h"

#define WINDOW ((size_t)1 << 17)

const uint8_t *reader_view(struct trace_reader *reader, uint64_t offset, size_t size)
{
	uint64_t left = offset <= reader->file.size ? reader->file.size - offset : 0;
	size_t wanted = size > WINDOW ? size : WINDOW;

	if (size > left)
		return NULL;
	if (reader->file.memory)
		return reader->file.memory + offset;
	if (offset >= reader->window.offset &&
	    offset + size <= reader->window.offset + reader->window.size)
		return reader->window.bytes + (offset - reader->window.offset);
	wanted = wanted < left ? wanted : (size_t)left;
	reader->window.size = 0;
	if (array_grow(reader->window.bytes, reader->window.capacity, wanted)) {
		reader->is_out_of_memory = true;
		return NULL;
	}
	if (pread_all(reader->file.fd, reader->window.bytes, wanted, offset))
		return NULL;
	reader->window.offset = offset;
	reader->window.size = wanted;
	return reader->window.bytes;
}

int reader_add_entry(struct trace_reader *reader, const struct reader_entry *entry)
{
	return array_append(reader->entries.items, reader->entries.capacity, reader->entries.count,
			    *entry);
}

void reader_note_damage(struct trace_reader *reader, struct reader_entry *entry)
{
	if (entry->is_counted)
		return;
	entry->is_counted = true;
	reader->damage.chunks++;
	reader->damage.bytes += entry->bytes;
	if (entry->head.kind >= EVENT_API && entry->head.kind < EVENT_KIND_COUNT)
		reader->damage.rows += entry->head.rows;
}

int reader_damage_error(const struct trace_reader *reader)
{
	return reader->is_out_of_memory ? -ENOMEM : -EBADMSG;
}

int reader_open_entry(struct trace_reader *reader, const struct reader_entry *entry,
		      struct chunk_head *ret_head, const uint8_t **ret_payload, size_t *ret_size)
{
	const uint8_t *bytes = reader_view(reader, entry->offset, (size_t)entry->bytes);
	size_t before, size = 0;
	int error;

	before = bytes ? chunk_length(bytes, bytes + entry->bytes, &size) : 0;
	if (!before || before + size != entry->bytes)
		return reader_damage_error(reader);
	error = chunk_open(&reader->opener, bytes + before, size, ret_head, ret_payload, ret_size);
	if (!error && ret_head->kind != entry->head.kind)
		return -EBADMSG;
	if (error == -ENOMEM)
		reader->is_out_of_memory = true;
	return error;
}

/* Writers sort rows, but a hostile file may contain unsorted ones. */
static int ensure_sorted(const struct trace_format *format, uint32_t flags, char *rows,
			 size_t count)
{
	unsigned int offset =
		flags & TRACE_BY_SEEN && format->row_size == sizeof(struct event_execution)
			? offsetof(struct event_execution, seen)
			: format->key_offset;
	uint64_t previous = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t key =
			trace_field_read(rows + i * format->row_size, offset, format->key_type);

		if (key < previous)
			return trace_sort(rows, count, format->row_size, offset, format->key_type);
		previous = key;
	}
	return 0;
}

int reader_decode_entry(struct trace_reader *reader, const struct reader_entry *entry,
			void **ret_rows, size_t *ret_count)
{
	const struct trace_format *format = trace_format_find(entry->head.kind);
	struct chunk_head head;
	const uint8_t *payload;
	size_t size;
	struct load_context context;
	struct trace_translator translator = {load_translate, &context};
	auto_free void *rows = NULL;
	int error = reader_open_entry(reader, entry, &head, &payload, &size);

	if (error)
		return error;
	context = load_context(reader, head.segment);
	rows = calloc(head.rows + (size_t)1, format->row_size);
	if (!rows)
		return -ENOMEM;
	error = trace_decode(format, payload, size, &translator, rows, head.rows);
	if (!error)
		error = ensure_sorted(format, head.flags, rows, head.rows);
	if (error)
		return error;
	*ret_rows = take_ptr(rows);
	*ret_count = head.rows;
	return 0;
}

/* ---- opening ---- */

static int compare_sequence(const void *a, const void *b)
{
	const struct reader_entry *left = a, *right = b;

	if (left->head.sequence != right->head.sequence)
		return left->head.sequence < right->head.sequence ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Sorts entries by the order in which they were written. Removes duplicate chunks, which a crash
 * during shortening can leave behind. */
static int order_entries(struct trace_reader *reader)
{
	bool is_rising = true;
	size_t kept = 0;

	for (size_t i = 1; i < reader->entries.count; i++) {
		if (reader->entries.items[i].head.sequence <=
		    reader->entries.items[i - 1].head.sequence)
			is_rising = false;
	}
	if (is_rising)
		return 0;
	qsort(reader->entries.items, reader->entries.count, sizeof(*reader->entries.items),
	      compare_sequence);
	for (size_t i = 0; i < reader->entries.count; i++) {
		const struct reader_entry *entry = &reader->entries.items[i];

		if (kept && entry->checksum &&
		    entry->checksum == reader->entries.items[kept - 1].checksum)
			continue;
		reader->entries.items[kept++] = *entry;
	}
	reader->entries.count = kept;
	return 0;
}

/* Whether the segment heads are at the offsets that the index gives. Offsets in the index count
 * backwards, so bytes that are lost from or added to a segment shift everything before them, and
 * the head of a segment comes first. */
static bool are_heads_in_place(struct trace_reader *reader)
{
	for (size_t i = 0; i < reader->entries.count; i++) {
		struct chunk_head head;
		const uint8_t *payload;
		size_t size;

		if (reader->entries.items[i].head.kind == TRACE_SEGMENT &&
		    reader_open_entry(reader, &reader->entries.items[i], &head, &payload, &size))
			return false;
	}
	return true;
}

/* The first chunk's prefix follows its length, which is one byte. */
static int fail_unreadable(struct trace_reader *reader)
{
	const char *path = reader->file.path;
	const uint8_t *prefix = reader_view(reader, 1, TRACE_PREFIX_BYTES);

	if (prefix && chunk_has_prefix(prefix, TRACE_PREFIX_BYTES))
		return error_set(-EPROTO, "no part of the trace '%s' is readable", path);
	return error_set(-EPROTO,
			 "'%s' is not a duet trace, or no part of it is readable; if another "
			 "program recorded it, import it: duet import '%s'",
			 path, path);
}

static int find_chunks(struct trace_reader *reader)
{
	int error = index_load(reader);

	if (!error && !are_heads_in_place(reader)) {
		reader->entries.count = 0;
		error = -EBADMSG;
	}
	if (reader->is_out_of_memory)
		return -ENOMEM;
	if (error == -ENOMEM || !error)
		return error;
	reader->damage.index_missing = error == -ENOENT;
	reader->damage.index_rebuilt = true;
	reader->damage.truncated = error == -ENOENT;
	error = scan_file(reader);
	if (error)
		return error;
	return reader->entries.count ? 0 : fail_unreadable(reader);
}

static int open_reader(struct trace_reader *reader, struct trace_reader **ret_reader)
{
	int error;

	chunk_opener_init(&reader->opener);
	if (!reader->file.size)
		error = error_set(-ENODATA, "'%s' is empty: nothing was recorded into it",
				  reader->file.path);
	else
		error = find_chunks(reader);
	if (!error)
		error = order_entries(reader);
	if (!error)
		error = load_entries(reader);
	if (error == -ENOMEM)
		error_set(error, "read '%s': out of memory", reader->file.path);
	if (error) {
		trace_reader_close(reader);
		return error;
	}
	*ret_reader = reader;
	return 0;
}

static struct trace_reader *new_reader(const char *path)
{
	struct trace_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->file.fd = -1;
	reader->file.path = strdup(path);
	if (!reader->file.path) {
		free(reader);
		return NULL;
	}
	pthread_mutex_init(&reader->lock, NULL);
	return reader;
}

/* Reads pipes and other files that cannot be seeked into memory. */
static int elf_source_read(struct trace_reader *reader)
{
	struct stat status;
	char *bytes;
	size_t size;
	int error;

	if (fstat(reader->file.fd, &status) || fcntl(reader->file.fd, F_SETFL, 0) < 0)
		return -errno;
	if (S_ISREG(status.st_mode)) {
		reader->file.size = (uint64_t)status.st_size;
		return 0;
	}
	error = read_fd(reader->file.fd, 0, &bytes, &size);
	if (error)
		return error;
	reader->file.memory = reader->file.owned_memory = bytes;
	reader->file.size = size;
	return 0;
}

/* The recording in a folder that was changed last; "": none. */
static void find_newest(const char *path, char newest[NAME_MAX + 1])
{
	DIR *folder = opendir(path);
	struct timespec best = {0};
	const struct dirent *entry;
	struct stat status;

	newest[0] = '\0';
	while (folder && (entry = readdir(folder))) {
		const char *ending = strrchr(entry->d_name, '.');

		/* The ring of an agent is not finished. */
		if (!ending || strcmp(ending, ".duet") != 0 ||
		    strcmp(entry->d_name, "current.duet") == 0 ||
		    fstatat(dirfd(folder), entry->d_name, &status, 0) || !S_ISREG(status.st_mode) ||
		    status.st_mtim.tv_sec < best.tv_sec ||
		    (status.st_mtim.tv_sec == best.tv_sec &&
		     status.st_mtim.tv_nsec <= best.tv_nsec))
			continue;
		best = status.st_mtim;
		snprintf(newest, NAME_MAX + 1, "%s", entry->d_name);
	}
	if (folder)
		closedir(folder);
}

static int refuse_folder(const char *path)
{
	const size_t length = strlen(path);
	char newest[NAME_MAX + 1];

	find_newest(path, newest);
	if (!*newest)
		return error_set(-EISDIR, "'%s' is a folder without recordings; give one file",
				 path);
	return error_set(-EISDIR, "'%s' is a folder; give one file: the newest is %s%s%s", path,
			 path, length && path[length - 1] == '/' ? "" : "/", newest);
}

/* The writer holds a lock until the end of the recording. */
static bool is_being_written(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

int trace_reader_open(const char *path, struct trace_reader **ret_reader)
{
	struct trace_reader *reader = new_reader(path);
	int error;

	if (!reader)
		return error_set(-ENOMEM, "read '%s': out of memory", path);
	/* O_NONBLOCK: opening a FIFO would wait for a writer, perhaps forever. A read without a
	 * writer returns end of file. */
	reader->file.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	error = reader->file.fd < 0 ? -errno : elf_source_read(reader);
	if (error) {
		trace_reader_close(reader);
		return error == -EISDIR ? refuse_folder(path)
					: error_set(error, "read '%s': %s", path, strerror(-error));
	}
	reader->damage.is_being_written = is_being_written(reader->file.fd);
	return open_reader(reader, ret_reader);
}

int trace_reader_open_memory(const void *bytes, size_t size, struct trace_reader **ret_reader)
{
	struct trace_reader *reader = new_reader("(memory)");

	if (!reader)
		return error_set(-ENOMEM, "read a trace: out of memory");
	reader->file.memory = bytes;
	reader->file.size = size;
	return open_reader(reader, ret_reader);
}

static void free_kept(struct trace_reader *reader)
{
	for (size_t i = 0; reader->kept.items && i < reader->chunks.count; i++)
		free(reader->kept.items[i].rows);
	free(reader->kept.items);
}

void trace_reader_close(struct trace_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t kind = 0; kind <= EVENT_ENTITY_LAST; kind++) {
		free(reader->entities[kind].rows);
		hash_map_fini(&reader->entities[kind].by_id);
	}
	free(reader->frames.rows);
	free(reader->stacks.rows);
	hash_map_fini(&reader->frames.by_id);
	hash_map_fini(&reader->stacks.by_id);
	for (size_t i = 0; i < reader->dictionaries.count; i++)
		free(reader->dictionaries.items[i].ranges);
	for (size_t i = 0; i < reader->clocks.count; i++)
		free(reader->clocks.items[i].pairs);
	for (size_t i = 0; i < reader->contents.count; i++) {
		free(reader->contents.items[i].parts);
		free(reader->contents.items[i].bytes);
	}
	chunk_opener_fini(&reader->opener);
	string_table_fini(&reader->strings.table);
	hash_map_fini(&reader->dictionaries.by_segment);
	hash_map_fini(&reader->clocks.by_clock);
	hash_map_fini(&reader->contents.by_hash);
	free(reader->dictionaries.items);
	free(reader->clocks.items);
	free(reader->contents.items);
	free(reader->strings.ids);
	free(reader->losses.rows);
	free_kept(reader);
	free(reader->chunks.items);
	free(reader->chunks.entries);
	free(reader->entries.items);
	free(reader->window.bytes);
	free(reader->file.owned_memory);
	free(reader->file.path);
	if (reader->file.fd >= 0)
		close(reader->file.fd);
	pthread_mutex_destroy(&reader->lock);
	free(reader);
}

/* ---- queries ---- */

void trace_reader_damage(struct trace_reader *reader, struct trace_damage *ret_damage)
{
	pthread_mutex_lock(&reader->lock);
	*ret_damage = reader->damage;
	pthread_mutex_unlock(&reader->lock);
}

const char *trace_reader_string(const struct trace_reader *reader, uint32_t id, size_t *ret_length)
{
	return string_table_text(&reader->strings.table, id, ret_length);
}

const struct event_stack *trace_reader_stack(const struct trace_reader *reader, uint32_t id)
{
	const void *row = reader_find_row(&reader->stacks, sizeof(struct trace_stack_row),
					  offsetof(struct trace_stack_row, id), id);

	return row ? &((const struct trace_stack_row *)row)->stack : NULL;
}

const struct event_frame *trace_reader_frame(const struct trace_reader *reader, uint32_t id)
{
	const void *row = reader_find_row(&reader->frames, sizeof(struct trace_frame_row),
					  offsetof(struct trace_frame_row, id), id);

	return row ? &((const struct trace_frame_row *)row)->frame : NULL;
}

const struct event_frame *trace_reader_frame_at(const struct trace_reader *reader, size_t index)
{
	const struct trace_frame_row *rows = (const struct trace_frame_row *)reader->frames.rows;

	return index < reader->frames.count ? &rows[index].frame : NULL;
}

size_t trace_reader_stack_count(const struct trace_reader *reader)
{
	return reader->stacks.count;
}

size_t trace_reader_stacks_cut(const struct trace_reader *reader)
{
	return reader->stacks_cut;
}

size_t trace_reader_frame_count(const struct trace_reader *reader)
{
	return reader->frames.count;
}

size_t trace_reader_entity_list(const struct trace_reader *reader, enum event_kind kind,
				const void **ret_rows)
{
	bool known = (unsigned int)kind <= EVENT_ENTITY_LAST;

	*ret_rows = known ? reader->entities[kind].rows : NULL;
	return known ? reader->entities[kind].count : 0;
}

size_t trace_reader_row_size(enum event_kind kind)
{
	const struct trace_format *format = trace_format_find((uint32_t)kind);

	return format ? format->row_size : 0;
}

const void *trace_reader_entity(const struct trace_reader *reader, enum event_kind kind,
				uint32_t id)
{
	const struct trace_format *format = trace_format_find((uint32_t)kind);

	if (!format || !format->is_entity)
		return NULL;
	return reader_find_row(&reader->entities[kind], format->row_size, format->key_offset, id);
}

/* Appends one part of a content. A part with offset 0 starts the content again: the writer repeats
 * a content whose first attempt failed. */
static int add_part(struct trace_reader *reader, struct reader_content *content, size_t *capacity,
		    uint64_t *size, struct reader_entry *entry)
{
	struct chunk_head head;
	const uint8_t *payload;
	size_t payload_size;
	struct unpack unpack;
	Duet__Content *message;
	int error = reader_open_entry(reader, entry, &head, &payload, &payload_size);

	if (error)
		return error;
	message = duet__content__unpack(unpack_begin(&unpack), payload_size, payload);
	if (!message)
		return unpack_error(&unpack);
	*size = message->size;
	if (message->offset == 0)
		content->size = 0;
	if (message->offset != content->size)
		error = -EBADMSG;
	else if (array_grow(content->bytes, *capacity, content->size + message->bytes.len + 1))
		error = -ENOMEM;
	if (!error && message->bytes.len)
		memcpy(content->bytes + content->size, message->bytes.data, message->bytes.len);
	if (!error)
		content->size += message->bytes.len;
	duet__content__free_unpacked(message, NULL);
	return error;
}

static bool is_whole(const struct reader_content *content, uint64_t size)
{
	XXH128_hash_t hash;

	if (!content->bytes || content->size != size)
		return false;
	hash = XXH3_128bits(content->bytes, content->size);
	return hash.low64 == content->hash_low && hash.high64 == content->hash_high;
}

static void assemble(struct trace_reader *reader, struct reader_content *content)
{
	size_t capacity = 0;
	uint64_t size = 0;

	content->is_tried = true;
	/* use the first complete copy: a later one may have been cut off by a crash */
	for (size_t i = 0; i < content->parts_count; i++) {
		struct reader_entry *entry = &reader->entries.items[content->parts[i]];

		int error = add_part(reader, content, &capacity, &size, entry);

		if (error && error != -ENOMEM)
			reader_note_damage(reader, entry);
		else if (!error && is_whole(content, size))
			return;
	}
	free(content->bytes);
	content->bytes = NULL;
}

const void *trace_reader_content(struct trace_reader *reader, uint64_t hash_low, uint64_t hash_high,
				 size_t *ret_size)
{
	uint64_t index = hash_map_get(&reader->contents.by_hash, hash_low, 0);
	struct reader_content *content = index ? &reader->contents.items[index - 1] : NULL;

	if (!content || content->hash_high != hash_high)
		return NULL;
	pthread_mutex_lock(&reader->lock);
	if (!content->is_tried)
		assemble(reader, content);
	pthread_mutex_unlock(&reader->lock);
	if (content->bytes && ret_size)
		*ret_size = content->size;
	return content->bytes;
}

size_t trace_reader_clock_pairs(const struct trace_reader *reader, uint32_t clock,
				const struct event_clock_pair **ret_pairs)
{
	uint64_t index = hash_map_get(&reader->clocks.by_clock, clock, 0);

	*ret_pairs = index ? reader->clocks.items[index - 1].pairs : NULL;
	return index ? reader->clocks.items[index - 1].count : 0;
}

size_t trace_reader_losses(const struct trace_reader *reader, const struct event_loss **ret_losses)
{
	*ret_losses = reader->losses.rows;
	return reader->losses.count;
}

size_t trace_reader_chunk_count(const struct trace_reader *reader)
{
	return reader->chunks.count;
}

const struct trace_chunk *trace_reader_chunk(const struct trace_reader *reader, size_t index)
{
	return index < reader->chunks.count ? &reader->chunks.items[index] : NULL;
}

/* Rows beyond this number are decoded again instead. */
enum { MAX_KEPT_ROWS = 1 << 17 };

void trace_reader_keep_rows(struct trace_reader *reader, size_t index, void *rows, size_t count)
{
	struct reader_kept *kept = &reader->kept;

	pthread_mutex_lock(&reader->lock);
	if (!kept->items)
		kept->items = calloc(reader->chunks.count + 1, sizeof(*kept->items));
	if (kept->items && index < reader->chunks.count && !kept->items[index].rows &&
	    count <= MAX_KEPT_ROWS - kept->count) {
		kept->items[index] = (struct kept_rows){rows, count};
		kept->count += count;
		rows = NULL;
	}
	pthread_mutex_unlock(&reader->lock);
	free(rows);
}

/* With the lock held. */
static bool take_kept(struct trace_reader *reader, size_t index, void **ret_rows, size_t *ret_count)
{
	struct kept_rows *kept = reader->kept.items ? &reader->kept.items[index] : NULL;

	if (!kept || !kept->rows)
		return false;
	*ret_rows = kept->rows;
	*ret_count = kept->count;
	reader->kept.count -= kept->count;
	*kept = (struct kept_rows){0};
	return true;
}

int trace_reader_rows(struct trace_reader *reader, size_t index, void **ret_rows, size_t *ret_count)
{
	struct reader_entry *entry;
	int error = 0;

	if (index >= reader->chunks.count)
		return -EINVAL;
	entry = &reader->entries.items[reader->chunks.entries[index]];
	pthread_mutex_lock(&reader->lock);
	if (!take_kept(reader, index, ret_rows, ret_count))
		error = reader_decode_entry(reader, entry, ret_rows, ret_count);
	if (error == -EBADMSG)
		reader_note_damage(reader, entry);
	pthread_mutex_unlock(&reader->lock);
	if (error == -EBADMSG)
		return error_set(error, "'%s': the chunk at byte %llu is damaged",
				 reader->file.path, (unsigned long long)entry->offset);
	return error;
}

static bool is_entry_intact(struct trace_reader *reader, const struct reader_entry *entry)
{
	const uint8_t *bytes = reader_view(reader, entry->offset, (size_t)entry->bytes);
	size_t size = 0, before = bytes ? chunk_length(bytes, bytes + entry->bytes, &size) : 0;

	return before && before + size == entry->bytes && chunk_has_prefix(bytes + before, size) &&
	       chunk_is_intact(bytes + before, size);
}

static void check_entry(struct trace_reader *reader, struct reader_entry *entry)
{
	if (!entry->is_counted && entry->head.segment >= reader->segments.first &&
	    !is_entry_intact(reader, entry) && !reader->is_out_of_memory)
		reader_note_damage(reader, entry);
}

void trace_reader_check(struct trace_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	for (size_t i = 0; i < reader->entries.count; i++)
		check_entry(reader, &reader->entries.items[i]);
	pthread_mutex_unlock(&reader->lock);
}

void trace_reader_check_rows(struct trace_reader *reader)
{
	pthread_mutex_lock(&reader->lock);
	for (size_t i = 0; i < reader->chunks.count; i++)
		check_entry(reader, &reader->entries.items[reader->chunks.entries[i]]);
	pthread_mutex_unlock(&reader->lock);
}

uint32_t trace_reader_segment_count(const struct trace_reader *reader)
{
	return reader->segments.count;
}

uint64_t trace_reader_begin_ns(const struct trace_reader *reader)
{
	return reader->segments.begin_ns;
}

uint64_t trace_reader_size_bytes(const struct trace_reader *reader)
{
	return reader->file.size;
}
