/* SPDX-License-Identifier: MIT
 *
 * cli/remote/fetch.c - copy a recording from the other machine
 *
 * Runs in:  our own process
 * Gets:     a trace and a folder of symbol files there
 * Gives:    the same here
 * Owns:     the unfinished file
 * Fails:    -errno with the name of the file or machine; a copy whose size or hash differs is
 *           removed
 * Why:      symbol files that are here already are left out by their build ids: the libraries of a
 *           second recording are those of the first
 */
#include "cli/remote/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file/output_file.h"
#include "base/file/regular_file.h"
#include "base/io.h"
#include "base/file/sha256.h"
#include "cli/archive.h"
#include "cli/output.h"
#include "cli/remote/unpack.h"
#include "trace/chunk.h"

int fetch_check_output(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat about;

	if (fd < 0 || fstat(fd, &about) || !S_ISREG(about.st_mode) || !about.st_size)
		return 0; /* opening it for writing has its own message */
	if (chunk_begins_file(fd))
		return 0;
	return error_set(-EEXIST,
			 "'%s' is not a trace, and the recording would replace it; choose another "
			 "name, or remove that file",
			 path);
}

/* ---- the trace ------------------------------------------------------------------------------- */

static const char trace_script[] = "trace=$job/recording.duet\n"
				   "[ -f \"$trace\" ] || { echo none; exit; }\n"
				   "sum=$(sha256sum \"$trace\") || exit\n"
				   "[ -d \"$trace.symbols\" ] && symbols=1 || symbols=0\n"
				   "echo \"size $(wc -c <\"$trace\")\"\n"
				   "echo \"symbols $symbols\"\n"
				   "echo \"hash ${sum%% *}\"\n"
				   "cat \"$trace\"\n";

struct arrival {
	uint64_t size_bytes;
	char hash[SHA256_TEXT_SIZE];
	int has_symbols;
};

static int read_line(int fd, char *line, size_t size)
{
	size_t length = 0;

	for (;;) {
		if (length + 1 == size || read_all(fd, line + length, 1))
			return -EREMOTEIO;
		if (line[length] == '\n')
			break;
		length++;
	}
	line[length] = '\0';
	return 0;
}

/* -ENOENT: there is no recording. */
static int read_head(int fd, struct arrival *ret_arrival)
{
	char line[128];

	*ret_arrival = (struct arrival){0};
	if (ssh_skip_to_mark(fd) || read_line(fd, line, sizeof(line)))
		return -EREMOTEIO;
	if (strcmp(line, "none") == 0)
		return -ENOENT;
	if (sscanf(line, "size %" SCNu64, &ret_arrival->size_bytes) != 1 ||
	    read_line(fd, line, sizeof(line)) ||
	    sscanf(line, "symbols %d", &ret_arrival->has_symbols) != 1 ||
	    read_line(fd, line, sizeof(line)) || sscanf(line, "hash %64s", ret_arrival->hash) != 1)
		return -EREMOTEIO;
	return 0;
}

/* Whether a signal waits that ends duet. */
static bool is_ended(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP) || sigismember(&pending, SIGQUIT));
}

static int receive(int fd, const struct arrival *arrival, const char *path, FILE *out)
{
	char digits[SHA256_TEXT_SIZE], piece[1 << 16];
	uint64_t left = arrival->size_bytes;
	struct sha256 hash;

	sha256_init(&hash);
	while (left) {
		size_t count = left < sizeof(piece) ? (size_t)left : sizeof(piece);

		if (is_ended())
			return error_set(-EINTR, "'%s': the copy was interrupted", path);
		if (read_all(fd, piece, count))
			return error_set(-EREMOTEIO, "'%s': the connection was lost", path);
		if (fwrite(piece, 1, count, out) != count)
			return error_set(-errno, "write '%s': %s", path, strerror(errno));
		sha256_add(&hash, piece, count);
		left -= count;
	}
	sha256_format(&hash, digits);
	if (strcmp(digits, arrival->hash) != 0)
		return error_set(-EBADMSG, "'%s': the copy differs from the recording", path);
	return 0;
}

