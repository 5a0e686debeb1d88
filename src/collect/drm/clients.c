/* SPDX-License-Identifier: MIT
 *
 * collect/drm/clients.c - engine time and memory of each recorded process, by /proc/PID/fdinfo of its DRM descriptors
 *
 * Runs in:  the sampler of processes
 * Gets:     descriptors of /dev/dri and /dev/accel   Gives: what each client did on engines and has in memory
 * Owns:     a descriptor of the fdinfo of each client
 * Fails:    a client that cannot be read any more has ended; one that is in another descriptor too is found there again, and
 *           goes on from what it had counted; the 129th at a time is not counted
 * Why searched once a second: which of a program's thousands of descriptors are a GPU's is told by a link of each (1 us), so
 *           that SEARCH_FDS links at most are looked at in a tick, and what was found is read by its own descriptor
 *
 * A client is one open() of the device: descriptors that were dup'ed, inherited or sent show the same one, which is counted
 * once, for the process in which it is met first.
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
#include "collect/drm/cards.h"
#include "collect/drm/fdinfo.h"
#include "collect/host_clocks.h"
#include "collect/tracked.h"

enum { ENGINE, CYCLES, TOTAL, SHARED, RESIDENT, ALL_CYCLES, MOST };
enum {
	CLIENTS_MOST = 128, /* at a time */
	KNOWN_MOST = 1024,  /* with those that are gone: who comes back has counted before */
	PARTS_MOST = FDINFO_ENGINES_MOST + FDINFO_REGIONS_MOST,
	SEARCH_FDS = 4096,
	SEARCH_NS = 1000000000,
	SEARCH_SHARE = 200 /* a process with very many is searched in a 200th of the time at most */
};

#define OF_PROCESS "/proc/[pid]/fdinfo"
static const struct metric metrics[] = {
	[ENGINE] = {"process.gpu.engine", "ns",
		    "that a client of the process was on engines of a kind: 10^9 in a second is "
		    "one engine",
		    "drm-engine-*", METRIC_TOTAL, .limit = LIMIT_VALUE, .limit_value = MOST},
	[CYCLES] = {"process.gpu.engine.cycles", "cycles",
		    "share of the cycles of all engines of a kind",
		    "drm-cycles-*, drm-total-cycles-*", METRIC_PART, ALL_CYCLES, LIMIT_WHOLE},
	[TOTAL] = {"process.gpu.memory.total", "bytes", "of all buffers that a client can reach",
		   "drm-total-*"},
	[SHARED] = {"process.gpu.memory.shared", "bytes", "… that others can, too", "drm-shared-*"},
	[RESIDENT] = {"process.gpu.memory.resident", "bytes", "… that are in this memory now",
		      "drm-resident-*, drm-memory-*"},
	[ALL_CYCLES] = {NULL},
	[MOST] = {NULL},
};

/* What engines of a kind have counted. */
struct counted {
	char name[FDINFO_NAME_BYTES];
	uint64_t busy_ns, cycles;
	uint64_t all_cycles; /* 0: not known */
};

struct client {
	int fd;           /* owned; of its fdinfo; -1: it is gone, or nobody was here */
	uint32_t place;   /* of its process … */
	uint32_t process; /* … which is the trace's */
	uint32_t card;    /* index */
	uint64_t id;      /* the kernel's */
	uint32_t serial;  /* 0: nobody was here */
	uint64_t
		since_ns; /* its counts are what they were then, or it was opened after that; 0: not known */
	uint64_t read_ns; /* last; 0: never */
	struct counted engines[FDINFO_ENGINES_MOST];
	size_t engines_count;
};

struct search {
	uint64_t last_ns, next_ns; /* last 0: never */
};

struct own {
	struct tracked_view view;
	struct search searches[TRACKED_MOST]; /* by the process's place */
	struct client clients[KNOWN_MOST];
	size_t open_count, known_count;
	uint64_t new_from[CARDS_MOST]; /* ids below may be of clients that are known no more */
	uint32_t last_serial;
	size_t next_place; /* who is searched first when the links of a tick were too few */
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

/* ---- finding them ------------------------------------------------------------------------------ */

static struct client *find_client(struct own *own, uint32_t card, uint64_t id)
{
	for (size_t i = 0; i < own->known_count; i++)
		if (own->clients[i].card == card && own->clients[i].id == id)
			return &own->clients[i];
	return NULL;
}

/* Who was read last the longest ago of those that are gone. The kernel's numbers grow: one above those that are forgotten is
 * new. */
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
	struct client *client = own->known_count < KNOWN_MOST ? &own->clients[own->known_count++]
							      : forget_client(own);

	*client = (struct client){.fd = -1,
				  .card = card,
				  .id = id,
				  .since_ns = id >= own->new_from[card] ? since_ns : 0};
	return client;
}

/* Into own->fdinfo. */
static bool read_fdinfo(struct own *own, struct tick *tick, int fd)
{
	long length = tick_read(tick, fd);

	return length > 0 && fdinfo_parse(tick->text, (size_t)length, &own->fdinfo) &&
	       own->fdinfo.has_client;
}

/* The card of what own->fdinfo says. NULL: none that is counted. */
static const struct card *card_of(const struct own *own, const struct tick *tick)
{
	const struct card *card =
		cards_match(tick->context, own->fdinfo.address, own->fdinfo.driver);

	return card && card->id ? card : NULL;
}

static bool has_room(const struct own *own, const struct tick *tick)
{
	if (own->open_count < CLIENTS_MOST)
		return true;
	series_note(tick->series, "more than 128 clients of GPUs: what the others did is absent",
		    0);
	return false;
}

