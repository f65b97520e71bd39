#include "engine/container/container.h"

#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "engine/cgroup.h"
#include "engine/plan.h"
#include "wire/remote.h"

#define GUEST_FILES 1024ULL /* open files of the guest itself */
/* The guest finds the volume here, as if the host had it there. */
#define CONTAINER_VOLUME "/.volume"

/*
 * Of both programs. No power at all, neither at the start nor later: the guest makes a user
 * namespace of its own, and is root in there until it gives that up (guest/container-entry.c). For
 * that the runtime's own filter of system calls and its profiles are off; the guest's own filter,
 * which allows less, is on before any command runs. /proc comes uncovered, so that the guest can
 * cover what the spec says.
 */
/* clang-format off */
static const char *const common[] = {
	"--detach",
	"--rm",
	"--network", "none",
	"--cap-drop", "ALL",
	"--security-opt", "no-new-privileges",
	"--security-opt", "seccomp=unconfined",
	"--security-opt", "apparmor=unconfined",
	"--security-opt", "label=disable",
	"--ipc", "private",
	"--read-only",
	"--pull", "never",
	"--log-driver", "none",
	"--workdir", "/",
	"--stop-signal", "KILL",
};
/* clang-format on */

/* The value of --mount is a line of CSV. */
static void put_field(struct buf *b, const char *key, const char *value)
{
	bool quote = strpbrk(value, ",\"\n") != NULL;

	(void)buf_printf(b, "%s%s%s=", b->len ? "," : "", quote ? "\"" : "", key);
	for (; *value; value++) {
		if (*value == '"')
			(void)buf_putc(b, '"');
		(void)buf_putc(b, *value);
	}
	if (quote)
		(void)buf_putc(b, '"');
}

void container_mount(struct strv *args, const char *type, const char *source, const char *target,
		     bool readonly)
{
	cleanup_buf struct buf b;

	buf_init(&b, 64 * KiB);
	put_field(&b, "type", type);
	if (source)
		put_field(&b, "source", source);
	put_field(&b, "target", target);
	if (readonly)
		(void)buf_puts(&b, ",readonly");
	strv_push(args, "--mount");
	strv_push(args, buf_str(&b));
}

static bool takes_from_host(enum spec_mount_kind k)
{
	return k == SPEC_BIND_RO || k == SPEC_BIND_RW || k == SPEC_COPY;
}

/* Is it seen already through a directory above it, with what this row needs? */
static bool is_covered(const struct sandbox_spec *spec, size_t row)
{
	const struct spec_mount *m = &spec->mounts[row];

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *o = &spec->mounts[i];

		if (i == row || !takes_from_host(o->kind) || !path_under(m->source, o->source) ||
		    (m->kind == SPEC_BIND_RW && o->kind != SPEC_BIND_RW))
			continue;
		/* Of two that are the same the first one is it. */
		if (!streq(m->source, o->source) || i < row ||
		    (o->kind == SPEC_BIND_RW && m->kind != SPEC_BIND_RW))
			return true;
	}
	return false;
}

bool container_binds(const struct sandbox_spec *spec, size_t row)
{
	return takes_from_host(spec->mounts[row].kind) && !is_covered(spec, row);
}

static void plan_sources(struct container *c, const struct sandbox_spec *spec)
{
	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];
		cleanup_free char *target = NULL;

		if (!container_binds(spec, i) || (c->remote_name && streq(m->source, c->guest)))
			continue;
		target = xasprintf(GUEST_CONTAINER_HOST "%s", m->source);
		container_mount(&c->args, "bind", m->source, target, m->kind != SPEC_BIND_RW);
	}
}

static int plan_volume(struct container *c, const struct sandbox_spec *spec, struct err *err)
{
	const struct spec_container *s = &spec->container;
	bool used = false;

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (m->kind != SPEC_VOLUME)
			continue;
		if (!s->volume || !path_under(m->source, s->volume_dir))
			return err_set(err, EINVAL, "'%s' lies in no volume", m->source);
		used = true;
	}
	if (!used)
		return 0;
	/* Elsewhere a volume would be another machine's directory, where ours may not be. */
	if (c->remote_name) {
		container_mount(&c->args, "bind", s->volume_dir,
				GUEST_CONTAINER_HOST CONTAINER_VOLUME, false);
		return 0;
	}
	strv_push(&c->volume, "volume");
	strv_push(&c->volume, "create");
	strv_push(&c->volume, "--driver=local");
	strv_push(&c->volume, "--opt=type=none");
	strv_push(&c->volume, "--opt=o=bind");
	strv_pushf(&c->volume, "--opt=device=%s", s->volume_dir);
	strv_push(&c->volume, s->volume);
	container_mount(&c->args, "volume", s->volume, GUEST_CONTAINER_HOST CONTAINER_VOLUME,
			false);
	return 0;
}

