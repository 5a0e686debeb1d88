/* SPDX-License-Identifier: MIT
 *
 * agent/spool.c - a folder of recordings with a bound on its size and age
 *
 * Runs in:  the agent's recorder
 * Gets:     files to add
 * Gives:    a folder that never exceeds its limits, and counts of what was dropped
 * Owns:     the folder's lock, the list of its files
 * Fails:    -errno with the error chain; a full disk costs the oldest files, then the new one
 * Why:      ages are measured by CLOCK_BOOTTIME and kept in a file, because a step of the machine's
 *           clock must not make young files old. After a reboot a file has the age that it had when
 *           the agent last looked.
 *           Counts are exact after kill -9 at any moment. The state file names an event before it
 *           happens (its intent) and counts it afterwards; the folder shows what has happened
 *           between. A file without a count was added, a count without a file was dropped
 */
#include "agent/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/io.h"
#include "base/string.h"

#define SPOOL_STATE "state"
#define SPOOL_LOCK  ".lock"
#define SPOOL_BEAT  ".beat"
#define ENDING      ".duet"
#define PART        ".part"

enum { MAX_STATE_BYTES = 16 << 20, BLOCK_BYTES = 512, LOCK_LOOK_NS = 50000000, BEAT_BYTES = 128 };

int64_t spool_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void read_host(char host[65])
{
	if (gethostname(host, 65))
		snprintf(host, 65, "host");
	host[64] = '\0';
	for (char *at = host; *at; at++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
			    *at))
			*at = '_';
}

static void read_boot(char *boot, size_t size)
{
	auto_free char *text = NULL;

	snprintf(boot, size, "unknown");
	if (read_file("/proc/sys/kernel/random/boot_id", 256, &text, NULL)) {
		error_clear();
		return;
	}
	text[strcspn(text, "\n")] = '\0';
	snprintf(boot, size, "%s", text);
}

/* HOST-SEQUENCE-TIME.duet; false: the name is another one. */
static bool parse_name(const char *name, uint64_t *ret_sequence)
{
	const size_t length = strlen(name), ending = strlen(ENDING);
	const char *end = name + length - ending, *at = end;
	char *after;

	if (length <= ending || strcmp(end, ENDING) != 0)
		return false;
	while (at > name && at[-1] != '-')
		at--;
	if (at - name < 2)
		return false;
	end = at - 1;
	for (at = end; at > name && at[-1] != '-';)
		at--;
	if (at == name || at == end || strspn(at, "0123456789") != (size_t)(end - at))
		return false;
	errno = 0;
	*ret_sequence = strtoull(at, &after, 10);
	return !errno && after == end;
}

static void format_name(const struct spool *spool, char name[NAME_MAX + 1])
{
	const time_t now = time(NULL);
	char text[32] = "";
	struct tm parts;

	if (gmtime_r(&now, &parts))
		strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts);
	snprintf(name, NAME_MAX + 1, "%s-%010" PRIu64 "-%s" ENDING, spool->host,
		 spool->next_sequence, text);
}

static char *path_in(const struct spool *spool, const char *name)
{
	struct string_builder path = {0};

	string_builder_appendf(&path, "%s/%s", spool->path, name);
	return string_builder_take(&path);
}

char *spool_ring_path(const struct spool *spool)
{
	return path_in(spool, SPOOL_RING);
}

/* ---- state ----------------------------------------------------------------------------------- */

static struct spool_file *find_file(const struct spool *spool, uint64_t sequence)
{
	const size_t at = LOWER_BOUND(spool->files_count, i, spool->files[i].sequence < sequence);

	return at < spool->files_count && spool->files[at].sequence == sequence ? &spool->files[at]
										: NULL;
}

/* Counts that the state file keeps, by name. */
static const struct {
	const char *name;
	size_t offset;
} count_names[] = {
	{"added", offsetof(struct spool_counts, added)},
	{"added_bytes", offsetof(struct spool_counts, added_bytes)},
	{"dropped", offsetof(struct spool_counts, dropped)},
	{"dropped_bytes", offsetof(struct spool_counts, dropped_bytes)},
	{"dropped_full", offsetof(struct spool_counts, dropped_full)},
	{"skipped", offsetof(struct spool_counts, skipped)},
	{"skipped_ns", offsetof(struct spool_counts, skipped_ns)},
	{"salvaged", offsetof(struct spool_counts, salvaged)},
	{"killed", offsetof(struct spool_counts, killed)},
	{"killed_ns", offsetof(struct spool_counts, killed_ns)},
	{"rows_lost", offsetof(struct spool_counts, rows_lost)},
};

