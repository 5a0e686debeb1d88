/* SPDX-License-Identifier: MIT
 *
 * tests/vm/xe_oa.c - tells the mock of xe what its OA unit reports
 *
 *	xe_oa GPU steps FIRST COUNT	so many steps of the script, from one on
 *	xe_oa GPU set UUID		adds a metric set to the driver's list: its 4th counter is
 *		the busy cycles, its 6th the EUs' active ones
 *	xe_oa GPU lose|end		the unit loses reports, and one step comes much later; its
 *		stream ends
 *
 * Gives:    lines, read by tests/vm/work.py:
 *		step TIME TICKS BUSY ACTIVE STALLED
 *		late …, the same of the one after a loss
 */
#include "../../sim/mock_xe/mock_control.h"
#include "xe_gpu.h"

/* At 100 Hz and 19.2 million time stamps a second a report comes each 2^17. */
enum { PERIOD = 1 << 17, MAX_STEPS = 64, MISSING = 4 };

/* Each differs from all others; every third is an idle one, and in one the clock stands still. */
static struct mock_oa_step make_step(uint32_t nth)
{
	const uint32_t ticks = 8000000 + nth * 12345;

	if (nth == 7)
		return (struct mock_oa_step){.time = PERIOD};
	if (nth % 3 == 0)
		return (struct mock_oa_step){.time = PERIOD, .ticks = ticks};
	return (struct mock_oa_step){.time = PERIOD,
				     .ticks = ticks,
				     .busy = ticks / (nth + 1),
				     .active = 16 * (ticks / (nth + 2)),
				     .stalled = ticks / 3};
}

static void say(const char *what, const struct mock_oa_step *step)
{
	printf("%s %u %u %u %u %u\n", what, step->time, step->ticks, step->busy, step->active,
	       step->stalled);
}

static void tell(int gpu, uint32_t what, const struct mock_oa_step *steps, uint32_t count)
{
	const size_t size = sizeof(struct mock_control) + count * sizeof(*steps);
	struct mock_control *control = calloc(1, size);
	const int fd = open("/dev/mock_xe", O_WRONLY);

	if (!control || fd < 0)
		give_up("control");
	*control = (struct mock_control){.what = what, .gpu = (uint32_t)gpu, .rows_count = count};
	if (count)
		memcpy(control->rows, steps, count * sizeof(*steps));
	if (write(fd, control, size) != (ssize_t)size)
		give_up("control");
	close(fd);
	free(control);
}

static void tell_steps(int gpu, uint32_t first, uint32_t count)
{
	struct mock_oa_step steps[MAX_STEPS];

	for (uint32_t i = 0; i < count; i++) {
		steps[i] = make_step(first + i);
		say("step", &steps[i]);
	}
	tell(gpu, MOCK_OA_STEPS, steps, count);
}

static void add_set(int gpu, const char *uuid)
{
	/* the selectors of the 4th and the 6th in the first of four levels, with what each
	 * counts */
	static const struct {
		uint32_t address, value;
	} registers[] = {{0x13018, 0x5a00}, {0x13028, 0x605}};
	struct xe_oa_config config = {.n_regs = 2, .regs_ptr = (uintptr_t)registers};
	struct xe_observation_param add = {.observation_type = XE_OBSERVATION_OA,
					   .observation_op = XE_OBSERVATION_ADD_CONFIG,
					   .param = (uintptr_t)&config};
	const int fd = xe_open(gpu);

	memcpy(config.uuid, uuid, sizeof(config.uuid));
	if (fd < 0 || ioctl(fd, XE_IOCTL_OBSERVATION, &add) <= 0)
		give_up("set");
	close(fd);
}

int main(int argc, char **argv)
{
	const int gpu = argc > 2 ? atoi(argv[1]) : 0;
	struct mock_oa_step late = make_step(1);

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 5 && strcmp(argv[2], "steps") == 0 && atoi(argv[4]) <= MAX_STEPS) {
		tell_steps(gpu, (uint32_t)atoi(argv[3]), (uint32_t)atoi(argv[4]));
	} else if (argc == 4 && strcmp(argv[2], "set") == 0 &&
		   strlen(argv[3]) == XE_OA_UUID_CHARACTERS) {
		add_set(gpu, argv[3]);
	} else if (argc == 3 && strcmp(argv[2], "lose") == 0) {
		late.time *= MISSING + 1;
		say("late", &late);
		tell(gpu, MOCK_OA_LOSE, NULL, 0);
		tell(gpu, MOCK_OA_STEPS, &late, 1);
	} else if (argc == 3 && strcmp(argv[2], "end") == 0) {
		tell(gpu, MOCK_OA_END, NULL, 0);
	} else {
		return 2;
	}
	return 0;
}
