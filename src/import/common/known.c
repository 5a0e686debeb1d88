/* SPDX-License-Identifier: MIT
 *
 * import/common/known.c - files of other programs that duet does not import, and how to convert
 * them
 *
 * Runs in:  our own process
 * Gets:     the first bytes of a file, its name
 * Gives:    a text
 * Owns:     nothing
 * Fails:    returns false for an unknown file
 * Why names, too: the formats of NVIDIA's reports are not published, so only the name of such a
 *           file is certain
 */
#include "import/common/known.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "import/common/probe.h"

struct known_file {
	const char *suffix; /* end of the file's name; NULL: any */
	const char *magic;  /* at `offset`; NULL: any content */
	size_t magic_size, offset;
	const char *advice; /* at most one %s: the file's path */
};

#define MAGIC(text) text, sizeof(text) - 1

static const char nsys_report[] = "this is a report of Nsight Systems; export it and import the "
				  "result: nsys export --type sqlite -o report.sqlite '%s'";
static const char otf2_trace[] = "this is a trace in the OTF2 format; let the tool write another "
				 "format: rocprofv3 --output-format rocpd";

static const struct known_file known_files[] = {
	{".nsys-rep", NULL, 0, 0, nsys_report},
	{".qdrep", NULL, 0, 0, nsys_report},
	{".qdstrm", NULL, 0, 0,
	 "this is an unfinished report of Nsight Systems; make a report of it: QdstrmImporter -i "
	 "'%s'; then export that to SQLite: nsys export --type sqlite"},
	{".ncu-rep", NULL, 0, 0,
	 "this is a report of Nsight Compute, which has counters of kernels and no times of a run; "
	 "print it: ncu --import '%s'; for a trace, record with nsys or duet"},
	{NULL, MAGIC("PERFILE2"), 0,
	 "this is a recording of perf; print it and import the result: perf script -i '%s' > "
	 "perf.txt"},
	{NULL,
	 MAGIC("\x17\x08"
	       "Dtracing"),
	 0,
	 "this is a recording of trace-cmd; duet does not import it; read it: trace-cmd report "
	 "'%s'"},
	{NULL, MAGIC("OTF2"), 0, otf2_trace},
	{".otf2", NULL, 0, 0, otf2_trace},
	{NULL, MAGIC("FLR\0"), 0,
	 "this is a recording of Java's Flight Recorder; convert it and import the result: jfrconv "
	 "-o collapsed '%s' stacks.folded"},
	{NULL,
	 MAGIC("\x24\x09\xd5"
	       "duet\r\n"),
	 0, "this is a trace of duet; read it: duet report '%s'"},
	{NULL, MAGIC("ustar"), 257, "this is a tar archive; unpack it: tar -xf '%s'"},
	{NULL, MAGIC("PK\x03\x04"), 0, "this is a zip archive; unpack it: unzip '%s'"},
	{NULL,
	 MAGIC("\xfd"
	       "7zXZ\0"),
	 0, "the file is compressed by xz; unpack it: xz -d '%s'"},
	{NULL, MAGIC("BZh"), 0, "the file is compressed by bzip2; unpack it: bzip2 -d '%s'"},
	{NULL, MAGIC("\x04\x22\x4d\x18"), 0,
	 "the file is compressed by lz4; unpack it: lz4 -d '%s'"},
	{NULL,
	 MAGIC("\x7f"
	       "ELF"),
	 0, "this is a program or library; record it: duet record -- '%s'"},
	{".speedscope.json", NULL, 0, 0,
	 "this is a profile of speedscope; let the profiler write folded stacks or a Chrome trace"},
};

/* A profile of pprof begins with the types of its values: pairs of small numbers of strings. */
static bool is_pprof(const struct import_probe *probe)
{
	const char *bytes = probe->bytes;

	return probe->size > 6 && bytes[0] == '\x0a' && bytes[1] == 4 && bytes[2] == 8 &&
	       bytes[4] == '\x10';
}

static bool has_suffix(const char *path, const char *suffix)
{
	size_t length = strlen(path), size = strlen(suffix);

	return length > size && strcmp(path + length - size, suffix) == 0;
}

static bool is_known(const struct import_probe *probe, const struct known_file *file)
{
	if (file->suffix && !has_suffix(probe->path, file->suffix))
		return false;
	return !file->magic ||
	       (probe->size >= file->offset + file->magic_size &&
		memcmp(probe->bytes + file->offset, file->magic, file->magic_size) == 0);
}

bool import_known_advise(const struct import_probe *probe, char *text, size_t size)
{
	static const char pprof[] =
		"this is a profile of pprof; convert it to folded stacks and import them: "
		"go tool pprof -raw '%s' | stackcollapse-go.pl > stacks.folded";
	const char *advice = is_pprof(probe) ? pprof : NULL;
	const char *path;

	for (size_t i = 0; i < ARRAY_COUNT(known_files) && !advice; i++)
		if (is_known(probe, &known_files[i]))
			advice = known_files[i].advice;
	if (!advice)
		return false;
	path = strstr(advice, "%s");
	snprintf(text, size, "%.*s%s%s", path ? (int)(path - advice) : (int)strlen(advice), advice,
		 path ? probe->path : "", path ? path + 2 : "");
	return true;
}
