#include "image/image-source.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/fd.h"
#include "base/path.h"
#include "config/config.h"
#include "config/trust.h"
#include "image/dockerfile.h"
#include "image/image-manifest.h"

#define MANIFEST_BEGINS "ralph image 1\n" /* a new number changes all names: the rules changed */
#define COPY_PREFIX "copy-"

char *image_trust_dir(const struct places *p)
{
	return path_join(p->state, "trust/image");
}

int image_state_dir(const struct places *p, char **ret, struct err *err)
{
	cleanup_free char *dir = path_join(p->state, "images");
	int r = path_mkdirs(dir, 0700, err);

	if (r == 0)
		*ret = take_ptr(dir);
	return r;
}

/* Opens the context, which a project may have replaced by anything; -ENOENT: none. */
static int open_context(const struct image_source *s, const char *path, struct err *err)
{
	cleanup_fd int top = open(s->project, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = top < 0 ? -errno
			 : path_open_beneath(top, path + strlen(s->project) + 1,
					     O_RDONLY | O_DIRECTORY, 0);

	if (fd == -ELOOP || fd == -ENOTDIR)
		return err_usage(err,
				 "%s: is no directory, or lies behind a symbolic link; make it a "
				 "plain one",
				 path);
	if (fd < 0 && fd != -ENOENT)
		return err_sys(err, -fd, "cannot open '%s'", path);
	return fd;
}

/* Describes the Dockerfile in `text` and the context directory; -1: no context. */
static int describe(struct image_source *s, int context, const char *name, struct err *err)
{
	char sum[TRUST_HASH_LEN + 1];

	buf_clear(&s->manifest);
	trust_hash(buf_str(&s->text), s->text.len, sum);
	(void)buf_printf(&s->manifest, MANIFEST_BEGINS "dockerfile %s\n", sum);
	return context < 0 ? 0 : image_manifest(context, name, &s->manifest, err);
}

static int judge(const struct places *p, struct image_source *s, struct err *err)
{
	cleanup_free char *dir = image_trust_dir(p);
	char sum[TRUST_HASH_LEN + 1];
	struct trust record = {0};
	int r;

	s->trusted = !s->project;
	if (!s->project)
		return 0;
	r = trust_get(dir, s->project, &record, err);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	trust_hash(buf_str(&s->manifest), s->manifest.len, sum);
	s->trusted = streq(sum, record.sha256);
	s->changed = !s->trusted;
	trust_done(&record);
	return 0;
}

static void begin(struct image_source *s)
{
	*s = (struct image_source)IMAGE_SOURCE_INIT;
	buf_init(&s->text, DOCKERFILE_MAX);
	buf_init(&s->manifest, IMAGE_MANIFEST_MAX);
}

int image_source_project(const struct places *p, const char *workspace, struct image_source *ret,
			 struct err *err)
{
	cleanup_fd int context = -1;
	bool there = false;
	int r;

	begin(ret);
	r = path_real(workspace, &ret->project, err);
	if (r < 0)
		return r;
	ret->dockerfile = path_join(ret->project, ".ralph/Dockerfile");
	r = config_project_read(ret->dockerfile, &ret->text, &there, err);
	if (r < 0 || !there)
		return r < 0 ? r : -ENOENT;
	ret->context = path_join(ret->project, ".ralph/image");
	context = open_context(ret, ret->context, err);
	if (context < 0 && context != -ENOENT)
		return context;
	r = describe(ret, context, ret->context, err);
	if (context < 0) {
		free(ret->context);
		ret->context = NULL;
	}
	return r < 0 ? r : judge(p, ret, err);
}

static int find_shipped(const struct places *p, const char *agent, struct image_source *ret,
			struct err *err)
{
	int r;

	image_source_done(ret);
	begin(ret);
	ret->dockerfile = xasprintf("%s/docker/agent-loop/%s/Dockerfile", p->data, agent);
	r = path_read(AT_FDCWD, ret->dockerfile, &ret->text);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s', which comes with ralph",
			       ret->dockerfile);
	ret->trusted = true;
	return describe(ret, -1, "", err);
}

int image_source_find(const struct places *p, const char *agent, const char *workspace,
		      struct image_source *ret, struct err *err)
{
	int r = workspace ? image_source_project(p, workspace, ret, err) : -ENOENT;

