#include "image/image.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"
#include "config/trust.h"
#include "image/dockerfile.h"
#include "image/image-base.h"
#include "image/image-build.h"
#include "image/image-memo.h"
#include "image/image-source.h"
#include "image/image-store.h"

#define HASH_LEN 32 /* hex digits of a name: 128 bits */
#define LOCK_MS IMAGE_BUILD_MS

/* A request that is being handled. */
struct work {
	const struct image_request *req;
	struct image_tool tool;
	struct image_source source;
	struct dockerfile file;
	uint64_t since; /* start time */
};

#define cleanup_work cleanup_(work_done)

static void work_done(struct work *w)
{
	image_tool_done(&w->tool);
	image_source_done(&w->source);
	dockerfile_done(&w->file);
}

static void tell(const struct image_request *req, enum image_step_kind kind, const char *text)
{
	const struct image_step step = {.kind = kind, .text = text};

	if (req->told)
		req->told(req->arg, &step);
}

static int begin(const struct image_request *req, struct work *w, struct err *err)
{
	int r;

	*w = (struct work){.req = req, .source = IMAGE_SOURCE_INIT, .since = (uint64_t)time(NULL)};
	r = image_tool_find(req->engine, req->environ, &w->tool, err);
	if (r == 0)
		r = image_source_find(req->places, req->agent, req->workspace, &w->source, err);
	if (r < 0)
		return r;
	r = dockerfile_read(buf_str(&w->source.text), w->source.text.len, req->base, &w->file, err);
	return r < 0 ? err_wrap(err, r, "%s", w->source.dockerfile) : 0;
}

static int check_trust(const struct image_source *s, struct err *err)
{
	int r;

	if (s->trusted)
		return 0;
	r = err_set(err, EACCES,
		    "%s: %s: building it runs what it says, with a network; look at it and agree: "
		    "ralph trust",
		    s->dockerfile,
		    s->changed ? "it or its context has changed since you trusted it"
			       : "is not trusted");
	err->exit_code = EXIT_USAGE;
	return r;
}

/* Makes the name, from the source and the ids of its base images. */
static char *ref_of(const struct work *w, const struct strv *ids)
{
	cleanup_buf struct buf b;
	char sum[TRUST_HASH_LEN + 1];

	buf_init(&b, w->source.manifest.len + 64 * KiB);
	(void)buf_append(&b, w->source.manifest.data, w->source.manifest.len);
	for (size_t i = 0; i < ids->n; i++)
		(void)buf_printf(&b, "base %s\n", ids->v[i]);
	trust_hash(buf_str(&b), b.len, sum);
	return xasprintf(IMAGE_REPOSITORY "%s:v%.*s", w->req->agent, HASH_LEN, sum);
}

/* Returns the name without pulling anything; NULL when a base is missing. *ret_due: a base would
 * be pulled. */
static int look_ref(const struct work *w, char **ret, bool *ret_due, struct err *err)
{
	cleanup_strv struct strv ids = {0};
	bool missing = false;

	*ret = NULL;
	*ret_due = false;
	for (size_t i = 0; i < w->file.bases.n; i++) {
		cleanup_image_facts struct image_facts f = {0};
		bool due = false;
		int r = image_base_look(w->req, &w->tool, w->file.bases.v[i], &f, &due, err);

		if (r < 0 && r != -ENOENT)
			return r;
		*ret_due = *ret_due || due;
		missing = missing || r == -ENOENT;
		if (r == 0)
			strv_push(&ids, f.id);
	}
	if (!missing)
		*ret = ref_of(w, &ids);
	return 0;
}

static int get_ref(const struct work *w, char **ret, struct err *err)
{
	cleanup_strv struct strv ids = {0};

	for (size_t i = 0; i < w->file.bases.n; i++) {
		cleanup_image_facts struct image_facts f = {0};
		int r = image_base_get(w->req, &w->tool, w->file.bases.v[i], &f, err);

		if (r < 0)
			return r;
		strv_push(&ids, f.id);
	}
	*ret = ref_of(w, &ids);
	return 0;
}

/* Returns 1 when the image exists and was created at `since` or later, else 0, or an error. */
static int is_there(const struct work *w, const char *ref, uint64_t since, struct err *err)
{
	cleanup_image_facts struct image_facts f = {0};
	int r = image_tool_inspect(&w->tool, ref, &f, err);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : f.created >= since;
}

