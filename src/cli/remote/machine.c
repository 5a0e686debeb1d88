/* SPDX-License-Identifier: MIT
 *
 * cli/remote/machine.c - the other machine: whether duet runs there, and a copy of it
 *
 * Runs in:  our own process
 * Gets:     the output of a script there: system, C library, folders
 * Gives:    the path of a duet there that has this version
 * Owns:     nothing
 * Fails:    -errno with the name of the machine, before anything is copied if duet cannot run there
 * Why:      a bundle has the name of its hash and is renamed when it is complete. So two
 *           recordings may copy it at once, and a copy that was interrupted is never used
 */
#include "cli/remote/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/format.h"
#include "base/file/sha256.h"
#include "cli/remote/bundle.h"
#include "cli/remote/glibc.h"

#define FILE_NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* Chooses duet's folder, too. Root's is open to other users, because their programs load guests
 * from it. A path with a character that some shell interprets is not used. */
static const char probe_script[] =
	"PATH=$PATH:/usr/local/bin:/usr/bin:/bin\n"
	"umask 022\n"
	"can_use() {\n"
	"  case $1 in /*) ;; *) return 1;; esac\n"
	"  case $1 in *[!A-Za-z0-9/._+@%=:,-]*) return 1;; esac\n"
	"  mkdir -p \"$1\" 2>/dev/null\n"
	"  [ -d \"$1\" ] && [ ! -L \"$1\" ] && [ -O \"$1\" ] &&\n"
	"    (: >\"$1/.test.$$\") 2>/dev/null && rm \"$1/.test.$$\"\n"
	"}\n"
	"choose() {\n"
	"  user=$(id -u)\n"
	"  [ -n \"$XDG_CACHE_HOME\" ] && can_use \"$XDG_CACHE_HOME/duet\" &&\n"
	"    cache=$XDG_CACHE_HOME/duet && return\n"
	"  [ \"$user\" = 0 ] && can_use /var/cache/duet && cache=/var/cache/duet && return\n"
	"  [ -n \"$HOME\" ] && can_use \"$HOME/.cache/duet\" && cache=$HOME/.cache/duet && return\n"
	"  can_use \"/tmp/duet-$user\" && cache=/tmp/duet-$user\n"
	"}\n"
	"cache=\n"
	"choose\n"
	"echo \"system $(uname -s)\"\n"
	"echo \"machine $(uname -m)\"\n"
	"echo \"name $(uname -n)\"\n"
	"echo \"libc $( (ldd --version || getconf GNU_LIBC_VERSION) 2>&1 | head -n 1)\"\n"
	"path=$(command -v duet 2>/dev/null) && echo \"installed $(duet --version 2>/dev/null)\"\n"
	"echo \"path $path\"\n"
	"echo \"cache $cache\"\n"
	"[ -n \"$cache\" ] && [ -x \"$cache/$bundle/bin/duet\" ] && echo \"bundle $bundle\"\n"
	"echo \"end\"\n";

/* stdin: the archive. $cache, $bundle and $hash are set before. */
static const char install_script[] =
	"umask 022\n"
	"part=$(mktemp -d \"$cache/.part.XXXXXX\") || exit 1\n"
	"fail() { echo \"duet: $1\" >&2; rm -rf \"$part\"; exit 1; }\n"
	"chmod 755 \"$part\" && cat >\"$part/tar.gz\" || fail \"$cache: cannot write\"\n"
	"sum=$(sha256sum \"$part/tar.gz\") || fail 'sha256sum is missing; install coreutils'\n"
	"[ \"${sum%% *}\" = \"$hash\" ] || fail 'the copy of duet is damaged; try again'\n"
	"tar -C \"$part\" -xzf \"$part/tar.gz\" || fail \"$cache: cannot unpack\"\n"
	"rm \"$part/tar.gz\"\n"
	"\"$part/bin/duet\" --version >/dev/null || fail \"duet does not run in $cache\"\n"
	"mv \"$part\" \"$cache/$bundle\" || fail \"$cache: cannot rename\"\n"
	"rm -rf \"$cache/$bundle/${part##*/}\"\n";

