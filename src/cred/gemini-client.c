#include "cred/gemini.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "cred/run.h"

#define SCRIPT_MAX (64 * MiB)
#define SCRIPTS_MAX 1024
#define VALUE_MAX 128

/* NAME = "value", as it stands in a script; NULL: it does not. */
static char *constant(const char *text, size_t n, const char *name)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
	const char *end = text + n, *p = text;

	while ((p = memmem(p, (size_t)(end - p), name, strlen(name)))) {
		char quote;
		size_t len = 0;

		p += strlen(name);
		while (p < end && (*p == ' ' || *p == '='))
			p++;
		if (p == end || (*p != '"' && *p != '\''))
			continue;
		quote = *p++;
		while (p + len < end && len < VALUE_MAX && p[len] && strchr(allowed, p[len]))
			len++;
		if (len && p + len < end && p[len] == quote)
			return xstrndup(p, len);
	}
	return NULL;
}

bool gemini_client_find(const char *text, size_t n, struct google_user *ret)
{
	cleanup_free char *id = constant(text, n, "OAUTH_CLIENT_ID");
	cleanup_free char *secret = id ? constant(text, n, "OAUTH_CLIENT_SECRET") : NULL;

	if (!secret)
		return false;
	ret->client_id = take_ptr(id);
	ret->client_secret = take_ptr(secret);
	return true;
}

static bool find_in_file(int dirfd, const char *name, struct google_user *ret)
{
	cleanup_fd int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *p;
	bool found;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    (uint64_t)st.st_size > SCRIPT_MAX)
		return false;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	found = gemini_client_find(p, (size_t)st.st_size, ret);
	(void)munmap(p, (size_t)st.st_size);
	return found;
}

static bool find_in_dir(const char *path, struct google_user *ret)
{
	DIR *d = opendir(path);
	bool found = false;
	size_t n = 0;

	for (struct dirent *e; d && !found && n < SCRIPTS_MAX && (e = readdir(d)); n++) {
		size_t len = strlen(e->d_name);

		if (len > 3 && streq(e->d_name + len - 3, ".js"))
			found = find_in_file(dirfd(d), e->d_name, ret);
	}
	if (d)
		(void)closedir(d);
	return found;
}

int gemini_places(const struct cred_host *h, struct strv *ret, struct err *err)
{
	/*
	 * Newer versions are one bundle; older ones have a package of their own below the
	 * program's.
	 */
	static const char *const places[] = {
		"",
		"../node_modules/@google/gemini-cli-core/dist/src/code_assist",
		"../../gemini-cli-core/dist/src/code_assist",
	};
	cleanup_free char *program = cred_find_program(h, "gemini"), *real = NULL, *dir = NULL;

	if (!program || path_real(program, &real, err) < 0)
		return err_set(err, ENOENT, "there is no 'gemini' on your PATH to renew it");
	dir = path_dir(real);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		strv_take(ret, path_join(dir, places[i]));
	return 0;
}

int gemini_client(const struct cred_host *h, struct google_user *ret, struct err *err)
{
	cleanup_strv struct strv places = {0};
	int r = gemini_places(h, &places, err);

	for (size_t i = 0; r == 0 && i < places.n; i++)
		if (find_in_dir(places.v[i], ret))
			return 0;
	return r < 0 ? r
		     : err_set(err, ENOENT, "'%s' does not say with which client it logs in",
			       places.v[0]);
}
