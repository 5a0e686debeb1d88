/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_import.c - libFuzzer target: any bytes as a foreign file
 *
 * Compiled once for each importer: FUZZ_IMPORTER is its struct importer, FUZZ_EXPORTER the name of
 * the exporter that writes seeds; NULL: the seeds are the files of the folder FUZZ_SEEDS. What is
 * taken must be a whole trace; what is refused must say why.
 *
 *	fuzz_import_NAME --seed FOLDER		writes seeds
 */
#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../checker/description.h"
#include "analyze/model.h"
#include "analyze/output_options.h"
#include "base/error.h"
#include "base/file/sqlite_library.h"
#include "export/exporter.h"
#include "import/formats.h"
#include "import/source.h"
#include "import/target.h"
#include "trace/reader.h"

enum { SEED_BYTES_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static void check_trace(const char *path)
{
	struct trace_reader *reader;

	if (trace_reader_open(path, &reader))
		abort();
	for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
		void *rows = NULL;
		size_t count;

		if (trace_reader_rows(reader, i, &rows, &count))
			abort();
		free(rows);
	}
	trace_reader_close(reader);
}

static void import(const char *from, const char *to)
{
	struct import_source *source;
	struct import_target *target;
	int error;

	error_clear();
	if (import_source_open(from, &source) || import_target_open(to, &target))
		abort();
	error = FUZZ_IMPORTER.read(source, target);
	if (error)
		import_target_abandon(target);
	else if (import_target_finish(target, NULL))
		abort();
	if (error && !*error_text())
		abort();
	import_source_close(source);
	if (!error)
		check_trace(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char from[64], to[64];
	FILE *file;

	/* SQLite follows links to a file's name, so it must have one */
	snprintf(from, sizeof(from), "/dev/shm/fuzz-import-%d", (int)getpid());
	snprintf(to, sizeof(to), "/dev/shm/fuzz-import-%d.duet", (int)getpid());
	file = fopen(from, "we");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		abort();
	import(from, to);
	unlink(from);
	unlink(to);
	return 0;
}

/* ---- seeds ---- */

static int export_one(const char *description, const char *path)
{
	const struct output_options options = {.version = "0"};
	const struct exporter *exporter = exporter_find(FUZZ_EXPORTER);
	FILE *text = fopen(description, "re"), *out;
	struct model *model;
	uint64_t rows;
	char trace[4096];
	int error;

	snprintf(trace, sizeof(trace), "%s.duet", path);
	error = text ? description_write(text, trace) : -1;
	if (text)
		fclose(text);
	if (error || model_open(trace, &model))
		return 1;
	out = fopen(path, "we");
	error = out ? exporter->write(model, &options, out, &rows) : -1;
	if (out)
		fclose(out);
	model_close(model);
	unlink(trace);
	return error ? 1 : 0;
}

static int export_golden(const char *folder)
{
	glob_t found;
	int error = 0;

	glob(FUZZ_GOLDEN "/account/*.txt", 0, NULL, &found);
	glob(FUZZ_GOLDEN "/export/*.txt", GLOB_APPEND, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && !error; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/golden-%02zu", folder, i);
		error = export_one(found.gl_pathv[i], path);
	}
	globfree(&found);
	return error;
}

/* Reads a whole file; the caller frees it. NULL: it cannot be read. */
static char *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	char *text = calloc(1, SEED_BYTES_MAX);

	*ret_size = file && text ? fread(text, 1, SEED_BYTES_MAX - 1, file) : 0;
	if (file)
		fclose(file);
	return text;
}

static int make_database(const char *script, const char *path)
{
	struct sqlite_library sqlite;
	sqlite3 *database = NULL;
	int status;

	unlink(path);
	if (sqlite_library_open(&sqlite))
		return 1;
	status = sqlite.open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	if (status == SQLITE_OK)
		status = sqlite.exec(database, script, NULL, NULL, NULL);
	sqlite.close(database);
	sqlite_library_close(&sqlite);
	return status != SQLITE_OK;
}

/* Makes a database of a seed in SQL; copies any other. */
static int write_seed(const char *from, const char *to)
{
	const char *ending = strrchr(from, '.');
	size_t size;
	char *text = read_file(from, &size);
	FILE *file;
	int error;

	if (!text)
		return 1;
	if (ending && strcmp(ending, ".sql") == 0) {
		error = make_database(text, to);
	} else {
		file = fopen(to, "we");
		error = !file || fwrite(text, 1, size, file) != size || fclose(file);
	}
	free(text);
	return error;
}

static int write_seeds(const char *folder)
{
	glob_t found;
	int error = glob(FUZZ_SEEDS "/*", 0, NULL, &found);

	for (size_t i = 0; !error && i < found.gl_pathc; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/seed-%02zu", folder, i);
		error = write_seed(found.gl_pathv[i], path);
	}
	globfree(&found);
	return error;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 3 && !strcmp((*argv)[1], "--seed"))
		exit(FUZZ_EXPORTER ? export_golden((*argv)[2]) : write_seeds((*argv)[2]));
	return 0;
}
