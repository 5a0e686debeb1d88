/* SPDX-License-Identifier: MIT
 *
 * tests/unit/cli/test_print.c - messages, and an output that cannot be written
 */
#include <fcntl.h>
#include <signal.h>

#include "base/error.h"
#include "capture.h"
#include "cli/command.h"
#include "harness.h"

static struct capture capture;

TEST(a_text)
{
	capture_start(&capture, STDERR_FILENO);
	print_error("report", "no such file");
	print_error(NULL, "no verb");
	CHECK_TEXT(capture_stop(&capture), "duet report: no such file\nduet: no verb\n");
}

TEST(the_chain_is_printed_and_cleared)
{
	error_set(-2, "open 'x': no such file");
	capture_start(&capture, STDERR_FILENO);
	print_error("info", NULL);
	CHECK_TEXT(capture_stop(&capture), "duet info: open 'x': no such file\n");
	CHECK_TEXT(error_text(), "");
}

TEST(a_failure_without_a_reason_is_our_fault)
{
	error_clear();
	capture_start(&capture, STDERR_FILENO);
	print_error("info", NULL);
	CHECK(strstr(capture_stop(&capture), "bug in duet") != NULL);
}

TEST(a_name_from_a_trace_does_not_reach_the_terminal_raw)
{
	capture_start(&capture, STDERR_FILENO);
	print_error("flame", "'/tmp/\033]0;owned\a\xc2\x9bx' was replaced");
	CHECK_TEXT(capture_stop(&capture), "duet flame: '/tmp/?]0;owned??x' was replaced\n");
}

TEST(wrong_usage)
{
	static const struct cli_command command = {.name = "gate"};

	capture_start(&capture, STDERR_FILENO);
	CHECK_EQUAL(usage_error(&command, "%s is bad", "x"), STATUS_USAGE);
	CHECK_TEXT(capture_stop(&capture), "duet gate: x is bad\nTry 'duet gate --help'.\n");
	capture_start(&capture, STDERR_FILENO);
	CHECK_EQUAL(usage_error(NULL, "x"), STATUS_USAGE);
	CHECK_TEXT(capture_stop(&capture), "duet: x\nTry 'duet --help'.\n");
}

TEST(a_written_output_keeps_the_status)
{
	struct capture out;
	int done, failed;

	capture_start(&out, STDOUT_FILENO);
	printf("x");
	done = finish_output("list", STATUS_DONE);
	failed = finish_output("list", STATUS_FAILED);
	CHECK_TEXT(capture_stop(&out), "x");
	CHECK_EQUAL(done, STATUS_DONE);
	CHECK_EQUAL(failed, STATUS_FAILED);
}

/* Lets stdout be `fd` while "x" is printed and finished. */
static int finish_on(int fd)
{
	int saved, status;

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	dup2(fd, STDOUT_FILENO);
	close(fd);
	printf("x");
	capture_start(&capture, STDERR_FILENO);
	/* capture_start flushes every stream: what cannot be written is met here or there. */
	status = finish_output("list", STATUS_DONE);
	capture_stop(&capture);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	clearerr(stdout);
	return status;
}

TEST(a_full_disk_is_a_failure)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		SKIP("no /dev/full");
	CHECK_EQUAL(finish_on(fd), STATUS_FAILED);
	CHECK(strstr(capture.text, "duet list: cannot write all of the output") != NULL);
}

TEST(a_closed_pipe_is_a_quiet_end)
{
	int fds[2], saved, status;

	REQUIRE(pipe(fds) == 0);
	close(fds[0]);
	signal(SIGPIPE, SIG_IGN);
	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	capture_start(&capture, STDERR_FILENO);
	dup2(fds[1], STDOUT_FILENO);
	close(fds[1]);
	printf("x");
	status = finish_output("list", STATUS_DONE);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	clearerr(stdout);
	CHECK_TEXT(capture_stop(&capture), "");
	CHECK_EQUAL(status, STATUS_DONE);
}

int main(void)
{
	RUN(a_text);
	RUN(the_chain_is_printed_and_cleared);
	RUN(a_failure_without_a_reason_is_our_fault);
	RUN(a_name_from_a_trace_does_not_reach_the_terminal_raw);
	RUN(wrong_usage);
	RUN(a_written_output_keeps_the_status);
	RUN(a_full_disk_is_a_failure);
	RUN(a_closed_pipe_is_a_quiet_end);
	return harness_end();
}
