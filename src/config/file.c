#include "config/file.h"

#include <cyaml/cyaml.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/path.h"

/* The libcyaml schema of a file, made from the table of keys. All values are read as text: what
 * libcyaml takes for a number (octal, hexadecimal, signs) is not what ralph does. */
struct schema {
	struct cyaml_schema_value word, mount, rule, credential, root;
	struct cyaml_schema_field mount_fields[MOUNT_FIELDS_N + 1];
	struct cyaml_schema_field rule_fields[RULE_FIELDS_N + 1];
	struct cyaml_schema_field provider_fields[PROVIDER_FIELDS_N + 1];
	struct cyaml_schema_field credential_fields[CREDENTIAL_FIELDS_N + 1];
	struct cyaml_schema_field top[KEY_N + 1];
	struct cyaml_schema_field leaves[2 * KEY_N]; /* each section's, ended by an empty one */
	char sections[KEY_N][16];
};

static void add_word(struct cyaml_schema_field *f, const char *key, size_t offset)
{
	*f = (struct cyaml_schema_field){
		.key = key,
		.data_offset = (uint32_t)offset,
		.value = {CYAML_VALUE_STRING(CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, char, 0,
					     CYAML_UNLIMITED)},
	};
}

static void add_list(struct cyaml_schema_field *f, const char *key, size_t offset,
		     size_t count_offset, const struct cyaml_schema_value *entry, size_t size)
{
	*f = (struct cyaml_schema_field){
		.key = key,
		.data_offset = (uint32_t)offset,
		.count_offset = (uint32_t)count_offset,
		.count_size = sizeof(uint64_t),
		.value = {.type = CYAML_SEQUENCE,
			  .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			  .data_size = (uint32_t)size,
			  .sequence = {.entry = entry, .min = 0, .max = CONFIG_LIST_MAX}},
	};
}

static void add_fields(struct schema *s, struct cyaml_schema_field *to, enum key_type type)
{
	size_t n;
	const struct key_field *fields = key_fields(type, &n);

	for (size_t i = 0; i < n; i++) {
		size_t at = fields[i].offset;

		if (fields[i].list)
			add_list(&to[i], fields[i].name, at + offsetof(struct raw_list, v),
				 at + offsetof(struct raw_list, n), &s->word, sizeof(char *));
		else
			add_word(&to[i], fields[i].name, at);
	}
}

static struct cyaml_schema_value mapping(enum cyaml_flag flags, size_t size,
					 const struct cyaml_schema_field *fields)
{
	return (struct cyaml_schema_value){
		.type = CYAML_MAPPING,
		.flags = flags,
		.data_size = (uint32_t)size,
		.mapping = {.fields = fields},
	};
}

static void add_key(struct schema *s, struct cyaml_schema_field *f, enum key_id id)
{
	const struct key *k = &keys[id];
	size_t at = (size_t)id * sizeof(struct raw_value);
	size_t items = at + offsetof(struct raw_value, items);
	size_t count = at + offsetof(struct raw_value, n);

	if (k->type == KEY_LIST)
		add_list(f, key_leaf(k), items, count, &s->word, sizeof(char *));
	else if (k->type == KEY_MOUNT)
		add_list(f, key_leaf(k), items, count, &s->mount, sizeof(struct raw_mount));
	else if (k->type == KEY_RULE)
		add_list(f, key_leaf(k), items, count, &s->rule, sizeof(struct raw_rule));
	else if (k->type == KEY_CREDENTIAL)
		add_list(f, key_leaf(k), items, count, &s->credential,
			 sizeof(struct raw_credential));
	else if (k->type == KEY_PROVIDER)
		*f = (struct cyaml_schema_field){
			.key = key_leaf(k),
			.data_offset = (uint32_t)items,
			.value = mapping(CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
					 sizeof(struct raw_provider), s->provider_fields),
		};
	else
		add_word(f, key_leaf(k), at + offsetof(struct raw_value, scalar));
}

/* The keys of a section stand together in the table; all of a file's values lie in one array, so a
 * section is a mapping that begins where the array does. */
static struct schema *schema_new(void)
{
	const size_t all = KEY_N * sizeof(struct raw_value);
	struct schema *s = xcalloc(1, sizeof(*s));
	struct cyaml_schema_field *top = s->top, *leaf = s->leaves;