/* The guest is told where things are in the container, which is where they are on the host. */
static int plan_list(struct container *c, const struct sandbox_spec *spec, struct err *err)
{
	int r = plan_root(spec, &c->root, err);

	for (size_t i = 0; r == 0 && i < c->root.n_mounts; i++) {
		struct guest_mount *g = &c->root.mounts[i];

		if (c->remote_name && g->kind == GUEST_BIND_RO && streq(g->source, c->guest))
			g->source = REMOTE_PLACE "/guest";
		if (g->kind != GUEST_BIND_RW || !spec->container.volume_dir ||
		    !path_under(g->source, spec->container.volume_dir))
			continue;
		strv_pushf(&c->sources, CONTAINER_VOLUME "%s",
			   g->source + strlen(spec->container.volume_dir));
		g->source = c->sources.v[c->sources.n - 1];
	}
	return r;
}

/* Outside of the container it is this user in any case. */
static void plan_user(struct container *c, const struct sandbox_spec *spec)
{
	strv_push(&c->args, "--user");
	if (!spec->container.as_root) {
		strv_pushf(&c->args, "%u:%u", spec->uid, spec->gid);
		return;
	}
	strv_push(&c->args, "0:0");
	/* Without it the kernel lets nobody give root a name in a new user namespace. */
	strv_push(&c->args, "--cap-add");
	strv_push(&c->args, "SETFCAP");
}

/* Of a process: what the guest sets for commands must be possible, and it needs some itself. */
static void plan_limits(struct container *c, const struct spec_limits *l)
{
	unsigned long long files;

	if (l->controllers & CGROUP_MEMORY) {
		strv_push(&c->args, "--memory");
		strv_pushf(&c->args, "%llu", (unsigned long long)l->memory);
		strv_push(&c->args, "--memory-swap");
		strv_pushf(&c->args, "%llu", (unsigned long long)l->memory);
	}
	if (l->controllers & CGROUP_PIDS) {
		strv_push(&c->args, "--pids-limit");
		strv_pushf(&c->args, "%llu", (unsigned long long)l->pids);
	}
	if ((l->controllers & CGROUP_CPU) && l->cpu) {
		strv_push(&c->args, "--cpus");
		strv_pushf(&c->args, "%llu.%02llu", (unsigned long long)l->cpu / 100,
			   (unsigned long long)l->cpu % 100);
	}
	files = l->open_files > GUEST_FILES ? l->open_files : GUEST_FILES;
	strv_push(&c->args, "--ulimit");
	strv_pushf(&c->args, "nofile=%llu:%llu", files, files);
	if (!c->dialect->raises)
		return;
	strv_push(&c->args, "--ulimit");
	strv_pushf(&c->args, "nproc=%llu:%llu", (unsigned long long)l->pids,
		   (unsigned long long)l->pids);
}

int container_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	struct container *c = container_of(e);
	int r = plan_find_guest(spec, &c->guest, err);

	c->spec = spec;
	c->name = plan_own_name(spec);
	if (r == 0 && container_is_remote(spec))
		container_plan_remote(c, spec);
	if (r == 0 && !spec->container.image)
		r = err_set(err, EINVAL, "the spec has no image for %s", c->dialect->program);
	if (r == 0)
		r = plan_list(c, spec, err);
	if (r < 0)
		return r;
	strv_push(&c->args, "run");
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		strv_push(&c->args, common[i]);
	strv_push(&c->args, "--entrypoint");
	strv_push(&c->args, c->remote_name ? REMOTE_GUEST : GUEST_CONTAINER_PROGRAM);
	for (const char *const *o = c->dialect->run; *o; o++)
		strv_push(&c->args, *o);
	strv_push(&c->args, "--name");
	strv_push(&c->args, c->name);
	strv_push(&c->args, "--label");
	strv_pushf(&c->args, "ralph.sandbox=%s", spec->name);
	plan_user(c, spec);
	plan_limits(c, &spec->limits);
	if (c->remote_name) {
		container_mount(&c->args, "volume", c->remote_name, REMOTE_DIR, true);
	} else {
		container_mount(&c->args, "bind", c->guest, GUEST_CONTAINER_PROGRAM, true);
		container_mount(&c->args, "bind", spec->container.line, GUEST_CONTAINER_LINE, true);
	}
	container_mount(&c->args, "tmpfs", NULL, GUEST_CONTAINER_NEW_ROOT, false);
	plan_sources(c, spec);
	r = plan_volume(c, spec, err);
	strv_push(&c->args, spec->container.image);
	strv_push(&c->args, c->remote_name ? REMOTE_LINE : GUEST_CONTAINER_LINE);
	return r;
}

static void dump_call(const struct container *c, const struct strv *args, FILE *out)
{
	if (!args->n)
		return;
	(void)fputs(c->dialect->program, out);
	plan_put_words(args, out);
	(void)fputs("\n\n", out);
}

void container_dump(const struct engine *e, FILE *out)
{
	const struct container *c = (const struct container *)e;

	dump_call(c, &c->volume, out);
	dump_call(c, &c->remote_volume, out);
	dump_call(c, &c->remote_args, out);
	(void)fputs(c->dialect->program, out);
	plan_put_words(&c->args, out);
	(void)fputc('\n', out);
	plan_put_root(&c->root, out);
}
