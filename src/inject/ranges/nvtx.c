/* SPDX-License-Identifier: MIT
 *
 * inject/ranges/nvtx.c - ranges of NVTX: the tool's side of its table of callbacks
 *
 * Runs in:  the profiled process; NVTX loads the guest at the program's first range
 *           (NVTX_INJECTION64_PATH)
 * Gets:     the program's calls
 * Gives:    their ranges; ids, handles of domains and texts
 * Owns:     names of domains, categories and registered texts, until the process ends: handles
 *           point at them
 * Fails:    never for the program: a text that does not fit shares its handle with others
 * Why no range levels are returned: a push returns the same value as without a tool, so that the
 *           program behaves the same
 */
#include <stdatomic.h>
#include <string.h>

#include "abi/nvtx.h"
#include "inject/guest.h"
#include "inject/ranges/ranges.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table);

/* Texts that the program registers. Some programs register each name they make: once the memory is
 * full, later texts share one handle. */
enum { TEXTS_BYTES = 16 << 20 };

/* Target of a domain's or registered text's handle. */
struct kept_text {
	uint32_t length;
	char text[];
};

static struct {
	uint8_t *_Atomic memory;
	_Atomic size_t used;
} texts;

static const struct kept_text default_domain = {4, {"NVTX"}};
static const struct kept_text no_room = {26, {"[more names than are kept]"}};

static struct record_text text_of(const struct kept_text *kept)
{
	return (struct record_text){kept->text, kept->length};
}

static uint8_t *get_memory(void)
{
	uint8_t *memory = atomic_load(&texts.memory), *mine;

	if (memory)
		return memory;
	mine = guest_memory(TEXTS_BYTES);
	/* If two threads get here, the second drops its own memory, which was never touched. */
	return !mine || atomic_compare_exchange_strong(&texts.memory, &memory, mine) ? mine
										     : memory;
}

/* NULL: no room. */
static void *keep_bytes(size_t bytes)
{
	uint8_t *memory = get_memory();
	size_t at;

	bytes = (bytes + 7) & ~(size_t)7;
	at = memory ? atomic_fetch_add(&texts.used, bytes) : TEXTS_BYTES;
	if (at <= TEXTS_BYTES - bytes)
		return memory + at;
	if (memory)
		atomic_fetch_sub(&texts.used, bytes);
	return NULL;
}

static const struct kept_text *keep_text(struct record_text text)
{
	struct kept_text *kept = keep_bytes(sizeof(*kept) + text.length);

	if (!kept)
		return &no_room;
	kept->length = (uint32_t)text.length;
	memcpy(kept->text, text.text, text.length);
	return kept;
}

static struct record_text domain_of(const void *handle)
{
	return text_of(handle ? handle : &default_domain);
}

/* Older callers have a smaller struct. */
static struct record_text message_of(const struct nvtx_attributes *attributes,
				     struct range_wide *wide)
{
	if (!attributes || attributes->size < sizeof(*attributes))
		return (struct record_text){0};
	switch (attributes->message_type) {
	case NVTX_MESSAGE_TYPE_ASCII:
		return record_text_of(attributes->message.ascii);
	case NVTX_MESSAGE_TYPE_UNICODE:
		return record_text_wide(attributes->message.unicode, wide);
	case NVTX_MESSAGE_TYPE_REGISTERED:
		return attributes->message.registered ? text_of(attributes->message.registered)
						      : (struct record_text){0};
	default:
		return (struct record_text){0};
	}
}

/* ---- categories, colours, payloads ----------------------------------------------------------- */

/* A category that a program named, newest first. The list only grows. */
struct category {
	const void *domain;
	uint32_t id;
	const struct kept_text *name;
	const struct category *next;
};

/* Later names are not searched, so that a range costs no more than this many comparisons. */
enum { CATEGORIES_SEARCHED = 64, CATEGORY_BYTES = 128 };

static const struct category *_Atomic categories;

static const struct kept_text *find_category(const void *domain, uint32_t id)
{
	const struct category *category = atomic_load(&categories);

	for (int i = 0; category && i < CATEGORIES_SEARCHED; i++, category = category->next)
		if (category->id == id && category->domain == domain)
			return category->name;
	return NULL;
}

static bool is_named(const void *domain, uint32_t id, struct record_text name)
{
	const struct kept_text *known = find_category(domain, id);

	return known && known->length == name.length &&
	       memcmp(known->text, name.text, name.length) == 0;
}

