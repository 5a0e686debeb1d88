/* SPDX-License-Identifier: MIT
 *
 * collect/drm/clients.c - engine time and memory of each recorded process, from /proc/PID/fdinfo of
 * its DRM descriptors
 *
 * Runs in:  the sampler of processes
 * Gets:     descriptors of /dev/dri and /dev/accel
 * Gives:    engine time and memory of each client. A client is one open() of the device; dup'ed,
 *           inherited or sent descriptors show the same client, which is counted once, for the
 *           first process that it is found in.
 * Owns:     a descriptor of each client's fdinfo
 * Fails:    a client that cannot be read has ended. If only its descriptor was closed and another
 *           descriptor refers to the client, the client is found by that one and continues from its
 *           last counts. At most 128 clients are counted at a time.
 * Why:      Clients are searched once a second, because a program may have thousands of
 *           descriptors, and only a readlink (1 us) of each shows whether it is a GPU's. At most
 *           SEARCH_FDS links are read per tick. A client that was found is read through a
 *           descriptor of its own.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/counter/sampled_processes.h"
#include "collect/drm/cards.h"
#include "collect/drm/fdinfo.h"
#include "collect/host_clocks.h"

enum { ENGINE, CYCLES, TOTAL, SHARED, RESIDENT, ALL_CYCLES, MOST };
enum {
	MAX_CLIENTS = 128, /* limit of open clients */
	/* Limit including clients that are gone; one that is found again continues its counts. */
	MAX_KNOWN = 1024,
	MAX_PARTS = MAX_FDINFO_ENGINES + MAX_FDINFO_REGIONS,
	SEARCH_FDS = 4096,
	SEARCH_NS = 1000000000,
	SEARCH_SHARE =
		200 /* a process with many descriptors is searched for at most 1/200 of the time */
};

#define OF_PROCESS "/proc/[pid]/fdinfo"
static const struct metric metrics[] = {
	[ENGINE] = {"process.gpu.engine", "ns",
		    "time that the process's work ran on engines of one type; 10^9 ns per second "
		    "is one busy engine",
		    "drm-engine-*", METRIC_TOTAL, .limit = LIMIT_VALUE, .limit_value = MOST},
	[CYCLES] = {"process.gpu.engine.cycles", "cycles",
		    "cycles that the process's work ran on engines of one type, as a share of all "
		    "their cycles",
		    "drm-cycles-*, drm-total-cycles-*", METRIC_PART, ALL_CYCLES, LIMIT_WHOLE},
	[TOTAL] = {"process.gpu.memory.total", "bytes",
		   "size of all buffers of the process in one kind of GPU memory, resident or not",
		   "drm-total-*"},
	[SHARED] = {"process.gpu.memory.shared", "bytes",
		    "size of the process's buffers in one kind of GPU memory that others can "
		    "access too",
		    "drm-shared-*"},
	[RESIDENT] = {"process.gpu.memory.resident", "bytes",
		      "size of the process's buffers that are in one kind of GPU memory now",
		      "drm-resident-*, drm-memory-*"},
	[ALL_CYCLES] = {NULL},
	[MOST] = {NULL},
};

/* Counts of all engines of one type. */
struct counted {
	char name[FDINFO_NAME_BYTES];
	uint64_t busy_ns, cycles;
	uint64_t all_cycles; /* 0: unknown */
};

struct client {
	int fd;           /* owned; its fdinfo; -1: gone, or the slot is free */
	uint32_t place;   /* slot of its process in the view */
	uint32_t process; /* id of that process in the trace */
	uint32_t card;    /* index of the card */
	uint64_t id;      /* the kernel's client id */
	uint32_t serial;  /* 0: the slot is free */
	/* Time at which its counts are known, or before which it did not exist; 0: unknown. */
	uint64_t since_ns;
	uint64_t read_ns; /* time of the last reading; 0: never */
	struct counted engines[MAX_FDINFO_ENGINES];
	size_t engines_count;
};

struct search {
	uint64_t last_ns, next_ns; /* last_ns 0: never */
};

