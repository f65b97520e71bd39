/*
 * Secrets of the host. They are never given to the probe: it says all that it can see (`tell`), and
 * here it is searched.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text/mask.h"
#include "base/path.h"
#include "check/inside.h"
#include "check/selftest.h"
#include "cred/cred.h"
#include "live/autosave.h"
#include "record/store.h"

extern char **environ;

#define TELL_MS 10000
#define TELL_OUT_MAX (16 * MiB)
#define FILE_MAX (64 * KiB)
#define SECRET_MIN 8 /* shorter ones are found by chance */

static const char *const key_files[] = {
	".ssh/id_rsa",
	".ssh/id_ed25519",
	".ssh/id_ecdsa",
	".aws/credentials",
	".netrc",
	".npmrc",
	".git-credentials",
	".config/gh/hosts.yml",
	".docker/config.json",
	".kube/config",
	".pypirc",
};

/* Those, and the logins of agents, below the home. */
static void list_keys(struct strv *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_files); i++)
		strv_push(ret, key_files[i]);
	for (size_t i = 0; i < cred_provider_count(); i++) {
		const struct cred_login_file *f = cred_provider_at(i)->file;

		if (f)
			strv_take(ret, path_join(f->dir, f->name));
	}
}

/* Variables of the plan are the user's wish, or harmless. */
static bool is_given(const struct places *p, const struct sandbox_spec *spec, const char *name,
		     const char *value)
{
	cleanup_free char *record = store_record(p, spec->name);
	const struct spec_env *e = spec_env_find(spec, name);

	/* A spec from the record has no values, and the record has their hashes. */
	if (e && (streq(e->value, value) || streq(e->value, SPEC_HIDDEN)))
		return true;
	if (values_know(record, value))
		return true;
	for (size_t i = 0; i < spec->n_env; i++)
		if (spec->env[i].origin == SPEC_USER && strstr(spec->env[i].value, value))
			return true;
	return false;
}

static bool file_is_given(const struct sandbox_spec *spec, const char *path)
{
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].source && spec->mounts[i].kind != SPEC_SYMLINK &&
		    path_under(path, spec->mounts[i].source))
			return true;
	return false;
}

static void found(struct selftest_row *row, const char *what)
{
	char *old = row->got;

	row->result = SELFTEST_OUT;
	row->got = old ? xasprintf("%s, %s", old, what) : xstrdup(what);
	free(old);
}

static void search_environ(struct selftest_row *row, const struct places *p,
			   const struct sandbox_spec *spec, const struct buf *seen)
{
	for (char **e = environ; *e; e++) {
		const char *eq = strchr(*e, '=');
		cleanup_free char *name = eq ? xstrndup(*e, (size_t)(eq - *e)) : NULL;

		if (!name || strlen(eq + 1) < SECRET_MIN || !mask_is_secret(name, eq + 1) ||
		    is_given(p, spec, name, eq + 1))
			continue;
		if (memmem(seen->data, seen->len, eq + 1, strlen(eq + 1)))
			found(row, name);
	}
}

static void search_files(struct selftest_row *row, const struct places *p,
			 const struct sandbox_spec *spec, const struct strv *files,
			 const struct buf *seen)
{
	for (size_t i = 0; i < files->n; i++) {
		cleanup_free char *path = path_join(p->home, files->v[i]);
		cleanup_buf struct buf b;

		buf_init(&b, FILE_MAX);
		if (file_is_given(spec, path) || path_read(AT_FDCWD, path, &b) < 0 ||
		    b.len < SECRET_MIN)
			continue;
		if (memmem(seen->data, seen->len, b.data, b.len))
			found(row, files->v[i]);
		explicit_bzero(b.data, b.len);
	}
}

void selftest_variables(struct selftest *t, const struct sandbox_spec *spec)
{
	struct selftest_row *row =
		selftest_add(t, "keys", "variables that the plan does not name", "environment");

	for (size_t i = 0; i < spec->n_env; i++)
		strv_push(&row->argv, spec->env[i].name);
}

int selftest_keys(struct selftest *t, const struct places *p, const struct sandbox_spec *spec,
		  int hold, struct err *err)
{
	cleanup_strv struct strv argv, files = {0};
	cleanup_buf struct buf seen;
	const struct inside in = {.program = "probe",
				  .argv = &argv,
				  .input = -1,
				  .conn = hold,
				  .timeout_ms = TELL_MS};
	struct selftest_row *row;
	int code = 0, r;

	strv_init(&argv);
	buf_init(&seen, TELL_OUT_MAX);
	strv_push(&argv, "ralph-probe");
	strv_push(&argv, "tell");
	list_keys(&files);
	for (size_t i = 0; i < files.n; i++)
		strv_take(&argv, path_join(p->home, files.v[i]));
	r = inside_run(p, spec->name, &in, &seen, &code, err);
	if (r < 0 || code != 0)
		return r < 0 ? r : err_set(err, EIO, "the probe ended with %d", code);
	row = selftest_add(t, "keys", "secrets of the host, in variables, files or /proc", NULL);
	row->result = SELFTEST_HELD;
	search_environ(row, p, spec, &seen);
	search_files(row, p, spec, &files, &seen);
	return 0;
}
