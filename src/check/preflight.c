#include "check/preflight.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/fd.h"
#include "base/path.h"
#include "compose/cred-check.h"
#include "compose/no-guest.h"
#include "live/live.h"
#include "check/place-probe.h"
#include "check/preflight-no-guest.h"
#include "check/selftest.h"
#include "record/store.h"

#define DISK_MIN (256 * MiB)
#define INODES_MIN 1000
#define CLOCK_SLACK_S 86400 /* a program may come from another time zone's builder */
#define CLOCK_FAR_S (20ULL * 365 * 86400)

/* Takes both strings. */
static struct preflight_row *add(struct preflight *p, const char *what, bool ok, char *found,
				 char *remedy)
{
	struct preflight_row *row;

	if (p->n ==
	    PREFLIGHT_ROWS_MAX) { /* an agent with more services than that: the last counts */
		free(p->rows[--p->n].found);
		free(p->rows[p->n].remedy);
	}
	row = &p->rows[p->n++];
	*row = (struct preflight_row){.what = what, .ok = ok, .found = found, .remedy = remedy};
	p->ok = p->ok && ok;
	if (ok) {
		free(remedy);
		row->remedy = NULL;
	}
	return row;
}

static void check_credentials(const struct preflight_input *in, struct preflight *p)
{
	cleanup_(cred_report_done) struct cred_report report = {0};
	struct err err = {0};
	bool any = false;

	if (!in->agent || !in->agent->services[0]) {
		(void)add(p, "credentials", true, xstrdup("none are needed"), NULL);
		return;
	}
	if (cred_check(in->places, in->config, in->environ, in->spec->workspace, in->agent, &report,
		       &err) < 0) {
		add(p, "credentials", false, xstrdup(err.msg), xstrdup("ralph check-token"))
			->credential = true;
		return;
	}
	for (size_t i = 0; i < report.n; i++)
		any = any || report.v[i].state == CRED_STATE_OK;
	for (size_t i = 0; i < report.n; i++) {
		const struct cred_status *s = &report.v[i];
		/* Of several services one is enough, but none may be broken. */
		bool ok = s->state == CRED_STATE_OK || s->state == CRED_STATE_OFF ||
			  (s->state == CRED_STATE_MISSING && any);
		char *found = xasprintf("%s: %s%s%s", s->service, cred_state_name(s->state),
					s->problem ? ": " : "", s->problem ? s->problem : "");

		add(p, "credentials", ok, found, xstrdup("ralph check-token"))->credential = true;
	}
}

/* Before the time ralph itself was built, or far behind it, certificates mean nothing. */
static void check_clock(const struct preflight_input *in, struct preflight *p)
{
	cleanup_free char *guest = places_program(in->places, "guest");
	struct stat st = {0};
	time_t now = time(NULL);
	char text[64] = "?";
	struct tm tm;
	bool ok;

	(void)stat(guest, &st);
	if (gmtime_r(&now, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	ok = now + CLOCK_SLACK_S >= st.st_ctime &&
	     (uint64_t)now < (uint64_t)st.st_ctime + CLOCK_FAR_S;
	(void)add(p, "clock", ok, xstrdup(text),
		  xstrdup("set the clock: timedatectl set-ntp true"));
}

static void check_disk(const struct preflight_input *in, struct preflight *p)
{
	cleanup_free char *above = xstrdup(in->places->state);
	const char *dirs[] = {above, in->spec->workspace, "/tmp"};
	struct statvfs v;

	/* Nothing was kept yet: what counts is where it will be. */
	while (statvfs(above, &v) < 0 && errno == ENOENT && strrchr(above, '/') > above)
		*strrchr(above, '/') = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		uint64_t bytes;
		bool ok;

		if (statvfs(dirs[i], &v) < 0) {
			(void)add(p, "disk", false, xasprintf("'%s': %s", dirs[i], strerror(errno)),
				  xstrdup("look at the file system"));
			continue;
		}
		bytes = (uint64_t)v.f_bavail * v.f_frsize;
		/* Some file systems count no inodes. */
		ok = bytes >= DISK_MIN && (v.f_files == 0 || v.f_favail >= INODES_MIN);
		(void)add(
			p, "disk", ok,
			xasprintf("'%s': %llu MiB free", dirs[i],
				  (unsigned long long)(bytes / MiB)),
			xstrdup("free some space; ralph ls shows what sandboxes take, ralph prune "
				"removes those whose workspace is gone"));
	}
}

/* Returns what the user can do about a row of the probe that failed. */
static char *remedy_of(const struct selftest_row *row, const struct sandbox_spec *spec)
{
	const char *name = spec->name;

	if (!row->works)
		return xasprintf("do not use it; see: ralph selftest --engine %s %s", spec->engine,
				 name);
	if (streq(row->argv.v[0], "dns-answers"))
		return xasprintf("see: ralph net check %s", row->argv.v[1]);
	return xasprintf("ralph stop %s, then start it again; see: ralph net log %s", name, name);
}

static void take_rows(const struct selftest *t, const struct sandbox_spec *spec,
		      struct preflight *p)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct selftest_row *row = &t->rows[i];

		(void)add(p, row->what, !selftest_row_failed(row), selftest_got(row),
			  remedy_of(row, spec));
	}
}

