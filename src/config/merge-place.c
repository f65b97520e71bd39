#include "config/merge.h"

#include <string.h>

#include "base/parse.h"

void config_place_done(struct config_place *p)
{
	free(p->name);
	free(p->egress);
	free(p->dial);
	strv_done(&p->command);
	strv_done(&p->reap);
	strv_done(&p->hosts);
	strv_done(&p->pass);
	*p = (struct config_place){0};
}

static const struct {
	enum place_field field;
	size_t offset;
	const char *(*check)(const char *s);
	const char *name;
	enum { TEXT, LIST, NUMBER } type;
} members[] = {
#define AT(member) offsetof(struct config_place, member)
	{PLACE_COMMAND, AT(command), check_place_word, "fleet.places.command", LIST},
	{PLACE_REAP, AT(reap), check_place_word, "fleet.places.reap", LIST},
	{PLACE_HOSTS, AT(hosts), check_place_host, "fleet.places.hosts", LIST},
	{PLACE_PASS, AT(pass), check_env_name, "fleet.places.pass", LIST},
	{PLACE_EGRESS, AT(egress), check_egress, "fleet.places.egress", TEXT},
	{PLACE_DIAL, AT(dial), check_dial, "fleet.places.dial", TEXT},
	{PLACE_SLOTS, AT(slots), check_place_slots, "fleet.places.slots", NUMBER},
#undef AT
};

static int take_word(struct merge *m, const struct config_file *f, size_t i,
		     const struct scan_value *from, void *to)
{
	struct merge_place at = merge_in_file(f, from);
	int r = merge_check(m, members[i].check, from->text, &at, members[i].name);

	if (r < 0)
		return r;
	if (members[i].type == LIST)
		strv_push(to, from->text);
	else if (members[i].type == NUMBER)
		(void)parse_uint(from->text, 0, UINT64_MAX, to);
	else
		*(char **)to = xstrdup(from->text);
	return 0;
}

static int take_members(struct merge *m, const struct config_file *f,
			const struct scan_value *entry, struct config_place *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(members); i++) {
		const struct scan_value *from = &entry->v[members[i].field];
		void *to = (char *)p + members[i].offset;

		for (size_t k = 0; members[i].type == LIST && r == 0 && k < from->n; k++)
			r = take_word(m, f, i, &from->v[k], to);
		if (r == 0 && members[i].type != LIST && from->text)
			r = take_word(m, f, i, from, to);
	}
	return r;
}

static int check_whole(struct merge *m, const struct config_file *f, const struct scan_value *entry,
		       const struct config_place *p)
{
	struct merge_place at = merge_in_file(f, &entry->v[PLACE_COMMAND]);
	bool host = false;

	if (p->command.n == 0 || !*p->command.v[0])
		return merge_fail_at(m->err, err_usage(m->err, "names no program; give one"), &at,
				     "fleet.places.command");
	for (size_t i = 0; i < p->command.n; i++)
		host = host || strstr(p->command.v[i], "{host}");
	if (host && p->hosts.n == 0)
		return merge_fail_at(m->err,
				     err_usage(m->err, "has {host}, and there are no hosts; add "
						       "'hosts: [NAME]'"),
				     &at, "fleet.places.command");
	return 0;
}

int merge_config_place(struct merge *m, const struct config_file *f, const struct scan_value *entry)
{
	struct config *c = m->c;
	struct config_place p = {0};
	struct merge_place at = merge_in_file(f, entry);
	size_t i = 0;
	int r = merge_check(m, check_place, entry->text, &at, keys[KEY_FLEET_PLACES].name);

	if (r == 0 && !*entry->text)
		r = merge_fail_at(m->err, err_usage(m->err, "a placement has no name; give one"),
				  &at, keys[KEY_FLEET_PLACES].name);
	if (r == 0)
		r = take_members(m, f, entry, &p);
	if (r == 0)
		r = check_whole(m, f, entry, &p);
	if (r < 0) {
		config_place_done(&p);
		return r;
	}
	p.name = xstrdup(entry->text);
	while (i < c->fleet.n_places && !streq(c->fleet.places[i].name, p.name))
		i++;
	if (i == c->fleet.n_places)
		c->fleet.places =
			xrealloc(c->fleet.places, ++c->fleet.n_places, sizeof(*c->fleet.places));
	else
		config_place_done(&c->fleet.places[i]);
	c->fleet.places[i] = p;
	merge_item_origin(m, KEY_FLEET_PLACES, i, &at);
	return 0;
}
