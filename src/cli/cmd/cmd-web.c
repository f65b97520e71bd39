#include "cli/frame/command.h"
#include "cli/commands.h"
#include "cli/settings.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text/human.h"
#include "base/text/table.h"
#include "record/places.h"
#include "view/log-view.h"
#include "web/hand.h"
#include "web/web.h"

#define BACKLOG 64
#define SOCKET_NAME "web.sock"
#define TLS_MS 30000
#define TLS_SAID_MAX 4096

struct web_args {
	bool read_only, socket;
	uint64_t port;
	struct strv hosts;
	const char *from, *listen, *cert, *key;
};

#define AT(member) offsetof(struct web_args, member)

/* clang-format off */
static const struct opt web_opts[] = {
	{"port", 0, OPT_UINT, AT(port), "PORT", "of 127.0.0.1 (8400); 0: any that is free", .def = "8400", .max = 65535},
	{"socket", 0, OPT_BOOL, AT(socket), NULL, "listen on a socket in the runtime directory instead, for ssh -L"},
	{"host", 0, OPT_STRV, AT(hosts), "NAME", "also answer to this name, for a proxy in front"},
	{"listen", 0, OPT_STR, AT(listen), "ADDRESS", "listen on this address of the machine, with TLS"},
	{"cert", 0, OPT_STR, AT(cert), "FILE", "with --listen: your certificate, in PEM", .complete = COMPLETE_FILE},
	{"key", 0, OPT_STR, AT(key), "FILE", "with --cert: its key, in PEM", .complete = COMPLETE_FILE},
	{"read-only", 0, OPT_BOOL, AT(read_only), NULL, "every session may look, and do nothing"},
	{"from", 0, OPT_STR, AT(from), "FILE", "show a saved state", .flags = OPT_HIDDEN, .complete = COMPLETE_FILE},
};
/* clang-format on */

/* address: a numeric one; NULL: 127.0.0.1, the only one without TLS. */
static int listen_port(const char *address, uint64_t port, int *ret, char **ret_url,
		       struct err *err)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} sa = {.v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)}};
	socklen_t len = sizeof(sa.v4);
	cleanup_fd int fd = -1;
	const int on = 1;
	bool v6 = false;

	if (inet_pton(AF_INET, address ? address : "127.0.0.1", &sa.v4.sin_addr) != 1) {
		sa.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					      .sin6_port = htons((uint16_t)port)};
		len = sizeof(sa.v6);
		v6 = true;
		if (inet_pton(AF_INET6, address, &sa.v6.sin6_addr) != 1)
			return err_usage(err,
					 "--listen takes an address, such as 192.168.1.2 or ::");
	}
	fd = socket(sa.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return err_sys(err, errno, "cannot make a socket");
	if (bind(fd, &sa.any, len) < 0 || listen(fd, BACKLOG) < 0)
		return err_hint(err,
				err_sys(err, errno, "cannot listen on %s, port %llu",
					address ? address : "127.0.0.1", (unsigned long long)port),
				"choose another with --port");
	if (getsockname(fd, &sa.any, &len) < 0)
		return err_sys(err, errno, "cannot read the port");
	*ret_url = xasprintf("%s://%s%s%s:%u/", address ? "https" : "http", v6 ? "[" : "",
			     address ? address : "127.0.0.1", v6 ? "]" : "",
			     ntohs(v6 ? sa.v6.sin6_port : sa.v4.sin_port));
	*ret = take_fd(fd);
	return 0;
}

/* The directory is private to this user, and the socket is born with a mode that says so too. */
static int listen_socket(const struct places *p, int *ret, char **ret_path, struct err *err)
{
	cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	cleanup_free char *path = path_join(p->runtime, SOCKET_NAME),
			  *parent = path_dir(p->runtime);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	mode_t before;
	int r = path_mkdirs(parent, 0700, err);

	if (r == 0)
		r = path_private_dir(p->runtime, err);
	if (r < 0)
		return r;
	if (fd < 0)
		return err_sys(err, errno, "cannot make a socket");
	if (strlen(path) >= sizeof(sa.sun_path))
		return err_set(err, ENAMETOOLONG, "the path '%s' is too long for a socket", path);
	memcpy(sa.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 || errno == EAGAIN)
		return err_set(err, EBUSY, "a server runs already; see: ralph web sessions");
	(void)unlink(path);
	before = umask(0177);
	r = bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 || listen(fd, BACKLOG) < 0 ? -errno
											: 0;
	(void)umask(before);
	if (r < 0)
		return err_sys(err, -r, "cannot listen on '%s'", path);
	*ret = take_fd(fd);
	*ret_path = take_ptr(path);
	return 0;
}

