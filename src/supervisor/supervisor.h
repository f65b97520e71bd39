#pragma once

/*
 * ROOM: supervisor
 *
 * The process beside a live sandbox: joins engine, gateway, credential helper and command lines.
 * It parses no HTTP and reads nothing from the network.
 */

#include "base/ev.h"
#include "engine/engine.h"
#include "events/events.h"
#include "events/prices.h"
#include "events/refused.h"
#include "record/places.h"
#include "supervisor/runner.h"
#include "record/store.h"
#include "spec/spec.h"
#include "wire/gateway-proto.h"
#include "wire/remote.h"
#include "wire/wire.h"
#include "workspace/nested.h"
#include "workspace/private/private-spare.h"

#include <time.h>

/*
 * The supervisor of one live sandbox: its parts share this struct. See supervisor.c for the theory
 * of operation.
 */
#define SUP_CLIENTS_MAX 256 /* connections at once; each may have one command */

enum sup_state {
	SUP_STARTING, /* the guest is not up yet; only who started us is heard */
	SUP_UP,
	SUP_STOPPING, /* commands were told to end */
	SUP_ENDED,    /* the event loop is over */
};

enum client_state {
	CLIENT_FRESH,	 /* has not asked for anything */
	CLIENT_WAITING,	 /* has asked for a command; git is brought up to date first */
	CLIENT_SPAWNING, /* the guest was asked to run its command */
	CLIENT_RUNNING,
	CLIENT_LEAVING, /* its command has ended, and its commits are imported */
	CLIENT_ENDED,	/* has been told its command's end, or what it asked for */
};

struct supervisor;

struct client {
	struct supervisor *sup;
	struct client *next;
	enum client_state state;
	bool holds;	    /* keeps the sandbox alive while it is not ENDED */
	bool waits_stopped; /* asked for WIRE_STOP and gets WIRE_STOPPED */
	bool asked;	    /* for WIRE_INFO, before there was an answer */
	bool timed_out;
	bool selftest;	       /* its command is a program of ralph's own: the probe */
	bool suspends;	       /* it takes WIRE_SUSPENDED */
	bool suspended;	       /* it got one, and sent no SIGCONT since */
	uint32_t code;	       /* of its command, while it is LEAVING */
	struct wire_msg *exec; /* what it asked for, while it is WAITING */
	uint32_t id;	       /* of its command */
	uint64_t held;	       /* signals that came before it ran, one bit each */
	uint64_t limit_ms, started_ms;
	uint64_t stood_ms;    /* asks_link_stood() that its time limit knows of */
	uint64_t refused;     /* number of the last refusal before its command */
	struct strv expected; /* refusals that its command, the self-test, is still to cause */
	struct strv told_of;  /* files of its notices: each is told of once */
	int fd;
	struct ev_io io;
	struct ev_timer limit;
	struct ev_defer free;
};

struct gateway_watch {
	struct ev_io io; /* first: the callback finds its owner by it */
	struct supervisor *sup;
};

#define GATEWAY_WHY_MAX 128
#define SUP_HEAR_MAX 1024 /* frames of a program at once, when a command has ended */

/* One of the two programs of the sandbox's network. */
struct gateway_half {
	struct child child;
	int sock; /* -1: it does not run */
	struct ev_io io;
};

/* Edge and gateway, and the sockets that the edge serves; see gateway-link.c. */
struct gateway_link {
	struct gw_listener *rows; /* sockets that the guest opens, in this order */
	size_t n_rows;
	int *fds; /* handed out by the guest; the edge has copies */
	size_t n_fds;
	struct gateway_watch *watch;
	/* Of a sandbox elsewhere: its sockets stay there, and the edge has this one. */
	struct gw_listener gate; /* port 0: it is here, or has no network */
	char token[REMOTE_TOKEN_LEN + 1];
	size_t ups; /* frames that said so */
	struct gateway_half edge, gateway;
	int lines[2]; /* the gateway's ends of those to the edge, until it is started; -1: none */
	struct ev_io lines_io;
	struct ev_timer again;		/* until the next one may be started */
	uint64_t started_ms, oom_kills; /* of the last start; the kernel's count then, */
	int vmstat;			/* which stands in this file; -1: not known */
	unsigned ends;			/* gateways that ended by themselves */
	unsigned quick;			/* those that did soon after their start, in a row */
	char why[GATEWAY_WHY_MAX];	/* the last one's end */
	bool over;			/* too many have: no network any more */
};

