/* SPDX-License-Identifier: MIT
 *
 * tests/diagnosis/programs/harness/main.c - the iterations, the clock and the truth
 *
 *	PROGRAM [NAME=MS...]
 *
 * NAME is a cause of this program, MS its milliseconds per iteration. SEED varies amounts, order
 *and the number of iterations; with DIAGNOSIS_CLEAN the causes do nothing. One line of JSON for
 *each cause is appended to the file that DIAGNOSIS_TRUTH names, or written to stderr.
 */
#include "diagnosis.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct plant *plants;
static unsigned plant_count;
static int schedstat = -1;
static unsigned long long random_state;
static struct {
	uint64_t wall, delay, cpu;
} begun;

void plant_add(struct plant *plant)
{
	plant->next = plants;
	plants = plant;
	plant_count++;
}

void place_begin(struct place *place, const char *function, const char *file, int line)
{
	const char *slash = strrchr(file, '/');

	place->function = function;
	place->file = slash ? slash + 1 : file;
	place->first = line;
}

/* Nanoseconds for which the main thread was ready and waited for a processor. */
static uint64_t delay_ns(void)
{
	char text[96] = "";
	unsigned long long ran, delay;

	if (pread(schedstat, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%llu %llu", &ran, &delay) != 2)
		return 0;
	return delay;
}

void plant_start_clock(struct plant *plant)
{
	(void)plant;
	begun.delay = delay_ns();
	begun.cpu = cpu_ns();
	begun.wall = now_ns();
}

uint64_t planted_ns(void)
{
	uint64_t wall = now_ns() - begun.wall, planted = wall - (delay_ns() - begun.delay);

	return planted > wall / 4 ? planted : wall / 4;
}

void plant_stop_clock(struct plant *plant)
{
	uint64_t wall = now_ns() - begun.wall, cpu = cpu_ns() - begun.cpu,
		 delay = delay_ns() - begun.delay;

	plant->wall_ns += wall;
	plant->delay_ns += delay;
	if (plant->measure == MEASURE_DELAY)
		plant->ns += delay;
	else
		plant->ns += wall - (plant->measure == MEASURE_AWAY ? cpu : delay);
}

static void serve(int requests, int reply)
{
	uint64_t ns;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(requests, &ns, sizeof(ns)) == sizeof(ns)) {
		sleep_ns(ns);
		if (write(reply, "x", 1) != 1)
			break;
	}
	_exit(0);
}

int start_slow_peer(int reply)
{
	int ends[2];
	pid_t child;

	check(pipe2(ends, O_CLOEXEC) == 0, "pipe");
	child = fork();
	check(child >= 0, "fork");
	if (child == 0) {
		close(ends[1]);
		serve(ends[0], reply);
	}
	close(ends[0]);
	return ends[1];
}

void ask_slow_peer(int peer, uint64_t ns)
{
	check(write(peer, &ns, sizeof(ns)) == sizeof(ns), "write to the peer");
}

int open_scratch(size_t size, int flags)
{
	const char *folder = getenv("TMPDIR");
	char path[256];
	int file, plain;

	snprintf(path, sizeof(path), "%s/diagnosis.XXXXXX", folder ? folder : "/tmp");
	plain = mkstemp(path);
	check(plain >= 0, path);
	file = open(path, O_RDWR | O_CLOEXEC | flags);
	check(file >= 0, path);
	unlink(path);
	for (uint64_t block[8192], done = 0; done < size; done += sizeof(block)) {
		memset(block, (int)(done >> 16), sizeof(block));
		check(write(plain, block, sizeof(block)) == sizeof(block), path);
	}
	fsync(plain);
	posix_fadvise(plain, 0, 0, POSIX_FADV_DONTNEED);
	close(plain);
	return file;
}

/* A number from 0 up to below the limit. */
static unsigned random_below(unsigned limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % limit;
}

static void read_amounts(char **arguments)
{
	for (struct plant *plant = plants; plant; plant = plant->next) {
		size_t length = strlen(plant->name);

		plant->amount_ns = plant->amount_ns ? plant->amount_ns : 5 * MS;
		plant->every = plant->every ? plant->every : 1;
		for (char **argument = arguments; *argument; argument++)
			if (strncmp(*argument, plant->name, length) == 0 &&
			    (*argument)[length] == '=')
				plant->amount_ns = (uint64_t)(atof(*argument + length + 1) * MS);
		plant->amount_ns = plant->amount_ns * (85 + random_below(31)) / 100;
		if (plant->every == 1 && random_below(2))
			plant->every = 2 + random_below(3);
		if (getenv("DIAGNOSIS_CLEAN"))
			plant->amount_ns = 0;
	}
}

/* Of this cause, in this iteration. */
static uint64_t amount_of(const struct plant *plant, unsigned iteration)
{
	uint64_t amount = plant->amount_ns * plant->every;

	return iteration % plant->every == plant->every - 1 ? amount * (75 + random_below(51)) / 100
							    : 0;
}

NOINLINE static void run_iteration(unsigned iteration)
{
	uint64_t amounts[8] = {0};
	unsigned i = 0;

	device_launch();
	for (struct plant *plant = plants; plant; plant = plant->next, i++) {
		amounts[i % 8] = amount_of(plant, iteration);
		if (amounts[i % 8] && plant->during)
			plant->during(amounts[i % 8]);
	}
	device_finish();
	i = 0;
	for (struct plant *plant = plants; plant; plant = plant->next, i++)
		if (amounts[i % 8])
			plant->act(amounts[i % 8]);
}

/* The words of a text as strings of JSON. */
static void print_words(FILE *file, const char *name, const char *text)
{
	char copy[256], *rest = copy;
	int count = 0;

	snprintf(copy, sizeof(copy), "%s", text ? text : "");
	fprintf(file, "\"%s\": [", name);
	for (char *word; (word = strsep(&rest, " "));)
		if (*word)
			fprintf(file, "%s\"%s\"", count++ ? ", " : "", word);
	fprintf(file, "], ");
}

static void print_place(FILE *file, const struct place *place)
{
	print_words(file, "function", place->function);
	fprintf(file, "\"file\": \"%s\", \"line\": [%d, %d]", place->file, place->first,
		place->last);
}

static void print_truth(struct plant *plant, unsigned iterations, uint64_t loop_ns)
{
	const char *path = getenv("DIAGNOSIS_TRUTH");
	FILE *file = path ? fopen(path, "a") : stderr;

	check(file != NULL, path);
	if (!plant->guilty.function)
		plant->guilty = plant->waiter;
	if (!plant->guilty.function)
		plant->guilty = (struct place){"", "", 0, 0};
	fprintf(file, "{\"name\": \"%s\", ", plant->name);
	print_words(file, "kind", plant->kinds);
	print_words(file, "sentence_words", plant->words);
	print_place(file, &plant->guilty);
	if (plant->waiter.function) {
		fprintf(file, ", \"waiter\": {");
		print_place(file, &plant->waiter);
		fprintf(file, "}");
	}
	fprintf(file,
		", \"ns\": %llu, \"wall_ns\": %llu, \"delay_ns\": %llu, \"iterations\": %u, "
		"\"loop_ns\": %llu}\n",
		(unsigned long long)plant->ns, (unsigned long long)plant->wall_ns,
		(unsigned long long)plant->delay_ns, iterations, (unsigned long long)loop_ns);
	if (path)
		fclose(file);
}

int main(int argc, char **argv)
{
	const char *seed = getenv("SEED"), *rounds = getenv("DIAGNOSIS_ITERATIONS");
	unsigned iterations;
	uint64_t begin;

	(void)argc;
	random_state = seed ? strtoull(seed, NULL, 10) * 2654435761u + 1 : 1;
	random_below(2);
	iterations = 70 + random_below(30);
	if (rounds)
		iterations = (unsigned)atoi(rounds);
	signal(SIGPIPE, SIG_IGN);
	schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	read_amounts(argv + 1);
	for (struct plant *plant = plants; plant; plant = plant->next)
		if (plant->prepare)
			plant->prepare();
	device_open();
	for (struct plant *plant = plants; plant; plant = plant->next)
		if (plant->start)
			plant->start();
	begin = now_ns();
	for (unsigned i = 0; i < iterations; i++)
		run_iteration(i);
	device_launch();
	device_finish();
	begin = now_ns() - begin;
	for (struct plant *plant = plants; plant; plant = plant->next) {
		if (plant->finish)
			plant->finish();
		print_truth(plant, iterations, begin);
	}
	return 0;
}