/* A copy is in use while its duet runs, or a program has one of its guests. It is moved away first,
 * so that no process starts from it between the look and the removal; one that is in use is moved
 * back. Processes of other users cannot be looked at. Parts that are being copied stay. */
static const char forget_script[] =
	"count=0\n"
	"is_used() {\n"
	"  for exe in /proc/[0-9]*/exe; do\n"
	"    [ \"$exe\" -ef \"$1/bin/duet\" ] 2>/dev/null && return\n"
	"  done\n"
	"  place=$(cd \"$1\" && pwd -P) &&\n"
	"    cat /proc/[0-9]*/maps 2>/dev/null | grep -qF \" $place/\"\n"
	"}\n"
	"for folder in \"$cache\"/*-???????????????? \"$cache\"/.gone.*; do\n"
	"  [ -x \"$folder/bin/duet\" ] || continue\n"
	"  gone=$cache/.gone.$$\n"
	"  mv \"$folder\" \"$gone\" || continue\n"
	"  if is_used \"$gone\"; then\n"
	"    mv \"$gone\" \"$folder\"\n"
	"    echo \"used ${folder##*/}\"\n"
	"    continue\n"
	"  fi\n"
	"  rm -rf \"$gone\" && count=$((count + 1))\n"
	"done\n"
	"find \"$cache\" -maxdepth 1 -name '.part.*' -mmin +60 -exec rm -rf {} + 2>/dev/null\n"
	"rmdir \"$cache/recordings\" \"$cache\" 2>/dev/null\n"
	"echo \"count $count\"\n";

/* The rest of the line that begins with a word; "" if there is none. */
static void find_fact(const char *facts, const char *word, char *ret_value, size_t size)
{
	size_t length = strlen(word);

	*ret_value = '\0';
	for (const char *line = facts; line && *line;) {
		const char *end = strchrnul(line, '\n');

		if (strncmp(line, word, length) == 0 && line[length] == ' ')
			snprintf(ret_value, size, "%.*s", (int)(end - line - (ptrdiff_t)length - 1),
				 line + length + 1);
		line = *end ? end + 1 : NULL;
	}
}

/* ---- whether a bundle runs there ------------------------------------------------------------- */

static int check_system(const struct ssh *ssh, const char *facts)
{
	char system[64], machine[64];
	struct utsname own;

	find_fact(facts, "system", system, sizeof(system));
	find_fact(facts, "machine", machine, sizeof(machine));
	uname(&own);
	if (strcmp(system, own.sysname) != 0)
		return error_set(-ENOTSUP, "%s: its system is %s; duet runs on Linux only",
				 ssh->host, *system ? format_text(system).text : "unknown");
	if (strcmp(machine, own.machine) != 0)
		return error_set(-ENOTSUP,
				 "%s: its processor is %s and this duet is for %s; install duet "
				 "there",
				 ssh->host, format_text(machine).text, own.machine);
	return 0;
}

static int check_glibc(const struct ssh *ssh, const char *facts, unsigned needed)
{
	char text[256];
	unsigned minor;

	find_fact(facts, "libc", text, sizeof(text));
	minor = glibc_parse(text);
	if (!minor)
		return error_set(-ENOTSUP,
				 "%s: its C library is not glibc ('%s'); install duet there",
				 ssh->host, format_text(text).text);
	if (minor < needed)
		return error_set(-ENOTSUP, "%s: glibc 2.%u is older than 2.%u; install duet there",
				 ssh->host, minor, needed);
	return 0;
}

/* ---- the copy -------------------------------------------------------------------------------- */

static int send_bundle(const struct ssh *ssh, const struct machine *machine,
		       const struct bundle *bundle)
{
	struct string_builder bytes = {0}, script = {0}, output = {0};
	char digits[SHA256_TEXT_SIZE];
	struct sha256 hash;
	int error = bundle_compress(bundle, &bytes);

	if (!error && isatty(STDERR_FILENO))
		fprintf(stderr, "duet: copying duet to %s (%s)\n", ssh->host,
			format_size((double)bytes.length).text);
	sha256_init(&hash);
	sha256_add(&hash, bytes.text, bytes.length);
	sha256_format(&hash, digits);
	string_builder_appendf(&script, "cache=%s\nbundle=%s\nhash=%s\n%s", machine->cache,
			       bundle->name, digits, install_script);
	if (!error)
		error = ssh_run(ssh, string_builder_text(&script), bytes.text, bytes.length,
				&output);
	if (error)
		error_note(error, "copy duet to '%s:%s'", ssh->host, machine->cache);
	string_builder_fini(&bytes);
	string_builder_fini(&script);
	string_builder_fini(&output);
	return error;
}

