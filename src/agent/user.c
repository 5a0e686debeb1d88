/* SPDX-License-Identifier: MIT
 *
 * agent/user.c - become an ordinary user and keep the rights that a recording needs
 *
 * Runs in:  the agent's recorder
 * Gets:     a user of the configuration
 * Gives:    threads of that user with few capabilities
 * Owns:     nothing
 * Fails:    -errno with the error chain; the recorder ends then
 * Why:      the change is prepared by the saved user id, because each thread changes its own user
 * and the first of them may have given up the right to. The recorder reads files and memory of all
 * users' programs. As an ordinary user with cap_sys_ptrace and cap_dac_read_search it can still
 * read them, but changes no file
 */
#include "agent/user.h"

#include <errno.h>
#include <grp.h>
#include <linux/securebits.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/start/rights.h"

int agent_user_find(const char *name, struct agent_user *ret_user)
{
	const struct passwd *entry;

	errno = 0;
	entry = getpwnam(name);
	if (!entry)
		return error_set(errno ? -errno : -ENOENT,
				 "user '%s': no such user; create it with 'useradd --system %s'",
				 name, name);
	*ret_user = (struct agent_user){.is_set = true, .uid = entry->pw_uid, .gid = entry->pw_gid};
	return 0;
}

int agent_user_prepare(const struct agent_user *user)
{
	const uid_t same = (uid_t)-1;

	if (!user->is_set)
		return 0;
	if (geteuid() != 0)
		return error_set(-EPERM, "user: only root can become another user; leave it out");
	if (setgroups(0, NULL) || setresgid((gid_t)same, (gid_t)same, user->gid) ||
	    setresuid(same, same, user->uid))
		return error_set(-errno,
				 "user: become user %u: %s; start the agent with cap_setuid and "
				 "cap_setgid",
				 (unsigned)user->uid, strerror(errno));
	/* Threads inherit this, so the capabilities of each survive its change of the user. */
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED, 0, 0,
		  0))
		return error_set(-errno,
				 "user: keep capabilities: %s; start the agent with cap_setpcap",
				 strerror(errno));
	return 0;
}

static int enter_saved(const struct agent_user *user)
{
	int error = user->is_set ? rights_enter_saved_user() : 0;

	if (error)
		return error_set(error, "user: become user %u: %s", (unsigned)user->uid,
				 strerror(-error));
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return 0;
}

int agent_user_enter(const struct agent_user *user)
{
	if (user->is_set || geteuid() == 0)
		rights_keep_agent(user->keeps_events);
	return enter_saved(user);
}

int agent_user_enter_reader(const struct agent_user *user)
{
	rights_keep_reading();
	return enter_saved(user);
}
