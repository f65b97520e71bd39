#include "fuzz.h"

#include "transcript/writers.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* A transcript of AGENT's, written in all formats. Whatever is in it, reading does not fail. */
static void export_as(const struct tr_format *f, int in, int out)
{
	static const struct strv none;
	const struct tr_style style = {.thinking = true, .result_max = 256};
	const struct tr_source source = {.agent = AGENT, .file = "-", .links = &none};
	struct err err = {0};
	struct tr_out o;
	struct tr t = {0};

	if (lseek(in, 0, SEEK_SET) < 0)
		abort();
	tr_out_init(&o, out, NULL);
	t.writer = f->begin(&o, &style);
	if (tr_read(&t, tr_reader_find(AGENT), in, &err) < 0)
		abort();
	f->end(t.writer);
	f->head(&o, &t.head, &source);
	if (f->foot)
		f->foot(&o, &source);
	if (tr_out_done(&o) < 0)
		abort();
	tr_done(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int in = -1, out = -1;

	if (in < 0) {
		in = memfd_create("transcript", MFD_CLOEXEC);
		out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	}
	if (ftruncate(in, 0) < 0 || pwrite(in, data, size, 0) != (ssize_t)size)
		abort();
	export_as(&tr_markdown, in, out);
	export_as(&tr_json, in, out);
	export_as(&tr_html, in, out);
	return 0;
}
