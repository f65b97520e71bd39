#include "check/selftest.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/path.h"
#include "compose/no-guest.h"
#include "check/inside.h"
#include "netrules/net-check.h"

#define SUITE_MS 120000
#define SUITE_OUT_MAX (256 * KiB)
#define PLAN_MAX (1 * MiB) /* as the probe takes it */

struct selftest_row *selftest_add(struct selftest *t, const char *area, const char *what,
				  const char *attack)
{
	struct selftest_row *row = &t->rows[t->n++];

	assert(t->n <= SELFTEST_ROWS_MAX); /* rows are ours to count */
	*row = (struct selftest_row){.area = area, .what = what, .result = SELFTEST_BROKEN};
	strv_init(&row->argv);
	if (attack)
		strv_push(&row->argv, attack);
	return row;
}

struct selftest_row *selftest_add_work(struct selftest *t, const char *what, const char *attack)
{
	struct selftest_row *row = selftest_add(t, "work", what, attack);

	row->works = true;
	return row;
}

/* A file without a name, open for reading only: the probe tries to open it for more. */
static int plan_file(const struct places *p, const struct selftest *t, struct err *err)
{
	cleanup_fd int fd = -1, ro = -1;
	cleanup_buf struct buf b;
	char self[64];
	int r = path_mkdirs(p->state, 0700, err);

	buf_init(&b, PLAN_MAX);
	if (r < 0)
		return r;
	for (size_t i = 0; i < t->n; i++) {
		for (size_t k = 0; k < t->rows[i].argv.n; k++)
			(void)buf_append(&b, t->rows[i].argv.v[k],
					 strlen(t->rows[i].argv.v[k]) + 1);
		if (t->rows[i].argv.n)
			(void)buf_putc(&b, '\0');
	}
	if (b.full)
		return err_set(err, E2BIG, "the self-test's plan is too long");
	fd = open(p->state, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0) /* not every file system can do it */
		return fd_memfd("ralph-selftest", b.data, b.len);
	r = fd_write_all(fd, b.data, b.len);
	if (r < 0)
		return err_sys(err, -r, "cannot write the self-test's plan");
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	ro = open(self, O_RDONLY | O_CLOEXEC);
	return ro < 0 ? err_sys(err, errno, "cannot read the self-test's plan") : take_fd(ro);
}

/* The n-th row that the probe was given. */
static struct selftest_row *probed(struct selftest *t, uint64_t n)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].argv.n && n-- == 0)
			return &t->rows[i];
	return NULL;
}

/* NUMBER tab CODE tab TEXT; what is not so, or comes twice, is nothing. */
static void take_line(struct selftest *t, char *line)
{
	static const enum selftest_result results[] = {SELFTEST_HELD, SELFTEST_OUT, SELFTEST_BROKEN,
						       SELFTEST_ABSENT};
	char *code = strchr(line, '\t'), *text = code ? strchr(code + 1, '\t') : NULL;
	struct selftest_row *row;
	uint64_t n, c;

	if (!text)
		return;
	*code++ = *text++ = '\0';
	if (parse_uint(line, 0, SELFTEST_ROWS_MAX, &n) < 0 || parse_uint(code, 0, 3, &c) < 0)
		return;
	row = probed(t, n);
	if (!row || row->got)
		return;
	row->result = results[c];
	row->got = xstrdup(text);
}

/* The refusals that the gateway will report because of these rows. */
static void expect_refusals(const struct selftest *t, struct strv *ret)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct strv *argv = &t->rows[i].argv;
		bool proxy = argv->n && streq(argv->v[0], "proxy-refuses");
		bool dns = argv->n && streq(argv->v[0], "dns-refuses");

		for (size_t k = proxy ? 2 : 1; (proxy || dns) && k < argv->n; k++)
			strv_take(ret, net_host_text(argv->v[k]));
	}
}

