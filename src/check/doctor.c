#include "check/doctor.h"

#include "engine/engine.h"

static const char *const state_names[DOCTOR_STATE_N] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_LIMITED] = "limited",
	[DOCTOR_MISSING] = "missing",
};

const char *doctor_state_name(enum doctor_state s)
{
	return state_names[s];
}

int doctor_examine(struct doctor *ret, struct err *err)
{
	struct doctor d = {0};
	int r = engine_doctor("native", &d.rows, &d.native, err);

	if (r < 0)
		doctor_done(&d);
	else
		*ret = d;
	return r;
}

void doctor_done(struct doctor *d)
{
	doctor_rows_done(&d->rows);
	*d = (struct doctor){0};
}

json_t *doctor_to_json(const struct doctor *d)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < d->rows.n; i++) {
		const struct doctor_row *row = &d->rows.v[i];

		(void)json_array_append_new(
			rows,
			json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", row->name, "state",
				  doctor_state_name(row->state), "detail", json_text(row->detail),
				  "use", json_text(row->use), "remedy",
				  row->remedy ? json_text(row->remedy) : json_null()));
	}
	return json_pack("{s:b, s:o}", "native", d->native, "checks", rows);
}
