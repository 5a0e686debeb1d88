/* SPDX-License-Identifier: MIT
 *
 * collect/drm/engines.c - busy time of each engine of a GPU, from perf events of the drivers i915
 * and xe
 *
 * Runs in:  a sampler's thread; opened in the main thread, which has the rights
 * Gets:     folders of /sys/bus/event_source/devices
 * Gives:    rows of the engines that exist
 * Owns:     the events' descriptors
 * Fails:    a driver without such events has no rows; missing rights are noted
 * Why:      i915 lists an event per engine. xe lists its events but not the engines, so an event of
 *           every possible engine is opened: the kernel refuses an engine that the GPU lacks
 *           (ENOENT), and no list of GPUs is needed. Events of xe are opened on request only,
 *           because xe keeps its GPU awake while such an event is open.
 */
#include <errno.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/drm/cards.h"
#include "collect/drm/formats.h"
#include "collect/host_clocks.h"

#define DEVICES "/sys/bus/event_source/devices"

enum { MAX_ENGINES = 256, MAX_INSTANCES = 16, MAX_GTS = 16 };
enum { BUSY, TIME };

static const struct metric metrics[] = {
	[BUSY] = {"gpu.engine.busy", "ns",
		  "share of the time in which one engine of the GPU was busy", NULL, METRIC_PART,
		  TIME, LIMIT_WHOLE},
	[TIME] = {NULL},
};

/* Engine classes of xe, by their number in its interface. */
static const char *const classes[] = {"rcs", "bcs", "vcs", "vecs", "ccs"};

struct engine {
	int fd;    /* owned; leader of the group, which is read */
	int other; /* owned; event of total ticks; -1: values are in ns */
	size_t card;
	char name[SERIES_NAME_BYTES];     /* "rcs0", "gt1 vcs2" */
	uint64_t active, total, until_ns; /* at the last reading; until_ns 0: none yet */
	uint64_t busy_ns, of_ns;
};

struct own {
	struct engine all[MAX_ENGINES];
	size_t count;
};

/* ---- events ---------------------------------------------------------------------------------- */

/* The PMU of a GPU. */
struct pmu {
	char folder[128]; /* below the root */
	uint32_t type, cpu;
};

static bool read_words(const struct tick *tick, const struct pmu *pmu, const char *file, char *text,
		       size_t size)
{
	const int fd = tick_open(tick, "%s/%s", pmu->folder, file);
	const ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	return length > 0;
}

/* False: no such PMU. */
static bool find_pmu(const struct tick *tick, const char *name, struct pmu *ret_pmu)
{
	char text[64];

	snprintf(ret_pmu->folder, sizeof(ret_pmu->folder), DEVICES "/%s", name);
	if (!read_words(tick, ret_pmu, "type", text, sizeof(text)))
		return false;
	ret_pmu->type = (uint32_t)strtoul(text, NULL, 10);
	/* "0", or a list, of which any processor will do */
	read_words(tick, ret_pmu, "cpumask", text, sizeof(text));
	ret_pmu->cpu = (uint32_t)strtoul(text, NULL, 10);
	return true;
}

/* Finds "i915_0000_03_00.0"; the integrated GPU's PMU is named "i915". */
static bool find_pmu_of(const struct tick *tick, const struct card *card, struct pmu *ret_pmu)
{
	char name[2 * CARD_TEXT_BYTES];

	snprintf(name, sizeof(name), "%s_%s", card->driver, card->address);
	for (char *at = name; *at; at++)
		if (*at == ':')
			*at = '_';
	return find_pmu(tick, name, ret_pmu) ||
	       (strcmp(card->driver, "i915") == 0 && find_pmu(tick, card->driver, ret_pmu));
}