static uint64_t *count_at(struct spool *spool, size_t index)
{
	return (uint64_t *)((char *)&spool->counts + count_names[index].offset);
}

/* State while the state file is read. */
struct state_reading {
	struct spool *spool;
	int64_t shift_ns; /* from the boot of the file to this one */
	uint64_t next;    /* sequence after the newest file that is counted */
	bool is_same_boot;
	char cut_boot[40]; /* boot of cut_ns */
	uint64_t cut_ns;
};

static bool apply_count(struct spool *spool, const char *line)
{
	char name[32];
	uint64_t value;

	if (sscanf(line, "count %31s %" SCNu64, name, &value) != 2)
		return false;
	for (size_t i = 0; i < ARRAY_COUNT(count_names); i++)
		if (strcmp(name, count_names[i].name) == 0)
			*count_at(spool, i) = value;
	return true;
}

/* A file that is not in the folder any more was dropped after the state was written. */
static void apply_file(struct state_reading *reading, const char *line)
{
	struct spool *spool = reading->spool;
	struct spool_file *file;
	uint64_t sequence, bytes = 0;
	int64_t born_ns;

	if (sscanf(line, "file %" SCNu64 " %" SCNd64 " %" SCNu64, &sequence, &born_ns, &bytes) < 2)
		return;
	file = find_file(spool, sequence);
	if (!file) {
		spool->counts.dropped++;
		spool->counts.dropped_bytes += bytes;
		spool->counts.dropped_full += sequence == spool->intent.full;
	} else if (born_ns + reading->shift_ns <= file->born_ns) {
		file->born_ns = born_ns + reading->shift_ns;
	}
}

static void apply_state_line(struct state_reading *reading, const char *line)
{
	struct spool *spool = reading->spool;
	struct spool_intent *intent = &spool->intent;
	int is_salvaged = 0;

	if (reading->is_same_boot && sscanf(line, "alive %" SCNd64, &spool->last_beat_ns) == 1)
		return;
	if (apply_count(spool, line) || sscanf(line, "next %" SCNu64, &reading->next) == 1 ||
	    sscanf(line, "since %" SCNu64, &spool->start_real_ns) == 1 ||
	    sscanf(line, "full %" SCNu64, &intent->full) == 1 ||
	    sscanf(line, "cut %39s %" SCNu64, reading->cut_boot, &reading->cut_ns) == 2)
		return;
	if (sscanf(line, "adding %" SCNu64 " %" SCNu64 " %d", &intent->added, &intent->cut_ns,
		   &is_salvaged) == 3)
		intent->is_salvaged = is_salvaged != 0;
	else
		apply_file(reading, line);
}

/* Files that got their names after the state was written. */
static void count_added(struct state_reading *reading)
{
	struct spool *spool = reading->spool;
	const struct spool_intent *intent = &spool->intent;

	for (size_t i = 0; i < spool->files_count; i++)
		if (spool->files[i].sequence >= reading->next) {
			spool->counts.added++;
			spool->counts.added_bytes += spool->files[i].bytes;
		}
	if (reading->next > spool->next_sequence)
		spool->next_sequence = reading->next;
	spool->cut_ns = reading->cut_ns;
	snprintf(spool->cut_boot, sizeof(spool->cut_boot), "%s", reading->cut_boot);
	if (!intent->added || intent->added < reading->next || !find_file(spool, intent->added))
		return;
	spool->cut_ns = intent->cut_ns;
	spool->counts.salvaged += intent->is_salvaged;
}