/* The reader of requests to providers; see reader-link.c. */
struct reader_link {
	struct gateway_half half;
	int line; /* its end of the line to the gateway, until it has it; -1: none */
	struct ev_io line_io;
	struct ev_timer again;
	uint64_t started_ms;
	bool asked; /* to read what it has, and has not answered yet */
};

/* The certificate authority's helper; see ca-link.c. */
struct ca_link {
	struct child child;
	int sock;
	struct ev_io io;
};

/* Events on their way into the log; see events-link.c. */
struct events_link {
	struct fold *fold; /* the gateway's decisions */
	struct fold *uses; /* of credentials */
	struct refused refused;
	struct ev_timer timer;
	uint64_t at_ms, left, skipped; /* of what has a limit */
};

/* The most that a request can use, reserved before it is sent; see budget-link.c. */
#define SUP_RESERVED_MAX 1024 /* requests under way */
#define SUP_WAITING_MAX 1024  /* requests that wait for them */

struct reservation {
	uint32_t id; /* the reader's question */
	struct usage_tokens tokens;
	uint64_t micro_usd;
	char *credential, *model;
};

struct reservations {
	struct reservation *v;
	size_t n;
};

/* The sandbox's usage at providers; see usage-link.c. */
struct usage_link {
	struct reservations reserved, waiting;
	bool counted; /* the event log's sum is in here */
	bool unknown; /* the log could not be read */
	bool closed;  /* the credential helper knows that the budget is used up */
	bool told;    /* the end of the budget was reported, once */
	uint64_t micro_usd, tokens;
	char *limits;	 /* rate limits, as they were told last */
	uint32_t status; /* of the provider's last answer that was reported; 0: none */
	bool ended;	 /* a provider has refused for good to renew a login */
};

/* The credential helper and what it is for; see cred-link.c. */
struct cred_link {
	char **phantoms; /* one per credential of the spec; NULL where it has none */
	struct child child;
	int sock;   /* -1: it does not run */
	int line;   /* its end of the line to the gateway, until it has it; -1: none */
	int env_fd; /* the user's environment, for the helper; -1: none came */
	struct ev_io io, line_io;
	struct ev_timer again;
	uint64_t started_ms;
};

/* Questions of the gateway that wait for a person's answer; see asks-link.c. */
#define SUP_ASKS_MAX 32

struct asks_link {
	struct ev_timer timer;
	struct {
		uint32_t id; /* of the gateway's question; 0: free */
		uint64_t due_ms;
		char ask[16];
	} v[SUP_ASKS_MAX];
	/* Somebody waits from then until then; and how long somebody waited before that. */
	uint64_t since_ms, until_ms, stood_ms;
};

/* Published ports, and the program that serves them; see ports-link.c. */
#define SUP_PORTS_MAX 64

struct sup_port {
	uint16_t host, inside;
	bool shared; /* on 127.0.0.1 too */
};

struct ports_link {
	struct child child;
	int sock;
	struct ev_io io;
	struct sup_port v[SUP_PORTS_MAX];
	size_t n;
};

/* The program that saves conversations; see autosave-link.c. */
struct autosave_link {
	struct ev_timer timer;
	struct child child;
};

/* `.git` of the workspace, as it is covered inside; see git-cover.c. */
struct git_cover {
	int parent; /* the directory it is in; -1: nothing is covered */
	dev_t dev;
	ino_t ino;
	bool made; /* by ralph, as a place for the mount */
};

/* What git does inside before the first command; see git-link.c. */
struct git_first {
	struct strv argv; /* none: nothing, or it is done */
	int null;
	uint32_t id;
	struct ev_timer limit;
};