static void name_category(const void *domain, uint32_t id, struct record_text name)
{
	struct category *category;

	/* a program may name its categories again and again */
	if (is_named(domain, id, name))
		return;
	category = keep_bytes(sizeof(*category));
	if (!category)
		return;
	*category = (struct category){domain, id, keep_text(name), atomic_load(&categories)};
	while (!atomic_compare_exchange_weak(&categories, &category->next, category))
		;
}

static char *put_hex(char *at, uint64_t value, int digits)
{
	for (int i = digits; i-- > 0; value >>= 4)
		at[i] = "0123456789abcdef"[value & 15];
	return at + digits;
}

/* The name of a category, or its number. */
static size_t put_category(char *at, const void *domain, uint32_t id)
{
	const struct kept_text *name = find_category(domain, id);
	char digits[10], *begin = digits + sizeof(digits);
	size_t length;

	if (name) {
		length = name->length < CATEGORY_BYTES ? name->length : CATEGORY_BYTES;
		while (length < name->length && length && (name->text[length] & 0xc0) == 0x80)
			length--; /* not within a character */
		memcpy(at, name->text, length);
		return length;
	}
	for (; id; id /= 10)
		*--begin = (char)('0' + id % 10);
	length = (size_t)(digits + sizeof(digits) - begin);
	memcpy(at, begin, length);
	return length;
}

/* The attributes of a range besides its name, in the form of struct record_range. */
struct range_attributes {
	struct record_text text;
	char bytes[RECORD_ATTRIBUTES_BYTES + CATEGORY_BYTES];
};

/* NULL: the program gave none. */
static const struct record_text *
attributes_of(const void *domain, const struct nvtx_attributes *from, struct range_attributes *to)
{
	uint32_t colour, payload_type;
	char *at = to->bytes;

	if (!from || from->size < sizeof(*from) || guest_is_idle())
		return NULL;
	colour = from->color_type == NVTX_COLOR_ARGB ? from->color : 0;
	payload_type = from->payload_type > 0 && from->payload_type <= NVTX_PAYLOAD_TYPE_FLOAT
			       ? (uint32_t)from->payload_type
			       : 0;
	if (!colour && !payload_type && !from->category)
		return NULL;
	at = put_hex(at, colour, 8);
	at = put_hex(at, payload_type, 1);
	at = put_hex(at, from->payload, 16);
	at += put_category(at, domain, from->category);
	to->text = (struct record_text){to->bytes, (size_t)(at - to->bytes)};
	return &to->text;
}

/* ---- ranges ---------------------------------------------------------------------------------- */

static void mark(const void *domain, struct record_text name,
		 const struct nvtx_attributes *attributes)
{
	struct range_attributes more;

	ranges_mark(RANGE_OF_NVTX, domain_of(domain), name,
		    attributes_of(domain, attributes, &more));
}

static uint64_t start(const void *domain, struct record_text name,
		      const struct nvtx_attributes *attributes)
{
	struct range_attributes more;
	uint64_t id = ranges_new_id();

	ranges_start(RANGE_OF_NVTX, domain_of(domain), name,
		     attributes_of(domain, attributes, &more), id);
	return id;
}

static int push_range(const void *domain, struct record_text name,
		      const struct nvtx_attributes *attributes)
{
	struct range_attributes more;

	ranges_push(RANGE_OF_NVTX, domain_of(domain), name,
		    attributes_of(domain, attributes, &more));
	return NVTX_NO_PUSH_POP_TRACKING;
}

/* ---- the functions of the tables, named as the vendor does ----------------------------------- */

/* The four forms of a function: with attributes for a domain, and for the default domain with
 * attributes, a text, or a wide text. */
#define FORMS(type, name, does)                                                                    \
	static type Domain##name##Ex(const void *domain, const struct nvtx_attributes *attributes) \
	{                                                                                          \
		struct range_wide wide;                                                            \
                                                                                                   \
		return does(domain, message_of(attributes, &wide), attributes);                    \
	}                                                                                          \
	static type name##Ex(const struct nvtx_attributes *attributes)                             \
	{                                                                                          \
		return Domain##name##Ex(NULL, attributes);                                         \
	}                                                                                          \
	static type name##A(const char *text)                                                      \
	{                                                                                          \
		return does(NULL, record_text_of(text), NULL);                                     \
	}                                                                                          \
	static type name##W(const wchar_t *text)                                                   \
	{                                                                                          \
		struct range_wide wide;                                                            \
                                                                                                   \
		return does(NULL, record_text_wide(text, &wide), NULL);                            \
	}
