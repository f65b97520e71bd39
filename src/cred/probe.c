#include "cred/cred.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

int cred_read_file(const char *path, struct buf *b, char **ret_warning, struct err *err)
{
	/* The open does not block: a pipe put in the file's place must not hold us. */
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return -ENOENT;
	if (fd < 0)
		return err_sys(err, errno, "cannot read '%s'", path);
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "cannot look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "'%s' is not a regular file", path);
	r = fd_read_all(fd, b);
	if (r == -ENOBUFS)
		return err_set(err, EFBIG, "'%s' is too large for a credential", path);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	if (ret_warning && (st.st_mode & (S_IRWXG | S_IRWXO)))
		*ret_warning = xasprintf("'%s' holds a credential and has mode %04o; run: chmod "
					 "600 '%s'",
					 path, (unsigned)(st.st_mode & 07777), path);
	return 0;
}

static enum cred_probe probe_row(const struct cred_host *h, const struct cred_provider *p,
				 struct cred_ref *ret, struct err *err)
{
	struct cred_ref ref;
	enum cred_probe found;

	cred_ref_init(&ref);
	found = p->probe(h, &ref, err);
	if (found != CRED_FOUND) {
		cred_ref_done(&ref);
		return found;
	}
	ref.provider = p;
	if (!ref.name)
		ref.name = xstrdup(p->service);
	if (!ref.origin && p->origin)
		ref.origin = xstrdup(p->origin);
	cred_ref_done(ret);
	*ret = ref;
	return CRED_FOUND;
}

enum cred_probe cred_probe(const struct cred_host *h, const char *service, struct cred_ref *ret,
			   struct err *err)
{
	for (size_t i = 0; i < cred_provider_count(); i++) {
		const struct cred_provider *p = cred_provider_at(i);
		enum cred_probe found;

		if (!streq(p->service, service))
			continue;
		found = probe_row(h, p, ret, err);
		if (found != CRED_MISSING)
			return found;
	}
	return CRED_MISSING;
}