struct tls_files {
	char *cert, *key;
};

static void tls_files_done(struct tls_files *t)
{
	free(t->cert);
	free(t->key);
}

static int ask_tls(const struct places *p, const struct strv *words, struct err *err)
{
	cleanup_free char *program = places_program(p, "web-tls"), *out = NULL;
	cleanup_strv struct strv argv = {0};
	struct run run = RUN_INIT;
	int code = 0, r;

	strv_push(&argv, program);
	strv_extend(&argv, words);
	run.argv = argv.v;
	run.stdio[2] = STDERR_FILENO;
	r = run_collect(&run, TLS_MS, TLS_SAID_MAX, &out, &code, err);
	if (r == 0 && code != 0)
		return err_set(err, EINVAL, "the certificate cannot be used");
	if (r == 0)
		(void)printf("certificate, SHA-256: %s", out);
	return r;
}

/* The user's certificate, or one of ralph's own in STATE/web, which stays the same. */
static int find_tls(const struct places *p, const struct web_args *args, struct tls_files *ret,
		    struct err *err)
{
	cleanup_free char *dir = path_join(p->state, "web");
	cleanup_strv struct strv words = {0};
	int r = path_mkdirs(dir, 0700, err);

	if (args->cert) {
		strv_push(&words, "show");
		strv_push(&words, args->cert);
		ret->cert = xstrdup(args->cert);
		ret->key = xstrdup(args->key);
	} else {
		strv_push(&words, "make");
		strv_push(&words, dir);
		if (!streq(args->listen, "0.0.0.0") && !streq(args->listen, "::"))
			strv_push(&words, args->listen);
		strv_extend(&words, &args->hosts);
		ret->cert = path_join(dir, "cert.pem");
		ret->key = path_join(dir, "key.pem");
	}
	return r < 0 ? r : ask_tls(p, &words, err);
}

/* Whatever --listen names is a name of this server too. */
static void put_hosts(const struct web_args *args, struct strv *ret)
{
	strv_extend(ret, &args->hosts);
	if (args->listen)
		strv_push(ret, args->listen);
}

static int check_words(struct cli *cli, const struct web_args *args)
{
	if (args->listen && args->socket)
		return cli_usage(cli, "--listen and --socket exclude each other");
	if ((args->cert || args->key) && !args->listen)
		return cli_usage(cli, "--cert and --key go with --listen");
	if (!args->cert != !args->key)
		return cli_usage(cli, "--cert and --key go together");
	return 0;
}

static void print_link(const char *link)
{
	(void)printf("open within 10 minutes, once: %s\n", link);
	(void)fflush(stdout);
}

static int serve(struct cli *cli, const struct web_args *args)
{
	cleanup_(settings_done) struct settings s = {0};
	cleanup_free char *url = NULL, *path = NULL, *inbox = NULL;
	cleanup_(tls_files_done) struct tls_files tls = {0};
	cleanup_strv struct strv hosts = {0};
	cleanup_fd int listener = -1;
	struct hand_options o = {.places = &s.places,
				 .hosts = &hosts,
				 .from = args->from,
				 .most = args->read_only ? LEVEL_LOOK : LEVEL_GRANT,
				 .ready = print_link};
	/* The settings of a project have no say in what the page shows of all of them. */
	int r = check_words(cli, args);

	if (r == 0)
		r = settings_load(cli, "/", &s);
	put_hosts(args, &hosts);

	if (r == 0 && args->socket)
		r = listen_socket(&s.places, &listener, &path, &cli->err);
	else if (r == 0)
		r = listen_port(args->listen, args->port, &listener, &url, &cli->err);
	if (r == 0 && args->listen)
		r = find_tls(&s.places, args, &tls, &cli->err);
	if (r < 0)
		return r;
	if (path) {
		url = xasprintf("http://127.0.0.1:%d/", WEB_PORT);
		(void)printf("on your other machine: ssh -N -L %d:%s %s\n", WEB_PORT, path,
			     "THIS-HOST");
	}
	inbox = places_inbox(&s.places, s.config->inbox.dir);
	o.inbox = inbox;
	o.cert = tls.cert;
	o.key = tls.key;
	o.listener = listener;
	o.url = url;
	r = hand_serve(&o, &cli->err);
	if (path)
		(void)unlink(path);
	return r;
}

