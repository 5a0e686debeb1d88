/* SPDX-License-Identifier: MIT
 *
 * inject/stack_sites.c - stacks of some launches, chosen by call site
 *
 * Runs in:  the profiled process, at launches and waits, while the recorder wants less than all
 *           stacks (--max-overhead)
 * Gets:     a number for the place of the call
 * Gives:    a new stack, or the last one of the same place with RECORD_STACK_CARRIED
 * Owns:     for each ring a table of call sites
 * Fails:    without memory each launch has a stack
 * Why:      Most launches come from a few places, and most stacks repeat. A table per thread needs
 *           no lock. If more than 512 places launch, some lose their bucket and get more stacks.
 */
#include <errno.h>
#include <string.h>

#include "inject/guest.h"

enum {
	SITE_BITS = 9,
	SITES = 1 << SITE_BITS, /* call sites of a thread */
	SITE_PROBES = 4,
	/* Stacks that a call site gets at once; one more becomes available each 32 ms. So a site
	 * with up to 31 launches per second has the stack of each launch. */
	SITE_TOKENS = 8,
	SITE_TOKEN_MS = 32,
};

/* A place that launches, while not all stacks are captured: a bucket of tokens. */
struct call_site {
	uint64_t key;       /* 0: free */
	uint32_t stack;     /* its last captured stack */
	uint32_t left;      /* launches until the next stack that needs no token */
	uint32_t filled_ms; /* when its tokens were counted */
	uint32_t tokens;
};

struct call_sites {
	struct call_site all[SITES];
	uint32_t tid; /* thread that filled it; the ring may have another one now */
	uint32_t random;
};

/* Time of the recorder's last round: it costs no call, and its line is read in each call anyway. */
static uint32_t coarse_ms(const struct guest_thread *thread)
{
	return (uint32_t)(atomic_load_explicit(&thread->region->beat_ns, memory_order_relaxed) /
			  1000000);
}

/* Without memory it is asked for once: each further launch would pay for a system call. */
static void add_sites(struct guest_thread *thread)
{
	const int saved = errno;

	if (thread->has_no_sites)
		return;
	thread->sites = guest_memory(sizeof(*thread->sites));
	thread->has_no_sites = !thread->sites;
	errno = saved;
}

/* NULL: no memory, or the recorder has gone. */
static struct call_sites *sites_of(struct guest_thread *thread)
{
	struct call_sites *sites;
	uint32_t tid;

	if (!guest_is_current(thread))
		return NULL;
	if (!thread->sites)
		add_sites(thread);
	sites = thread->sites;
	tid = thread->writer.control->tid;
	if (!sites || sites->tid == tid)
		return sites;
	memset(sites, 0, sizeof(*sites));
	sites->tid = tid;
	sites->random = tid | 1;
	return sites;
}

static uint32_t next_random(struct call_sites *sites)
{
	sites->random ^= sites->random << 13;
	sites->random ^= sites->random >> 17;
	sites->random ^= sites->random << 5;
	return sites->random;
}

/* Returns the site of a key. If its places are taken, it replaces one of the others. */
static struct call_site *find_site(struct call_sites *sites, uint64_t key, uint32_t now_ms)
{
	/* The highest bits depend on all bits of the key. */
	uint32_t first = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SITE_BITS)), i = 0;
	struct call_site *site;

	for (; i < SITE_PROBES; i++) {
		site = &sites->all[(first + i) % SITES];
		if (site->key == key)
			return site;
		if (!site->key)
			break;
	}
	if (i == SITE_PROBES)
		site = &sites->all[(first + next_random(sites) % SITE_PROBES) % SITES];
	*site = (struct call_site){.key = key, .tokens = SITE_TOKENS, .filled_ms = now_ms};
	return site;
}

static void fill_tokens(struct call_site *site, uint32_t now_ms)
{
	uint32_t more = (now_ms - site->filled_ms) / SITE_TOKEN_MS;

	if (!more)
		return;
	site->filled_ms = now_ms;
	site->tokens = more < SITE_TOKENS - site->tokens ? site->tokens + more : SITE_TOKENS;
	site->left = 0;
}

/* Random, so that no rhythm of the program is preferred: 0 to 2 every - 2 launches in between. */
static uint32_t gap_of(struct call_sites *sites, uint32_t every)
{
	return every > 1 ? next_random(sites) % (2 * every - 1) : 0;
}

static void spend_token(struct call_sites *sites, struct call_site *site, uint32_t every)
{
	if (site->tokens)
		site->tokens--;
	site->left = site->tokens ? 0 : gap_of(sites, every);
}

__attribute__((noinline)) uint32_t guest_sample_stack(struct guest_thread *thread, uint64_t key)
{
	const uint32_t detail = guest_detail(thread);
	struct call_sites *sites = sites_of(thread);
	struct call_site *site;
	uint32_t now_ms, stack;

	if ((detail & RING_DETAIL_LEVEL) >= RING_DETAIL_SPANS)
		return 0;
	if (!sites)
		return guest_take_stack(thread);
	now_ms = coarse_ms(thread);
	site = find_site(sites, key | 1, now_ms);
	fill_tokens(site, now_ms);
	if (site->left && site->stack) {
		site->left--;
		return site->stack | RECORD_STACK_CARRIED;
	}
	stack = guest_take_stack(thread);
	site->stack = stack;
	spend_token(sites, site, detail >> RING_DETAIL_SHIFT);
	return stack;
}

/* ---- stacks of slow calls ---------------------------------------------------------------------
 */

uint32_t guest_slow_stack(struct guest_thread *thread)
{
	uint64_t before = guest_section_begin(thread);
	uint32_t stack = guest_stack(thread);

	guest_section_end(thread, GUEST_SECTION_STACK, before);
	return stack;
}

void guest_put_slow_api(struct guest_thread *thread, uint32_t detail, uint64_t begin, uint64_t end,
			int32_t result, uint64_t argument)
{
	guest_put_api_row(thread, detail, begin, end, result, argument, guest_slow_stack(thread));
}
