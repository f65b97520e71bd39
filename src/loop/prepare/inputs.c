#include "loop/prepare/prepare.h"

#include <assert.h>
#include <fcntl.h>
#include <sha2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "record/store.h"

#define INPUT_MAX (64 * MiB)
#define PIECE (64 * KiB)

/* Files at the top of a project that say what is to be installed. */
static const char *const known[] = {
	"package.json",	  "package-lock.json", "npm-shrinkwrap.json",
	"yarn.lock",	  "pnpm-lock.yaml",    "bun.lock",
	"bun.lockb",	  "requirements.txt",  "requirements-dev.txt",
	"pyproject.toml", "poetry.lock",       "uv.lock",
	"Pipfile.lock",	  "setup.py",	       "go.mod",
	"go.sum",	  "Cargo.toml",	       "Cargo.lock",
	"Gemfile",	  "Gemfile.lock",      "composer.json",
	"composer.lock",  "mix.lock",	       "Makefile",
};

static void add_text(SHA2_CTX *sum, const char *text)
{
	SHA256Update(sum, (const uint8_t *)text, strlen(text) + 1);
}

/* The agent may have put anything in the file's place. A missing file is a fact too. */
static bool add_file(SHA2_CTX *sum, int root, const char *name)
{
	cleanup_fd int fd = path_open_beneath(root, name, O_RDONLY | O_NONBLOCK, 0);
	cleanup_free uint8_t *piece = xmalloc(PIECE);
	struct stat st;
	ssize_t n;

	add_text(sum, name);
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > INPUT_MAX)
		return false;
	if (!S_ISREG(st.st_mode))
		return true;
	add_text(sum, "file");
	/* A file that grows meanwhile is not read for ever. */
	for (uint64_t sofar = 0; sofar <= INPUT_MAX; sofar += (uint64_t)n) {
		n = read(fd, piece, PIECE);
		if (n <= 0)
			return n == 0;
		SHA256Update(sum, piece, (size_t)n);
	}
	return false;
}

/* Words of a command that name a file of the project: ./scripts/setup.sh */
static bool add_words(SHA2_CTX *sum, int root, const char *command)
{
	bool ok = true;

	while (*command) {
		size_t n = strcspn(command, " \t\n;&|<>()\"'");
		cleanup_free char *word = xstrndup(command, n);

		if (n && word[0] != '/' && word[0] != '-' && !strstr(word, ".."))
			ok = add_file(sum, root, strncmp(word, "./", 2) == 0 ? word + 2 : word) &&
			     ok;
		command += n + (command[n] != '\0');
	}
	return ok;
}

bool prepare_inputs(const struct loop *l, char ret[PREPARE_HASH_LEN])
{
	const struct strv *commands = &l->config->loop.setup;
	cleanup_free char *record = store_record(&l->q.places, l->build.spec->name);
	const int root = l->root_fd >= 0 ? l->root_fd : l->workspace;
	struct stat st = {0};
	bool ok = true;
	SHA2_CTX sum;

	static_assert(PREPARE_HASH_LEN == SHA256_DIGEST_STRING_LENGTH, "a hash in hex");
	SHA256Init(&sum);
	/* A sandbox that was removed and made anew has lost what was installed in its home. */
	if (stat(record, &st) == 0)
		SHA256Update(&sum, (const uint8_t *)&st.st_ino, sizeof(st.st_ino));
	for (size_t i = 0; i < commands->n; i++) {
		add_text(&sum, commands->v[i]);
		ok = add_words(&sum, root, commands->v[i]) && ok;
	}
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		ok = add_file(&sum, root, known[i]) && ok;
	(void)SHA256End(&sum, ret);
	return ok;
}
