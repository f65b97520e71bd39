#pragma once

/*
 * ROOM: wire
 *
 * The frames between ralph's own programs: one codec, bounded and fuzzed. The headers say which
 * program sends what and when; no code here decides anything.
 */

#include "base/buf.h"
#include "base/err.h"
#include "base/strv.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The frames between command line, supervisor, gateway and guest: one codec for all of them.
 *
 * A frame is one packet of an AF_UNIX SOCK_SEQPACKET socket: a fixed head, a body of at most
 * WIRE_INLINE_MAX bytes, and up to WIRE_FDS_MAX descriptors. A larger body (an argument list of a
 * megabyte) travels in a memory file instead, which the codec makes and reads by itself. A body
 * is a sequence of fields that both sides know by the frame's type: u32, u64, bytes, string
 * vectors. Reading is bounds-checked with a sticky error, and everything must be consumed.
 *
 * A peer may be hostile: whatever wire_recv() returns is of the declared size and has no more
 * descriptors than allowed; what the fields say is the caller's to judge.
 */
#define WIRE_INLINE_MAX (32 * KiB)
#define WIRE_BODY_MAX (4 * MiB) /* arguments and environment together */
#define WIRE_FDS_MAX 32		/* besides the memory file */
#define WIRE_STRV_MAX 65536	/* strings in one vector */
#define WIRE_EXPECT_MAX 1024	/* hosts */

enum wire_type {
	WIRE_NONE,

	/* command line → supervisor */
	WIRE_EXEC,    /* u64 time limit in ms (0: none), str user ("": its own), then as SPAWN */
	WIRE_SIGNAL,  /* u32 signal: for the command of this connection */
	WIRE_STOP,    /* u32 grace in ms: end all commands, then the sandbox */
	WIRE_KEEP,    /* u32 on (bit 0): stay alive without a connection; see wire_exec_flags */
	WIRE_REMOVE,  /* (empty): remove the sandbox when it has ended */
	WIRE_INSPECT, /* (empty) → WIRE_INFO */
	WIRE_PORTS, /* u32 enum wire_ports_verb, u32 port of the host (0: any), u32 port inside →
		     * WIRE_INFO with what is published, or WIRE_FAILED */
	WIRE_NET,   /* struct net_policy: all rules from now on → WIRE_INFO or WIRE_FAILED */
	WIRE_EVENT, /* str type, str JSON object: of the host, for the event log → WIRE_INFO */

	/* supervisor → command line */
	WIRE_STARTED, /* u32 pid inside, u32 enum wire_started_flags; fd: pty master when a terminal
		       * was asked for */
	WIRE_EXITED,  /* u32 code as the shell counts: 0..255, 128 + n; u32 1: time limit reached;
		       * u32 1: the sandbox stays, 0: it ends too, and then this connection; strv
		       * hosts that were refused meanwhile, u32 1: there were others */
	WIRE_FAILED,  /* u32 exit code, str message */
	WIRE_INFO,    /* str JSON */
	WIRE_NOTICE, /* str: for the user, about the workspace; at any time while it is connected */
	WIRE_STOPPED, /* (empty): answer to WIRE_STOP, after everything inside has ended */

	/* supervisor → guest; id names the command */
	WIRE_SETUP, /* see wire/guest-proto.h */
	WIRE_SPAWN, /* body and fds as WIRE_EXEC */
	WIRE_KILL,  /* u32 signal; 0: end the command with all its descendants */
	WIRE_DIAL,  /* u32 port: → WIRE_DIALLED with the same id. Also ports → supervisor */

	/* guest → supervisor */
	WIRE_UP,      /* u32 landlock ABI in force; fds: listeners, in the order of the setup */
	WIRE_SPAWNED, /* u32 pid; fd: pty master */
	WIRE_ENDED,   /* u32 code */
	WIRE_DIALLED, /* u32 errno; fd: a socket of the sandbox's network, maybe still connecting */
	WIRE_ERROR,   /* u32 errno, str message; id 0: the set-up failed, the guest ends */

	/* command line → supervisor, before any other */
	WIRE_NAME, /* str name: of what is to come; to a process that becomes its supervisor */
	WIRE_START, /* (empty); fds: live lock, record, its lock, and what the id says (enum wire_start_fds). To a new
		     * supervisor, right behind WIRE_SPEC */