/* The rows of the probe, for a sandbox in which it cannot run. */
static void check_no_guest(const struct preflight_input *in, int conn, struct preflight *p)
{
	const bool open = in->spec->net.tier == POLICY_INET || in->spec->net.tier == POLICY_FULL;
	const char *name = in->spec->name;
	struct preflight_net net;

	preflight_no_guest(in, conn, &net);
	if (net.problem) {
		(void)add(p, "gateway", false, net.problem,
			  xasprintf("ralph exec %s curl --version", name));
		return;
	}
	(void)add(
		p, "gateway", net.gateway,
		xstrdup(!net.has_gateway ? "none is needed: there is no credential"
			: net.gateway	 ? "works"
					 : "it does not answer"),
		xasprintf("ralph stop %s, then start it again; see: ralph net log %s", name, name));
	if (!open)
		(void)add(p, "a host without a rule", net.refused,
			  xstrdup(net.refused ? "refused" : "nothing refuses it"),
			  xstrdup("do not use it; see: ralph doctor"));
}

static bool has_record(const struct preflight_input *in)
{
	cleanup_free char *owner = store_owner(in->places, in->spec->name);

	return owner != NULL;
}

static void check_sandbox(const struct preflight_input *in, struct preflight *p)
{
	cleanup_(selftest_done) struct selftest t = {0};
	const char *name = in->spec->name;
	cleanup_fd int conn = -1;
	struct err err = {0};
	int r = live_start_up(in->places, in->spec, has_record(in) ? 0 : LIVE_REMOVE, &conn, &err);

	if (r == 0 && !no_guest(in->spec)) {
		selftest_answers(&t, in->spec);
		r = selftest_probe(&t, in->places, in->spec, conn, &err);
	}
	(void)add(p, "sandbox", r == 0, r == 0 ? xasprintf("%s answers", name) : xstrdup(err.msg),
		  xstrdup("ralph doctor says what this machine lacks"));
	if (r == 0 && no_guest(in->spec) && !no_guest_without_wall(in->spec))
		check_no_guest(in, conn, p);
	else if (r == 0)
		take_rows(&t, in->spec, p);
}

/* One row: what the node is, or the first thing that is wrong with it. */
static void check_place(const struct preflight_input *in, struct preflight *p)
{
	cleanup_(place_offer_done) struct place_offer o = {0};
	const char *name = in->config->fleet.place;
	const struct place_row *bad = NULL;
	cleanup_buf struct buf b = {0};
	struct err err = {0};

	if (!in->place || !name || !*name)
		return;
	if (place_probe(in->config, name, in->spec->workspace, in->environ, &o, &err) < 0) {
		add(p, "placement", false, xasprintf("%s", err.msg), NULL);
		return;
	}
	buf_init(&b, 8 * KiB);
	(void)buf_printf(&b, "%s:", name);
	for (size_t i = 0; i < o.n; i++) {
		if (!bad && !o.rows[i].ok)
			bad = &o.rows[i];
		(void)buf_printf(&b, "%s %s %s", i ? "," : "", o.rows[i].what, o.rows[i].found);
	}
	add(p, "placement", o.ok,
	    bad ? xasprintf("%s: %s: %s", name, bad->what, bad->found) : xstrdup(buf_str(&b)),
	    bad && bad->remedy ? xstrdup(bad->remedy) : NULL);
}

void preflight_run(const struct preflight_input *in, struct preflight *ret)
{
	static void (*const checks[])(const struct preflight_input *, struct preflight *) = {
		check_credentials, check_clock, check_disk, check_sandbox, check_place};

	*ret = (struct preflight){.ok = true};
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
		if (!in->tried || checks[i] != check_sandbox)
			checks[i](in, ret);
}

void preflight_done(struct preflight *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->rows[i].found);
		free(p->rows[i].remedy);
	}
	*p = (struct preflight){0};
}

json_t *preflight_to_json(const struct preflight *p)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < p->n; i++)
		(void)json_array_append_new(
			rows,
			json_pack("{ss sb so so*}", "what", p->rows[i].what, "ok", p->rows[i].ok,
				  "found", json_text(p->rows[i].found), "remedy",
				  p->rows[i].remedy ? json_text(p->rows[i].remedy) : NULL));
	return json_pack("{sb so}", "ok", p->ok, "checks", rows);
}
