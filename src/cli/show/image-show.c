#include "cli/show/image-show.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/text/term.h"

void image_show_init(struct image_show *s)
{
	const char *term = getenv("TERM");

	*s = (struct image_show){
		.terminal = isatty(STDERR_FILENO) && term && *term && !streq(term, "dumb") &&
			    log_enabled(LOG_INFO),
	};
}

static void clear_line(struct image_show *s)
{
	if (s->open)
		(void)fputs("\r\033[K", stderr);
	s->open = false;
}

void image_show_done(struct image_show *s)
{
	clear_line(s);
	(void)fflush(stderr);
	free(s->step);
	s->step = NULL;
}

static char *words(const struct image_show *s, const struct image_step *step)
{
	switch (step->kind) {
	case IMAGE_WAIT:
		return xasprintf("another ralph builds the image for %s; waiting for it",
				 step->text);
	case IMAGE_PULL:
		return xasprintf("pulling %s", step->text);
	case IMAGE_BUILD:
		return xasprintf("building %s", step->text);
	case IMAGE_STEP:
		return xasprintf("step %u/%u: %s", step->at, step->of, step->text);
	case IMAGE_DONE:
		return xasprintf("built %s", step->text);
	case IMAGE_WARN:
		break;
	}
	return xstrdup(step->text);
}

/* The builder says again and again which step it is at. */
static bool is_news(const struct image_show *s, const struct image_step *step)
{
	return step->kind != IMAGE_STEP || !s->step || s->at != step->at || s->of != step->of ||
	       !streq(s->step, step->text);
}

static void begin_step(struct image_show *s, const struct image_step *step)
{
	free(s->step);
	s->step = xstrdup(step->text);
	s->at = step->at;
	s->of = step->of;
	s->step_from = now_ms();
}

static void show_line(struct image_show *s, const struct image_step *step, const char *text)
{
	cleanup_free char *safe = term_escape(text), *time = NULL;
	uint64_t seconds = step->kind == IMAGE_STEP ? (now_ms() - s->step_from) / 1000 : 0;
	size_t room = term_width(STDERR_FILENO);

	time = seconds ? xasprintf(" (%llu s)", (unsigned long long)seconds) : xstrdup("");
	room = room ? room : 80;
	/* The last column stays free: a full line would wrap, and could not be taken back. */
	room -= room > strlen(time) + 8 ? strlen(time) + 8 : room - 1;
	clear_line(s);
	(void)fprintf(stderr, "image: %.*s%s", (int)term_fit(safe, room), safe, time);
	(void)fflush(stderr);
	s->open = true;
}

void image_show_step(void *show, const struct image_step *step)
{
	struct image_show *s = show;
	bool news = is_news(s, step);
	cleanup_free char *text = words(s, step);

	if (news && step->kind == IMAGE_STEP)
		begin_step(s, step);
	if (step->kind == IMAGE_WARN) {
		clear_line(s);
		log_warn("image", "%s", text);
	} else if (s->terminal) {
		show_line(s, step, text);
	} else if (news) {
		log_info("image", "%s", text);
	}
}