struct supervisor {
	struct ev *ev;
	struct places places;
	struct store_entry entry; /* holds the live lock */
	int home_lock;		  /* of the project's home; -1: it has another */
	struct sandbox_spec *spec;
	struct engine *engine;
	const struct runner *runner;
	struct events events;
	struct events_link log;
	enum sup_state state;
	bool keep, remove;
	uint32_t next_id;
	uint32_t landlock_abi;
	uint64_t born_ms;
	struct client *clients;
	size_t n_clients;
	int guest, listener, signals;
	struct ev_io guest_io, listen_io, signal_io, process_io;
	struct gateway_link gateway;
	struct reader_link reader;
	struct ca_link ca;
	struct ports_link ports;
	struct asks_link asks;
	struct ev_timer rules_end; /* when the first rule that has an end ends */
	struct cred_link cred;
	struct usage_link usage;
	struct autosave_link autosave;
	struct git_flow
		*git; /* see git-flow.c; NULL: the sandbox has no git directory of its own */
	struct git_host *git_host;	/* the broker's */
	bool git_is_new;		/* its git directory was made by this start */
	struct private_spare git_spare; /* or was made before, and is the one that is used now */
	bool is_stopped;		/* nothing inside runs any more */
	struct host_link *host;		/* runner_host's own; NULL: not in use */
	struct ev_timer deadline;	/* of starting, later of stopping */
	struct host_run *host_run;	/* files of the workspace that the host would run */
	unsigned n_found;		/* number of findings so far */
	struct seen *seen;
	struct git_first git_first;
	unsigned pointers_away; /* `.git` of submodules that led elsewhere: see cover-link.c */
	struct git_cover git_cover;
	struct cover *covers; /* see cover-link.c */
	size_t n_covers;
	struct strv notes;    /* for the user, of before the start */
	struct err unsettled; /* a finding that could not be moved: commands end with it */
	struct err refs_err;  /* why references could not be put back, as it was said */
	struct strv moved;    /* paths of the first ones that were moved to quarantine */
	struct nested_told nested;
	struct timespec since;	 /* newer files were changed while the sandbox ran */
	struct restore *restore; /* NULL: nothing is to be restored */
	int watch;		 /* inotify */
	struct ev_io watch_io;
	struct err why; /* the cause of an end that was not ordinary */
	int broker;	/* the front's line to its broker; -1: this process does all by itself */
	/* In the broker: what the front is to tell: events (type, JSON), CLIENT_NOTICE or CLIENT_FAIL and a text. */
	struct strv *told;
};

/* supervisor.c */
void sup_event(struct supervisor *s, const char *type, json_t *details);
/* Commands are told to end and get grace_ms for it; 0: at once. */
void sup_stop(struct supervisor *s, uint64_t grace_ms);
void sup_end(struct supervisor *s);			  /* leaves the event loop */
void sup_up(struct supervisor *s, uint32_t landlock_abi); /* commands can be run from now on */
/* The end of the process that stands for the sandbox is the sandbox's. */
void sup_watch_process(struct supervisor *s, int pidfd);
/* Called whenever a command or connection ended: is anybody left who needs the sandbox? */
void sup_reconsider(struct supervisor *s);
bool sup_stays(const struct supervisor *s); /* the sandbox does not end by itself now */

void sup_kill(struct supervisor *s); /* begins what sup_take_down() waits for */
/*
 * Ends everything inside and takes away what is left of the sandbox on the host. *ret_doomed: the
 * record is to be removed and has no name any more. NULL: the record stays.
 */
void sup_take_down(struct supervisor *s, char **ret_doomed);
/* The last work, for which nobody waits: conversations, and a record that is to be destroyed. */
void sup_finish(struct supervisor *s, const char *doomed);