static int write_trace(int fd, const struct arrival *arrival, const char *path)
{
	struct whole_file output;
	int error = whole_file_open(&output, path);

	if (error)
		return error;
	if (output.part) /* arguments of programs may be secret */
		fchmod(fileno(output.file), 0600);
	return whole_file_close(&output, receive(fd, arrival, path, output.file));
}

int fetch_trace(const struct remote_job *job, const char *path, int *ret_found)
{
	const struct ssh_start start = {.has_pipe_in = true, .has_pipe_out = true};
	struct string_builder script = {0};
	struct ssh_process process;
	struct arrival arrival;
	int error;

	string_builder_appendf(&script, "job=%s\n%s", job->folder, trace_script);
	error = ssh_start_script(job->ssh, &start, string_builder_text(&script), &process);
	string_builder_fini(&script);
	if (error)
		return error;
	close(take_fd(&process.in));
	error = read_head(process.out, &arrival);
	if (error == -EREMOTEIO)
		error_set(error, "%s: the recording cannot be read there", job->ssh->host);
	if (!error)
		*ret_found = arrival.has_symbols ? FETCH_SYMBOLS : FETCH_TRACE;
	else if (error == -ENOENT)
		*ret_found = FETCH_NOTHING;
	error = error == -ENOENT ? 0 : error ? error : write_trace(process.out, &arrival, path);
	ssh_wait(&process);
	return error;
}

/* ---- the symbol files ------------------------------------------------------------------------ */

/* Wanted files are linked into a folder, because not every tar reads a list of names. An
 * empty list of patterns would match every line of some greps. */
static const char symbols_script[] =
	"{ echo /; cat; } >\"$job/have\" && mkdir \"$job/send\" || exit\n"
	"cd \"$job/recording.duet.symbols\" || exit\n"
	"find . -type f >\"$job/all\"\n"
	"grep -vxF -f \"$job/have\" \"$job/all\" >\"$job/want\"\n"
	"while IFS= read -r name; do\n"
	"  folder=$job/send/${name%/*}\n"
	"  [ -d \"$folder\" ] || mkdir -p \"$folder\"\n"
	"  ln \"$name\" \"$job/send/$name\" || exit\n"
	"done <\"$job/want\"\n"
	"tar -C \"$job/send\" -cf - . | gzip -1 && rm -r \"$job/send\"\n";

/* The files of the folder that have a build id, as find prints them there. */
static void list_kept(const char *folder, struct string_builder *names)
{
	auto_free char *pattern = NULL;
	glob_t found = {0};

	if (asprintf(&pattern, "%s/.build-id/*/*", folder) < 0)
		return;
	if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			string_builder_appendf(names, ".%s\n", found.gl_pathv[i] + strlen(folder));
	globfree(&found);
}

static int open_folder(const char *path, struct output_folder *ret_folder)
{
	int error = output_folder_init(ret_folder, path);

	if (!error)
		error = output_folder_open(ret_folder, true);
	return error ? output_folder_fail(ret_folder, "", error) : 0;
}

/* The names of the files that are here already go there, and the other files come back. */
static int receive_symbols(const struct remote_job *job, const struct output_folder *folder,
			   const struct string_builder *names)
{
	const struct ssh_start start = {.has_pipe_in = true, .has_pipe_out = true};
	struct string_builder script = {0};
	struct ssh_process process;
	int status, error;

	string_builder_appendf(&script, "job=%s\n%s", job->folder, symbols_script);
	error = ssh_start_script(job->ssh, &start, string_builder_text(&script), &process);
	string_builder_fini(&script);
	if (error)
		return error;
	write_all(process.in, names->text, names->length);
	close(take_fd(&process.in));
	status = ssh_skip_to_mark(process.out) ? -1 : unpack_files(process.out, folder->fd);
	if (ssh_wait(&process) || status)
		return error_set(-EREMOTEIO, "'%s': not all symbol files could be copied",
				 folder->path);
	return 0;
}

int fetch_symbols(const struct remote_job *job, const char *path)
{
	auto_free char *name = archive_folder(path);
	struct output_folder folder = {.above = -1, .fd = -1};
	struct string_builder names = {0};
	int error = name ? open_folder(name, &folder) : -ENOMEM;

	if (!error) {
		list_kept(name, &names);
		error = receive_symbols(job, &folder, &names);
	}
	string_builder_fini(&names);
	output_folder_fini(&folder);
	return error;
}
