#include "fuzz.h"

#include "work/listing.h"
#include "work/progress.h"

#include <stdlib.h>
#include <string.h>

static const char prd[] =
	"{\"project\":\"p\",\"userStories\":[\n"
	" {\"id\":\"a\",\"title\":\"A\",\"acceptanceCriteria\":[\"x\"],\"passes\":false,\"notes\":"
	"\"\"},\n"
	" {\"id\":2,\"title\":\"B\",\"dependsOn\":[\"a\"],\"passes\":true,\"status\":\"done\"}]}\n";
static const char plan[] =
	"# P\n- [ ] a\n  - [ ] one\n  - [x] two\n- [x] b\n- [ ] c [blocked: d]\n";
static const char steps[] = "### Step 1: a [done]\n### Step 2: b\n- [ ] one\ntext\n";
static const char progress[] = "# P\n## Codebase Patterns\n- x\n---\n## a\ndone\n";

/* What an agent wrote moves nothing but the task's own notes: the tasks are as they were. */
static void check(const struct format *f, const char *put, const char *id, const char *theirs,
		  size_t size)
{
	cleanup_listing struct listing was = {0}, is = {0};
	cleanup_proposals struct proposals p = {0};
	cleanup_buf struct buf b;
	struct err e = {0};

	buf_init(&b, WORK_FILE_MAX);
	f->judge(put, strlen(put), theirs, size, id, &p);
	if (f->apply(put, strlen(put), id, &p, &b) < 0 ||
	    f->read("f", b.data, b.len, &is, &e) < 0 ||
	    f->read("f", put, strlen(put), &was, &e) < 0 || was.n != is.n)
		abort();
	for (size_t i = 0; i < was.n; i++)
		if (strcmp(was.tasks[i]->id, is.tasks[i]->id) != 0 ||
		    strcmp(was.tasks[i]->title, is.tasks[i]->title) != 0 ||
		    strcmp(was.tasks[i]->fingerprint, is.tasks[i]->fingerprint) != 0 ||
		    was.tasks[i]->said != is.tasks[i]->said)
			abort();
	for (size_t i = 0; i < p.offences.n; i++)
		for (const char *c = p.offences.v[i]; *c; c++)
			if ((unsigned char)*c < 0x20)
				abort();
	if (p.offences.n > PROPOSAL_OFFENCES_MAX || p.offences.n > p.n_offences)
		abort();
}

static void check_progress(const char *theirs, size_t size)
{
	cleanup_proposals struct proposals p = {0};
	cleanup_buf struct buf put, is, ret;

	buf_init(&put, WORK_PROGRESS_MAX);
	buf_init(&is, WORK_PROGRESS_MAX);
	buf_init(&ret, WORK_PROGRESS_MAX);
	(void)buf_puts(&put, progress);
	if (buf_append(&is, theirs, size) < 0)
		return;
	(void)progress_judge(&put, &is, &put, &ret, &p);
	/* The history is never gone. */
	if (!strstr(buf_str(&ret), "---\n## a\ndone\n"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	check(&format_prd, prd, "a", text, size);
	check(&format_prd, prd, "2", text, size);
	check(&format_plan, plan, "a", text, size);
	check(&format_plan, steps, "step-2", text, size);
	check_progress(text, size);
	return 0;
}