/* Takes the descriptor, where it is of a client that is not read yet. */
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

static void meet(struct own *own, struct tick *tick, size_t place, const char *descriptor)
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

/* All descriptors of a process, or none: what was half searched could not say what is new. */
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
			meet(own, tick, place, entry->d_name);
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

/* Somebody else is at the place, or nobody. */
static void changed(void *context, size_t place)
{
	struct own *own = context;

	own->searches[place] = (struct search){0};
	for (size_t i = 0; i < own->known_count; i++)
		if (own->clients[i].place == place)
			drop(own, &own->clients[i]);
}

/* ---- reading them ------------------------------------------------------------------------------ */

/* What an engine of the client has counted, by its name: drivers leave out what is 0. NULL: there are too many. */
static struct counted *counted_of(struct client *client, const char *name)
{
	for (size_t i = 0; i < client->engines_count; i++)
		if (strcmp(client->engines[i].name, name) == 0)
			return &client->engines[i];
	if (client->engines_count == FDINFO_ENGINES_MOST)
		return NULL;
	memcpy(client->engines[client->engines_count].name, name, FDINFO_NAME_BYTES);
	return &client->engines[client->engines_count++];
}

/* Drivers may go back for a while: what was there already is there still. */
static uint64_t highest(uint64_t *most, uint64_t value)
{
	if (value > *most)
		*most = value;
	return *most;
}

static struct thing *part_of(struct source_state *state, const struct tick *tick,
			     const struct client *client, size_t part, const char *name,
			     bool *ret_is_new)
{
	const struct cards *cards = tick->context;
	struct thing *thing = things_numbered(
		&state->things, (uint64_t)client->serial * PARTS_MOST + part, ret_is_new);

	if (!thing)
		return NULL;
	thing->of.device = cards->all[client->card].id;
	thing->of.process = client->process;
	snprintf(thing->of.instance, sizeof(thing->of.instance), "%s client %llu", name,
		 (unsigned long long)client->id);
	return thing;
}

/* From what it had counted then. Who has been busier than there was time for is older: somebody sent it. */
static void begin_engine(const struct source_state *state, const struct tick *tick,
			 struct thing *thing, const struct client *client,
			 const struct counted *before, const struct fdinfo_engine *engine)
{
	const uint64_t values[METRICS_MOST] = {[ENGINE] = before->busy_ns,
					       [CYCLES] = before->cycles,
					       [ALL_CYCLES] = before->all_cycles};
	uint64_t most_ns = (tick->time_ns - client->since_ns) * engine->capacity, valid = 0;

	if (engine->busy_ns <= before->busy_ns || engine->busy_ns - before->busy_ns <= most_ns)
		valid |= 1u << ENGINE;
	if (before->all_cycles)
		valid |= 1u << CYCLES | 1u << ALL_CYCLES;
	thing_begin(&state->things, thing, client->since_ns, values, valid);
}

static void put_engine(struct source_state *state, const struct tick *tick, struct client *client,
		       const struct fdinfo_engine *engine)
{
	uint64_t values[METRICS_MOST] = {[MOST] = UINT64_C(1000000000) * engine->capacity};
	struct counted *counted = counted_of(client, engine->name);
	uint64_t valid = 1u << MOST;
	struct thing *thing;
	bool is_new;

	if (!counted)
		return;
	thing = part_of(state, tick, client, (size_t)(counted - client->engines), engine->name,
			&is_new);
	if (thing && is_new && client->since_ns)
		begin_engine(state, tick, thing, client, counted, engine);
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
	if (thing)
		thing_sample(&state->things, thing, tick->time_ns, values, valid);
}

static void put_region(struct source_state *state, const struct tick *tick,
		       const struct client *client, size_t index,
		       const struct fdinfo_region *region)
{
	static const struct {
		uint8_t value, memory;
	} levels[] = {{TOTAL, FDINFO_TOTAL}, {SHARED, FDINFO_SHARED}, {RESIDENT, FDINFO_RESIDENT}};
	uint64_t values[METRICS_MOST] = {0}, valid = 0;
	bool is_new;
	struct thing *thing =
		part_of(state, tick, client, FDINFO_ENGINES_MOST + index, region->name, &is_new);

	for (size_t i = 0; i < ARRAY_COUNT(levels); i++) {
		if (!(region->values & 1u << levels[i].memory))
			continue;
		values[levels[i].value] = region->bytes[levels[i].memory];
		valid |= 1u << levels[i].value;
	}
	if (thing)
		thing_sample(&state->things, thing, tick->time_ns, values, valid);
}

static void read_client(struct source_state *state, struct tick *tick, struct client *client)
{
	struct own *own = state->own;
	const struct fdinfo *fdinfo = &own->fdinfo;

	/* The number may be another file's by now. */
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
	things_begin_round(&state->things);
	for (size_t i = 0; i < own->known_count; i++)
		if (own->clients[i].fd >= 0)
			read_client(state, tick, &own->clients[i]);
	things_end_round(&state->things, host_clocks_now_ns());
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

extern const struct source drm_client_source;
const struct source drm_client_source = {
	.name = "clients",
	.file = OF_PROCESS,
	SOURCE_METRICS(metrics),
	.group = GROUP_PROCESSES,
	.most_hz = 100,
	.things_most = CLIENTS_MOST * 16,
	.own_bytes = sizeof(struct own),
	.open = open_clients,
	.read = read_clients,
	.close = close_clients,
};
