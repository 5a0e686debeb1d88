/* SPDX-License-Identifier: MIT
 *
 * import/nsys/payloads.h - payloads of NCCL's NVTX ranges
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct nsys;

enum nsys_payload_field {
	PAYLOAD_COMMUNICATOR,
	PAYLOAD_BYTES,
	PAYLOAD_RANK_COUNT,
	PAYLOAD_RANK,
	PAYLOAD_FIELDS_COUNT
};

/* The fields of a payload, as far as it has them. */
struct nsys_payload {
	bool has[PAYLOAD_FIELDS_COUNT];
	uint64_t values[PAYLOAD_FIELDS_COUNT];
};

struct nsys_payload_schema;

/* All zero before the first read. */
struct nsys_payloads {
	struct nsys_payload_schema *schemas; /* owned */
	size_t count, capacity;
	struct hash_map index; /* domain and schema -> index of schemas */
};

/* Reads the layouts of payloads; a file may have none. */
int nsys_payloads_open(struct nsys_payloads *payloads, struct nsys *nsys);
void nsys_payloads_fini(struct nsys_payloads *payloads);

/* Decodes the binary data of a range, or its hexadecimal text. */
void nsys_payloads_decode(const struct nsys_payloads *payloads, const void *bytes, size_t size,
			  struct nsys_payload *ret_payload);
/* The same from JSON. Errors: -ENOMEM; invalid JSON has no fields. */
int nsys_payloads_parse(const char *json, struct nsys_payload *ret_payload);