/* client.c: the connections of command lines */
struct client *client_new(struct supervisor *s, int fd, bool holds);
void client_accept_all(struct supervisor *s);
void client_watch(struct client *c);
void client_watch_all(struct supervisor *s); /* the sandbox is up: all frames are read now */
struct client *client_by_id(struct supervisor *s, uint32_t id);
void client_started(struct client *c, uint32_t pid, int pty);
void client_ended(struct client *c, uint32_t code); /* its command; commits are imported first */
void client_suspended(struct client *c);	    /* its command was stopped */
void client_exited(struct client *c, uint32_t code);
void client_resume(struct supervisor *s); /* those who waited for git */
bool client_any_runs(const struct supervisor *s);
void client_failed(struct client *c, int exit_code, const char *msg);
void client_info(struct client *c, const json_t *j);
/* Is this refusal one that a self-test is to cause? It is counted once. */
bool client_expects(struct supervisor *s, const char *host);
void client_drop(struct client *c); /* closes; its command, if any, is ended */

/* In the place of an event's type. */
#define CLIENT_NOTICE ""
#define CLIENT_FAIL "!"
#define CLIENT_FILE "@" /* its text is a JSON array: path, text */
/* Something to tell whoever has or had a command here: a warning; or no more than a fact. */
void client_notice_all(struct supervisor *s, const char *text);
/* The same about one file; a client is told once of each file. */
void client_file_all(struct supervisor *s, const char *path, const char *text);
void client_news_all(struct supervisor *s, const char *text);
/* Every command ends with this error, those that have ended well too. */
void client_fail_all(struct supervisor *s, const char *msg);

/* cover-link.c: before the start, and whenever something may have been replaced on the host. */
int cover_start(struct supervisor *s, struct err *err);
int cover_watch(struct supervisor *s, struct err *err);
bool cover_cares(const struct supervisor *s, const char *name);
void cover_look(struct supervisor *s);

/* git-link.c: what is mounted of it, before the guest starts; its content, while the guest mounts and
 * before anything runs inside */
int git_link_place(struct supervisor *s, struct err *err);
int git_link_fill(struct supervisor *s, struct err *err);
void git_link_keep_spare(struct supervisor *s); /* the record is to be removed */
/* The sandbox is up. True: git has something to do first, and commands wait for its end. */
bool git_link_first(struct supervisor *s);
bool git_link_waits(const struct supervisor *s);
void git_link_ended(struct supervisor *s, uint32_t id); /* a command without a client */

/* git-cover.c: before anything is mounted, when the watch is open, and whenever it may be another */
/* Moves a git directory, or a file that leads to one, to quarantine; it stays by the settings. */
int git_cover_put_away(struct supervisor *s, const char *path, struct err *err);
int git_cover_start(struct supervisor *s, struct err *err);
int git_cover_watch(struct supervisor *s, struct err *err);
bool git_cover_cares(const struct supervisor *s, const char *name);
void git_cover_look(struct supervisor *s);
void git_cover_check(struct supervisor *s); /* when it is up, and before a command */
void git_cover_finish(struct supervisor *s);

/* git-flow.c: commits come out of the sandbox, and the user's go in */
int git_flow_start(struct supervisor *s, struct err *err); /* before anything can run inside */
/* A command is to start; true: its client has to be WAITING until client_resume(). */
bool git_flow_first(struct supervisor *s);
/* A command has ended; true: its client, which is LEAVING, waits until client_resume(). */
bool git_flow_last(struct supervisor *s);
bool git_flow_is_busy(const struct supervisor *s); /* the sandbox has to stay until it is done */
bool git_flow_is_ours(const struct supervisor *s, uint32_t id); /* a command of its own */
void git_flow_ended(struct supervisor *s, uint32_t code);
void git_flow_up(struct supervisor *s);	    /* the sandbox is up */
void git_flow_kick(struct supervisor *s);   /* somebody waits */
void git_flow_close(struct supervisor *s);  /* nobody needs the sandbox any more */
void git_flow_cancel(struct supervisor *s); /* nobody waits for it any longer: nothing moves */
void git_flow_hint(struct supervisor *s, int wd); /* something changed there; -1: anywhere */
void git_flow_let_go(struct supervisor *s);	  /* the broker needs none of it */