int selftest_probe(struct selftest *t, const struct places *p, const struct sandbox_spec *spec,
		   int hold, struct err *err)
{
	cleanup_fd int plan = plan_file(p, t, err);
	cleanup_strv struct strv argv, expected = {0};
	cleanup_buf struct buf out;
	const struct inside in = {.program = "probe",
				  .argv = &argv,
				  .expected = &expected,
				  .input = plan,
				  .conn = hold,
				  .timeout_ms = SUITE_MS};
	char *rest, *line;
	int code = 0, r;

	strv_init(&argv);
	buf_init(&out, SUITE_OUT_MAX);
	if (plan < 0)
		return plan;
	strv_push(&argv, "ralph-probe");
	strv_push(&argv, "suite");
	expect_refusals(t, &expected);
	r = inside_run(p, spec->name, &in, &out, &code, err);
	if (r < 0)
		return r;
	if (code != 0)
		return err_set(err, EIO, "the probe ended with %d", code);
	(void)buf_putc(&out, '\0');
	for (rest = out.data; rest && (line = strsep(&rest, "\n"));)
		take_line(t, line);
	return 0;
}

int selftest_run(const struct places *p, const struct sandbox_spec *spec, enum selftest_flags flags,
		 int hold, struct selftest *ret, struct err *err)
{
	cleanup_(selftest_bait_done) struct selftest_bait bait = {-1, -1, -1};
	uint64_t start = now_ms();
	int r;

	*ret = (struct selftest){.passed = true};
	if (no_guest(spec))
		return err_set(
			err, ENOTSUP,
			"sandbox '%s' cannot be tested: engine %s has nothing of ralph's inside",
			spec->name, spec->engine);
	selftest_files(ret, p, spec);
	selftest_processes(ret, spec);
	selftest_network(ret, spec, &bait);
	selftest_variables(ret, spec);
	if (selftest_own_kernel(spec))
		selftest_kernel(ret, spec);
	if (flags & SELFTEST_PROGRAMS)
		selftest_programs(ret);
	r = selftest_probe(ret, p, spec, -1, err);
	if (r == 0 && selftest_own_kernel(spec))
		selftest_kernel_judge(ret, p, spec);
	if (r == 0)
		r = selftest_keys(ret, p, spec, hold, err);
	if (r < 0) {
		selftest_done(ret);
		return err_wrap(err, r, "sandbox '%s' cannot be tested", spec->name);
	}
	for (size_t i = 0; i < ret->n; i++)
		if (selftest_row_failed(&ret->rows[i]))
			ret->passed = false;
	ret->ms = now_ms() - start;
	return 0;
}

void selftest_done(struct selftest *t)
{
	for (size_t i = 0; i < t->n; i++) {
		strv_done(&t->rows[i].argv);
		free(t->rows[i].got);
	}
	strv_done(&t->host_mounts);
	strv_done(&t->host_files);
	*t = (struct selftest){0};
}

bool selftest_row_failed(const struct selftest_row *row)
{
	return row->result == SELFTEST_OUT || row->result == SELFTEST_BROKEN;
}

const char *selftest_expected(const struct selftest_row *row)
{
	return row->works ? "works" : "refused";
}

char *selftest_got(const struct selftest_row *row)
{
	const char *said = row->got && row->got[0] ? row->got : "no answer";

	switch (row->result) {
	case SELFTEST_HELD:
		return xstrdup(selftest_expected(row));
	case SELFTEST_ABSENT:
		return xstrdup("not installed");
	case SELFTEST_OUT:
		return xasprintf("%s: %s", row->works ? "BROKEN" : "GOT OUT", said);
	case SELFTEST_BROKEN:
	case SELFTEST_RESULT_N:
		break;
	}
	return xasprintf("NOT TESTED: %s", said);
}

json_t *selftest_to_json(const struct selftest *t)
{
	static const char *const names[] = {"held", "failed", "not-tested", "not-installed"};
	json_t *rows = json_array();

	for (size_t i = 0; i < t->n; i++) {
		const struct selftest_row *row = &t->rows[i];
		bool said = row->got && row->got[0] && row->result != SELFTEST_HELD;

		(void)json_array_append_new(rows, json_pack("{ss ss ss ss so*}", "area", row->area,
							    "what", row->what, "expected",
							    selftest_expected(row), "result",
							    names[row->result], "got",
							    said ? json_text(row->got) : NULL));
	}
	return json_pack("{sb sI so}", "passed", t->passed, "ms", (json_int_t)t->ms, "rows", rows);
}