	/* supervisor → guest, before any other */
	WIRE_ROOT, /* see wire/root-proto.h; only where the guest makes its file system */

	/* supervisor → ports */
	WIRE_PORT_OPEN,	 /* u32 port of the host, u32 port inside; fd: the listener */
	WIRE_PORT_CLOSE, /* u32 port of the host, u32 (unused) */

	/* an engine elsewhere: see wire/remote.h */
	WIRE_REMOTE_STEP, /* outpost → engine: u32 enum remote_step */
	WIRE_REMOTE_GATE, /* supervisor → outpost: str host, u32 port, str token */

	/* command line → supervisor, before WIRE_EXEC: strv hosts. The command is the self-test, and
	 * asks for each of them as often as it stands here: that many refusals are its own. */
	WIRE_EXPECT,

	/* supervisor → command line: as WIRE_NOTICE, and no warning */
	WIRE_NEWS,

	/* guest → supervisor, u32 0; supervisor → command line, with WIRE_EXEC_SUSPENDS: the command
	 * was stopped (Ctrl-Z) and waits for SIGCONT. Once, until SIGCONT is sent to it. */
	WIRE_SUSPENDED,

	/* guest → who launched it, u32 pid: pid 1 of new namespaces, which is that one's own child */
	WIRE_BORN,

	/* to a guest behind a relay, u32 rows, u32 columns: the new size of this command's terminal */
	WIRE_WINCH,
	/* frames beside those of the guest, over a stream: see vm/mux.h */
	WIRE_FAR_DATA,	/* u32 enum mux_which, bytes */
	WIRE_FAR_SPACE, /* u32 enum mux_which, u32 bytes that were taken */
	WIRE_FAR_SHUT,	/* u32 enum mux_which, u32 1: takes no more; 0: sends no more */
	WIRE_FAR_OPEN,	/* u32 family, bytes address, u32 port: a connection made inside */
	WIRE_FAR_JOIN,	/* (empty): stderr of this command is its stdout */
	WIRE_FAR_QUERY, /* u32 family, bytes address, u32 port, bytes: a datagram; back: the answer */
	WIRE_FAR_WAKE, /* see vm/vm.h */

	/* command line → supervisor: str spec as JSON, strv its values (spec_values()). To a new one,
	 * first: it plans while the command line takes the locks, and starts nothing before WIRE_START */
	WIRE_SPEC,

	/* supervisor ↔ gateway: ranges are kept apart so that their tables can grow */
	WIRE_GW_FIRST = 64,

	/* the processes of `ralph web`: see web/frames.h */
	WIRE_WEB_FIRST = 128,
};

/* The descriptors that come with WIRE_START behind the first three, in this order. */
enum wire_start_fds {
	WIRE_START_ENV = 1 << 0,  /* the user's environment, where there are credentials */
	WIRE_START_HOME = 1 << 1, /* the lock of the project's home */
};

/* PUBLISH: on the sandbox's own address; SHARED: on 127.0.0.1 too. */
enum wire_ports_verb {
	WIRE_PORTS_LIST,
	WIRE_PORTS_PUBLISH,
	WIRE_PORTS_UNPUBLISH,
	WIRE_PORTS_PUBLISH_SHARED,
	WIRE_PORTS_N
};

struct wire_msg {
	enum wire_type type;
	uint32_t id;
	struct buf body;
	int fds[WIRE_FDS_MAX + 1]; /* the last place is the memory file's, while receiving */
	size_t n_fds;
};

void wire_msg_init(struct wire_msg *m);
void wire_msg_done(struct wire_msg *m); /* closes the descriptors that were not taken */
/* Takes descriptor i out of the message: the caller owns it; -1 when there is none. */
int wire_take_fd(struct wire_msg *m, size_t i);

/* Two connected sockets of the right type, close-on-exec. */
int wire_pair(int ret[2], struct err *err);

/*
 * Sends one frame. The descriptors stay the caller's. -EAGAIN on a full non-blocking socket,
 * -EMSGSIZE for a body beyond WIRE_BODY_MAX, -EPIPE when the peer is gone; never a signal.
 */
int wire_send(int sock, enum wire_type type, uint32_t id, const struct buf *body, const int *fds,
	      size_t n_fds);
