#include "ask/ask-program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"

static const char help[] =
	"usage: ralph-ask host HOST[:PORT] WHY      a host that was refused for want of a rule\n"
	"       ralph-ask file PATH WHY             a change of a protected file\n"
	"       ralph-ask decide QUESTION [--choice X]…\n"
	"       ralph-ask show ID                   the answer to an earlier one\n"
	"       ralph-ask mcp                       the same as tools, on stdin and stdout\n"
	"  --wait SECONDS   for the person (300)\n"
	"A person answers. Exit code: 0 allowed, with the answer; 3 denied, with the reason; 4 "
	"still\n"
	"open: go on with other work; 2 usage; 1 it cannot be asked now.\n";

struct words {
	const char *v[3];
	size_t n;
	struct ask_words ask;
};

static int usage(void)
{
	(void)fd_write_all(STDERR_FILENO, help, sizeof(help) - 1);
	return ASK_USAGE;
}

/* false: malformed. */
static bool read_words(int argc, char **argv, struct words *w)
{
	bool options = true;
	uint64_t wait;

	w->ask.wait_s = ASK_WAIT_MAX_S;
	for (int i = 1; i < argc; i++) {
		bool last = i + 1 == argc;

		if (options && streq(argv[i], "--")) {
			options = false;
		} else if (options && streq(argv[i], "--choice") && !last) {
			strv_push(&w->ask.choices, argv[++i]);
		} else if (options && streq(argv[i], "--wait") && !last) {
			if (parse_uint(argv[++i], 0, ASK_WAIT_MAX_S, &wait) < 0)
				return false;
			w->ask.wait_s = (unsigned)wait;
		} else if (w->n == ARRAY_SIZE(w->v) || (options && argv[i][0] == '-')) {
			return false;
		} else {
			w->v[w->n++] = argv[i];
		}
	}
	return w->n > 0;
}

static int say(struct ask_result *r)
{
	static const char open[] =
		"still open: go on with other work; ask again with: ralph-ask show ";
	int fd = r->code == ASK_ALLOWED ? STDOUT_FILENO : STDERR_FILENO;
	cleanup_buf struct buf b;

	buf_init(&b, 2 * ASK_TEXT_MAX);
	if (r->code == ASK_OPEN)
		(void)buf_printf(&b, "%s%s\n", open, r->id ? r->id : "ID");
	else if (r->text && *r->text)
		(void)buf_printf(&b, "%s\n", r->text);
	else if (r->code != ASK_FAILED)
		(void)buf_printf(&b, "%s\n", r->code == ASK_ALLOWED ? "allowed" : "denied");
	(void)fd_write_all(fd, b.data, b.len);
	return (int)r->code;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *kind;
		size_t n;
	} kinds[] = {{"host", 3}, {"file", 3}, {"decide", 2}};
	struct ask_result r = {0};
	struct words w = {0};

	if (argc == 2 && streq(argv[1], "mcp"))
		return ask_mcp();
	if (!read_words(argc, argv, &w))
		return usage();
	if (streq(w.v[0], "show") && w.n == 2) {
		ask_again(w.v[1], w.ask.wait_s == ASK_WAIT_MAX_S ? 0 : w.ask.wait_s, &r);
		return say(&r);
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (streq(w.v[0], kinds[i].kind) && w.n == kinds[i].n) {
			w.ask.kind = w.v[0];
			w.ask.what = w.n == 3 ? w.v[1] : "";
			w.ask.why = w.v[w.n - 1];
			ask_person(&w.ask, &r);
			return say(&r);
		}
	return usage();
}
