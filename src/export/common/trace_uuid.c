/* SPDX-License-Identifier: MIT
 *
 * export/common/trace_uuid.c - a UUID that depends only on the trace
 *
 * Runs in:  our own process; pure
 * Gets:     a model
 * Gives:    16 bytes
 * Owns:     nothing
 * Fails:    never
 */
#include "export/common/trace_uuid.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "analyze/model.h"
#include "base/string.h"

void trace_uuid(const struct model *model, uint64_t begin_ns, uint8_t ret_uuid[16])
{
	const struct event_host *hosts = NULL;
	size_t count = model_entities(model, EVENT_HOST, &hosts);
	struct string_builder text = {0};
	XXH128_hash_t hash;

	string_builder_appendf(&text, "%" PRIu64 " %s %s", begin_ns,
			       count ? model_text(model, hosts->boot_id_string, "") : "",
			       model_command(model));
	hash = XXH3_128bits(string_builder_text(&text), text.length);
	string_builder_fini(&text);
	memcpy(ret_uuid, &hash, sizeof(hash));
	ret_uuid[6] = (uint8_t)((ret_uuid[6] & 0x0f) | 0x80); /* version 8: custom */
	ret_uuid[8] = (uint8_t)((ret_uuid[8] & 0x3f) | 0x80);
}