static uint64_t real_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A state of another boot: ages go on from the time at which it was written. */
static void read_state(struct spool *spool)
{
	auto_free char *path = path_in(spool, SPOOL_STATE), *text = NULL;
	struct state_reading reading = {.spool = spool, .next = UINT64_MAX};
	char boot[sizeof(spool->boot)] = "";
	int64_t now_ns = 0;
	char *next;

	if (!path || read_file(path, MAX_STATE_BYTES, &text, NULL)) {
		error_clear();
		/* Files of a lost state keep their counts as files of the folder. */
		spool->start_real_ns = real_now_ns();
		return;
	}
	if (sscanf(text, "boot %39s\nnow %" SCNd64, boot, &now_ns) != 2)
		return;
	if (strcmp(boot, spool->boot) != 0)
		reading.shift_ns = spool_now_ns() - now_ns;
	else
		reading.is_same_boot = true;
	for (char *line = text; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		apply_state_line(&reading, line);
	}
	if (reading.next == UINT64_MAX)
		reading.next = spool->next_sequence;
	count_added(&reading);
	spool->intent = (struct spool_intent){.added = 0};
}

static void append_intent(const struct spool_intent *intent, struct string_builder *text)
{
	if (intent->added)
		string_builder_appendf(text, "adding %" PRIu64 " %" PRIu64 " %d\n", intent->added,
				       intent->cut_ns, intent->is_salvaged);
	if (intent->full)
		string_builder_appendf(text, "full %" PRIu64 "\n", intent->full);
}

