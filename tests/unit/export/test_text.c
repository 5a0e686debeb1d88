/* SPDX-License-Identifier: MIT
 *
 * tests/unit/export/test_text.c - text and JSON Lines: order, names, filters, closed pipes
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../checker/description.h"
#include "analyze/model.h"
#include "analyze/filter.h"
#include "analyze/output_options.h"
#include "base/error.h"
#include "export/exporter.h"
#include "harness.h"

static struct model *open_text(const char *text)
{
	char path[] = "/tmp/duet-export-XXXXXX";
	FILE *file = fmemopen((char *)text, strlen(text), "r");
	struct model *model = NULL;
	int error;

	close(mkstemp(path));
	error = description_write(file, path);
	fclose(file);
	if (!error)
		error = model_open(path, &model);
	if (error)
		printf("# %d: %s\n", error, error_text());
	unlink(path);
	return model;
}

/* To be freed. */
static char *export(const char *format, const char *description,
		    const struct output_options *options)
{
	struct model *model = open_text(description);
	char *text = NULL;
	uint64_t rows = 0, lines = 0;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	CHECK_EQUAL(exporter_find(format)->write(model, options, file, &rows), 0);
	fflush(file);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	if (strcmp(format, "text") == 0)
		CHECK_EQUAL(rows, lines - 1);
	fclose(file);
	model_close(model);
	return text;
}

static const char paper[] = "window 90 500\ndevice 1 gpu\nthread 1 1\nqueue 1 1\n"
			    "call 1 150 400 wait clFinish\n"
			    "launch 1 1 1 100 140 kernel name=saxpy\n"
			    "execution 1 1 1 110 120 200 300 seen=410\n";

TEST(eight_lines)
{
	const struct output_options options = {0};
	char *text = export("text", paper, &options);

	CHECK_TEXT(text, "# time_ns\tprocess\tplace\tkind\tname\tdetails\n"
			 "10\t1001\tthread:2001\tenter\tclEnqueueNDRangeKernel\t"
			 "correlation=1 queue=1 command=kernel kernel=saxpy\n"
			 "20\t1001\tqueue:1\tqueued\tsaxpy\tcorrelation=1\n"
			 "30\t1001\tqueue:1\tsubmitted\tsaxpy\tcorrelation=1\n"
			 "50\t1001\tthread:2001\texit\tclEnqueueNDRangeKernel\t"
			 "correlation=1 result=0 duration_ns=40\n"
			 "60\t1001\tthread:2001\tbegin\tclFinish\t-\n"
			 "110\t1001\tqueue:1\tstarted\tsaxpy\tcorrelation=1\n"
			 "210\t1001\tqueue:1\tended\tsaxpy\tcorrelation=1 duration_ns=100\n"
			 "310\t1001\tthread:2001\tend\tclFinish\tresult=0 duration_ns=250 wait\n");
	free(text);
}

TEST(filters)
{
	const struct output_options window = {
		.has_from = true, .from_ns = 20, .has_to = true, .to_ns = 50, .is_absolute = true};
	const struct output_options kinds = {.kinds = "started,api"};
	const struct output_options nobody = {.pid = 1};
	char *text = export("text", paper, &window);

	CHECK_TEXT(text, "# time_ns\tprocess\tplace\tkind\tname\tdetails\n"
			 "110\t1001\tqueue:1\tqueued\tsaxpy\tcorrelation=1\n"
			 "120\t1001\tqueue:1\tsubmitted\tsaxpy\tcorrelation=1\n");
	free(text);
	text = export("text", paper, &kinds);
	CHECK_TEXT(text, "# time_ns\tprocess\tplace\tkind\tname\tdetails\n"
			 "60\t1001\tthread:2001\tbegin\tclFinish\t-\n"
			 "110\t1001\tqueue:1\tstarted\tsaxpy\tcorrelation=1\n"
			 "310\t1001\tthread:2001\tend\tclFinish\tresult=0 duration_ns=250 wait\n");
	free(text);
	text = export("text", paper, &nobody);
	CHECK_TEXT(text, "# time_ns\tprocess\tplace\tkind\tname\tdetails\n");
	free(text);
}