/* Opens an event for the whole machine; -errno. */
static int open_event(const struct pmu *pmu, const uint64_t words[EVENT_WORDS], int leader)
{
	struct perf_event_attr attribute = {.type = pmu->type,
					    .size = sizeof(attribute),
					    .config = words[0],
					    .config1 = words[1],
					    .config2 = words[2],
					    .read_format = PERF_FORMAT_GROUP};
	const int fd = (int)syscall(SYS_perf_event_open, &attribute, -1, (int)pmu->cpu, leader,
				    PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void note_refused(struct source_state *state, int error)
{
	if (error == -EACCES || error == -EPERM)
		state->why = "busy time of Intel GPU engines is missing: only root and cap_perfmon "
			     "may open perf events of the whole machine; to allow all users: 'sudo "
			     "sysctl kernel.perf_event_paranoid=0'";
	else if (error == -EMFILE || error == -ENFILE)
		state->why = "busy time of some GPU engines is missing: the limit of open files is "
			     "reached, and each engine needs two; raise it (ulimit -Hn)";
}

/* Adds an engine and takes its descriptors. */
static void add_engine(struct source_state *state, size_t card, int fd, int other, const char *name)
{
	struct own *own = state->own;
	struct engine *engine = &own->all[own->count];

	if (own->count == MAX_ENGINES) {
		state->why =
			"busy time of some GPU engines is missing: at most 256 engines are read";
		close(fd);
		if (other >= 0)
			close(other);
		return;
	}
	*engine = (struct engine){.fd = fd, .other = other, .card = card};
	snprintf(engine->name, sizeof(engine->name), "%s", name);
	own->count++;
}

/* ---- i915: an event for each engine ---------------------------------------------------------- */

static void open_named(struct source_state *state, const struct tick *tick, const struct pmu *pmu,
		       size_t card, const char *file)
{
	static const char before[] = "events/", behind[] = "-busy";
	char text[64], name[SERIES_NAME_BYTES];
	uint64_t words[EVENT_WORDS] = {0};
	int fd;

	if (!read_words(tick, pmu, file, text, sizeof(text)) ||
	    !event_parse(text, strlen(text), &words[0]))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)(strlen(file) - strlen(before) - strlen(behind)),
		 file + strlen(before));
	fd = open_event(pmu, words, -1);
	if (fd >= 0)
		add_engine(state, card, fd, -1, name);
	else
		note_refused(state, fd);
}

