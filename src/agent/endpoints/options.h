/* SPDX-License-Identifier: MIT
 *
 * agent/endpoints/options.h - the endpoints that a configuration file asks for
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

enum pprof_receiver {
	PPROF_PYROSCOPE, /* POST URL/ingest?name=… */
	PPROF_PARCA,     /* POST URL/api/profiles/writeraw, JSON */
	PPROF_PLAIN,     /* POST URL, the file as body */
	PPROF_RECEIVER_COUNT
};
/* "pyroscope", …: as in the configuration file. */
const char *pprof_receiver_name(enum pprof_receiver receiver);

/* A receiver to which data are pushed. */
struct push_options {
	char *url;      /* owned; NULL: no such endpoint */
	char **headers; /* owned, "Name: value"; ends with NULL; NULL: none */
	uint64_t interval_ns;
	uint64_t timeout_ns;
};

struct endpoints_options {
	char *listen; /* owned; NULL: no HTTP server */
	uint64_t max_kernels, max_processes;
	struct push_options otlp;
	bool otlp_has_gzip, otlp_has_profiles;
	uint64_t otlp_profiles_ns;
	struct push_options pprof;
	enum pprof_receiver pprof_receiver;
	char *pprof_name; /* owned */
};

/* The defaults: no endpoint. Errors: -ENOMEM. */
int endpoints_options_init(struct endpoints_options *options);
void endpoints_options_fini(struct endpoints_options *options);

/* Reads the groups `prometheus`, `otlp` and `pprof` of a configuration file over the defaults.
 * path: its name in messages. Errors: -EINVAL with the place in the error chain; -ENOMEM. */
int endpoints_options_read(struct endpoints_options *options, const struct config *config,
			   const char *path);

/* Whether any endpoint is configured. */
bool endpoints_options_has_any(const struct endpoints_options *options);
