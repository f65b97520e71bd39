#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "build-config.h"
#include "compose/no-guest.h"
#include "live/live.h"
#include "check/selftest.h"
#include "record/store.h"

#define STAMP_FILE "selftest"
#define STAMP_MAX (20 * KiB) /* paths are in it */
#define ROWS_SHOWN 3	     /* an error is a sentence; `ralph selftest` shows all */

/* Another file is another guest, whatever version it says it is of. */
static char *guest_of(const struct sandbox_spec *spec)
{
	struct stat st;

	for (size_t i = 0; i < spec->n_mounts; i++)
		if (streq(spec->mounts[i].target, "/run/ralph/guest") && spec->mounts[i].source &&
		    stat(spec->mounts[i].source, &st) == 0)
			return xasprintf("%lld.%09ld:%lld", (long long)st.st_mtim.tv_sec,
					 st.st_mtim.tv_nsec, (long long)st.st_size);
	return xstrdup("-");
}

/*
 * Returns the key of a stamp: a pass holds for this engine, guest, version, user and kernels only. A user's
 * walls are not root's.
 */
static char *key_of(const struct sandbox_spec *spec)
{
	cleanup_free char *guest = NULL;
	struct utsname u;

	if (uname(&u) < 0)
		return NULL;
	guest = guest_of(spec);
	return xasprintf("engine %s%s%s%s%s, guest %s, ralph %s, uid %u, kernel %s %s\n",
			 spec->engine, spec->container.image ? " " : "",
			 spec->container.image ? spec->container.image : "",
			 spec->kernel.version ? " " : "",
			 spec->kernel.version ? spec->kernel.version : "", guest, RALPH_VERSION,
			 geteuid(), u.release, u.version);
}

static bool has_key(int dir, const char *name, const char *key)
{
	cleanup_buf struct buf b;

	buf_init(&b, STAMP_MAX);
	return dir >= 0 && path_read(dir, name, &b) == 0 && streq(buf_str(&b), key);
}

static int open_dir(const struct places *p, const char *name)
{
	cleanup_free char *path =
		name ? xasprintf("%s/sandboxes/%s", p->state, name) : xstrdup(p->state);

	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static bool is_stamped(const struct places *p, const struct sandbox_spec *spec,
		       enum selftest_need need)
{
	cleanup_fd int record = open_dir(p, spec->name), state = open_dir(p, NULL);
	cleanup_free char *key = key_of(spec), *file = xasprintf(STAMP_FILE "-%s", spec->engine);

	if (!key)
		return false;
	return has_key(record, STAMP_FILE, key) ||
	       (need == SELFTEST_OF_MACHINE && has_key(state, file, key));
}

bool selftest_passed_by(const struct places *p, const struct sandbox_spec *spec, const char *name)
{
	cleanup_fd int record = open_dir(p, name);
	cleanup_free char *key = key_of(spec);

	return key && has_key(record, STAMP_FILE, key);
}

void selftest_stamp(const struct places *p, const struct sandbox_spec *spec)
{
	cleanup_fd int record = open_dir(p, spec->name), state = open_dir(p, NULL);
	cleanup_free char *key = key_of(spec), *file = xasprintf(STAMP_FILE "-%s", spec->engine);

	if (!key)
		return;
	/* A stamp that cannot be written is a test more the next time. */
	if (record >= 0)
		(void)path_write_atomic(record, STAMP_FILE, key, strlen(key), 0600, 0);
	if (state >= 0)
		(void)path_write_atomic(state, file, key, strlen(key), 0600, 0);
}

static int refuse(const struct selftest *t, const struct sandbox_spec *spec, struct err *err)
{
	cleanup_free char *rows = xstrdup("");
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		cleanup_free char *old = NULL, *got = NULL;

		if (!selftest_row_failed(&t->rows[i]) || n++ >= ROWS_SHOWN)
			continue;
		old = rows;
		got = selftest_got(&t->rows[i]);
		rows = xasprintf("%s%s%s: %s", old, old[0] ? "; " : "", t->rows[i].what, got);
	}
	return err_set(
		err, EPERM,
		"sandbox '%s' does not pass its self-test and is not used (see: ralph selftest "
		"--engine %s %s): %.300s%s",
		spec->name, spec->engine, spec->name, rows, n > ROWS_SHOWN ? " …" : "");
}

/* Reads the plan that the live sandbox was started with. That of the command may have less. */
static int read_plan(const struct places *p, const char *name, struct sandbox_spec **ret,
		     struct err *err)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	int r = store_open(p, name, false, &e, err);

	return r < 0 ? r : store_read_spec(&e, ret, err);
}

int selftest_first_use(const struct places *p, const struct sandbox_spec *spec,
		       enum selftest_need need, int conn, struct err *err)
{
	cleanup_(spec_freep) struct sandbox_spec *live = NULL;
	struct selftest t;
	struct err ignored;
	int r;

	/* An engine without a guest has no walls of ralph's own that could be tried. */
	if (no_guest(spec) || is_stamped(p, spec, need))
		return 0;
	r = live_wait_up(conn, spec->name, err);
	if (r == 0)
		r = read_plan(p, spec->name, &live, err);
	if (r == 0)
		r = selftest_run(p, live, 0, -1, &t, err);
	if (r < 0)
		return r;
	if (t.passed) {
		selftest_stamp(p, spec);
	} else {
		r = refuse(&t, spec, err);
		(void)live_stop(p, spec->name, 0, &ignored);
	}
	selftest_done(&t);
	return r;
}
