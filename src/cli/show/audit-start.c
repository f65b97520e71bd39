#include "cli/show/audit.h"

#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/text/term.h"
#include "cli/stranger.h"
#include "cli/terminal/ask.h"
#include "live/inbox.h"
#include "record/store.h"
#include "wire/wire.h"

/* One start, and what the user sees of it. */
struct start {
	struct cli *cli;
	const struct sandbox_spec *spec;
	struct strv changes;
};

/* Has the user agreed to a sandbox of this name? A record that cannot be read counts as none. */
static bool compare(const struct places *p, const struct sandbox_spec *spec, struct strv *changes)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	cleanup_(spec_freep) struct sandbox_spec *agreed = NULL;
	struct err ignored = {0};

	if (store_open(p, spec->name, false, &e, &ignored) < 0 ||
	    store_read_agreed(&e, &agreed, &ignored) < 0)
		return false;
	spec_changes(agreed, spec, changes);
	return true;
}

static int show_all(void *arg)
{
	struct start *st = arg;
	int r = audit_print(st->spec, stderr, term_width(STDERR_FILENO),
			    cli_color(st->cli, STDERR_FILENO), &st->cli->err);

	(void)fputc('\n', stderr);
	return r;
}

static int show_brief(const struct start *st)
{
	audit_print_brief(st->spec, &st->changes, stderr, term_width(STDERR_FILENO),
			  cli_color(st->cli, STDERR_FILENO));
	return 0;
}

static int confirm(struct start *st, bool full, uint32_t *ret_consent)
{
	bool yes = true;
	int r = full ? show_all(st) : show_brief(st);

	if (r < 0 || st->cli->yes)
		return r;
	r = full ? ask("Proceed?", true, &yes, &st->cli->err)
		 : ask_or_show("Proceed?", true, show_all, st, &yes, &st->cli->err);
	if (r < 0)
		return r;
	if (!yes)
		return err_set(&st->cli->err, ECANCELED, "not confirmed: nothing was started");
	*ret_consent = WIRE_EXEC_CONFIRMED;
	return 0;
}

/* Conversations are saved at the end, when nobody may be looking; so this is said at the start. */
static void check_inbox(const struct sandbox_spec *spec)
{
	struct err err = {0};
	cleanup_fd int inbox = spec->inbox ? inbox_open(spec, spec->inbox, &err) : -1;

	if (spec->inbox && inbox < 0)
		log_warn("inbox",
			 "conversations will not be saved: %s; change inbox.dir or set it to off",
			 err.msg);
}

int audit_before_start(struct cli *cli, const struct settings *s, const struct sandbox_spec *spec,
		       bool tty, uint32_t *ret_consent)
{
	struct start st = {.cli = cli, .spec = spec};
	enum config_audit how = s->config->audit;
	int r;

	check_inbox(spec);
	*ret_consent = cli->yes ? WIRE_EXEC_ASSUMED : 0;
	if (!tty)
		return 0;
	if (how == AUDIT_OFF) {
		*ret_consent = WIRE_EXEC_AUDIT_OFF;
		return 0;
	}
	if (how == AUDIT_CHANGES && compare(&s->places, spec, &st.changes) && st.changes.n == 0) {
		*ret_consent = WIRE_EXEC_UNCHANGED;
		return 0;
	}
	if (!cli->yes && !ask_possible())
		r = err_usage(&cli->err,
			      "a command with a terminal has to be confirmed, and there is no "
			      "terminal to ask on: see 'ralph audit', then add --yes; or run it "
			      "without a terminal, with -T");
	else {
		if (!cli->yes)
			stranger_hint(s, spec);
		r = confirm(&st, how == AUDIT_FULL, ret_consent);
	}
	strv_done(&st.changes);
	return r;
}

void audit_agreed(const struct places *p, const struct sandbox_spec *spec, bool tty,
		  uint32_t consent)
{
	cleanup_store struct store_entry e = STORE_ENTRY_INIT;
	struct err err = {0};

	if (!tty || !(consent & (WIRE_EXEC_CONFIRMED | WIRE_EXEC_ASSUMED)))
		return;
	if (store_open(p, spec->name, false, &e, &err) < 0 ||
	    store_write_agreed(&e, spec, &err) < 0)
		log_warn("audit", "%s; ralph asks again at the next start", err.msg);
}
