/* SPDX-License-Identifier: MIT
 *
 * symbol/ze_info.c - what a zebin's .ze_info says of its kernels
 *
 * Runs in:  the recorder and the readers
 * Gets:     the section's YAML, which may be anything   Gives: numbers of each kernel
 * Owns:     libyaml's document while it is read
 * Fails:    -ENOMEM; what is no YAML tells nothing
 * Why the whole document: libyaml does not expand what is named twice, so that it is no larger than some hundred times the
 *           text, and a text of more than 4 MiB is refused
 */
#include "symbol/ze_info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/array.h"

enum { TEXT_MOST = 4 << 20 };

/* NULL: there is none of that name. */
static yaml_node_t *find(yaml_document_t *document, yaml_node_t *mapping, const char *key)
{
	if (!mapping || mapping->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
	     pair < mapping->data.mapping.pairs.top; pair++) {
		yaml_node_t *node = yaml_document_get_node(document, pair->key);

		if (node && node->type == YAML_SCALAR_NODE &&
		    node->data.scalar.length == strlen(key) &&
		    memcmp(node->data.scalar.value, key, strlen(key)) == 0)
			return yaml_document_get_node(document, pair->value);
	}
	return NULL;
}

/* libyaml ends each scalar with a NUL, and one may be inside too. */
static const char *text_of(yaml_node_t *node)
{
	return node && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
}

static uint32_t number_of(yaml_node_t *node)
{
	const char *text = text_of(node);
	char *end;
	unsigned long long number = strtoull(text, &end, 10);

	return end != text && !*end && *text != '-' && number <= UINT32_MAX ? (uint32_t)number : 0;
}

static void tell(yaml_document_t *document, yaml_node_t *node,
		 void (*on_kernel)(void *, const char *, const struct ze_info_kernel *),
		 void *context)
{
	yaml_node_t *environment = find(document, node, "execution_env");
	struct ze_info_kernel kernel = {0};
	const struct {
		const char *key;
		uint32_t *number;
	} numbers[] = {{"simd_size", &kernel.simd_size},
		       {"grf_count", &kernel.grf_count},
		       {"eu_thread_count", &kernel.eu_thread_count},
		       {"slm_size", &kernel.slm_size},
		       {"spill_size", &kernel.spill_size}};
	const char *name = text_of(find(document, node, "name"));

	for (size_t i = 0; i < ARRAY_COUNT(numbers); i++)
		*numbers[i].number = number_of(find(document, environment, numbers[i].key));
	if (*name)
		on_kernel(context, name, &kernel);
}

int ze_info_read(const char *text, size_t size,
		 void (*on_kernel)(void *context, const char *name,
				   const struct ze_info_kernel *kernel),
		 void *context)
{
	yaml_parser_t parser;
	yaml_document_t document;
	yaml_node_t *kernels;
	int error = 0;

	if (size > TEXT_MOST)
		return 0;
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
	if (!yaml_parser_load(&parser, &document)) {
		error = parser.error == YAML_MEMORY_ERROR ? -ENOMEM : 0;
		yaml_parser_delete(&parser);
		return error;
	}
	kernels = find(&document, yaml_document_get_root_node(&document), "kernels");
	if (kernels && kernels->type == YAML_SEQUENCE_NODE)
		for (yaml_node_item_t *item = kernels->data.sequence.items.start;
		     item < kernels->data.sequence.items.top; item++)
			tell(&document, yaml_document_get_node(&document, *item), on_kernel,
			     context);
	yaml_document_delete(&document);
	yaml_parser_delete(&parser);
	return 0;
}
