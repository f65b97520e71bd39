#include "engine/plan.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/text/escape.h"
#include "wire/wire.h"

/* The guest's word for each kind of mount in a spec; SPEC_MOUNT_N of them. */
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
	[SPEC_IMAGE] = GUEST_IMAGE,
	[SPEC_VOLUME] = GUEST_BIND_RW,
	/* The guest's own, in every engine: see guest/login.c. */
	[SPEC_LOGIN] = GUEST_MOUNT_N,
	/* Of engines without a guest. */
	[SPEC_PUT_BACK] = GUEST_MOUNT_N,
	[SPEC_OWN] = GUEST_MOUNT_N,
};
static_assert(ARRAY_SIZE(kinds) == SPEC_MOUNT_N, "one row per kind");

static uint32_t default_mode(enum spec_mount_kind kind)
{
	return kind == SPEC_FILE || kind == SPEC_COPY ? 0444 : 0755;
}

static const char *source_of(const struct spec_mount *m)
{
	switch ((unsigned)m->kind) {
	case SPEC_PIN:
	case SPEC_PROTECT: /* on itself */
	case SPEC_IMAGE:   /* the guest is in it */
		return NULL;
	case SPEC_FILE:
		return m->data;
	default:
		return m->source;
	}
}

static void plan_mount(struct guest_root *root, const struct spec_mount *m)
{
	struct guest_mount *g = &root->mounts[root->n_mounts];
	const char *source = source_of(m);

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
	root->n_mounts++;
}

int plan_root(const struct sandbox_spec *spec, struct guest_root *root, struct err *err)
{
	if (spec->n_mounts > GUEST_MOUNTS_MAX)
		return err_set(err, E2BIG, "more than %d mounts in one sandbox", GUEST_MOUNTS_MAX);
	root->hostname = spec->hostname;
	root->uid = spec->uid;
	root->gid = spec->gid;
	root->mounts = xcalloc(spec->n_mounts, sizeof(*root->mounts));
	for (size_t i = 0; i < spec->n_mounts; i++) {
		if (spec->mounts[i].kind >= SPEC_MOUNT_N)
			return err_set(err, EINVAL, "mount '%s' is of an unknown kind",
				       spec->mounts[i].target);
		plan_mount(root, &spec->mounts[i]);
	}
	return 0;
}

int plan_find_guest(const struct sandbox_spec *spec, const char **ret, struct err *err)
{
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (m->kind == SPEC_BIND_RO && streq(path_base(m->target), "guest") &&
		    path_under(m->target, "/run/ralph")) {
			*ret = m->source;
			return 0;
		}
	}
	return err_set(err, EINVAL, "the spec has no guest program at /run/ralph/guest");
}

/* One character of a word in $'…', or what is to be shown as escapes: its bytes. */
static size_t put_quoted(const char *s, FILE *out)
{
	char escape[ESCAPE_LONGEST];
	size_t len = escape_next(s, escape);

	if (*s == '\\' || *s == '\'')
		(void)fprintf(out, "\\%c", *s);
	else if (!escape[0])
		(void)fwrite(s, 1, len, out);
	for (size_t i = 0; escape[0] && i < len; i++)
		(void)fprintf(out, "\\x%02x", (unsigned char)s[i]);
	return len;
}

/* As a shell would read it; a path may hold anything, escape sequences for the terminal too. */
void plan_put_word(const char *s, FILE *out)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "-_./:=,@%+";

	if (*s && strspn(s, safe) == strlen(s)) {
		(void)fputs(s, out);
		return;
	}
	if (escape_needed(s)) {
		(void)fputs("$'", out);
		while (*s)
			s += put_quoted(s, out);
	} else {
		(void)fputc('\'', out);
		for (; *s; s++)
			(void)fputs(*s == '\'' ? "'\\''" : (char[]){*s, '\0'}, out);
	}
	(void)fputc('\'', out);
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
		[GUEST_HIDE] = "hide",	       [GUEST_IMAGE] = "image",
	};

	static_assert(ARRAY_SIZE(words) == GUEST_MOUNT_N, "one word per kind");
	(void)fprintf(out, "  %s ", words[m->kind]);
	if (m->kind == GUEST_FILE)
		(void)fprintf(out, "<%zu bytes> ", strlen(m->source));
	else if (m->source[0])
		plan_put_word(m->source, out);
	if (m->kind != GUEST_FILE && m->source[0])
		(void)fputc(' ', out);
	plan_put_word(m->target, out);
	if (m->kind == GUEST_TMPFS || m->kind == GUEST_DIR || m->kind == GUEST_FILE ||
	    m->kind == GUEST_COPY)
		(void)fprintf(out, " mode=%04o", m->mode);
	if (m->size)
		(void)fprintf(out, " size=%llu", (unsigned long long)m->size);
	(void)fputc('\n', out);
}

void plan_put_words(const struct strv *words, FILE *out)
{
	for (size_t i = 0; i < words->n; i++) {
		(void)fputs(strncmp(words->v[i], "--", 2) == 0 ? " \\\n  " : " ", out);
		plan_put_word(words->v[i], out);
	}
}

void plan_put_root(const struct guest_root *root, FILE *out)
{
	(void)fprintf(out,
		      "\nthe root of '%s', made by the guest before it is user %u of group %u:\n",
		      root->hostname, root->uid, root->gid);
	for (size_t i = 0; i < root->n_mounts; i++)
		put_mount(&root->mounts[i], out);
}

int plan_send_root(int line, const struct guest_root *root, const int *fds, size_t n_fds,
		   struct err *err)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, WIRE_BODY_MAX);
	guest_root_put(&b, root);
	r = wire_send(line, WIRE_ROOT, 0, &b, fds, n_fds);
	return r < 0 ? err_sys(err, -r, "cannot tell the guest its mounts") : 0;
}

/*
 * Unique on the machine, and the same again after a crash: the name, which is unique in one state
 * directory, and a hash (FNV-1a; no attacker chooses among these) of where in it the home is.
 */
char *plan_own_name(const struct sandbox_spec *spec)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < spec->n_mounts; i++) {
		if (!streq(spec->mounts[i].target, spec->home) || !spec->mounts[i].source)
			continue;
		for (const char *p = spec->mounts[i].source; *p; p++)
			h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	}
	return xasprintf("ralph-%s-%016llx", spec->name, (unsigned long long)h);
}
