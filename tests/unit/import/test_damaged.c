/* SPDX-License-Identifier: MIT
 *
 * tests/unit/import/test_damaged.c - foreign files that are cut off or changed: a whole trace, or
 * an error that says where
 *
 * The sanitizers' build runs it too. What whole files become is tested in tests/e2e/test_import.py.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "harness.h"
#include "import/importer.h"
#include "trace/reader.h"

enum { CHANGES = 2000 };

static const char folded[] = "main;run;work_[k] 12\n"
			     "main;run;std::vector<int, char>::f(int)_[i];jit\\x3bted_[j] 4\n"
			     "\n"
			     "main;[truncated];a 18446744073709551615\r\n";

static const char perf_script[] =
	"# captured on: Sun Nov 22\n"
	"my program  5621/5622 [001]  3371.949109:     250000 cycles:u: \n"
	"\t    55d0c0ffee10 do_work+0x1a (/usr/bin/render)\n"
	"\t    7f0000001234 [unknown] (/usr/lib/libc.so.6)\n"
	"\t    55d0c0ffee05 inner (inlined)\n"
	"\n"
	"swapper     0 [000]  3371.950001: cpu-clock:  ffffffff8104f45a native_write_msr+0xa "
	"([kernel.kallsyms])\n";

static const char chrome[] =
	"{\"displayTimeUnit\":\"ns\",\"other\":[1,{\"x\":[]}],\"traceEvents\":[\n"
	"{\"ph\":\"M\",\"pid\":7,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"p\"}},\n"
	"{\"ph\":\"X\",\"cat\":\"launch\",\"name\":\"cuLaunchKernel\",\"pid\":7,\"tid\":8,\"ts\":1."
	"5,"
	"\"dur\":2,\"sf\":2,\"args\":{\"correlation\":3}},\n"
	"{\"ph\":\"B\",\"name\":\"outer\",\"pid\":7,\"tid\":8,\"ts\":-1},\n"
	"{\"ph\":\"B\",\"name\":\"inner\",\"pid\":7,\"tid\":8,\"ts\":10},\n"
	"{\"ph\":\"E\",\"pid\":7,\"tid\":8,\"ts\":20},\n"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":4,"
	"\"dur\":1.25,\"args\":{\"correlation\":3,\"stream\":7,\"grid\":[2,1,1],\"block\":[64,1,1]}"
	"},\n"
	"{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy "
	"HtoD\",\"pid\":0,\"tid\":7,\"ts\":6,"
	"\"dur\":1,\"args\":{\"correlation\":9,\"bytes\":64}},\n"
	"{\"ph\":\"C\",\"name\":\"c\",\"pid\":7,\"ts\":1,\"args\":{\"v\":1}}],\n"
	"\"samples\":[{\"tid\":8,\"ts\":3,\"name\":\"cycles\",\"sf\":2,\"weight\":5}],\n"
	"\"stackFrames\":{\"1\":{\"name\":\"main\"},\"2\":{\"name\":\"f\",\"parent\":\"1\"}}}\n";

static const char iaprof[] =
	"STRING;1;python3.11\nUSTACK;100;0x7f8000001234;main\nKSTACK;200;0xffffffffc0123456\n"
	"GPU_FILE;10;k.cpp\nGPU_SYMBOL;11;k\nINSN_TEXT;20;mad(8) r10.0<1>:f\nPROC_NAME;1;7\n"
	"EUSTALL;1;7;100;200;10;11;20;1;0x40;1234\n"
	"string\t1\tp\nstring\t2\tmain;f;\nstring\t3\tioctl_[k];\nstring\t4\tsbid\n"
	"interval_start\t0\t12.345678\n"
	"eustall\t1\t7\t2\t3\t0\t1\t1\t1\t1\t4\t0x40\t9223372036854700000\n"
	"proc_name\t1\npid\t7\nustack\t2\nkstack\t3\nshader_type\t1\ngpu_file\t1\n"
	"gpu_symbol\t1\ninsn_text\t1\ne\t9\t4\t4f0\t12\nmetric\tfrequency-MHz\t2050\n"
	"metric\tbusy-percent\t97\ninterval_end\t0\nframe\ninterval\t1\t12.5\n"
	"kernel\t0xffff000000\t1\t7\t2\t1\t0\n"
	"eustall\t0x30\t1\t4\t0\t9\t0\t0\t81\t0\t1\t0\t2\r\n";

/* A snapshot of clocks, a process, a thread, a slice with a name by number, a sample, a counter. */
static const char perfetto[] =
	"\x0a\x0c\x32\x08\x0a\x04\x08\x06\x10\x64\x10\x06\x50\x01"
	"\x0a\x11\xe2\x03\x0c\x08\x0a\x1a\x08\x08\x07\x32\x04main\x50\x01"
	"\x0a\x0f\xe2\x03\x0a\x08\x0b\x28\x0a\x22\x04\x08\x07\x10\x08\x50\x01"
	"\x0a\x17\x40\x0a\x5a\x06\x48\x01\x58\x0b\x50\x01\x62\x07\x12\x05\x08\x01\x12\x01"
	"f\x50\x01\x68\x01"
	"\x0a\x0a\x40\x14\x5a\x04\x48\x02\x58\x0b\x50\x01"
	"\x0a\x0d\x40\x19\x92\x04\x06\x10\x07\x18\x08\x30\x05\x50\x01"
	"\x0a\x10\x40\x1e\x5a\x0a\x48\x03\x58\x0b\xba\x01\x03"
	"abc\x50\x01";