struct own {
	struct tracked_view view;
	struct search searches[MAX_TRACKED]; /* indexed by the process's slot */
	struct client clients[MAX_KNOWN];
	size_t open_count, known_count;
	uint64_t new_from[MAX_CARDS]; /* lower ids may be those of forgotten clients */
	uint32_t last_serial;
	size_t next_place; /* slot at which the search continues in the next tick */
	struct fdinfo fdinfo;
};

static void drop(struct own *own, struct client *client)
{
	if (client->fd < 0)
		return;
	close(client->fd);
	client->fd = -1;
	own->open_count--;
}

/* ---- finding them ---------------------------------------------------------------------------- */

static struct client *find_client(struct own *own, uint32_t card, uint64_t id)
{
	for (size_t i = 0; i < own->known_count; i++)
		if (own->clients[i].card == card && own->clients[i].id == id)
			return &own->clients[i];
	return NULL;
}

/* Returns the gone client that was read longest ago. Client ids grow, so an id above the forgotten
 * ones is new. */
static struct client *forget_client(struct own *own)
{
	struct client *oldest = NULL;

	for (size_t i = 0; i < own->known_count; i++) {
		struct client *client = &own->clients[i];

		if (client->fd < 0 && (!oldest || client->read_ns < oldest->read_ns))
			oldest = client;
	}
	if (oldest->id >= own->new_from[oldest->card])
		own->new_from[oldest->card] = oldest->id + 1;
	return oldest;
}

static struct client *new_client(struct own *own, uint32_t card, uint64_t id, uint64_t since_ns)
{
	struct client *client = own->known_count < MAX_KNOWN ? &own->clients[own->known_count++]
							     : forget_client(own);

	*client = (struct client){.fd = -1,
				  .card = card,
				  .id = id,
				  .since_ns = id >= own->new_from[card] ? since_ns : 0};
	return client;
}

/* Reads into own->fdinfo. */
static bool read_fdinfo(struct own *own, struct tick *tick, int fd)
{
	long length = tick_read(tick, fd);

	return length > 0 && fdinfo_parse(tick->text, (size_t)length, &own->fdinfo) &&
	       own->fdinfo.has_client;
}

/* Finds the card that own->fdinfo names. NULL: none that is counted. */
static const struct card *card_of(const struct own *own, const struct tick *tick)
{
	const struct card *card =
		cards_match(tick->context, own->fdinfo.address, own->fdinfo.driver);

	return card && card->id ? card : NULL;
}

static bool has_room(const struct own *own, const struct tick *tick)
{
	if (own->open_count < MAX_CLIENTS)
		return true;
	series_note(tick->series,
		    "more than 128 clients of GPUs; counters of the others are absent", 0);
	return false;
}

/* Adds the client of own->fdinfo and takes fd. False: the client is read already, or there is no
 * room; fd stays with the caller. */
static bool take_client(struct own *own, const struct tick *tick, size_t place, int fd)
{
	const struct tracked_place *who = &own->view.places[place];
	uint64_t searched_ns = own->searches[place].last_ns;
	const struct card *card = card_of(own, tick);
	struct client *client;
	uint32_t index;

	if (!card)
		return false;
	index = (uint32_t)(card - ((const struct cards *)tick->context)->all);
	client = find_client(own, index, own->fdinfo.client);
	if ((client && client->fd >= 0) || !has_room(own, tick))
		return false;
	if (client)
		client->since_ns = client->read_ns;
	else
		client = new_client(own, index, own->fdinfo.client,
				    searched_ns ? searched_ns : who->since_ns);
	client->fd = fd;
	client->place = (uint32_t)place;
	client->process = who->process;
	client->serial = ++own->last_serial;
	own->open_count++;
	return true;
}

static void meet_client(struct own *own, struct tick *tick, size_t place, const char *descriptor)
{
	int fd = tick_open(tick, "/proc/%u/fdinfo/%s", own->view.places[place].pid, descriptor);

	if (fd >= 0 && !(read_fdinfo(own, tick, fd) && take_client(own, tick, place, fd)))
		close(fd);
}

static bool is_of_gpu(int folder, const char *descriptor)
{
	char target[64];
	ssize_t length = readlinkat(folder, descriptor, target, sizeof(target) - 1);

	target[length > 0 ? length : 0] = '\0';
	return strncmp(target, "/dev/dri/", 9) == 0 || strncmp(target, "/dev/accel/", 11) == 0;
}