static int no_server(struct cli *cli, int r)
{
	return r < 0 ? r : err_set(&cli->err, ESRCH, "no server runs; start one with: ralph web");
}

static int print_sessions(struct cli *cli)
{
	static const struct table_column columns[] = {
		{"ID", .keep = true}, {"LEVEL", .keep = true}, {"SINCE", .keep = true}, {"IDLE"}};
	cleanup_(table_freep) struct table *t = table_new(columns, ARRAY_SIZE(columns));
	cleanup_(places_done) struct places p = {0};
	cleanup_json json_t *j = NULL;
	json_t *row;
	size_t i;
	int r = places_find(&p, &cli->err);

	if (r == 0)
		r = hand_sessions(&p, &j, &cli->err);
	if (r <= 0)
		return no_server(cli, r);
	json_array_foreach (json_object_get(j, "sessions"), i, row) {
		cleanup_free char *idle = human_span((uint64_t)log_number(row, "idle"));
		time_t at = (time_t)log_number(row, "since");
		char when[40] = "";
		struct tm tm;

		if (localtime_r(&at, &tm))
			(void)strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
		table_cell(t, log_text(row, "id"));
		table_cell(t, log_text(row, "level"));
		table_cell(t, when);
		table_cell(t, idle);
	}
	table_print(t, stdout, term_width(STDOUT_FILENO), cli_color(cli, STDOUT_FILENO));
	return 0;
}

static int end_sessions(struct cli *cli, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	int r = places_find(&p, &cli->err);

	if (argc == 0)
		return cli_usage(cli, "name a session; see: ralph web sessions");
	for (int i = 0; r >= 0 && i < argc; i++) {
		cleanup_json json_t *j = NULL;

		r = hand_revoke(&p, argv[i], &j, &cli->err);
		if (r == 0)
			return no_server(cli, r);
		if (r > 0)
			(void)puts(argv[i]);
	}
	return r < 0 ? r : 0;
}

static int print_new_link(struct cli *cli, int argc, char **argv)
{
	cleanup_(places_done) struct places p = {0};
	cleanup_json json_t *j = NULL;
	enum web_level level = argc ? level_of(argv[0]) : LEVEL_GRANT;
	int r = places_find(&p, &cli->err);

	if (argc > 1 || level == LEVEL_N)
		return cli_usage(cli, "a link is for one of: look, steer, grant");
	if (r == 0)
		r = hand_link(&p, level, &j, &cli->err);
	if (r <= 0)
		return no_server(cli, r);
	print_link(log_text(j, "link"));
	return 0;
}

static int cmd_web_run(struct cli *cli, void *args_, int argc, char **argv)
{
	if (argc == 0)
		return serve(cli, args_);
	if (streq(argv[0], "sessions") && argc == 1)
		return print_sessions(cli);
	if (streq(argv[0], "revoke"))
		return end_sessions(cli, argc - 1, argv + 1);
	if (streq(argv[0], "link"))
		return print_new_link(cli, argc - 1, argv + 1);
	return cli_usage(cli, "'%s' is none of: sessions, revoke, link", argv[0]);
}

static const char *const web_words[] = {"sessions", "revoke", "link", NULL};

const struct command cmd_web = {
	.name = "web",
	.operands = "[sessions | revoke ID… | link [look|steer|grant]]",
	.summary = "watch and steer from a browser",
	.details = "Serves a page on 127.0.0.1 until Ctrl-C, and prints a link that works once.\n"
		   "The page shows loops, sandboxes, refusals, events, usage and the quarantine,\n"
		   "and runs a fixed set of ralph's commands, each of which it shows.\n"
		   "\n"
		   "'sessions' lists who is logged in, 'revoke' ends a session, 'link' makes\n"
		   "another link: to look, to steer (answer, pause, stop, deny), or to grant\n"
		   "(allow, release, resume) as well.",
	.group = GROUP_MANAGE,
	OPTIONS(web_opts, struct web_args),
	.max_operands = OPERANDS_ANY,
	.words = web_words,
	.run = cmd_web_run,
};
