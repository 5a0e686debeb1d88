/* SPDX-License-Identifier: MIT
 *
 * inject/amd/hsa_tables.c - read and replace entries of the runtime's function tables
 *
 * Runs in:  the profiled process, in OnLoad
 * Gets:     the tables that the runtime passes to its tools
 * Gives:    the original functions; hooks in their place
 * Owns:     nothing
 * Fails:    an entry beyond the end of its table is NULL, and is not replaced
 * Why:      ROCm 5.6 inserted two entries without a new version, so the offset of an entry depends
 *           on the size of its table.
 */
#include <string.h>

#include "inject/amd/hsa.h"

/* Returns NULL if the table ends before the entry. */
static void *find_entry(uint8_t *table, uint32_t offset)
{
	struct hsa_table_version version;

	memcpy(&version, table, sizeof(version));
	return offset + sizeof(void *) <= version.size_bytes ? table + offset : NULL;
}

void *hsa_table_entry(uint8_t *table, uint32_t offset)
{
	void *place = find_entry(table, offset), *function = NULL;

	if (place)
		memcpy(&function, place, sizeof(function));
	return function;
}

static void put_hook(uint8_t *table, uint32_t offset, void *function)
{
	void *place = find_entry(table, offset);

	if (place)
		memcpy(place, &function, sizeof(function));
}

uint32_t hsa_table_bytes(const uint8_t *table)
{
	struct hsa_table_version version;

	memcpy(&version, table, sizeof(version));
	return version.size_bytes;
}

/* Returns the current offset of an entry. A later release inserted two entries. */
static uint32_t amd_offset(const uint8_t *table, uint32_t offset)
{
	bool is_behind = offset > AMD_ASYNC_COPY_ON_ENGINE && offset < AMD_COPY_BATCH;

	return is_behind && hsa_table_bytes(table) >= AMD_INSERTED_FROM
		       ? offset + AMD_INSERTED_BYTES
		       : offset;
}

void *hsa_amd_entry(const struct hsa_tables *tables, uint32_t offset)
{
	return hsa_table_entry(tables->amd, amd_offset(tables->amd, offset));
}

void hsa_hook_core(struct hsa_tables *tables, uint32_t offset, void *function)
{
	put_hook(tables->core, offset, function);
}

void hsa_hook_amd(struct hsa_tables *tables, uint32_t offset, void *function)
{
	put_hook(tables->amd, amd_offset(tables->amd, offset), function);
}
