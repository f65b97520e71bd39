#include "cred/aws.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

#define ENTRIES_MAX 512 /* of a cache directory: more are not looked at */

/* FNV-1a: it has to differ when something does, nothing more. */
static uint64_t mix(uint64_t h, const void *p, size_t n)
{
	const unsigned char *c = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ c[i]) * 0x100000001b3ULL;
	return h;
}

static uint64_t mix_file(uint64_t h, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return mix(h, "-", 1);
	h = mix(h, &st.st_mtim, sizeof(st.st_mtim));
	h = mix(h, &st.st_size, sizeof(st.st_size));
	return mix(h, &st.st_ino, sizeof(st.st_ino));
}

/* The sum does not depend on the order in which the kernel lists them. */
static uint64_t directory_sum(const char *path)
{
	DIR *d = opendir(path);
	uint64_t sum = 0;
	size_t n = 0;

	for (struct dirent *e; d && n < ENTRIES_MAX && (e = readdir(d)); n++) {
		cleanup_free char *file = path_join(path, e->d_name);

		if (e->d_name[0] != '.')
			sum += mix_file(mix(0, e->d_name, strlen(e->d_name)), file);
	}
	if (d)
		(void)closedir(d);
	return sum;
}

static char *named_or_home(const struct cred_host *h, const char *name, const char *below)
{
	const char *set = cred_host_env(h, name);

	if (set && set[0] == '~' && set[1] == '/')
		return cred_host_home(h, set + 2);
	return set ? xstrdup(set) : cred_host_home(h, below);
}

void aws_caches(const struct cred_host *h, struct strv *ret)
{
	strv_take(ret, cred_host_home(h, ".aws/sso/cache"));
	strv_take(ret, cred_host_home(h, ".aws/cli/cache"));
}

uint64_t aws_stamp(const struct cred_host *h, bool caches)
{
	cleanup_free char *config = named_or_home(h, "AWS_CONFIG_FILE", ".aws/config");
	cleanup_free char *shared =
		named_or_home(h, "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
	cleanup_strv struct strv dirs = {0};

	if (caches) {
		aws_caches(h, &dirs);
		return directory_sum(dirs.v[0]) + directory_sum(dirs.v[1]);
	}
	return mix_file(mix_file(0xcbf29ce484222325ULL, config), shared);
}
