#include "engine/native.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

/* What a row of the spec is for the guest; SPEC_MOUNT_N of them. */
static const enum guest_mount_kind kinds[] = {
	[SPEC_BIND_RO] = GUEST_BIND_RO,
	[SPEC_BIND_RW] = GUEST_BIND_RW,
	[SPEC_TMPFS] = GUEST_TMPFS,
	[SPEC_PROC] = GUEST_PROC,
	[SPEC_DEV] = GUEST_DEVICES,
	[SPEC_SYMLINK] = GUEST_SYMLINK,
	/* Made in the record before the start, where they stay. */
	[SPEC_HOME_LINK] = GUEST_MOUNT_N,
	[SPEC_HOME_FILE] = GUEST_MOUNT_N,
	[SPEC_HOME_SEED] = GUEST_MOUNT_N,
	[SPEC_FILE] = GUEST_FILE,
	[SPEC_COPY] = GUEST_COPY,
	[SPEC_DIR] = GUEST_DIR,
	[SPEC_MASK] = GUEST_MASK,
	[SPEC_RO] = GUEST_REMOUNT_RO,
	[SPEC_PIN] = GUEST_PIN,
	[SPEC_PROTECT] = GUEST_PROTECT,
	[SPEC_HIDE] = GUEST_HIDE,
};
static_assert(ARRAY_SIZE(kinds) == SPEC_MOUNT_N, "one row per kind");

static uint32_t default_mode(enum spec_mount_kind kind)
{
	return kind == SPEC_FILE || kind == SPEC_COPY ? 0444 : 0755;
}

static void plan_mount(struct native *n, const struct spec_mount *m)
{
	struct guest_mount *g = &n->root.mounts[n->root.n_mounts];
	bool self = m->kind == SPEC_PIN || m->kind == SPEC_PROTECT;
	const char *source = m->kind == SPEC_FILE ? m->data : self ? NULL : m->source;

	if (kinds[m->kind] == GUEST_MOUNT_N)
		return;
	*g = (struct guest_mount){
		.kind = kinds[m->kind],
		.source = source ? source : "",
		.target = m->target,
		.mode = m->mode & 07777 ? m->mode & 07777 : default_mode(m->kind),
		.size = m->size,
	};
	if (g->kind == GUEST_MASK && S_ISDIR(m->mode))
		g->kind = GUEST_MASK_DIR;
	n->root.n_mounts++;
}

static int plan_root(struct native *n, const struct sandbox_spec *spec, struct err *err)
{
	if (spec->n_mounts > GUEST_MOUNTS_MAX)
		return err_set(err, E2BIG, "more than %d mounts in one sandbox", GUEST_MOUNTS_MAX);
	n->root.hostname = spec->hostname;
	n->root.uid = spec->uid;
	n->root.gid = spec->gid;
	n->root.mounts = xcalloc(spec->n_mounts, sizeof(*n->root.mounts));
	for (size_t i = 0; i < spec->n_mounts; i++) {
		if (spec->mounts[i].kind >= SPEC_MOUNT_N)
			return err_set(err, EINVAL, "mount '%s' is of an unknown kind",
				       spec->mounts[i].target);
		plan_mount(n, &spec->mounts[i]);
	}
	return 0;
}

static int find_guest(struct native *n, struct err *err)
{
	for (size_t i = 0; i < n->spec->n_mounts; i++) {
		const struct spec_mount *m = &n->spec->mounts[i];

		if (m->kind == SPEC_BIND_RO && streq(path_base(m->target), "guest") &&
		    path_under(m->target, "/run/ralph")) {
			n->guest = m->source;
			return 0;
		}
	}
	return err_set(err, EINVAL, "the spec has no guest program at /run/ralph/guest");
}

int native_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	struct native *n = native_of(e);
	int r;

	n->spec = spec;
	r = find_guest(n, err);
	if (r < 0)
		return r;
	launch_options(n->guest, &n->args);
	return plan_root(n, spec, err);
}

/* Content is not shown, only how much there is. */
static void put_mount(const struct guest_mount *m, FILE *out)
{
	static const char *const words[] = {
		[GUEST_BIND_RO] = "bind-ro",   [GUEST_BIND_RW] = "bind",
		[GUEST_TMPFS] = "tmpfs",       [GUEST_PROC] = "proc",
		[GUEST_DEVICES] = "devices",   [GUEST_SYMLINK] = "symlink",
		[GUEST_FILE] = "file",	       [GUEST_COPY] = "copy",
		[GUEST_DIR] = "dir",	       [GUEST_MASK] = "mask",
		[GUEST_MASK_DIR] = "mask-dir", [GUEST_REMOUNT_RO] = "remount-ro",
		[GUEST_PIN] = "pin",	       [GUEST_PROTECT] = "protect",
		[GUEST_HIDE] = "hide",
	};

	static_assert(ARRAY_SIZE(words) == GUEST_MOUNT_N, "one word per kind");
	(void)fprintf(out, "  %s ", words[m->kind]);
	if (m->kind == GUEST_FILE)
		(void)fprintf(out, "<%zu bytes> ", strlen(m->source));
	else if (m->source[0])
		engine_put_word(m->source, out);
	if (m->kind != GUEST_FILE && m->source[0])
		(void)fputc(' ', out);
	engine_put_word(m->target, out);
	if (m->kind == GUEST_TMPFS || m->kind == GUEST_DIR || m->kind == GUEST_FILE ||
	    m->kind == GUEST_COPY)
		(void)fprintf(out, " mode=%04o", m->mode);
	if (m->size)
		(void)fprintf(out, " size=%llu", (unsigned long long)m->size);
	(void)fputc('\n', out);
}

/* One option or mount a line; a golden test holds it, a person reads it. */
void native_dump(const struct engine *e, FILE *out)
{
	const struct native *n = (const struct native *)e;

	(void)fputs("bwrap", out);
	for (size_t i = 0; i < n->args.n; i++) {
		(void)fputs(strncmp(n->args.v[i], "--", 2) == 0 ? " \\\n  " : " ", out);
		engine_put_word(n->args.v[i], out);
	}
	(void)fprintf(out, " \\\n  %s\n", LAUNCH_GUEST);
	(void)fprintf(out,
		      "\nthe root of '%s', made by the guest before it is user %u of group %u:\n",
		      n->root.hostname, n->root.uid, n->root.gid);
	for (size_t i = 0; i < n->root.n_mounts; i++)
		put_mount(&n->root.mounts[i], out);
}