/* watch-link.c: what appears in the workspace that the host would run */
int watch_start(struct supervisor *s, struct err *err); /* before the guest mounts anything */
int watch_stock(struct supervisor *s, struct err *err); /* before anything can run inside */
void watch_look(struct supervisor *s);			/* after a command */
void watch_refs(struct supervisor *s);	 /* when no command runs: what became of the references */
void watch_finish(struct supervisor *s); /* when nothing runs inside any more */

/* gateway-link.c: the sandbox's network */
int gateway_link_plan(struct supervisor *s, struct err *err); /* fills in the guest's sockets */
/*
 * For engines without a guest: opens a port of the host for this sandbox's endpoints, if it has
 * any.
 */
int gateway_link_listen(struct supervisor *s, struct err *err);
/* Takes the descriptors of one WIRE_UP; 1 when all have come, 0 when more must follow. */
int gateway_link_take(struct supervisor *s, struct wire_msg *m);
void gateway_link_watch(struct supervisor *s);
void gateway_link_policy(struct supervisor *s); /* the spec's rules have changed */
void gateway_link_leaf(struct supervisor *s, struct wire_msg *m); /* the CA's answer */
/* Takes what the gateway has said so far: it reports a refusal before the client sees it. */
void gateway_link_hear(struct supervisor *s);
void gateway_link_stop(struct supervisor *s);

/* reader-link.c: the reader of requests to providers */
int reader_link_line(struct supervisor *s, struct err *err); /* for the gateway that runs */
void reader_link_hear(struct supervisor *s);		     /* what it has read until now */
/* The gateway has ended. Hears it out, with a deadline (0: not). */
void reader_link_stop(struct supervisor *s, uint64_t deadline);

/* gateway-end.c: why a gateway has ended */
uint64_t gateway_end_oom_kills(const struct gateway_link *g); /* of this machine, so far */
/* Waits for the process, if there is one, and ends it if need be; says in words how it ended. */
void gateway_end_reap(struct supervisor *s);

/* remote-link.c: the gateway's port for a sandbox elsewhere */
int remote_link_open(struct supervisor *s, struct err *err);
int remote_link_tell(struct supervisor *s,
		     struct err *err); /* the outpost, before the guest's set-up */

/* events-link.c: into the log */
void events_link_net(struct supervisor *s, const struct gw_event *e); /* folded */
void events_link_flush(struct supervisor *s); /* a command has ended: what was counted for it */
/* A credential was given for a request. */
void events_link_use(struct supervisor *s, const struct cred_use *u);
/* Adds an event that a program inside can cause at will: beyond a rate it is only counted. */
void events_link_limited(struct supervisor *s, const char *type, json_t *details);
void events_link_host(struct client *c, const struct wire_msg *m); /* WIRE_EVENT */
void events_link_stop(struct supervisor *s);			   /* writes what was counted */

/* net-update.c: WIRE_NET, the rules of the running sandbox change */
void net_update(struct client *c, const struct wire_msg *m);

/* ca-link.c: the certificate authority of inspected hosts */
int ca_link_start(struct supervisor *s, struct err *err); /* writes the bundle the sandbox trusts */
/* ca-browser.c: the last certificate of the bundle, for browsers. */
int ca_browser_write(struct supervisor *s, const char *bundle, size_t n, struct err *err);
void ca_link_ask(struct supervisor *s, struct wire_msg *m);
void ca_link_stop(struct supervisor *s);

/* usage-link.c: what was used at providers, and the budget */
void usage_link_report(struct supervisor *s, const struct wire_msg *m);	  /* GW_USAGE */
void usage_link_provider(struct supervisor *s, const struct wire_msg *m); /* GW_PROVIDER */
bool usage_link_has_budget(const struct supervisor *s);
/* Why the budget lets no request pass, on the heap; "" while it does; NULL without a budget. */
char *usage_link_closed(struct supervisor *s);
/* Reports, once, that the budget is used up. */
void usage_link_over(struct supervisor *s, const char *credential, const char *why);
/* A request under way is over with a cost that nobody reported. */
void usage_link_settle(struct supervisor *s, const struct reservation *r);
void usage_link_stop(struct supervisor *s);

