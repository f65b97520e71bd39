#include "cli/terminal/screen.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/text/signs.h"

#define ROW_MAX (16 * KiB)
#define OUT_MAX (SCREEN_ROWS_MAX * ROW_MAX)

static const char enter[] = "\x1b[?1049h\x1b[?25l\x1b[0m\x1b[2J";
static const char leave[] = "\x1b[0m\x1b[?25h\x1b[?1049l";

struct row {
	struct buf now, shown;
	bool set; /* in this round */
};

struct screen {
	int in, out;
	bool color, all; /* all: what is on the terminal is not known */
	unsigned rows, columns;
	struct row row[SCREEN_ROWS_MAX];
	struct row *at; /* the row being filled; NULL: none */
	unsigned used;	/* columns of it */
	bool selected;
	struct termios before;
};

/* For the handlers, which have no argument. */
static struct {
	volatile sig_atomic_t taken;
	int in, out;
	struct termios before;
} terminal;

static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

/* Async-signal-safe: write(2) and tcsetattr(3) are. */
static void give_back(void)
{
	if (!terminal.taken)
		return;
	terminal.taken = 0;
	(void)!write(terminal.out, leave, sizeof(leave) - 1);
	(void)tcsetattr(terminal.in, TCSANOW, &terminal.before);
}

/* SA_RESETHAND: raised again, it ends the process as it would have. */
static void on_crash(int sig)
{
	give_back();
	(void)raise(sig);
}

static void catch_crashes(void)
{
	struct sigaction sa = {.sa_handler = on_crash, .sa_flags = SA_RESETHAND | SA_NODEFER};

	(void)sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		(void)sigaction(crashes[i], &sa, NULL);
}

int screen_open(int in, int out, bool color, struct screen **ret, struct err *err)
{
	struct termios raw;
	struct screen *s;

	if (!isatty(in) || !isatty(out) || tcgetattr(in, &terminal.before) < 0)
		return err_set(err, ENOTTY,
			       "this needs a terminal; for scripts there is: ralph status --json");
	s = xcalloc(1, sizeof(*s));
	s->in = in;
	s->out = out;
	s->color = color;
	s->all = true;
	s->before = terminal.before;
	for (size_t i = 0; i < SCREEN_ROWS_MAX; i++) {
		buf_init(&s->row[i].now, ROW_MAX);
		buf_init(&s->row[i].shown, ROW_MAX);
	}
	raw = s->before;
	/* Keys one by one, ^C among them; output stays as it is. */
	raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO | ISIG | IEXTEN);
	raw.c_iflag &= (tcflag_t) ~(IXON | ICRNL | INLCR);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	terminal.in = in;
	terminal.out = out;
	terminal.taken = 1;
	catch_crashes();
	(void)tcsetattr(in, TCSANOW, &raw);
	(void)fd_write_all(out, enter, sizeof(enter) - 1);
	*ret = s;
	return 0;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	give_back();
	for (size_t i = 0; i < SCREEN_ROWS_MAX; i++) {
		buf_done(&s->row[i].now);
		buf_done(&s->row[i].shown);
	}
	free(s);
}

void screen_redraw(struct screen *s)
{
	s->all = true;
}

void screen_size(struct screen *s, unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize ws = {0};
	unsigned rows = 24, columns = 80;

	if (ioctl(s->out, TIOCGWINSZ, &ws) == 0 && ws.ws_row && ws.ws_col) {
		rows = ws.ws_row < SCREEN_ROWS_MAX ? ws.ws_row : SCREEN_ROWS_MAX;
		columns = ws.ws_col < SCREEN_COLUMNS_MAX ? ws.ws_col : SCREEN_COLUMNS_MAX;
	}
	if (rows != s->rows || columns != s->columns)
		s->all = true;
	s->rows = rows;
	s->columns = columns;
	*ret_rows = rows;
	*ret_columns = columns;
}

static void put(struct screen *s, const char *text, size_t n)
{
	(void)buf_append(&s->at->now, text, n);
}

static void put_str(struct screen *s, const char *text)
{
	put(s, text, strlen(text));
}

static void put_blanks(struct screen *s, unsigned n)
{
	while (n--)
		put(s, " ", 1);
}

/* A selected row is a bar over the whole width. */
static void end_row(struct screen *s)
{
	if (!s->at)
		return;
	if (s->selected) {
		put_blanks(s, s->columns - s->used);
		put_str(s, "\x1b[0m");
	}
	s->at = NULL;
}

void screen_row(struct screen *s, unsigned row, bool selected)
{
	end_row(s);
	if (row >= s->rows)
		return;
	s->at = &s->row[row];
	buf_clear(&s->at->now);
	s->at->set = true;
	s->used = 0;
	s->selected = selected;
	if (selected)
		put_str(s, "\x1b[7m");
}

unsigned screen_left(const struct screen *s)
{
	return s->at ? s->columns - s->used : 0;
}

/* Returns as much of the text as fits, with "…" if there is more; the caller frees it. */
static char *fitted(const char *text, unsigned width)
{
	cleanup_free char *safe = term_escape(text ? text : "");
	cleanup_buf struct buf plain;

	buf_init(&plain, ROW_MAX);
	if (signs_are_ascii()) {
		signs_put(&plain, safe, strlen(safe));
		free(safe);
		safe = xstrdup(buf_str(&plain));
	}
	if (term_columns(safe) <= width)
		return take_ptr(safe);
	return xasprintf("%.*s%s", (int)term_fit(safe, width - 1), safe, signs_cut());
}

void screen_cell(struct screen *s, unsigned width, enum term_style style, enum screen_align align,
		 const char *text)
{
	cleanup_free char *safe = NULL;
	bool styled = s->color && style != STYLE_NONE && !s->selected;
	unsigned columns;

	if (width > screen_left(s))
		width = screen_left(s);
	if (!width)
		return;
	safe = fitted(text, width);
	columns = (unsigned)term_columns(safe);
	if (align == SCREEN_RIGHT)
		put_blanks(s, width - columns);
	put_str(s, term_on(styled, style));
	put_str(s, safe);
	put_str(s, term_off(styled));
	if (align != SCREEN_RIGHT)
		put_blanks(s, width - columns);
	s->used += width;
}

void screen_cellf(struct screen *s, unsigned width, enum term_style style, enum screen_align align,
		  const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	screen_cell(s, width, style, align, text);
}

void screen_clear(struct screen *s, unsigned from)
{
	for (unsigned i = from; i < s->rows; i++)
		screen_row(s, i, false);
	end_row(s);
}

static bool is_shown(const struct row *r)
{
	return r->now.len == r->shown.len &&
	       (r->now.len == 0 || memcmp(r->now.data, r->shown.data, r->now.len) == 0);
}

int screen_flush(struct screen *s)
{
	cleanup_buf struct buf b;

	buf_init(&b, OUT_MAX);
	end_row(s);
	if (s->all)
		(void)buf_puts(&b, "\x1b[0m\x1b[2J");
	for (unsigned i = 0; i < s->rows; i++) {
		struct row *r = &s->row[i];

		if (!s->all && is_shown(r))
			continue;
		/* A row that ends at the edge leaves nothing to erase, and the erasing would take
		 * its last column. */
		(void)buf_printf(&b, "\x1b[%u;1H\x1b[2K", i + 1);
		(void)buf_append(&b, buf_str(&r->now), r->now.len);
		buf_clear(&r->shown);
		(void)buf_append(&r->shown, buf_str(&r->now), r->now.len);
	}
	s->all = false;
	return b.len ? fd_write_all(s->out, b.data, b.len) : 0;
}
