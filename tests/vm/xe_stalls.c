/* SPDX-License-Identifier: MIT
 *
 * tests/vm/xe_stalls.c - what the stream of EU-stall rows says while a program runs, read as
 * plainly as it can be
 *
 *	xe_stalls GPU PROGRAM [ARGUMENT...]
 *	xe_stalls GPU reset|drop|wait	does that to the GPU, or waits until another has read all,
 *		and reads nothing
 *
 * Gives:    lines, read by tests/vm/check_vm.py:
 *		second ERRNO, of a second stream
 *		stalls IP COUNTS..., sums by instruction, lowest byte of a row first
 */
#include <sys/wait.h>

#include "../../sim/mock_xe/mock_control.h"
#include "collect/intel/stalls.h"
#include "xe_gpu.h"

enum { MOST = 256 };

static struct {
	uint64_t ip;
	uint64_t counts[EU_STALL_REASONS];
} sums[MOST];
static int count;

static int open_stream(int fd)
{
	struct xe_set_property rate = {.property = XE_EU_STALL_SAMPLE_RATE, .value = 251};
	struct xe_set_property gt = {
		.property = XE_EU_STALL_GT_ID, .value = 0, .next_extension = (uintptr_t)&rate};
	struct xe_observation_param open = {.observation_type = XE_OBSERVATION_EU_STALL,
					    .observation_op = XE_OBSERVATION_OPEN,
					    .param = (uintptr_t)&gt};

	return ioctl(fd, XE_IOCTL_OBSERVATION, &open);
}

static void add(const uint8_t *row)
{
	unsigned __int128 value;
	int i = 0;

	memcpy(&value, row, sizeof(value));
	while (i < count && sums[i].ip != ((uint64_t)value & 0x1fffffff))
		i++;
	if (i == MOST)
		give_up("too many instructions");
	if (i == count)
		sums[count++].ip = (uint64_t)value & 0x1fffffff;
	for (int j = 0; j < EU_STALL_REASONS; j++)
		sums[i].counts[j] += (uint8_t)(value >> (29 + 8 * j));
}

static void take(int stream)
{
	static uint8_t rows[1 << 16];
	ssize_t size;

	while ((size = read(stream, rows, sizeof(rows))) > 0)
		for (ssize_t at = 0; at < size; at += EU_STALL_ROW_BYTES)
			add(rows + at);
	if (size < 0 && errno != EAGAIN)
		give_up("read");
}

static void control(int index, uint32_t what)
{
	const struct mock_control control = {.what = what, .gpu = (uint32_t)index};
	const int fd = open("/dev/mock_xe", O_WRONLY);

	if (fd < 0 || write(fd, &control, sizeof(control)) != sizeof(control))
		give_up("control");
	exit(0);
}

int main(int argc, char **argv)
{
	int fd, stream, status;
	pid_t child;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 3)
		return 2;
	if (strcmp(argv[2], "reset") == 0)
		control(atoi(argv[1]), MOCK_RESET);
	if (strcmp(argv[2], "drop") == 0)
		control(atoi(argv[1]), MOCK_DROP);
	if (strcmp(argv[2], "wait") == 0)
		control(atoi(argv[1]), MOCK_WAIT);
	fd = xe_open(atoi(argv[1]));
	stream = fd < 0 ? -1 : open_stream(fd);
	if (stream < 0 || fcntl(stream, F_SETFL, O_NONBLOCK) || ioctl(stream, XE_STREAM_ENABLE))
		give_up("stream");
	printf("second %d\n", open_stream(fd) < 0 ? errno : 0);
	child = fork();
	if (!child) {
		execv(argv[2], argv + 2);
		_exit(127);
	}
	while (waitpid(child, &status, WNOHANG) == 0) {
		take(stream);
		usleep(5000);
	}
	take(stream);
	for (int i = 0; i < count; i++) {
		printf("stalls %#lx", sums[i].ip);
		for (int j = 0; j < EU_STALL_REASONS; j++)
			printf(" %lu", sums[i].counts[j]);
		printf("\n");
	}
	return status != 0;
}
