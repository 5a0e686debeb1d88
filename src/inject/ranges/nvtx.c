/* SPDX-License-Identifier: MIT
 *
 * inject/ranges/nvtx.c - ranges of NVTX: the tool's side of its table of callbacks
 *
 * Runs in:  the profiled process; NVTX loads the guest at the program's first range
 *           (NVTX_INJECTION64_PATH)
 * Gets:     the program's calls
 * Gives:    their ranges; ids, handles of domains and texts
 * Owns:     names of domains and registered texts, until the process ends: handles point at them
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

static const struct kept_text *keep_text(struct record_text text)
{
	size_t bytes = (sizeof(struct kept_text) + text.length + 7) & ~(size_t)7, at;
	uint8_t *memory = get_memory();
	struct kept_text *kept;

	at = memory ? atomic_fetch_add(&texts.used, bytes) : TEXTS_BYTES;
	if (at > TEXTS_BYTES - bytes) {
		if (memory)
			atomic_fetch_sub(&texts.used, bytes);
		return &no_room;
	}
	kept = (struct kept_text *)(memory + at);
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

static void mark(const void *domain, struct record_text name)
{
	ranges_mark(RANGE_OF_NVTX, domain_of(domain), name);
}

static uint64_t start(const void *domain, struct record_text name)
{
	uint64_t id = ranges_new_id();

	ranges_start(RANGE_OF_NVTX, domain_of(domain), name, id);
	return id;
}

static int push_range(const void *domain, struct record_text name)
{
	ranges_push(RANGE_OF_NVTX, domain_of(domain), name);
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
		return does(domain, message_of(attributes, &wide));                                \
	}                                                                                          \
	static type name##Ex(const struct nvtx_attributes *attributes)                             \
	{                                                                                          \
		return Domain##name##Ex(NULL, attributes);                                         \
	}                                                                                          \
	static type name##A(const char *text)                                                      \
	{                                                                                          \
		return does(NULL, record_text_of(text));                                           \
	}                                                                                          \
	static type name##W(const wchar_t *text)                                                   \
	{                                                                                          \
		struct range_wide wide;                                                            \
                                                                                                   \
		return does(NULL, record_text_wide(text, &wide));                                  \
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
				       CORE(RangePushW),   CORE(RangePop)};
static const struct callback core2[] = {
	CORE2(DomainMarkEx),          CORE2(DomainRangeStartEx), CORE2(DomainRangeEnd),
	CORE2(DomainRangePushEx),     CORE2(DomainRangePop),     CORE2(DomainRegisterStringA),
	CORE2(DomainRegisterStringW), CORE2(DomainCreateA),      CORE2(DomainCreateW)};

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
