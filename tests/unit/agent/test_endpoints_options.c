/* SPDX-License-Identifier: MIT
 *
 * tests/unit/agent/test_endpoints_options.c - the groups `prometheus`, `otlp` and `pprof` of a
 * configuration file
 */
#include <errno.h>
#include <stdlib.h>

#include "agent/endpoints/options.h"
#include "agent/endpoints/profiles.h"
#include "base/error.h"
#include "config/config.h"
#include "config/parser.h"
#include "harness.h"

static int read_text(const char *text, struct endpoints_options *options)
{
	struct config_report report = {.count = 0};
	struct config *config = NULL;
	int error = config_new(NULL, &config);

	if (!error)
		error = config_parse(config, text, strlen(text), &report);
	if (!error)
		error = endpoints_options_init(options);
	if (!error)
		error = endpoints_options_read(options, config, "file");
	config_close(config);
	return error;
}

TEST(nothing_is_configured_by_default)
{
	struct endpoints_options options;

	REQUIRE(!read_text("output: \"x\"", &options));
	CHECK(!endpoints_options_has_any(&options));
	CHECK_EQUAL(options.max_kernels, 100);
	CHECK_EQUAL(options.max_processes, 100);
	CHECK_EQUAL(options.otlp.interval_ns, UINT64_C(10000000000));
	CHECK_EQUAL(options.pprof.interval_ns, UINT64_C(60000000000));
	CHECK(options.otlp_has_gzip && options.otlp_has_profiles);
	endpoints_options_fini(&options);
}

TEST(every_field_is_read)
{
	struct endpoints_options options;

	REQUIRE(!read_text(
		"prometheus { listen: \"[::1]:9\" max_kernels: 7 max_processes: 8 }"
		"otlp { endpoint: \"http://a/b\" header: \"X: 1\" header: \"Y: 2\""
		" interval_s: 3 gzip: false profiles: false profiles_interval_s: 4"
		" timeout_s: 5 }"
		"pprof { url: \"https://c\" header: \"Z: 3\" interval_s: 6 receiver: parca"
		" name: \"n\" timeout_s: 7 }",
		&options));
	CHECK(endpoints_options_has_any(&options));
	CHECK_TEXT(options.listen, "[::1]:9");
	CHECK_EQUAL(options.max_kernels, 7);
	CHECK_EQUAL(options.max_processes, 8);
	CHECK_TEXT(options.otlp.url, "http://a/b");
	CHECK_TEXT(options.otlp.headers[0], "X: 1");
	CHECK_TEXT(options.otlp.headers[1], "Y: 2");
	CHECK(!options.otlp.headers[2]);
	CHECK_EQUAL(options.otlp.interval_ns, UINT64_C(3000000000));
	CHECK(!options.otlp_has_gzip && !options.otlp_has_profiles);
	CHECK_EQUAL(options.otlp_profiles_ns, UINT64_C(4000000000));
	CHECK_EQUAL(options.otlp.timeout_ns, UINT64_C(5000000000));
	CHECK_TEXT(options.pprof.url, "https://c");
	CHECK_TEXT(options.pprof.headers[0], "Z: 3");
	CHECK_EQUAL(options.pprof.interval_ns, UINT64_C(6000000000));
	CHECK_EQUAL(options.pprof_receiver, PPROF_PARCA);
	CHECK_TEXT(options.pprof_name, "n");
	CHECK_EQUAL(options.pprof.timeout_ns, UINT64_C(7000000000));
	endpoints_options_fini(&options);
}

TEST(mistakes_do_not_show_passwords)
{
	static const char *const cases[] = {"otlp { endpoint: \"ftp://user:sesame@x\" }",
					    "otlp { endpoint: \"http://x\" header: \"sesame\" }",
					    "pprof { url: \"http://x\" header: \"A: sesame\\n\" }"};
	struct endpoints_options options;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQUAL(read_text(cases[i], &options), -EINVAL);
		CHECK(strstr(error_text(), "' takes a "));
		CHECK(!strstr(error_text(), "sesame"));
		error_clear();
		endpoints_options_fini(&options);
	}
}

TEST(mistakes_have_a_place)
{
	static const char *const cases[][2] = {
		{"prometheus { }", "file:1:12: 'prometheus' lacks 'listen'; add it, or remove the "
				   "group"},
		{"prometheus { listen: \":1\"\n max_kernels: 10001 }",
		 "file:2:15: 'prometheus.max_kernels' takes a number from 1 to 10000, not '10001'"},
		{"otlp { endpoint: \"ftp://x\" }",
		 "takes a URL that begins with http:// or https://"},
		{"otlp { endpoint: \"http:///x\" }", "takes a URL"},
		{"otlp { endpoint: \"http://x\" header: \"A: b\\r\\nC: d\" }", "takes a header"},
		{"pprof { url: \"http://x\" interval_s: 86401 }", "takes a number of seconds"},
		{"pprof { url: \"http://x\" name: \"\" }", "takes a text"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct endpoints_options options = {.listen = NULL};

		CHECK_EQUAL(read_text(cases[i][0], &options), -EINVAL);
		if (!strstr(error_text(), cases[i][1]))
			CHECK_TEXT(error_text(), cases[i][1]);
		error_clear();
		endpoints_options_fini(&options);
	}
}

TEST(urls_of_receivers)
{
	const struct profile_place place = {.url = "http://h/base/",
					    .name = "a b&c",
					    .host = "n1",
					    .from_ns = UINT64_C(1700000000999999999),
					    .until_ns = UINT64_C(1700000060000000000)};
	char *url = profile_url(PPROF_PYROSCOPE, &place);

	CHECK_TEXT(url, "http://h/base/ingest?name=a%20b%26c%7Bhost%3Dn1%7D&from=1700000000&until="
			"1700000060&format=pprof&spyName=duet");
	free(url);
	url = profile_url(PPROF_PARCA, &place);
	CHECK_TEXT(url, "http://h/base/api/profiles/writeraw");
	free(url);
	url = profile_url(PPROF_PLAIN, &place);
	CHECK_TEXT(url, "http://h/base/");
	free(url);
}

static char *parca_body(const char *bytes, size_t *ret_size)
{
	const struct profile_place place = {.name = "a\"b", .host = "n1"};

	*ret_size = strlen(bytes);
	return profile_body(PPROF_PARCA, &place, strdup(bytes), ret_size);
}

TEST(parca_gets_json_with_base64)
{
	static const char *const cases[][2] = {
		{"M", "TQ=="}, {"Ma", "TWE="}, {"Man", "TWFu"}, {"Many\xff", "TWFuef8="}};
	char want[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t size;
		char *body = parca_body(cases[i][0], &size);

		snprintf(want, sizeof(want),
			 "{\"normalized\":true,\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__"
			 "name__\",\"value\":\"duet\"},{\"name\":\"job\",\"value\":\"a\\u0022b\"},{"
			 "\"name\":\"instance\",\"value\":\"n1\"}]},\"samples\":[{\"rawProfile\":"
			 "\"%s\"}]}]}",
			 cases[i][1]);
		CHECK_TEXT(body, want);
		CHECK_EQUAL(size, strlen(want));
		free(body);
	}
}

int main(void)
{
	RUN(nothing_is_configured_by_default);
	RUN(every_field_is_read);
	RUN(mistakes_do_not_show_passwords);
	RUN(mistakes_have_a_place);
	RUN(urls_of_receivers);
	RUN(parca_gets_json_with_base64);
	return harness_end();
}