static const struct {
	const char *format, *text;
	size_t size;
} files[] = {{"folded", folded, sizeof(folded) - 1},
	     {"perf-script", perf_script, sizeof(perf_script) - 1},
	     {"chrome", chrome, sizeof(chrome) - 1},
	     {"iaprof", iaprof, sizeof(iaprof) - 1},
	     {"perfetto", perfetto, sizeof(perfetto) - 1}};

static char folder[] = "/tmp/duet-import-XXXXXX";

/* 0: the trace is whole and is gone again; else the importer's error, which has a text, and no
 * trace is left. */
static int import_bytes(const char *format, const char *bytes, size_t size)
{
	char input[64], output[64], part[72];
	struct import_result result = {0};
	struct trace_reader *reader = NULL;
	int error;

	snprintf(input, sizeof(input), "%s/in", folder);
	snprintf(output, sizeof(output), "%s/out", folder);
	snprintf(part, sizeof(part), "%s.part", output);
	harness_write_file(input, bytes, size);
	error = import_file(importer_find(format), input, output, &result);
	if (error) {
		CHECK(*error_text());
		CHECK(access(output, F_OK) != 0);
	} else {
		CHECK_EQUAL(trace_reader_open(output, &reader), 0);
		trace_reader_close(reader);
		unlink(output);
	}
	CHECK(access(part, F_OK) != 0);
	free(result.notes);
	free(result.faults);
	unlink(input);
	return error;
}

TEST(whole_files)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		CHECK_EQUAL(import_bytes(files[i].format, files[i].text, files[i].size), 0);
}

TEST(cut_files)
{
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		for (size_t size = 0; size < files[i].size; size++) {
			int error = import_bytes(files[i].format, files[i].text, size);

			CHECK(error == 0 || error == -EBADMSG);
		}
	}
	/* JSON is whole or it is not */
	CHECK_EQUAL(import_bytes("chrome", chrome, sizeof(chrome) - 10), -EBADMSG);
	CHECK(strstr(error_text(),
		     "line 11, byte 830: expected the '\"' that ends a string, found the end"));
	CHECK(strstr(error_text(), "/in': line"));
}

TEST(changed_files)
{
	unsigned int chance = 20;

	for (int turn = 0; turn < CHANGES; turn++) {
		for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			char *changed = malloc(files[i].size);
			int error;

			REQUIRE(changed);
			memcpy(changed, files[i].text, files[i].size);
			for (int k = 0; k < 1 + turn % 4; k++) {
				chance = chance * 1103515245 + 12345;
				changed[(chance >> 8) % files[i].size] = (char)(chance >> 24);
			}
			error = import_bytes(files[i].format, changed, files[i].size);
			CHECK(error == 0 || error == -EBADMSG);
			free(changed);
		}
	}
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(whole_files);
	RUN(cut_files);
	RUN(changed_files);
	rmdir(folder);
	return harness_end();
}