/* Searches all descriptors of a process. A partial search could not distinguish new clients from
 * old ones. */
static void search(struct own *own, struct tick *tick, size_t place, size_t *inout_left)
{
	int fd = tick_open(tick, "/proc/%u/fd", own->view.places[place].pid);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	uint64_t begin_ns = host_clocks_now_ns(), took_ns;
	struct dirent *entry;

	if (fd >= 0 && !folder)
		close(fd);
	while (folder && (entry = readdir(folder))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		*inout_left -= *inout_left > 0;
		if (is_of_gpu(fd, entry->d_name))
			meet_client(own, tick, place, entry->d_name);
	}
	if (folder)
		closedir(folder);
	took_ns = host_clocks_now_ns() - begin_ns;
	own->searches[place] = (struct search){
		.last_ns = begin_ns,
		.next_ns = begin_ns + (took_ns * SEARCH_SHARE > SEARCH_NS ? took_ns * SEARCH_SHARE
									  : SEARCH_NS)};
}

static void search_all(struct own *own, struct tick *tick)
{
	size_t left = SEARCH_FDS, first = own->next_place;
	uint64_t now_ns = host_clocks_now_ns();

	for (size_t i = 0; i < own->view.count && left; i++) {
		size_t place = (first + i) % own->view.count;

		own->next_place = place + 1;
		if (own->view.places[place].pid && now_ns >= own->searches[place].next_ns)
			search(own, tick, place, &left);
	}
}

/* Called when the process of a slot has changed or ended. */
static void changed(void *context, size_t place)
{
	struct own *own = context;

	own->searches[place] = (struct search){0};
	for (size_t i = 0; i < own->known_count; i++)
		if (own->clients[i].place == place)
			drop(own, &own->clients[i]);
}

/* ---- reading them ---------------------------------------------------------------------------- */

/* Finds or adds the counts of a client's engine by name; drivers omit engines with 0. NULL: too
 * many. */
static struct counted *counted_of(struct client *client, const char *name)
{
	for (size_t i = 0; i < client->engines_count; i++)
		if (strcmp(client->engines[i].name, name) == 0)
			return &client->engines[i];
	if (client->engines_count == MAX_FDINFO_ENGINES)
		return NULL;
	memcpy(client->engines[client->engines_count].name, name, FDINFO_NAME_BYTES);
	return &client->engines[client->engines_count++];
}

/* Returns the max so far, because drivers may report a smaller value for a while. */
static uint64_t highest(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
	return *most;
}

static struct metric_instance *part_of(struct source_state *state, const struct tick *tick,
				       const struct client *client, size_t part, const char *name,
				       bool *ret_is_new)
{
	const struct cards *cards = tick->context;
	struct metric_instance *instance = metric_instances_numbered(
		&state->instances, (uint64_t)client->serial * MAX_PARTS + part, ret_is_new);

	if (!instance)
		return NULL;
	instance->of.device = cards->all[client->card].id;
	instance->of.process = client->process;
	snprintf(instance->of.instance, sizeof(instance->of.instance), "%s client %llu", name,
		 (unsigned long long)client->id);
	return instance;
}

/* Starts an engine's counts, or continues them from earlier ones. A client with more busy time than
 * has passed since since_ns is older: another process sent its descriptor. */
static void begin_engine(const struct source_state *state, const struct tick *tick,
			 struct metric_instance *instance, const struct client *client,
			 const struct counted *before, const struct fdinfo_engine *engine)
{
	const uint64_t values[MAX_METRICS] = {[ENGINE] = before->busy_ns,
					      [CYCLES] = before->cycles,
					      [ALL_CYCLES] = before->all_cycles};
	uint64_t most_ns = (tick->time_ns - client->since_ns) * engine->capacity, valid = 0;

	if (engine->busy_ns <= before->busy_ns || engine->busy_ns - before->busy_ns <= most_ns)
		valid |= 1u << ENGINE;
	if (before->all_cycles)
		valid |= 1u << CYCLES | 1u << ALL_CYCLES;
	metric_instance_begin(&state->instances, instance, client->since_ns, values, valid);
}