/* Without it, ages, counts and the sequence of an empty folder begin anew; nothing else is lost. */
static void write_state(struct spool *spool)
{
	struct string_builder text = {0};
	int fd = openat(spool->folder, SPOOL_STATE PART,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int error;

	if (fd < 0)
		return;
	string_builder_appendf(&text, "boot %s\nnow %" PRId64 "\nnext %" PRIu64 "\n", spool->boot,
			       spool_now_ns(), spool->next_sequence);
	string_builder_appendf(&text, "since %" PRIu64 "\nalive %" PRId64 "\n",
			       spool->start_real_ns, spool->last_beat_ns);
	if (*spool->cut_boot)
		string_builder_appendf(&text, "cut %s %" PRIu64 "\n", spool->cut_boot,
				       spool->cut_ns);
	append_intent(&spool->intent, &text);
	for (size_t i = 0; i < ARRAY_COUNT(count_names); i++)
		string_builder_appendf(&text, "count %s %" PRIu64 "\n", count_names[i].name,
				       *count_at(spool, i));
	for (size_t i = 0; i < spool->files_count; i++)
		string_builder_appendf(&text, "file %" PRIu64 " %" PRId64 " %" PRIu64 "\n",
				       spool->files[i].sequence, spool->files[i].born_ns,
				       spool->files[i].bytes);
	error = text.error ? text.error : write_all(fd, string_builder_text(&text), text.length);
	close(fd);
	string_builder_fini(&text);
	if (error || renameat(spool->folder, SPOOL_STATE PART, spool->folder, SPOOL_STATE))
		unlinkat(spool->folder, SPOOL_STATE PART, 0);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int make_folders(const char *path)
{
	auto_free char *copy = strdup(path);

	if (!copy)
		return error_set(-ENOMEM, "out of memory");
	for (char *at = copy + 1;; at++) {
		const char kept = *at;

		if (kept && kept != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, 0750) && errno != EEXIST)
			return error_set(-errno, "spool '%s': create: %s", copy, strerror(errno));
		*at = kept;
		if (!kept)
			return 0;
	}
}

/* The lock has the pid of its owner, for the message of one that waits. */
static void write_owner(const struct spool *spool)
{
	char text[16];
	const int length = snprintf(text, sizeof(text), "%-14d\n", getpid());

	/* Without it the message has no pid. */
	(void)!pwrite(spool->lock, text, (size_t)length, 0);
}

static void report_wait(const struct spool *spool)
{
	char text[16] = "";

	if (!spool->options.on_wait)
		return;
	if (pread(spool->lock, text, sizeof(text) - 1, 0) < 0)
		text[0] = '\0';
	spool->options.on_wait(spool->options.context, atoi(text));
}

static int lock_folder(struct spool *spool, uint64_t wait_ns)
{
	static const struct timespec pause = {0, LOCK_LOOK_NS};
	const int64_t end_ns = spool_now_ns() + (int64_t)wait_ns;
	bool is_waiting = false;

	spool->lock =
		openat(spool->folder, SPOOL_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (spool->lock < 0)
		return error_set(-errno, "spool '%s': create its lock: %s", spool->path,
				 strerror(errno));
	while (flock(spool->lock, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_set(-errno, "spool '%s': lock: %s", spool->path,
					 strerror(errno));
		if (spool_now_ns() >= end_ns)
			return error_set(-EBUSY,
					 "spool '%s': another agent uses it; give each agent a "
					 "spool of its own",
					 spool->path);
		if (!is_waiting)
			report_wait(spool);
		is_waiting = true;
		nanosleep(&pause, NULL);
	}
	write_owner(spool);
	return 0;
}

static int by_sequence(const void *a, const void *b)
{
	const struct spool_file *one = a, *other = b;

	return one->sequence < other->sequence ? -1 : one->sequence > other->sequence;
}

static int list_file(struct spool *spool, const char *name)
{
	struct spool_file file = {.born_ns = spool_now_ns()};
	struct stat status;
	const size_t length = strlen(name), part = strlen(PART);

	if (length > part && strcmp(name + length - part, PART) == 0) {
		unlinkat(spool->folder, name, 0);
		return 0;
	}
	if (!parse_name(name, &file.sequence) ||
	    fstatat(spool->folder, name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
		return 0;
	file.bytes = (uint64_t)status.st_blocks * BLOCK_BYTES;
	snprintf(file.name, sizeof(file.name), "%s", name);
	if (array_append(spool->files, spool->files_capacity, spool->files_count, file))
		return error_set(-ENOMEM, "spool '%s': out of memory", spool->path);
	spool->bytes += file.bytes;
	if (file.sequence >= spool->next_sequence)
		spool->next_sequence = file.sequence + 1;
	return 0;
}

static int list_files(struct spool *spool)
{
	const int fd = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int error = 0;

	if (!folder) {
		error = error_set(-errno, "spool '%s': list: %s", spool->path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return error;
	}
	while (!error && (entry = readdir(folder)))
		error = list_file(spool, entry->d_name);
	closedir(folder);
	if (spool->files_count)
		qsort(spool->files, spool->files_count, sizeof(*spool->files), by_sequence);
	return error;
}

/* Time of another boot does not count: CLOCK_BOOTTIME begins anew. The cut is that of the ring,
 * whatever boot both are of. The state may have a newer cut. A beat of an older duet has no boot.
 */
static void read_beat(struct spool *spool, const char *text)
{
	char boot[sizeof(spool->boot)] = "";
	uint64_t cut_ns, rows_lost = 0;
	int64_t beat_ns;
	const int fields = sscanf(text, "%" SCNd64 " %" SCNu64 " %" SCNu64 " %39s", &beat_ns,
				  &cut_ns, &rows_lost, boot);

	if (fields < 2)
		return;
	if (fields == 4 && strcmp(boot, spool->boot) == 0 && beat_ns <= spool_now_ns() &&
	    beat_ns > spool->last_beat_ns)
		spool->last_beat_ns = beat_ns;
	if (strcmp(boot, spool->cut_boot) != 0 || cut_ns > spool->cut_ns)
		spool->cut_ns = cut_ns;
	if (rows_lost > spool->counts.rows_lost)
		spool->counts.rows_lost = rows_lost;
}

static void open_beat(struct spool *spool)
{
	char text[BEAT_BYTES] = "";
	ssize_t count;

	spool->beat =
		openat(spool->folder, SPOOL_BEAT, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	count = spool->beat < 0 ? -1 : pread(spool->beat, text, sizeof(text) - 1, 0);
	if (count > 0)
		read_beat(spool, text);
}

int spool_open(const char *path, const struct spool_options *options, uint64_t wait_ns,
	       struct spool **ret_spool)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int error;

	if (!spool)
		return error_set(-ENOMEM, "out of memory");
	spool->folder = spool->lock = spool->beat = -1;
	spool->options = *options;
	spool->next_sequence = 1;
	spool->path = strdup(path);
	read_host(spool->host);
	read_boot(spool->boot, sizeof(spool->boot));
	error = spool->path ? make_folders(path) : error_set(-ENOMEM, "out of memory");
	if (!error) {
		spool->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (spool->folder < 0)
			error = error_set(-errno, "spool '%s': open: %s", path, strerror(errno));
	}
	if (!error)
		error = lock_folder(spool, wait_ns);
	if (!error)
		error = list_files(spool);
	if (error) {
		spool_close(spool);
		return error;
	}
	read_state(spool);
	open_beat(spool);
	/* A kill from here on must not lead to the same counts again. */
	write_state(spool);
	spool_trim(spool);
	*ret_spool = spool;
	return 0;
}

void spool_close(struct spool *spool)
{
	if (!spool)
		return;
	if (spool->beat >= 0) {
		write_state(spool);
		close(spool->beat);
	}
	if (spool->lock >= 0)
		close(spool->lock);
	if (spool->folder >= 0)
		close(spool->folder);
	free(spool->files);
	free(spool->path);
	free(spool);
}

int spool_give(const struct spool *spool, uid_t uid, gid_t gid)
{
	static const char *const others[] = {SPOOL_STATE, SPOOL_LOCK, SPOOL_BEAT};

	if (fchown(spool->folder, uid, gid))
		return error_set(-errno, "spool '%s': give to user %u: %s", spool->path,
				 (unsigned)uid, strerror(errno));
	/* A file that is missing, or that cannot be given away, stays readable by root. */
	for (size_t i = 0; i < spool->files_count; i++)
		(void)!fchownat(spool->folder, spool->files[i].name, uid, gid, AT_SYMLINK_NOFOLLOW);
	for (size_t i = 0; i < ARRAY_COUNT(others); i++)
		(void)!fchownat(spool->folder, others[i], uid, gid, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* A file that cannot be removed leaves the list too: the next start finds it again. */
static void drop_oldest(struct spool *spool)
{
	const struct spool_file *file = &spool->files[0];

	if (unlinkat(spool->folder, file->name, 0) == 0 || errno == ENOENT) {
		spool->counts.dropped++;
		spool->counts.dropped_bytes += file->bytes;
	}
	spool->bytes -= file->bytes;
	spool->files_count--;
	memmove(spool->files, spool->files + 1, spool->files_count * sizeof(*spool->files));
}

uint64_t spool_ring_bytes(const struct spool *spool)
{
	struct stat status;

	if (fstatat(spool->folder, SPOOL_RING, &status, AT_SYMLINK_NOFOLLOW))
		return 0;
	return (uint64_t)status.st_blocks * BLOCK_BYTES;
}

uint64_t spool_ring_end(const struct spool *spool)
{
	struct stat status;

	return fstatat(spool->folder, SPOOL_RING, &status, AT_SYMLINK_NOFOLLOW)
		       ? 0
		       : (uint64_t)status.st_size;
}

uint64_t spool_total_bytes(const struct spool *spool)
{
	return spool->bytes + spool_ring_bytes(spool);
}

bool spool_has_room_for_copy(const struct spool *spool)
{
	return !spool->options.max_bytes ||
	       spool->bytes + 2 * spool_ring_bytes(spool) <= spool->options.max_bytes;
}

/* Drops the oldest files until `more` bytes fit. */
static void make_room(struct spool *spool, uint64_t more)
{
	const uint64_t ring = spool_ring_bytes(spool);
	const uint64_t kept = ring > spool->options.ring_bytes ? ring : spool->options.ring_bytes;

	while (spool->options.max_bytes && spool->files_count &&
	       spool->bytes + kept + more > spool->options.max_bytes)
		drop_oldest(spool);
}

void spool_trim(struct spool *spool)
{
	const int64_t now_ns = spool_now_ns();
	const uint64_t before = spool->counts.dropped;

	while (spool->options.max_age_ns && spool->files_count &&
	       now_ns - spool->files[0].born_ns > (int64_t)spool->options.max_age_ns)
		drop_oldest(spool);
	make_room(spool, 0);
	if (spool->counts.dropped != before)
		write_state(spool);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static void part_name(const struct spool *spool, char part[NAME_MAX + 1])
{
	snprintf(part, NAME_MAX + 1, "%.*s" PART, (int)(NAME_MAX - sizeof(PART)), spool->adding);
}

char *spool_begin(struct spool *spool, uint64_t expected_bytes)
{
	char part[NAME_MAX + 1];

	/* Room in the list first, so that no file is written that the list lacks. */
	if (array_grow(spool->files, spool->files_capacity, spool->files_count + 1))
		return NULL;
	make_room(spool, expected_bytes);
	format_name(spool, spool->adding);
	part_name(spool, part);
	unlinkat(spool->folder, part, 0);
	return path_in(spool, part);
}

static void set_cut(struct spool *spool, uint64_t cut_ns)
{
	spool->cut_ns = cut_ns;
	snprintf(spool->cut_boot, sizeof(spool->cut_boot), "%s", spool->boot);
}

/* The file was written under another name: a file of the spool is always complete. */
int spool_commit(struct spool *spool, const struct spool_content *content)
{
	struct spool_file file = {.sequence = spool->next_sequence, .born_ns = spool_now_ns()};
	char part[NAME_MAX + 1];
	struct stat status;

	part_name(spool, part);
	if (content->is_ring)
		snprintf(part, sizeof(part), SPOOL_RING);
	snprintf(file.name, sizeof(file.name), "%s", spool->adding);
	spool->intent = (struct spool_intent){.added = file.sequence,
					      .cut_ns = content->cut_ns,
					      .is_salvaged = content->is_salvaged};
	write_state(spool);
	spool->intent.added = 0;
	if (fstatat(spool->folder, part, &status, AT_SYMLINK_NOFOLLOW) ||
	    renameat(spool->folder, part, spool->folder, file.name))
		return error_set(-errno, "spool '%s': rename '%s': %s", spool->path, part,
				 strerror(errno));
	file.bytes = (uint64_t)status.st_blocks * BLOCK_BYTES;
	spool->files[spool->files_count++] = file;
	spool->bytes += file.bytes;
	spool->next_sequence++;
	spool->counts.added++;
	spool->counts.added_bytes += file.bytes;
	spool->counts.salvaged += content->is_salvaged;
	set_cut(spool, content->cut_ns);
	/* Before the next drop: a file that is added and dropped in between has no trace. */
	write_state(spool);
	spool_trim(spool);
	return 0;
}

bool spool_retry(struct spool *spool, int error)
{
	char part[NAME_MAX + 1];

	part_name(spool, part);
	unlinkat(spool->folder, part, 0);
	if ((error != -ENOSPC && error != -EDQUOT) || !spool->files_count)
		return false;
	spool->intent.full = spool->files[0].sequence;
	write_state(spool);
	spool->intent.full = 0;
	spool->counts.dropped_full++;
	drop_oldest(spool);
	write_state(spool);
	return true;
}

void spool_skip(struct spool *spool, uint64_t held_ns, uint64_t cut_ns)
{
	spool->counts.skipped++;
	spool->counts.skipped_ns += held_ns;
	if (cut_ns)
		set_cut(spool, cut_ns);
	write_state(spool);
}

/* ---- killed recorders ------------------------------------------------------------------------ */

void spool_beat(struct spool *spool)
{
	const int64_t now_ns = spool_now_ns();
	char text[BEAT_BYTES];
	const int length =
		snprintf(text, sizeof(text), "%-20" PRId64 " %-20" PRIu64 " %-20" PRIu64 " %-39s\n",
			 now_ns, spool->cut_ns, spool->counts.rows_lost, spool->boot);

	spool->last_beat_ns = now_ns;

	/* A full disk may refuse it; then the time without a recorder counts from an earlier beat.
	 */
	if (spool->beat >= 0 && pwrite(spool->beat, text, (size_t)length, 0) < 0) {
	}
}

void spool_note_cut(struct spool *spool, uint64_t cut_ns)
{
	set_cut(spool, cut_ns);
	spool_beat(spool);
}

void spool_note_ring(struct spool *spool)
{
	spool_note_cut(spool, 0);
	write_state(spool);
}

/* The state gets the count and the present time at once, so a kill now adds nothing twice. */
bool spool_count_killed(struct spool *spool)
{
	const int64_t now_ns = spool_now_ns();

	if (!spool_ring_end(spool) || spool->cut_ns == SPOOL_ALL_CUT)
		return false;
	spool->counts.killed++;
	if (spool->last_beat_ns && spool->last_beat_ns < now_ns)
		spool->counts.killed_ns += (uint64_t)(now_ns - spool->last_beat_ns);
	spool->last_beat_ns = now_ns;
	write_state(spool);
	return true;
}
