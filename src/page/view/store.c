/* SPDX-License-Identifier: MIT
 *
 * page/view/store.c - compressed pieces of the output, in a temporary file until their places in
 * the output are known
 *
 * Runs in:  our own process: the owner's thread, and a compressing thread if there is a second
 *           processor
 * Gets:     full chunks of items
 * Gives:    the compressed chunks, in any order
 * Owns:     an unlinked file, the thread
 * Fails:    -errno, with the folder that has no space, at the next piece or at the end
 * Why a file: the head of a view comes first and contains the places of all chunks, but these
 *           places are known last. 10^8 events take a GiB of chunks, which should not be in memory.
 *           An unlinked file leaves nothing behind, however the program ends.
 */
#include "page/view/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/string.h"
#include "base/thread.h"

enum { SLOTS = 16 }; /* max waiting pieces, of about 100 KiB each */

struct slot {
	struct view_bytes bytes;
	unsigned int hint;
};

struct record {
	uint64_t offset;
	uint32_t bytes;
};

struct view_store {
	int fd;
	struct view_deflater deflater;
	struct view_bytes deflated;
	struct record *records; /* by id */
	size_t records_capacity;
	uint64_t size;
	struct slot slots[SLOTS]; /* by id modulo SLOTS */
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint32_t filled, written; /* pieces */
	bool is_over;
	int error; /* error of the first piece that failed */
};

/* ---- the file ---- */

/* Creates an unnamed file; on file systems without O_TMPFILE, a named file that is unlinked at
 * once. */
static int open_unlinked(const char *folder)
{
	auto_free char *path = NULL;
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	if (asprintf(&path, "%s/.duet-view-XXXXXX", folder) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

static char *folder_of(const char *beside)
{
	const char *temporary = getenv("TMPDIR");
	size_t length;

	if (!beside)
		return strdup(temporary && *temporary ? temporary : "/tmp");
	length = (size_t)(path_base(beside) - beside);
	return length ? strndup(beside, length) : strdup(".");
}

static int open_file(struct view_store *store, const char *beside)
{
	auto_free char *folder = folder_of(beside);

	if (!folder)
		return -ENOMEM;
	store->fd = open_unlinked(folder);
	if (store->fd < 0)
		return error_set(-errno, "write into '%s': %s", folder, strerror(errno));
	return 0;
}

/* ---- pieces ---- */

static int write_piece(struct view_store *store, uint32_t id)
{
	const struct slot *slot = &store->slots[id % SLOTS];
	int error;

	store->deflated.size = 0;
	error = view_deflater_add(&store->deflater, slot->hint, slot->bytes.bytes, slot->bytes.size,
				  &store->deflated);
	if (!error && array_grow(store->records, store->records_capacity, id + (size_t)1))
		error = -ENOMEM;
	if (!error)
		error = pwrite_all(store->fd, store->deflated.bytes, store->deflated.size,
				   store->size);
	if (error)
		return error;
	store->records[id] = (struct record){store->size, (uint32_t)store->deflated.size};
	store->size += store->deflated.size;
	return 0;
}

static void *compress_pieces(void *argument)
{
	struct view_store *store = argument;

	pthread_mutex_lock(&store->lock);
	for (;;) {
		int error = store->error;

		while (store->written == store->filled && !store->is_over)
			pthread_cond_wait(&store->changed, &store->lock);
		if (store->written == store->filled)
			break;
		pthread_mutex_unlock(&store->lock);
		if (!error)
			error = write_piece(store, store->written);
		pthread_mutex_lock(&store->lock);
		store->error = error;
		store->written++;
		pthread_cond_signal(&store->changed);
	}
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

/* Waits until at most `most` pieces are unwritten. */
static int wait_for(struct view_store *store, uint32_t most)
{
	int error;

	pthread_mutex_lock(&store->lock);
	while (store->filled - store->written > most)
		pthread_cond_wait(&store->changed, &store->lock);
	error = store->error;
	pthread_mutex_unlock(&store->lock);
	if (error)
		return error_set(error, "temporary file of the view: %s", strerror(-error));
	return 0;
}

struct view_bytes *view_store_begin(struct view_store *store)
{
	struct view_bytes *bytes = &store->slots[store->filled % SLOTS].bytes;

	bytes->size = 0;
	return bytes;
}

int view_store_end(struct view_store *store, unsigned int hint, uint32_t *ret_id)
{
	*ret_id = store->filled;
	store->slots[store->filled % SLOTS].hint = hint;
	pthread_mutex_lock(&store->lock);
	store->filled++;
	pthread_cond_signal(&store->changed);
	pthread_mutex_unlock(&store->lock);
	if (!store->has_thread) {
		store->error = store->error ? store->error : write_piece(store, store->written);
		store->written++;
	}
	return wait_for(store, SLOTS - 1); /* one slot stays free for the next piece */
}

int view_store_finish(struct view_store *store)
{
	return wait_for(store, 0);
}

int view_store_clear(struct view_store *store)
{
	int error = view_store_finish(store);

	if (error)
		return error;
	pthread_mutex_lock(&store->lock);
	store->filled = store->written = 0;
	store->size = 0;
	pthread_mutex_unlock(&store->lock);
	if (ftruncate(store->fd, 0))
		return error_set(-errno, "temporary file of the view: %s", strerror(errno));
	return 0;
}

uint32_t view_store_size(const struct view_store *store, uint32_t id)
{
	return store->records[id].bytes;
}

int view_store_read(const struct view_store *store, uint32_t id, struct view_bytes *to)
{
	const struct record *record = &store->records[id];
	int error;

	if (array_grow(to->bytes, to->capacity, to->size + record->bytes))
		return -ENOMEM;
	error = pread_all(store->fd, to->bytes + to->size, record->bytes, record->offset);
	if (error)
		return error_set(error, "temporary file of the view: %s", strerror(-error));
	to->size += record->bytes;
	return 0;
}

/* ---- creation and release ---- */

int view_store_new(const char *beside, struct view_store **ret_store)
{
	struct view_store *store = calloc(1, sizeof(*store));
	int error;

	if (!store)
		return -ENOMEM;
	store->fd = -1;
	pthread_mutex_init(&store->lock, NULL);
	pthread_cond_init(&store->changed, NULL);
	error = view_deflater_init(&store->deflater);
	if (!error)
		error = open_file(store, beside);
	if (error) {
		view_store_free(store);
		return error;
	}
	store->has_thread =
		thread_has_processor() && thread_start(&store->thread, compress_pieces, store);
	*ret_store = store;
	return 0;
}

void view_store_free(struct view_store *store)
{
	if (!store)
		return;
	if (store->has_thread) {
		pthread_mutex_lock(&store->lock);
		store->is_over = true;
		pthread_cond_signal(&store->changed);
		pthread_mutex_unlock(&store->lock);
		pthread_join(store->thread, NULL);
	}
	if (store->fd >= 0)
		close(store->fd);
	for (size_t i = 0; i < SLOTS; i++)
		free(store->slots[i].bytes.bytes);
	free(store->deflated.bytes);
	free(store->records);
	view_deflater_fini(&store->deflater);
	pthread_cond_destroy(&store->changed);
	pthread_mutex_destroy(&store->lock);
	free(store);
}