	s->word = (struct cyaml_schema_value){
		CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};
	s->mount = mapping(CYAML_FLAG_DEFAULT, sizeof(struct raw_mount), s->mount_fields);
	s->rule = mapping(CYAML_FLAG_DEFAULT, sizeof(struct raw_rule), s->rule_fields);
	s->root = mapping(CYAML_FLAG_POINTER, all, s->top);
	add_fields(s, s->mount_fields, KEY_MOUNT);
	add_fields(s, s->rule_fields, KEY_RULE);
	s->credential =
		mapping(CYAML_FLAG_DEFAULT, sizeof(struct raw_credential), s->credential_fields);
	add_fields(s, s->provider_fields, KEY_PROVIDER);
	add_fields(s, s->credential_fields, KEY_CREDENTIAL);
	for (enum key_id id = 0; id < KEY_N;) {
		const char *name = keys[id].name;
		size_t len = key_section(&keys[id]);

		if (len == 0) {
			add_key(s, top++, id++);
			continue;
		}
		(void)snprintf(s->sections[id], sizeof(s->sections[id]), "%.*s", (int)len, name);
		top->key = s->sections[id];
		top->value = mapping(CYAML_FLAG_OPTIONAL, all, leaf);
		top++;
		while (id < KEY_N && strncmp(keys[id].name, name, len + 1) == 0)
			add_key(s, leaf++, id++);
		leaf++;
	}
	return s;
}

static const struct cyaml_config cyaml_conf = {
	.mem_fn = cyaml_mem,
	.flags = CYAML_CFG_NO_ALIAS,
};

struct config_file *config_file_free(struct config_file *f)
{
	if (!f)
		return NULL;
	if (f->values)
		(void)cyaml_free(&cyaml_conf, &f->schema->root, f->values, 0);
	marks_done(&f->marks);
	free(f->schema);
	free(f->name);
	free(f);
	return NULL;
}

int config_file_parse(const char *name, const char *text, size_t len, struct config_file **ret,
		      struct err *err)
{
	cleanup_(config_file_freep) struct config_file *f = xcalloc(1, sizeof(*f));
	bool empty = true;
	cyaml_err_t c;
	int r;

	f->name = xstrdup(name);
	r = scan_yaml(name, text, len, &f->marks, &empty, err);
	if (r < 0)
		return r;
	if (!empty) {
		f->schema = schema_new();
		c = cyaml_load_data((const uint8_t *)text, len, &cyaml_conf, &f->schema->root,
				    (cyaml_data_t **)&f->values, NULL);
		/* The scan let it pass, so whatever is wrong has no better place than the file. */
		if (c != CYAML_OK)
			return err_usage(err, "%s:1:1: cannot be read: %s; simplify the file", name,
					 cyaml_strerror(c));
	}
	*ret = take_ptr(f);
	return 0;
}

/* <project>/.ralph/config.yaml lies in a tree that others write: only the project's own path, which
 * the user named, may lead over links. */
static int open_hostile(const char *path)
{
	cleanup_free char *dir = path_dir(path), *project = path_dir(dir);
	cleanup_free char *name = xasprintf("%s/%s", path_base(dir), path_base(path));
	cleanup_fd int dirfd = open(project, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dirfd < 0)
		return -errno;
	return path_open_beneath(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
}

static int read_bytes(const char *path, enum config_file_flags flags, struct buf *ret,
		      bool *ret_there, struct err *err)
{
	cleanup_fd int fd = -1;
	struct stat st;
	int r;

	*ret_there = false;
	if (flags & CONFIG_FILE_HOSTILE) {
		fd = open_hostile(path);
		if (fd == -ELOOP)
			return err_usage(err,
					 "%s: is or lies behind a symbolic link; "
					 "a project's own file must be a plain one",
					 path);
	} else {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		fd = fd < 0 ? -errno : fd;
	}
	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	if (fd < 0)
		return err_sys(err, -fd, "cannot open '%s'", path);
	if (fstat(fd, &st) < 0)
		return err_sys(err, errno, "cannot look at '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_usage(err, "%s: is not a regular file; remove it", path);
	r = fd_read_all(fd, ret);
	if (r == -ENOBUFS)
		return err_usage(err, "%s: is larger than %zu KiB; shorten it", path,
				 ret->max / KiB);
	if (r < 0)
		return err_sys(err, -r, "cannot read '%s'", path);
	*ret_there = true;
	return 0;
}

int config_project_read(const char *path, struct buf *ret, bool *ret_there, struct err *err)
{
	return read_bytes(path, CONFIG_FILE_HOSTILE, ret, ret_there, err);
}

int config_file_read(const char *path, enum config_file_flags flags, struct config_file **ret,
		     struct err *err)
{
	cleanup_buf struct buf b;
	bool there;
	int r;

	buf_init(&b, CONFIG_FILE_MAX);
	*ret = NULL;
	r = read_bytes(path, flags, &b, &there, err);
	return r < 0 || !there ? r : config_file_parse(path, buf_str(&b), b.len, ret, err);
}
