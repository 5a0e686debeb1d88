/* SPDX-License-Identifier: MIT
 *
 * export/iaprof/define.c - assign numbers to texts; each text is written once
 *
 * Runs in:  our own process
 * Gets:     a text
 * Gives:    its number
 * Owns:     nothing
 * Fails:    -ENOMEM
 */
#include "export/iaprof/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

int iaprof_define(struct iaprof *iaprof, enum iaprof_names names, const char *text,
		  uint32_t *ret_number)
{
	struct string_table *table = &iaprof->names[iaprof->form->words[names] ? names : 0];
	const char *word = iaprof->form->words[iaprof->form->words[names] ? names : 0];
	uint32_t before = table->count;

	*ret_number = string_table_add(table, text, strlen(text));
	if (!*ret_number && *text)
		return -ENOMEM;
	if (table->count > before && !iaprof->form->by_kernel)
		fprintf(iaprof->file, "%s%c%" PRIu32 "%c%s\n", word, iaprof->form->separator,
			*ret_number, iaprof->form->separator, text);
	return 0;
}
