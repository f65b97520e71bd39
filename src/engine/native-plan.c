#include "engine/native.h"

#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

static void add(struct native *n, const char *a, const char *b, const char *c)
{
	strv_push(&n->args, a);
	if (b)
		strv_push(&n->args, b);
	if (c)
		strv_push(&n->args, c);
}

static void add_perms(struct native *n, uint32_t mode)
{
	if (!mode)
		return;
	strv_push(&n->args, "--perms");
	strv_pushf(&n->args, "%04o", mode & 07777);
}

static int plan_file(struct native *n, const struct spec_mount *m, struct err *err)
{
	if (n->n_files == NATIVE_FILES_MAX)
		return err_set(err, E2BIG, "more than %d files in one sandbox", NATIVE_FILES_MAX);
	add_perms(n, m->mode ? m->mode : 0444);
	strv_push(&n->args, "--file");
	n->files[n->n_files++] = (struct native_file){.arg = n->args.n, .mount = m};
	if (m->kind == SPEC_FILE)
		strv_pushf(&n->args, "<%zu bytes>", strlen(m->data));
	else
		strv_pushf(&n->args, "<%s>", m->source);
	strv_push(&n->args, m->target);
	return 0;
}

static void plan_tmpfs(struct native *n, const struct spec_mount *m)
{
	add_perms(n, m->mode);
	if (m->size) {
		strv_push(&n->args, "--size");
		strv_pushf(&n->args, "%llu", (unsigned long long)m->size);
	}
	add(n, "--tmpfs", m->target, NULL);
}

/* The host's /dev/null bound without device access: neither readable nor writable. */
static void plan_mask(struct native *n, const struct spec_mount *m)
{
	if (!S_ISDIR(m->mode)) {
		add(n, "--ro-bind", "/dev/null", m->target);
		return;
	}
	add(n, "--tmpfs", m->target, NULL);
	add(n, "--remount-ro", m->target, NULL);
}

static int plan_mount(struct native *n, const struct spec_mount *m, struct err *err)
{
	switch (m->kind) {
	case SPEC_BIND_RO:
		add(n, "--ro-bind", m->source, m->target);
		return 0;
	case SPEC_BIND_RW:
		add(n, "--bind", m->source, m->target);
		return 0;
	case SPEC_TMPFS:
		plan_tmpfs(n, m);
		return 0;
	case SPEC_PROC:
		add(n, "--proc", m->target, NULL);
		return 0;
	case SPEC_DEV:
		add(n, "--dev", m->target, NULL);
		return 0;
	case SPEC_SYMLINK:
		add(n, "--symlink", m->source, m->target);
		return 0;
	case SPEC_HOME_LINK:
	case SPEC_HOME_FILE:
	case SPEC_HOME_SEED:
		return 0; /* made in the record before the start: bwrap fails on a link that is
			     there */
	case SPEC_FILE:
	case SPEC_COPY:
		return plan_file(n, m, err);
	case SPEC_DIR:
		add_perms(n, m->mode);
		add(n, "--dir", m->target, NULL);
		return 0;
	case SPEC_MASK:
		plan_mask(n, m);
		return 0;
	case SPEC_PIN:
		add(n, "--bind", m->source, m->target);
		return 0;
	case SPEC_PROTECT:
		add(n, "--ro-bind", m->source, m->target);
		return 0;
	case SPEC_HIDE:
		plan_mask(n, m);
		return 0;
	case SPEC_RO:
		add(n, "--remount-ro", m->target, NULL);
		return 0;
	case SPEC_MOUNT_N:
		break;
	}
	return err_set(err, EINVAL, "mount '%s' is of an unknown kind", m->target);
}

static void plan_isolation(struct native *n)
{
	static const char *const flags[] = {
		"--unshare-user",    "--disable-userns", "--unshare-pid",
		"--unshare-ipc",     "--unshare-uts",	 "--unshare-cgroup-try",
		"--die-with-parent", "--as-pid-1",	 "--clearenv",
	};
	/* What the guest needs until its sockets are out; it drops them before any command. */
	static const char *const caps[] = {"CAP_SYS_ADMIN", "CAP_SETPCAP", "CAP_NET_ADMIN",
					   "CAP_NET_BIND_SERVICE"};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		strv_push(&n->args, flags[i]);
	strv_push(&n->args, "--uid");
	strv_pushf(&n->args, "%u", n->spec->uid);
	strv_push(&n->args, "--gid");
	strv_pushf(&n->args, "%u", n->spec->gid);
	add(n, "--hostname", n->spec->hostname, NULL);
	add(n, "--cap-drop", "ALL", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(caps); i++)
		add(n, "--cap-add", caps[i], NULL);
}

static int find_guest(struct native *n, struct err *err)
{
	for (size_t i = 0; i < n->spec->n_mounts; i++) {
		const struct spec_mount *m = &n->spec->mounts[i];

		if (m->kind == SPEC_BIND_RO && streq(path_base(m->target), "guest") &&
		    path_under(m->target, "/run/ralph")) {
			n->guest = m->target;
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
	plan_isolation(n);
	for (size_t i = 0; i < spec->n_mounts; i++) {
		r = plan_mount(n, &spec->mounts[i], err);
		if (r < 0)
			return r;
	}
	add(n, "--chdir", "/", NULL);
	return 0;
}

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

/* As a shell would read it; a path may hold anything, escape sequences for the terminal too. */
static void put_word(const char *s, FILE *out)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "-_./:=,@%+";
	bool control = has_control(s);

	if (*s && strspn(s, safe) == strlen(s)) {
		(void)fputs(s, out);
		return;
	}
	(void)fputs(control ? "$'" : "'", out);
	for (; *s; s++) {
		if (control && ((unsigned char)*s < 0x20 || *s == 0x7f))
			(void)fprintf(out, "\\x%02x", (unsigned char)*s);
		else if (control && (*s == '\\' || *s == '\''))
			(void)fprintf(out, "\\%c", *s);
		else if (*s == '\'')
			(void)fputs("'\\''", out);
		else
			(void)fputc(*s, out);
	}
	(void)fputc('\'', out);
}

/* One option a line; a golden test holds it, a person reads it. */
void native_dump(const struct engine *e, FILE *out)
{
	const struct native *n = (const struct native *)e;

	(void)fputs("bwrap", out);
	for (size_t i = 0; i < n->args.n; i++) {
		(void)fputs(strncmp(n->args.v[i], "--", 2) == 0 ? " \\\n  " : " ", out);
		put_word(n->args.v[i], out);
	}
	(void)fprintf(out, " \\\n  %s\n", n->guest);
}
