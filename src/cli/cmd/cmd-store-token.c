#include "cli/frame/command.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text/term.h"
#include "cli/settings.h"
#include "cli/terminal/setup-token.h"
#include "compose/cred-check.h"
#include "record/places.h"

extern char **environ;

#define SERVICE "anthropic"
#define STDIN_MAX (64 * KiB)

/* The first line; blanks around it are the clipboard's. */
static int read_stdin(struct buf *b, char **ret, struct err *err)
{
	const char *text;
	size_t n;
	int r = fd_read_all(STDIN_FILENO, b);

	if (r < 0)
		return err_sys(err, -r, "cannot read the token");
	text = buf_str(b) + strspn(buf_str(b), " \t\r\n");
	n = strcspn(text, " \t\r\n");
	if (n == 0 || text[n + strspn(text + n, " \t\r\n")])
		return err_usage(err, "stdin must hold one token and nothing else");
	*ret = xstrndup(text, n);
	return 0;
}

static int obtain(struct cli *cli, char **ret)
{
	cleanup_buf struct buf b;
	int r;

	buf_init(&b, STDIN_MAX);
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !cli->yes)
		return setup_token(ret, &cli->err);
	r = read_stdin(&b, ret, &cli->err);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	return r;
}

static int store_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_(cred_kept_done) struct cred_kept kept = {0};
	cleanup_settings struct settings s = {0};
	char *token = NULL;
	int r = settings_load(cli, "/", &s); /* a project has no say in it */

	if (r == 0)
		r = obtain(cli, &token);
	if (r == 0)
		r = cred_keep(&s.places, s.config, environ, SERVICE, token, &kept, &cli->err);
	if (token)
		explicit_bzero(token, strlen(token));
	free(token);
	if (r == 0) {
		(void)printf("stored in %s; ", kept.where);
		term_puts(stdout, kept.checked);
		(void)putchar('\n');
	}
	return r;
}

const struct command cmd_store_token = {
	.name = "store-token",
	.summary = "keep a token for Claude Code that sandboxes use",
	.details =
		"Reads a token (`claude setup-token`) or an API key from stdin; on a terminal\n"
		"runs `claude setup-token` and takes what it gives. The provider is asked whether\n"
		"it takes the token; without a network it is stored unchecked. It is kept in the\n"
		"Secret Service where there is one, else in a file that only you can read.\n"
		"It is preferred to the login of Claude Code itself.",
	.group = GROUP_CONFIG,
	.run = store_run,
};

static int logout_run(struct cli *cli, void *args, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = cred_forget(&p, environ, SERVICE, &cli->err);
	if (r == -ENOENT) {
		(void)printf("no token was stored\n");
		return 0;
	}
	if (r == 0)
		(void)printf("the stored token is removed\n");
	return r;
}

const struct command cmd_logout = {
	.name = "logout",
	.summary = "remove the token that store-token has kept",
	.details = "Removes what `ralph store-token` has kept, and nothing else: logins of Claude\n"
		   "Code and other programs stay theirs. Live sandboxes lose it with their next\n"
		   "request, the provider knows nothing of it.",
	.group = GROUP_CONFIG,
	.run = logout_run,
};