FORMS(void, Mark, mark)
FORMS(uint64_t, RangeStart, start)
FORMS(int, RangePush, push_range)

static void DomainRangeEnd(const void *domain, uint64_t id)
{
	ranges_stop(RANGE_OF_NVTX, domain_of(domain), id);
}

static int DomainRangePop(const void *domain)
{
	ranges_pop(RANGE_OF_NVTX, domain_of(domain));
	return NVTX_NO_PUSH_POP_TRACKING;
}

static const void *DomainRegisterStringA(const void *domain, const char *text)
{
	return keep_text(record_text_of(text));
}

static const void *DomainRegisterStringW(const void *domain, const wchar_t *text)
{
	struct range_wide wide;

	return keep_text(record_text_wide(text, &wide));
}

static const void *DomainCreateA(const char *text)
{
	return keep_text(record_text_of(text));
}

static const void *DomainCreateW(const wchar_t *text)
{
	struct range_wide wide;

	return keep_text(record_text_wide(text, &wide));
}

static void DomainNameCategoryA(const void *domain, uint32_t id, const char *text)
{
	name_category(domain, id, record_text_of(text));
}

static void DomainNameCategoryW(const void *domain, uint32_t id, const wchar_t *text)
{
	struct range_wide wide;

	name_category(domain, id, record_text_wide(text, &wide));
}

static void NameCategoryA(uint32_t id, const char *text)
{
	DomainNameCategoryA(NULL, id, text);
}

static void NameCategoryW(uint32_t id, const wchar_t *text)
{
	DomainNameCategoryW(NULL, id, text);
}

static void RangeEnd(uint64_t id)
{
	DomainRangeEnd(NULL, id);
}

static int RangePop(void)
{
	return DomainRangePop(NULL);
}

/* ---- way in ---------------------------------------------------------------------------------- */

struct callback {
	unsigned int id;
	nvtx_function *function;
};

#define CORE(name)                                           \
	{                                                    \
		NVTX_CBID_CORE_##name, (nvtx_function *)name \
	}
#define CORE2(name)                                           \
	{                                                     \
		NVTX_CBID_CORE2_##name, (nvtx_function *)name \
	}

static const struct callback core[] = {CORE(MarkEx),       CORE(MarkA),       CORE(MarkW),
				       CORE(RangeStartEx), CORE(RangeStartA), CORE(RangeStartW),
				       CORE(RangeEnd),     CORE(RangePushEx), CORE(RangePushA),
				       CORE(RangePushW),   CORE(RangePop),    CORE(NameCategoryA),
				       CORE(NameCategoryW)};
static const struct callback core2[] = {
	CORE2(DomainMarkEx),          CORE2(DomainRangeStartEx), CORE2(DomainRangeEnd),
	CORE2(DomainRangePushEx),     CORE2(DomainRangePop),     CORE2(DomainRegisterStringA),
	CORE2(DomainRegisterStringW), CORE2(DomainCreateA),      CORE2(DomainCreateW),
	CORE2(DomainNameCategoryA),   CORE2(DomainNameCategoryW)};

static void fill_table(const struct nvtx_callbacks *callbacks, int module,
		       const struct callback *ours, size_t count)
{
	nvtx_function ***table = NULL;
	unsigned int size = 0;

	if (!callbacks->get_module_function_table(module, (nvtx_function ***)&table, &size) ||
	    !table)
		return;
	for (size_t i = 0; i < count; i++)
		if (ours[i].id < size && table[ours[i].id])
			*table[ours[i].id] = ours[i].function;
}

/* Returns 0 if this version of NVTX is not supported; the program then runs without a tool. */
int InitializeInjectionNvtx2(nvtx_get_export_table *get_export_table)
{
	const struct nvtx_callbacks *callbacks = get_export_table(NVTX_ETID_CALLBACKS);

	if (!callbacks || callbacks->struct_size < sizeof(*callbacks))
		return 0;
	ranges_prepare();
	fill_table(callbacks, NVTX_CB_MODULE_CORE, core, sizeof(core) / sizeof(core[0]));
	fill_table(callbacks, NVTX_CB_MODULE_CORE2, core2, sizeof(core2) / sizeof(core2[0]));
	return 1;
}
