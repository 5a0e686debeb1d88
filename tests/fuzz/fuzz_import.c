/* SPDX-License-Identifier: MIT
 *
 * tests/fuzz/fuzz_import.c - libFuzzer target: any bytes as a foreign file
 *
 * Compiled once for each importer: FUZZ_IMPORTER is its struct importer, FUZZ_EXPORTER the name of
 * the exporter that writes seeds; NULL: a database of the list below. What is taken must be a whole
 * trace; what is refused must say why.
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

static const struct {
	const char *importer, *script;
} databases[] = {
	{"rocm-trace-lite",
	 "PRAGMA page_size = 512;"
	 "CREATE TABLE rocpd_string(id INTEGER PRIMARY KEY, string TEXT UNIQUE);"
	 "CREATE TABLE rocpd_op(id INTEGER PRIMARY KEY, gpuId INTEGER, queueId INTEGER, "
	 "sequenceId INTEGER,"
	 " completionSignal TEXT, start INTEGER, end INTEGER, description_id INTEGER, "
	 "opType_id INTEGER);"
	 "CREATE TABLE rocpd_api(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, start "
	 "INTEGER, end INTEGER,"
	 " apiName_id INTEGER, args_id INTEGER);"
	 "CREATE TABLE rocpd_metadata(id INTEGER PRIMARY KEY, tag TEXT, value TEXT);"
	 "INSERT INTO rocpd_metadata(tag, value) VALUES('pid', '4711');"
	 "INSERT INTO rocpd_string VALUES(1, 'saxpy'), (2, 'KernelExecution'), (3, "
	 "'CopyHostToDevice'),"
	 " (5, 'hipDeviceSynchronize');"
	 "INSERT INTO rocpd_op VALUES(1, 0, 1401, 0, 'hwq=0x1 wg=64,2,1 grid=4096,2,1', "
	 "1000, 3000, 1, 2),"
	 " (2, 1, 1402, 0, '', 1500, 2500, 1, 3), (3, -1, 0, 0, '', 900, 4000, 4, 4);"
	 "INSERT INTO rocpd_api VALUES(1, 4711, 4712, 800, 6000, 5, 0);"},
	{"nsys",
	 "PRAGMA page_size = 512;"
	 "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
	 "CREATE TABLE PROCESSES(globalPid, pid, name);"
	 "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, "
	 "correlationId, nameId, returnValue, callchainId);"
	 "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, "
	 "correlationId, globalPid, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, "
	 "staticSharedMemory);"
	 "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, streamId, correlationId, "
	 "globalPid, bytes, copyKind, srcKind, dstKind, migrationCause);"
	 "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, contextId, streamId, "
	 "correlationId, globalPid);"
	 "CREATE TABLE CUDA_CALLCHAINS(id, symbol, module, unresolved, stackDepth);"
	 "CREATE TABLE NVTX_EVENTS(start, end, eventType, text, textId, globalTid, domainId, "
	 "category, color, uint64Value);"
	 "CREATE TABLE OSRT_API(start, end, globalTid, nameId, callchainId);"
	 "CREATE TABLE COMPOSITE_EVENTS(id, start, cpu, globalTid, cpuCycles);"
	 "CREATE TABLE SAMPLING_CALLCHAINS(id, symbol, module, kernelMode, stackDepth);"
	 "CREATE TABLE SCHED_EVENTS(start, cpu, isSchedIn, globalTid, threadState);"
	 "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD(start, end, globalTid, nameId, overheadType);"
	 "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, bytes, memKind, "
	 "memoryOperationType);"
	 "CREATE TABLE TARGET_INFO_GPU(id, name, uuid, totalMemory, smCount);"
	 "CREATE TABLE TARGET_INFO_GPU_METRICS(typeId, metricId, metricName);"
	 "CREATE TABLE GPU_METRICS(timestamp, typeId, metricId, value);"
	 "CREATE TABLE DIAGNOSTIC_EVENT(timestamp, severity, text);"
	 "INSERT INTO StringIds VALUES(1, 'saxpy'), (2, 'cudaLaunchKernel_v7000'), (3, 'main'), "
	 "(4, '/opt/app'), (5, 'cudaStreamSynchronize_v3020'), (6, 'ioctl');"
	 "INSERT INTO PROCESSES VALUES(79037464576, 4711, 'app');"
	 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(10, 20, 0, 79037469287, 1, 2, 0, NULL), "
	 "(9, 21, 67, 79037469287, 1, 2, 0, 1), (50, 90, 0, 79037469287, 2, 5, 0, NULL);"
	 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(30, 40, 0, 1, 7, 1, 79037464576, 1, 4, 1, "
	 "1, 64, 1, 1, 16), (41, 44, 0, 1, 7, 1, 79037464576, 1, 4, 1, 1, 64, 1, 1, 16);"
	 "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(45, 48, 0, 0, 0, 79037464576, 4096, 11, 4, "
	 "4, 2);"
	 "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(51, 89, 1, 7, 2, 79037464576);"
	 "INSERT INTO CUDA_CALLCHAINS VALUES(1, 2, 4, 1, 0), (1, 3, 4, NULL, 1);"
	 "INSERT INTO NVTX_EVENTS VALUES(1, NULL, 75, 'lib', NULL, 79037469287, 1, NULL, NULL, "
	 "NULL), (2, 95, 59, 'aten::mm, op_id = 3', NULL, 79037469287, 1, 1, 255, 7), (3, NULL, "
	 "60, "
	 "NULL, 3, 79037469287, 0, NULL, NULL, NULL);"
	 "INSERT INTO OSRT_API VALUES(91, 94, 79037469287, 6, 0);"
	 "INSERT INTO COMPOSITE_EVENTS VALUES(1, 92, 3, 79037469287, 1);"
	 "INSERT INTO SAMPLING_CALLCHAINS VALUES(1, 3, 4, 0, 0);"
	 "INSERT INTO SCHED_EVENTS VALUES(93, 3, 0, 79037469287, 2), (94, 3, 1, 79037469287, 0);"
	 "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES(11, 19, 79037469287, 0, 8);"
	 "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(5, 79037464576, 0, 1000, 2, 0);"
	 "INSERT INTO TARGET_INFO_GPU VALUES(0, 'GPU', 'ab-1', 1024, 8);"
	 "INSERT INTO TARGET_INFO_GPU_METRICS VALUES(0, 1, 'SMs Active [%]');"
	 "INSERT INTO GPU_METRICS VALUES(12, 0, 1, 50), (22, 0, 1, 60);"
	 "INSERT INTO DIAGNOSTIC_EVENT VALUES(0, 3, 'lost');"},
};

static const char *find_script(void)
{
	for (size_t i = 0; i < sizeof(databases) / sizeof(*databases); i++)
		if (strcmp(databases[i].importer, FUZZ_IMPORTER.name) == 0)
			return databases[i].script;
	abort();
}

static int make_database(const char *folder)
{
	struct sqlite_library sqlite;
	sqlite3 *database = NULL;
	char path[4096];
	int status;

	snprintf(path, sizeof(path), "%s/database", folder);
	unlink(path);
	if (sqlite_library_open(&sqlite))
		return 1;
	status = sqlite.open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	if (status == SQLITE_OK)
		status = sqlite.exec(database, find_script(), NULL, NULL, NULL);
	sqlite.close(database);
	sqlite_library_close(&sqlite);
	return status != SQLITE_OK;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc == 3 && !strcmp((*argv)[1], "--seed"))
		exit(FUZZ_EXPORTER ? export_golden((*argv)[2]) : make_database((*argv)[2]));
	return 0;
}
