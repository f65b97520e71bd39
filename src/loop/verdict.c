#include "loop/verdict.h"

#include <assert.h>

#include "base/mem.h"

/* clang-format off */
static const struct {
	const char *name, *why;
	bool give_back;
	enum task_state state;
} rows[] = {
	[VERDICT_DONE]        = {"done", NULL, false, TASK_DONE},
	[VERDICT_PROGRESS]    = {"progress", "not done yet", false, TASK_READY},
	[VERDICT_NO_PROGRESS] = {"no progress", "nothing changed", false, TASK_READY},
	[VERDICT_UNVERIFIED]  = {"not verified", "it said done, and verification disagrees", false, TASK_READY},
	[VERDICT_NO_COMMIT]   = {"no commit", "it said done, and there is no commit", false, TASK_READY},
	[VERDICT_REJECTED]    = {"rejected", "its commits were taken back", false, TASK_READY},
	[VERDICT_FAILED]      = {"failed", "the agent failed", false, TASK_READY},
	[VERDICT_BLOCKED]     = {"blocked", "it cannot go on", false, TASK_BLOCKED},
	[VERDICT_DECIDE]      = {"decision", "it needs a decision", false, TASK_DECIDE},
	[VERDICT_LIMITED]     = {"rate limit", "the provider's limit was reached", true, TASK_READY},
	[VERDICT_CREDENTIAL]  = {"credential", "the provider does not accept the credential", true, TASK_READY},
	[VERDICT_BROKEN]      = {"not run", "the agent cannot be run", true, TASK_READY},
	[VERDICT_INTERRUPTED] = {"interrupted", "it was cut off", true, TASK_READY},
	[VERDICT_LOOSE]       = {"not committed", "it said done, and not all that was verified is committed", false, TASK_READY},
	[VERDICT_OUTAGE]      = {"outage", "the provider is not available", true, TASK_READY},
	[VERDICT_CHANGES]     = {"changes", "the reviewer asks for changes", true, TASK_READY},
};
static_assert(ARRAY_SIZE(rows) == VERDICT_N, "one row per verdict");

static const char *const ends[] = {
	[RUN_OK] = "ended in order",
	[RUN_FAILED] = "the agent failed",
	[RUN_EMPTY] = "the agent printed nothing",
	[RUN_SILENT] = "the agent said nothing for too long",
	[RUN_TOO_LONG] = "the iteration took too long",
	[RUN_LIMITED] = "the provider's limit was reached",
	[RUN_CREDENTIAL] = "the provider does not accept the credential",
	[RUN_NOT_STARTED] = "the agent cannot be run",
	[RUN_LOST] = "the sandbox ended under the agent",
	[RUN_STOPPED] = "the loop was stopped",
	[RUN_INTERRUPTED] = "ralph was ended meanwhile",
	[RUN_SPENT] = "it has spent what an iteration may",
	[RUN_OUTAGE] = "the provider is not available",
	[RUN_OVERTIME] = "the time of the loop is over",
};
static_assert(ARRAY_SIZE(ends) == RUN_END_N, "one text per end");
/* clang-format on */

/* The last message counts only for a run that ended normally. */
static enum verdict of_words(const struct facts *f)
{
	bool says_done = f->claims || f->last_words == LAST_WORDS_COMPLETE;

	if (f->last_words == LAST_WORDS_BLOCKED)
		return VERDICT_BLOCKED;
	if (f->last_words == LAST_WORDS_DECIDE)
		return VERDICT_DECIDE;
	if (f->rejected)
		return VERDICT_REJECTED;
	if (!says_done)
		return f->new_head || f->better ? VERDICT_PROGRESS : VERDICT_NO_PROGRESS;
	if (!f->verified)
		return VERDICT_UNVERIFIED;
	if (f->needs_commit && !f->committed)
		return VERDICT_NO_COMMIT;
	if (f->loose)
		return VERDICT_LOOSE;
	return f->review;
}

static enum verdict decide(const struct facts *f)
{
	switch (f->end) {
	case RUN_LIMITED:
		return VERDICT_LIMITED;
	case RUN_OUTAGE:
		return VERDICT_OUTAGE;
	case RUN_CREDENTIAL:
		return VERDICT_CREDENTIAL;
	case RUN_NOT_STARTED:
		return VERDICT_BROKEN;
	case RUN_STOPPED:
	case RUN_INTERRUPTED:
	case RUN_OVERTIME:
		return VERDICT_INTERRUPTED;
	case RUN_FAILED:
	case RUN_EMPTY:
	case RUN_SILENT:
	case RUN_TOO_LONG:
	case RUN_LOST:
	case RUN_SPENT:
		return f->rejected ? VERDICT_REJECTED : VERDICT_FAILED;
	case RUN_OK:
	case RUN_END_N:
		break;
	}
	return of_words(f);
}

/* Only what the host has seen is said of a task that is done. */
static const char *why_done(const struct facts *f)
{
	bool committed = f->committed || f->new_head;

	if (f->approved)
		return f->proved ? "verified, committed and approved"
				 : "committed and approved; no command verifies it";
	if (f->proved)
		return committed ? "verified and committed" : "verified";
	return committed ? "committed; no command verifies it"
			 : "the agent says so; no command verifies it";
}

static const char *why_of(enum verdict v, const struct facts *f)
{
	return v == VERDICT_DONE ? why_done(f) : v == VERDICT_FAILED ? ends[f->end] : rows[v].why;
}

void verdict_judge(const struct facts *f, struct judgement *ret)
{
	enum verdict v = decide(f);

	*ret = (struct judgement){
		.verdict = v,
		.progress = f->new_head || f->better || v == VERDICT_DONE || v == VERDICT_BLOCKED ||
			    v == VERDICT_DECIDE,
		.give_back = rows[v].give_back,
		.state = rows[v].state,
		.why = why_of(v, f),
	};
}

const char *verdict_name(enum verdict v)
{
	return rows[v].name;
}

bool verdict_gives_back(enum verdict v)
{
	return rows[v].give_back;
}

bool verdict_waits(enum verdict v)
{
	return v == VERDICT_LIMITED || v == VERDICT_OUTAGE;
}

const char *run_end_name(enum run_end e)
{
	return ends[e];
}