/* budget-link.c: requests and what they may cost */
/* Settles what a supervisor that was killed had reserved. */
int budget_link_start(struct supervisor *s, struct err *err);
void budget_link_ask(struct supervisor *s, const struct wire_msg *m); /* GW_SPEND */
/* Takes the reservation away, for *ret to be freed by budget_link_done(); false: there is none. */
bool budget_link_take(struct supervisor *s, uint32_t id, struct reservation *ret);
void budget_link_done(struct reservation *r);
void budget_link_next(struct supervisor *s); /* something was settled: answers who waits */
/* Gateway or reader has ended: requests that were under way cost what was reserved. */
void budget_link_end(struct supervisor *s);

/* cred-link.c: phantoms, and the helper that knows what they stand for */
int cred_link_prepare(struct supervisor *s, struct err *err);
void cred_link_environ(const struct supervisor *s, struct strv *env); /* of a command */
bool cred_link_has(const struct supervisor *s, enum spec_way way);
/* Sends the guest the WIRE_SPAWN of this body with what ways env and pipe give each command, fresh:
 * variables, and logins where it has WIRE_EXEC_LOGIN. Their values stay unread. */
int cred_link_spawn(struct supervisor *s, uint32_t id, const struct buf *body, const int *fds,
		    size_t n_fds, struct err *err);
/* In the fork that minds a command without a guest, and nowhere else: the variables go into env,
 * which of them into names. */
int cred_link_variables(struct supervisor *s, struct strv *env, struct strv *names,
			struct err *err);
int cred_link_introduce(const struct supervisor *s, int sock, struct err *err);
/* Makes the line between gateway and helper, and gives the gateway its end. */
int cred_link_line(struct supervisor *s, struct err *err);
void cred_link_unline(struct supervisor *s); /* the gateway has ended: its line is nobody's */
void cred_link_policy(struct supervisor *s); /* the spec's rules have changed */
void cred_link_budget(struct supervisor *s, const char *why); /* it is used up */
void cred_link_stop(struct supervisor *s);

/* asks-link.c: what the agent asks a person for */
void asks_link_take(struct supervisor *s, const struct wire_msg *m); /* GW_ASK */
void asks_link_look(struct supervisor *s);			     /* a person has answered */
void asks_link_end(struct supervisor *s); /* nobody waits any more: the reader has ended */
/* How long agents have waited for a person so far, and whether one does now. */
uint64_t asks_link_stood(const struct supervisor *s, bool *ret_now);
/* net-update.c: rules that end by themselves; called when the rules are others */
void net_update_ends(struct supervisor *s);

/* ports-link.c: WIRE_PORTS, and the guest's answers */
void ports_update(struct client *c, const struct wire_msg *m);
void ports_link_dialled(struct supervisor *s, const struct wire_msg *m);
/* On the loopback address of the sandbox NAME, or, with NULL, on 127.0.0.1; port 0: any. */
int ports_listen(const char *name, uint16_t port, uint16_t *ret_port, int *ret, struct err *err);
void ports_link_stop(struct supervisor *s);

/* autosave-link.c: what was said becomes files */
void autosave_link_start(struct supervisor *s);
/* Remembers the secrets of a command by their hashes, for exports. */
void autosave_link_remember(struct supervisor *s, const struct strv *env);
void autosave_link_now(struct supervisor *s);
void autosave_link_finish(struct supervisor *s); /* the record stays; does not wait */
/* The record is about to be removed: waits, when nobody waits for us any more. */
void autosave_link_last(struct supervisor *s, const char *record);

/* A helper program of ours, with a wire socket as its descriptor 3; dies with the supervisor. */
int sup_spawn(struct supervisor *s, const char *program, struct child *ret, int *ret_sock,
	      struct err *err);
/* Ends it if it still runs, and releases it: its exit code as run_wait() has it, or -errno. */
int sup_reap(struct supervisor *s, struct child *c);