static void open_i915(struct source_state *state, const struct tick *tick, const struct pmu *pmu,
		      size_t card)
{
	char pattern[512];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s%s/events/*-busy", tick->root, pmu->folder);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		open_named(state, tick, pmu, card,
			   found.gl_pathv[i] + strlen(tick->root) + strlen(pmu->folder) + 1);
	globfree(&found);
}

/* ---- xe: two events, whose fields choose the engine ------------------------------------------ */

struct ticks {
	uint64_t active, total;
	struct event_field gt, class, instance;
	bool has_gt;
};

static bool read_field(const struct tick *tick, const struct pmu *pmu, const char *file,
		       struct event_field *ret_field)
{
	char text[64];

	return read_words(tick, pmu, file, text, sizeof(text)) &&
	       event_field_parse(text, strlen(text), ret_field);
}

static bool read_event(const struct tick *tick, const struct pmu *pmu, const char *file,
		       uint64_t *ret_config)
{
	char text[64];

	return read_words(tick, pmu, file, text, sizeof(text)) &&
	       event_parse(text, strlen(text), ret_config);
}

/* False: this driver has no such events. */
static bool find_ticks(const struct tick *tick, const struct pmu *pmu, struct ticks *ret_ticks)
{
	ret_ticks->has_gt = read_field(tick, pmu, "format/gt", &ret_ticks->gt);
	return read_event(tick, pmu, "events/engine-active-ticks", &ret_ticks->active) &&
	       read_event(tick, pmu, "events/engine-total-ticks", &ret_ticks->total) &&
	       read_field(tick, pmu, "format/engine_class", &ret_ticks->class) &&
	       read_field(tick, pmu, "format/engine_instance", &ret_ticks->instance);
}

static int open_ticks(const struct pmu *pmu, const struct ticks *ticks, uint64_t event, uint32_t gt,
		      uint32_t class, uint32_t instance, int leader)
{
	uint64_t words[EVENT_WORDS] = {event};

	if ((ticks->has_gt && !event_field_put(&ticks->gt, gt, words)) ||
	    !event_field_put(&ticks->class, class, words) ||
	    !event_field_put(&ticks->instance, instance, words))
		return -ENOENT;
	return open_event(pmu, words, leader);
}

/* False: the GPU lacks that engine, or it was refused. */
static bool open_engine(struct source_state *state, const struct pmu *pmu,
			const struct ticks *ticks, size_t card, uint32_t gt, uint32_t class,
			uint32_t instance)
{
	const int fd = open_ticks(pmu, ticks, ticks->active, gt, class, instance, -1);
	const int other =
		fd < 0 ? fd : open_ticks(pmu, ticks, ticks->total, gt, class, instance, fd);
	char name[SERIES_NAME_BYTES];

	if (other < 0) {
		note_refused(state, other);
		if (fd >= 0)
			close(fd);
		return false;
	}
	snprintf(name, sizeof(name), "gt%u %s%u", gt, classes[class], instance);
	add_engine(state, card, fd, other, name);
	return true;
}

/* Engine instances may have gaps: media engines that are disabled in this model. */
static void open_gt(struct source_state *state, const struct pmu *pmu, const struct ticks *ticks,
		    size_t card, uint32_t gt)
{
	for (uint32_t class = 0; class < ARRAY_COUNT(classes); class ++)
		for (uint32_t instance = 0; instance < MAX_INSTANCES && !state->why; instance++)
			open_engine(state, pmu, ticks, card, gt, class, instance);
}

static void open_xe(struct source_state *state, const struct tick *tick, const struct pmu *pmu,
		    size_t card)
{
	const struct cards *cards = tick->context;
	struct ticks ticks;
	char pattern[512];
	glob_t found;

	if (!find_ticks(tick, pmu, &ticks))
		return;
	snprintf(pattern, sizeof(pattern), "%s/sys/class/drm/%s/device/tile*/gt[0-9]*", tick->root,
		 cards->all[card].name);
	if (glob(pattern, 0, NULL, &found)) {
		open_gt(state, pmu, &ticks, card, 0);
		return;
	}
	for (size_t i = 0; i < found.gl_pathc && i < MAX_GTS; i++)
		open_gt(state, pmu, &ticks, card,
			(uint32_t)strtoul(strrchr(found.gl_pathv[i], '/') + strlen("/gt"), NULL,
					  10));
	globfree(&found);
}

/* ---- the source ------------------------------------------------------------------------------ */

static void close_engines(struct source_state *state)
{
	struct own *own = state->own;

	for (size_t i = 0; i < own->count; i++) {
		if (own->all[i].other >= 0)
			close(own->all[i].other);
		close(own->all[i].fd);
	}
}

static bool open_engines(struct source_state *state, const struct tick *tick)
{
	const struct cards *cards = tick->context;
	struct own *own = state->own;
	struct pmu pmu;

	for (size_t i = 0; i < cards->count; i++) {
		const struct card *card = &cards->all[i];

		if (!card->id || !find_pmu_of(tick, card, &pmu))
			continue;
		if (strcmp(card->driver, "i915") == 0)
			open_i915(state, tick, &pmu, i);
		else if (strcmp(card->driver, "xe") == 0 && cards->keeps_awake)
			open_xe(state, tick, &pmu, i);
	}
	return own->count != 0;
}

/* Adds the busy time since the last reading. If the driver counts ticks, it is the share of ticks
 * times the elapsed time. */
static void take_reading(struct engine *engine, uint64_t now_ns, uint64_t active, uint64_t total)
{
	const uint64_t took_ns = now_ns - engine->until_ns;
	const uint64_t busy = active > engine->active ? active - engine->active : 0;
	const uint64_t all = engine->other < 0 ? took_ns : total - engine->total;

	if (engine->until_ns && all && total >= engine->total) {
		engine->of_ns += took_ns;
		engine->busy_ns +=
			busy < all ? (uint64_t)((unsigned __int128)took_ns * busy / all) : took_ns;
	}
	engine->active = active;
	engine->total = total;
	engine->until_ns = now_ns;
}

static void read_engine(struct source_state *state, const struct cards *cards,
			struct engine *engine, size_t index, uint64_t *ret_now_ns)
{
	struct {
		uint64_t count, values[2];
	} group = {.count = 0};
	uint64_t values[MAX_METRICS] = {0}, valid = 0;
	const size_t wanted = engine->other < 0 ? 1 : 2;
	const ssize_t length = read(engine->fd, &group, sizeof(group));
	bool is_new;
	struct metric_instance *instance =
		metric_instances_numbered(&state->instances, index, &is_new);

	*ret_now_ns = host_clocks_now_ns();
	if (length >= (ssize_t)((1 + wanted) * sizeof(uint64_t)) && group.count == wanted) {
		take_reading(engine, *ret_now_ns, group.values[0],
			     wanted > 1 ? group.values[1] : 0);
		valid = 1u << BUSY | 1u << TIME;
	} else {
		engine->until_ns = 0;
	}
	if (!instance)
		return;
	values[BUSY] = engine->busy_ns;
	values[TIME] = engine->of_ns;
	instance->of.device = cards->all[engine->card].id;
	memcpy(instance->of.instance, engine->name, sizeof(instance->of.instance));
	metric_instance_sample(&state->instances, instance, *ret_now_ns, values, valid);
}

static void read_engines(struct source_state *state, struct tick *tick)
{
	struct own *own = state->own;
	uint64_t now_ns = host_clocks_now_ns();

	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < own->count; i++)
		read_engine(state, tick->context, &own->all[i], i, &now_ns);
	tick->time_ns = now_ns;
	metric_instances_end_round(&state->instances, now_ns);
}

const struct source drm_engine_source = {
	.name = "engines",
	.file = DEVICES,
	SOURCE_METRICS(metrics),
	.group = GROUP_MACHINE,
	.max_hz = 100,
	.max_instances = MAX_ENGINES,
	.own_bytes = sizeof(struct own),
	.open = open_engines,
	.read = read_engines,
	.close = close_engines,
};
