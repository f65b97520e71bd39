#include "engine/doctor-rows.h"

#include <stdarg.h>

#include "base/mem.h"

void doctor_rows_add(struct doctor_rows *d, const char *name, enum doctor_state state,
		     const char *use, const char *remedy, const char *fmt, ...)
{
	va_list ap;

	if (d->n == DOCTOR_ROWS_MAX)
		return;
	va_start(ap, fmt);
	d->v[d->n++] = (struct doctor_row){
		.name = name,
		.state = state,
		.detail = xvasprintf(fmt, ap),
		.use = xstrdup(use),
		.remedy = remedy ? xstrdup(remedy) : NULL,
	};
	va_end(ap);
}

void doctor_rows_done(struct doctor_rows *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].detail);
		free(d->v[i].use);
		free(d->v[i].remedy);
	}
	*d = (struct doctor_rows){0};
}