	if (!workspace)
		begin(ret);
	return r == -ENOENT ? find_shipped(p, agent, ret, err) : r;
}

void image_source_done(struct image_source *s)
{
	struct err ignored;

	if (s->copy)
		(void)path_remove_tree(AT_FDCWD, s->copy, &ignored);
	closep(&s->copy_lock);
	free(s->copy);
	free(s->dockerfile);
	free(s->project);
	free(s->context);
	buf_done(&s->text);
	buf_done(&s->manifest);
	*s = (struct image_source)IMAGE_SOURCE_INIT;
}

/* Removes the copies of a killed ralph: nobody holds their locks. */
static void sweep(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *de;

	while (d && (de = readdir(d))) {
		cleanup_fd int fd = -1;
		struct err ignored;

		if (strncmp(de->d_name, COPY_PREFIX, strlen(COPY_PREFIX)) != 0)
			continue;
		fd = openat(dirfd(d), de->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && fd_lock(fd, 0) == 0)
			(void)path_remove_tree(dirfd(d), de->d_name, &ignored);
	}
	if (d)
		(void)closedir(d);
}

/* The directory is created under a name that sweep() ignores, and renamed once it is locked. */
static int make_copy_dir(struct image_source *s, const char *dir, struct err *err)
{
	cleanup_free char *made = path_join(dir, "new-XXXXXX"), *final = NULL;

	if (!mkdtemp(made))
		return err_sys(err, errno, "cannot make a directory in '%s'", dir);
	s->copy_lock = open(made, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	final = xasprintf("%s/" COPY_PREFIX "%s", dir, made + strlen(made) - 6);
	if (s->copy_lock < 0 || fd_lock(s->copy_lock, 0) < 0 || rename(made, final) < 0) {
		int eno = errno;

		(void)rmdir(made);
		return err_sys(err, eno, "cannot make '%s'", final);
	}
	s->copy = take_ptr(final);
	return 0;
}

static int copy_context(struct image_source *s, int context, struct err *err)
{
	/* image_manifest() checks the content, on the copy. */
	const struct copy_rules rules = {
		.bytes_max = IMAGE_CONTEXT_BYTES_MAX,
		.files_max = IMAGE_CONTEXT_FILES_MAX + 1, /* the top directory counts too */
		.depth_max = IMAGE_CONTEXT_DEPTH_MAX,
		.modes = true,
	};
	cleanup_fd int copy = -1;
	int r = 0;

	if (context >= 0)
		r = copy_tree(context, ".", s->copy_lock, "context", &rules);
	else if (mkdirat(s->copy_lock, "context", 0755) < 0)
		r = -errno;
	if (r == -EFBIG)
		return image_context_too_large(s->context, err);
	if (r < 0)
		return err_sys(err, -r, "cannot copy '%s'", s->context ? s->context : s->copy);
	copy = openat(s->copy_lock, "context", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (copy < 0)
		return err_sys(err, errno, "cannot open '%s/context'", s->copy);
	return describe(s, context < 0 ? -1 : copy, s->context ? s->context : "", err);
}

int image_source_copy(const struct places *p, struct image_source *s, struct err *err)
{
	cleanup_free char *dir = NULL;
	cleanup_fd int context = -1;
	int r = image_state_dir(p, &dir, err);

	if (r < 0)
		return r;
	sweep(dir);
	r = make_copy_dir(s, dir, err);
	if (r < 0)
		return r;
	if (s->context) {
		context = open_context(s, s->context, err);
		if (context == -ENOENT)
			return err_sys(err, ENOENT, "cannot open '%s'", s->context);
		if (context < 0)
			return context;
	}
	r = path_write_atomic(s->copy_lock, "Dockerfile", buf_str(&s->text), s->text.len, 0644, 0);
	if (r < 0)
		return err_sys(err, -r, "cannot write '%s/Dockerfile'", s->copy);
	r = copy_context(s, context, err);
	return r < 0 ? r : judge(p, s, err);
}

int image_source_trust(const struct places *p, const struct image_source *s, struct err *err)
{
	cleanup_free char *dir = image_trust_dir(p);

	return trust_set(dir, s->project, s->manifest.data, s->manifest.len, err);
}