/* The same with a body that lies in a memory file of that length, which is not looked into. */
int wire_send_file(int sock, enum wire_type type, uint32_t id, int file, uint32_t len,
		   const int *fds, size_t n_fds);
/* Receives one frame into m: 1, 0 at end of stream, -EAGAIN, -EPROTO for a malformed one. */
int wire_recv(int sock, struct wire_msg *m);

/* Writing fields. The buffer is the caller's, made with WIRE_BODY_MAX. */
void wire_put_u32(struct buf *b, uint32_t v);
void wire_put_u64(struct buf *b, uint64_t v);
void wire_put_bytes(struct buf *b, const void *p, size_t n);
void wire_put_str(struct buf *b, const char *s);
void wire_put_strv(struct buf *b, const struct strv *s);

/* Reading fields: after the first misfit every reader returns nothing and bad stays set. */
struct wire_reader {
	const char *p, *end;
	bool bad;
};

void wire_read(struct wire_reader *r, const struct wire_msg *m);
uint32_t wire_get_u32(struct wire_reader *r);
uint64_t wire_get_u64(struct wire_reader *r);
/* Points into the message; NULL (and bad) on a misfit. A string has no NUL inside. */
const char *wire_get_bytes(struct wire_reader *r, size_t *ret_len);
const char *wire_get_str(struct wire_reader *r);
void wire_get_strv(struct wire_reader *r, struct strv *out);
/* 0 when every field fitted and nothing is left, else -EPROTO. */
int wire_read_end(const struct wire_reader *r);

#define cleanup_wire_msg cleanup_(wire_msg_done)

/* Flags of WIRE_EXEC and WIRE_SPAWN. */
enum wire_exec_flags {
	WIRE_EXEC_TTY = 1 << 0, /* a pty of the sandbox becomes the command's terminal; no fds */
	WIRE_EXEC_INHERIT = 1 << 1, /* WIRE_EXEC: env adds to the sandbox's own; cwd "" is its
				     * workspace. Saves a command line from reading the spec. */
	/* WIRE_EXEC, WIRE_KEEP: how the user agreed to this start; for the record alone. */
	WIRE_EXEC_CONFIRMED = 1 << 2, /* was shown the audit and said yes */
	WIRE_EXEC_ASSUMED = 1 << 3,   /* said --yes beforehand; neither: unattended */
	WIRE_EXEC_PROGRAM = 1 << 4,   /* the last fd is a sealed memory file: the program to run,
			 * which   then lies nowhere inside. argv[0] is only its name. */
	/* WIRE_SPAWN alone, without WIRE_EXEC_PROGRAM: the last fd is a sealed memory file with the
	 * content of the set-up's logins, which are inside until the command has ended: a u64 length
	 * for each, then their bytes. */
	WIRE_EXEC_LOGIN = 1 << 5,
	/* As WIRE_EXEC_CONFIRMED: the user has agreed to the same before, or wants to see no audit. */
	WIRE_EXEC_UNCHANGED = 1 << 6,
	WIRE_EXEC_AUDIT_OFF = 1 << 7,
	WIRE_EXEC_SUSPENDS = 1 << 8, /* WIRE_EXEC: the command line takes WIRE_SUSPENDED */
};

enum wire_started_flags {
	/*
	 * Nobody reports that the command was stopped: the command line turns Ctrl-Z into SIGTSTP
	 * instead of passing it on.
	 */
	WIRE_STARTED_STOP_KEY = 1 << 0,
};

#define WIRE_EXEC_CONSENT                                                                          \
	((uint32_t)(WIRE_EXEC_CONFIRMED | WIRE_EXEC_ASSUMED | WIRE_EXEC_UNCHANGED |                \
		    WIRE_EXEC_AUDIT_OFF))

/* The exec flags that WIRE_SPAWN has as well, and the number of descriptors that come along. */
#define WIRE_SPAWN_FLAGS ((uint32_t)(WIRE_EXEC_TTY | WIRE_EXEC_PROGRAM | WIRE_EXEC_LOGIN))

static inline size_t wire_exec_fds(uint32_t flags)
{
	return (flags & WIRE_EXEC_TTY ? 0 : 3) +
	       (flags & (WIRE_EXEC_PROGRAM | WIRE_EXEC_LOGIN) ? 1 : 0);
}