/* Locks until *ret is closed. *ret_waited: another process has built meanwhile. */
static int lock(const struct work *w, int *ret, bool *ret_waited, struct err *err)
{
	cleanup_free char *dir = NULL, *path = NULL;
	cleanup_fd int fd = -1;
	int r = image_state_dir(w->req->places, &dir, err);

	if (r < 0)
		return r;
	path = xasprintf("%s/lock-%s-%s", dir, w->req->engine, w->req->agent);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(err, errno, "cannot open '%s'", path);
	r = fd_lock(fd, 0);
	*ret_waited = r == -EWOULDBLOCK;
	if (*ret_waited) {
		tell(w->req, IMAGE_WAIT, w->req->agent);
		r = fd_lock(fd, LOCK_MS);
	}
	if (r < 0)
		return err_sys(err, -r, "cannot lock '%s'", path);
	*ret = take_fd(fd);
	return 0;
}

static int log_path(const struct work *w, char **ret, struct err *err)
{
	cleanup_free char *dir = NULL, *logs = NULL;
	int r = image_state_dir(w->req->places, &dir, err);

	if (r < 0)
		return r;
	logs = path_join(dir, "logs");
	r = path_mkdirs(logs, 0700, err);
	if (r == 0)
		*ret = xasprintf("%s/%s-%s.log", logs, w->req->engine, w->req->agent);
	return r;
}

static int build(const struct work *w, const char *ref, struct err *err)
{
	cleanup_free char *log = NULL, *dockerfile = path_join(w->source.copy, "Dockerfile");
	cleanup_free char *context = path_join(w->source.copy, "context");
	const struct image_build b = {
		.ref = ref,
		.agent = w->req->agent,
		.source = w->source.project,
		.base = w->file.takes_base ? w->req->base : NULL,
		.bases = &w->file.bases,
		.dockerfile = dockerfile,
		.context = context,
		.uid = geteuid(),
		.fresh = w->req->rebuild,
	};
	int r = log_path(w, &log, err);

	if (r < 0)
		return r;
	tell(w->req, IMAGE_BUILD, ref);
	r = image_build_run(w->req, &w->tool, &b, log, err);
	if (r < 0)
		return r;
	r = is_there(w, ref, 0, err);
	if (r == 0)
		return err_set(err, EPROTO,
			       "%s said that it built %s, which is not there; see '%s'",
			       w->tool.engine, ref, log);
	if (r > 0)
		tell(w->req, IMAGE_DONE, ref);
	return r < 0 ? r : 0;
}

/* The caller holds the lock. */
static int make(struct work *w, bool waited, char **ret, struct err *err)
{
	cleanup_free char *ref = NULL;
	int r = image_source_copy(w->req->places, &w->source, err);

	if (r == 0)
		r = check_trust(&w->source, err);
	if (r == 0)
		r = get_ref(w, &ref, err);
	if (r < 0)
		return r;
	/* After waiting for another rebuild, a rebuild is already done. */
	r = w->req->rebuild && !waited ? 0 : is_there(w, ref, w->req->rebuild ? w->since : 0, err);
	if (r == 0)
		r = build(w, ref, err);
	if (r < 0)
		return r;
	*ret = take_ptr(ref);
	return 0;
}

int image_ensure(const struct image_request *req, char **ret_ref, struct err *err)
{
	cleanup_work struct work w = {0};
	cleanup_free char *ref = NULL;
	cleanup_fd int held = -1;
	bool waited = false, due = false;
	int r = begin(req, &w, err);

	if (r == 0)
		r = check_trust(&w.source, err);
	if (r == 0)
		r = look_ref(&w, &ref, &due, err);
	if (r < 0)
		return r;
	r = ref && !due && !req->rebuild ? is_there(&w, ref, 0, err) : 0;
	if (r == 0) {
		free(ref);
		ref = NULL;
		r = lock(&w, &held, &waited, err);
		if (r == 0)
			r = make(&w, waited, &ref, err);
	}
	if (r < 0)
		return r;
	image_store_used(req->places, req->engine, req->agent, w.source.project, ref);
	*ret_ref = take_ptr(ref);
	return 0;
}

int image_look(const struct image_request *req, struct image_view *ret, struct err *err)
{
	cleanup_work struct work w = {0};
	cleanup_free char *ref = NULL;
	bool due = false;
	int r = begin(req, &w, err), there = 0;

	if (r == 0)
		r = look_ref(&w, &ref, &due, err);
	if (r == 0 && ref)
		there = r = is_there(&w, ref, 0, err);
	if (r < 0)
		return r;
	*ret = (struct image_view){
		.ref = take_ptr(ref),
		.dockerfile = take_ptr(w.source.dockerfile),
		.there = there > 0,
		.stale = due,
		.trusted = w.source.trusted,
	};
	strv_extend(&ret->bases, &w.file.bases);
	return 0;
}

void image_view_done(struct image_view *v)
{
	free(v->ref);
	free(v->dockerfile);
	strv_done(&v->bases);
	*v = (struct image_view){0};
}