static void put_engine(struct source_state *state, const struct tick *tick, struct client *client,
		       const struct fdinfo_engine *engine)
{
	uint64_t values[MAX_METRICS] = {[MOST] = UINT64_C(1000000000) * engine->capacity};
	struct counted *counted = counted_of(client, engine->name);
	uint64_t valid = 1u << MOST;
	struct metric_instance *instance;
	bool is_new;

	if (!counted)
		return;
	instance = part_of(state, tick, client, (size_t)(counted - client->engines), engine->name,
			   &is_new);
	if (instance && is_new && client->since_ns)
		begin_engine(state, tick, instance, client, counted, engine);
	if (engine->values & FDINFO_BUSY) {
		values[ENGINE] = highest(&counted->busy_ns, engine->busy_ns);
		valid |= 1u << ENGINE;
	}
	if (engine->values & FDINFO_CYCLES && engine->values & FDINFO_TOTAL_CYCLES &&
	    !__builtin_mul_overflow(engine->total_cycles, (uint64_t)engine->capacity,
				    &values[ALL_CYCLES])) {
		values[CYCLES] = highest(&counted->cycles, engine->cycles);
		counted->all_cycles = values[ALL_CYCLES];
		valid |= 1u << CYCLES | 1u << ALL_CYCLES;
	}
	if (instance)
		metric_instance_sample(&state->instances, instance, tick->time_ns, values, valid);
}

static void put_region(struct source_state *state, const struct tick *tick,
		       const struct client *client, size_t index,
		       const struct fdinfo_region *region)
{
	static const struct {
		uint8_t value, memory;
	} levels[] = {{TOTAL, FDINFO_TOTAL}, {SHARED, FDINFO_SHARED}, {RESIDENT, FDINFO_RESIDENT}};
	uint64_t values[MAX_METRICS] = {0}, valid = 0;
	bool is_new;
	struct metric_instance *instance =
		part_of(state, tick, client, MAX_FDINFO_ENGINES + index, region->name, &is_new);

	for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
		if (!(region->values & 1u << levels[i].memory))
			continue;
		values[levels[i].value] = region->bytes[levels[i].memory];
		valid |= 1u << levels[i].value;
	}
	if (instance)
		metric_instance_sample(&state->instances, instance, tick->time_ns, values, valid);
}

static void read_client(struct source_state *state, struct tick *tick, struct client *client)
{
	struct own *own = state->own;
	const struct fdinfo *fdinfo = &own->fdinfo;

	/* The descriptor number may be another file's by now. */
	if (!read_fdinfo(own, tick, client->fd) || fdinfo->client != client->id) {
		drop(own, client);
		return;
	}
	client->read_ns = tick->time_ns;
	for (size_t i = 0; i < fdinfo->engines_count; i++)
		put_engine(state, tick, client, &fdinfo->engines[i]);
	for (size_t i = 0; i < fdinfo->regions_count; i++)
		put_region(state, tick, client, i, &fdinfo->regions[i]);
}

static void read_clients(struct source_state *state, struct tick *tick)
{
	struct own *own = state->own;

	tracked_look(tick->tracked, &own->view, changed, own);
	search_all(own, tick);
	metric_instances_begin_round(&state->instances);
	for (size_t i = 0; i < own->known_count; i++)
		if (own->clients[i].fd >= 0)
			read_client(state, tick, &own->clients[i]);
	metric_instances_end_round(&state->instances, host_clocks_now_ns());
}

static bool open_clients(struct source_state *state, const struct tick *tick)
{
	const struct cards *cards = tick->context;

	return state && tick->tracked && cards->count;
}

static void close_clients(struct source_state *state)
{
	struct own *own = state->own;

	for (size_t i = 0; i < own->known_count; i++)
		drop(own, &own->clients[i]);
}

const struct source drm_client_source = {
	.name = "clients",
	.file = OF_PROCESS,
	SOURCE_METRICS(metrics),
	.group = GROUP_PROCESSES,
	.max_hz = 100,
	.max_instances = MAX_CLIENTS * 16,
	.own_bytes = sizeof(struct own),
	.open = open_clients,
	.read = read_clients,
	.close = close_clients,
};
