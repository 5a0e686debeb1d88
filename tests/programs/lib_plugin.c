/* SPDX-License-Identifier: MIT
 *
 * tests/programs/lib_plugin.c - a plug-in with libduet inside of it, which comes and goes
 */
#include <duet.h>
#include <pthread.h>

__attribute__((visibility("default"))) int plugin_work(void);

static void *mark(void *duet)
{
	duet_mark(duet, "plugin", "of a thread");
	return NULL;
}

int plugin_work(void)
{
	struct duet *duet = duet_open(NULL, NULL, 0);
	int result = duet_start(duet);
	pthread_t thread;

	duet_range_push(duet, "plugin", "work");
	if (pthread_create(&thread, NULL, mark, duet) == 0)
		pthread_join(thread, NULL);
	duet_range_pop(duet, "plugin");
	duet_close(duet);
	return result;
}