TEST(odd_rows)
{
	const struct output_options options = {0};
	char *text = export("text",
			    "window 0 500\ndevice 1 gpu\nthread 1 1\nqueue 1 1\n"
			    "launch 1 1 1 10 20 read bytes=64 blocking=1 handle=0xa\n"
			    "execution 1 1 1 - - - - seen=30\n"
			    "wait 1 2 40 0xa\n"
			    "launch 2 1 1 40 50 kernel name=a\\b\n"
			    "execution 1 2 1 45 44 60 70 status=-5\n"
			    "execution 1 9 1 80 - 90 100\n",
			    &options);

	CHECK_TEXT(text, "# time_ns\tprocess\tplace\tkind\tname\tdetails\n"
			 "10\t1001\tthread:2001\tenter\tclEnqueueCommand\t"
			 "correlation=1 queue=1 command=read bytes=64 blocking\n"
			 "20\t1001\tthread:2001\texit\tclEnqueueCommand\t"
			 "correlation=1 result=0 duration_ns=10\n"
			 "30\t1001\tqueue:1\tcomplete\tread\tcorrelation=1 bytes=64\n"
			 "40\t1001\tthread:2001\tenter\tclEnqueueNDRangeKernel\t"
			 "correlation=2 queue=1 command=kernel\n"
			 "40\t1001\t-\tdependency\t-\tcorrelation=2 handle=0xa\n"
			 "44\t1001\tqueue:1\tsubmitted\ta\\x5cb\tcorrelation=2 impossible\n"
			 "45\t1001\tqueue:1\tqueued\ta\\x5cb\tcorrelation=2 impossible\n"
			 "50\t1001\tthread:2001\texit\tclEnqueueNDRangeKernel\t"
			 "correlation=2 result=0 duration_ns=10\n"
			 "60\t1001\tqueue:1\tstarted\ta\\x5cb\tcorrelation=2 impossible\n"
			 "70\t1001\tqueue:1\tended\ta\\x5cb\t"
			 "correlation=2 duration_ns=10 status=-5 impossible\n"
			 "80\t1001\tqueue:1\tqueued\t[no launch]\tcorrelation=9\n"
			 "90\t1001\tqueue:1\tstarted\t[no launch]\tcorrelation=9\n"
			 "100\t1001\tqueue:1\tended\t[no launch]\tcorrelation=9 duration_ns=10\n");
	free(text);
}

TEST(json_lines)
{
	const struct output_options options = {.kinds = "execution"};
	char *text = export("jsonl", paper, &options);
	const char *last = strstr(text, "{\"kind\":\"execution\"");

	REQUIRE(last);
	CHECK_TEXT(last, "{\"kind\":\"execution\",\"process\":1,\"queue\":1,\"correlation\":1,"
			 "\"queued\":20,\"submitted\":30,\"started\":110,\"ended\":210,"
			 "\"seen\":320,\"status\":0,\"impossible\":false}\n");
	CHECK(strncmp(text, "{\"kind\":\"host\",\"id\":1,", 22) == 0);
	CHECK(!strstr(text, "\"kind\":\"api\""));
	free(text);
}

TEST(a_full_disk_is_told)
{
	const struct output_options options = {0};
	struct model *model = open_text(paper);
	FILE *file = fopen("/dev/full", "we");
	uint64_t rows;

	REQUIRE(model && file);
	CHECK_EQUAL(exporter_find("text")->write(model, &options, file, &rows), -ENOSPC);
	CHECK(*error_text());
	error_clear();
	fclose(file);
	model_close(model);
}

TEST(words)
{
	const struct exporter *as_text = exporter_find("text"), *as_lines = exporter_find("jsonl");

	CHECK_EQUAL(exporter_check_kinds(as_text, NULL), 0);
	CHECK_EQUAL(exporter_check_kinds(as_text, "api,started"), 0);
	CHECK_EQUAL(exporter_check_kinds(as_text, "api,kernel"), -EINVAL);
	CHECK_EQUAL(exporter_check_kinds(as_text, "(begin"), -EINVAL);
	CHECK_EQUAL(exporter_check_kinds(as_text, ""), -EINVAL);
	CHECK_EQUAL(exporter_check_kinds(as_text, "api,"), -EINVAL);
	CHECK_EQUAL(exporter_check_kinds(as_lines, "api,loss"), 0);
	CHECK_EQUAL(exporter_check_kinds(as_lines, "api,started"), -EINVAL);
	CHECK_TEXT(error_text(), "format jsonl has no kind 'started'; it has: api, launch, "
				 "execution, dependency, cpu_sample, switch, instruction_sample, "
				 "range, counter, loss");
	error_clear();
	CHECK(filter_is_wanted("api,started", "started", "execution"));
	CHECK(filter_is_wanted("execution", "started", "execution"));
	CHECK(!filter_is_wanted("start", "started", "execution"));
	CHECK(exporter_find("text") && !exporter_find("nothing"));
	for (size_t i = 0; exporters[i]; i++)
		CHECK(exporter_find(exporters[i]->name) == exporters[i]);
}

int main(void)
{
	RUN(eight_lines);
	RUN(filters);
	RUN(odd_rows);
	RUN(json_lines);
	RUN(a_full_disk_is_told);
	RUN(words);
	return harness_end();
}