static int use_bundle(const struct ssh *ssh, const char *facts, const struct bundle *bundle,
		      struct machine *machine)
{
	char there[64];
	int error;

	find_fact(facts, "bundle", there, sizeof(there));
	snprintf(machine->duet, sizeof(machine->duet), "%.3000s/%s/bin/duet", machine->cache,
		 bundle->name);
	if (strcmp(there, bundle->name) == 0)
		return 0;
	error = check_system(ssh, facts);
	if (!error)
		error = check_glibc(ssh, facts, bundle->glibc_minor);
	return error ? error : send_bundle(ssh, machine, bundle);
}

/* The name of the machine becomes a part of a file's name here. */
static void make_file_name(char *name)
{
	if (*name == '.')
		*name = '_';
	for (char *at = name; *(at += strspn(at, FILE_NAME_CHARACTERS)); at++)
		*at = '_';
}

static int read_facts(const struct ssh *ssh, const char *facts, struct machine *machine)
{
	find_fact(facts, "name", machine->name, sizeof(machine->name));
	make_file_name(machine->name);
	find_fact(facts, "cache", machine->cache, sizeof(machine->cache));
	if (*machine->cache)
		return 0;
	return error_set(-EACCES, "%s: no folder for duet; make ~/.cache or /tmp there writable",
			 ssh->host);
}

static int find_duet(const struct ssh *ssh, const char *facts, const char *version,
		     const struct bundle *bundle, struct machine *machine)
{
	char installed[128], wanted[128];

	find_fact(facts, "installed", installed, sizeof(installed));
	snprintf(wanted, sizeof(wanted), "duet %s", version);
	find_fact(facts, "path", machine->duet, sizeof(machine->duet));
	if (strcmp(installed, wanted) != 0 || *machine->duet != '/')
		return use_bundle(ssh, facts, bundle, machine);
	return 0;
}

int machine_open(const struct ssh *ssh, const char *version, bool may_copy,
		 struct machine *ret_machine)
{
	struct string_builder script = {0}, facts = {0};
	struct bundle bundle;
	int error = bundle_init(&bundle, version);

	*ret_machine = (struct machine){0};
	string_builder_appendf(&script, "bundle=%s\n%s", bundle.name, probe_script);
	if (!error)
		error = ssh_run(ssh, string_builder_text(&script), NULL, 0, &facts);
	if (!error)
		error = read_facts(ssh, string_builder_text(&facts), ret_machine);
	if (!error && may_copy)
		error = find_duet(ssh, string_builder_text(&facts), version, &bundle, ret_machine);
	bundle_fini(&bundle);
	string_builder_fini(&script);
	string_builder_fini(&facts);
	return error;
}

int machine_forget(const struct ssh *ssh, const struct machine *machine,
		   struct machine_forgotten *ret_forgotten)
{
	struct string_builder script = {0}, output = {0};
	const char *text;
	char number[16];
	int error;

	*ret_forgotten = (struct machine_forgotten){0};
	string_builder_appendf(&script, "cache=%s\n%s", machine->cache, forget_script);
	error = ssh_run(ssh, string_builder_text(&script), NULL, 0, &output);
	if (!error) {
		text = string_builder_text(&output);
		find_fact(text, "count", number, sizeof(number));
		ret_forgotten->count = (unsigned)strtoul(number, NULL, 10);
		find_fact(text, "used", ret_forgotten->used, sizeof(ret_forgotten->used));
		for (; (text = strstr(text, "used ")); text++)
			ret_forgotten->used_count++;
	}
	string_builder_fini(&script);
	string_builder_fini(&output);
	return error;
}
