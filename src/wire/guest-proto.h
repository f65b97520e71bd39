#pragma once

#include "base/err.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The protocol between the supervisor and a new guest.
 *
 * The guest is started as pid 1 of the sandbox as `guest FD`, FD being its end of a wire_pair();
 * 0, 1 and 2 are /dev/null. Namespaces are there (user, pid, ipc, uts, mount) but for the network
 * one, which the guest makes. It needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_BIND_SERVICE for
 * that, and CAP_SETPCAP, without which nobody can empty the bounding set; /proc, /dev and
 * /dev/pts are mounted, or are made by the guest from a list, which comes first then.
 *
 *	supervisor                         guest
 *	WIRE_ROOT id 0             →       see wire/root-proto.h
 *	WIRE_SETUP id 0            →
 *	                           ←       WIRE_UP id 0: u32 Landlock ABI in force, 0 for none
 *	WIRE_SPAWN id              →
 *	                           ←       WIRE_SPAWNED id: u32 pid; fd: pty master | WIRE_ERROR id
 *	WIRE_KILL id               →
 *	                           ←       WIRE_SUSPENDED id: u32 0
 *	                           ←       WIRE_ENDED id: u32 code
 *
 * WIRE_UP comes when everything below is in force. More listeners than WIRE_FDS_MAX come in
 * several WIRE_UP frames, each full but the last: guest_up_frames() of them, at least one.
 * Listeners are close-on-exec and non-blocking; no copy of them stays inside.
 *
 * WIRE_ERROR id 0 means that the guest ends; with another id, that this command was not started.
 * Its errno is ENOENT or EACCES only when it is the program that is missing or cannot be run (127
 * and 126 in the shell's count); a working directory that cannot be entered is ENOTDIR, a
 * directory among the descriptors EISDIR, a read-only memory file EOPNOTSUPP (a pipe serves), and
 * ECANCELED says that it was killed before it could be reported as started. After WIRE_SPAWNED, and
 * only then, WIRE_ENDED follows, once nothing of the command's tree is left. An id may be used
 * again after WIRE_ERROR or WIRE_ENDED. WIRE_KILL for an id that is not there is no error: the
 * command may have just ended.
 *
 * Descriptors of a command give no more than they gave: Landlock holds that from ABI
 * GUEST_LANDLOCK_FILES on. If WIRE_UP says less, the guest puts a pipe between the command and a
 * file, and copies (guest/between.h).
 *
 * The end of the supervisor's socket is the end of everything inside.
 */
#define GUEST_LISTENERS_MAX 256
#define GUEST_RULES_MAX 512
#define GUEST_RLIMITS_MAX 16
#define GUEST_LOGINS_MAX 8
#define GUEST_LOGIN_SIZE (256 * KiB) /* of each */
#define GUEST_COMMANDS_MAX 256	     /* at once */

/* Below this ABI truncate(2) through /proc/self/fd is not held by Landlock. */
#define GUEST_LANDLOCK_FILES 3

/* The addresses that stand for names: all of them are local inside. */
#define GUEST_NET4 "198.18.0.0"
#define GUEST_NET4_BITS 15
#define GUEST_NET6 "fd00:7261:6c70::"
#define GUEST_NET6_BITS 96

struct guest_listener {
	int family;	  /* AF_INET or AF_INET6 */
	bool udp;	  /* with IP_PKTINFO or IPV6_RECVPKTINFO set */
	uint8_t addr[16]; /* network order; the first 4 for AF_INET */
	uint16_t port;
	uint32_t backlog; /* tcp only */
};

/*
 * The access that a command has beneath a path. Landlock never allows more than mounts and modes
 * do.
 */
enum guest_access {
	GUEST_READ, /* read files, list directories */
	GUEST_RO,   /* read, list and execute */
	GUEST_RW,   /* everything but device nodes and device ioctls */
	GUEST_DEV,  /* read, write and ioctl, but make nothing: /dev */
	GUEST_ACCESS_N,
};

/*
 * Rules add up along a path, so { "/", GUEST_RO } and a GUEST_RW row per writable place is the
 * usual form, with { "/proc", GUEST_RW } for programs that write to /proc/self. Paths are as seen
 * inside, with no symlink in them, and must exist. Each command is a domain of its own: commands
 * cannot trace each other or, from ABI 6 on, meet at an abstract socket; signals and sockets in
 * the file system work between them.
 */
struct guest_rule {
	enum guest_access access;
	const char *path;
};

enum guest_landlock {
	GUEST_LANDLOCK_OFF,
	GUEST_LANDLOCK_IF_AVAILABLE, /* from ABI 2 on: ABI 1 forbids moving files between
					directories */
	GUEST_LANDLOCK_REQUIRED,     /* any ABI; without one the guest ends */
	GUEST_LANDLOCK_N,
};

struct guest_rlimit {
	uint32_t resource;   /* RLIMIT_… */
	uint64_t soft, hard; /* cut to the hard limit there is */
};

struct guest_setup {
	const char *hostname; /* "": left as it is */
	bool routes;	      /* GUEST_NET4 and, where the kernel has IPv6, GUEST_NET6 on lo */
	enum guest_landlock landlock;
	uint32_t oom_score_adj; /* 0..1000, of commands */
	struct guest_listener *listeners;
	size_t n_listeners;
	struct guest_rule *rules;
	size_t n_rules;
	struct guest_rlimit *rlimits; /* of each process of a command; the guest itself has none */
	size_t n_rlimits;
	/* Empty files, which the guest covers with files in memory for logins: WIRE_EXEC_LOGIN. */
	const char *logins[GUEST_LOGINS_MAX];
	size_t n_logins;
};

/* The body of WIRE_SETUP. */
void guest_setup_put(struct buf *b, const struct guest_setup *s);

/*
 * Reads it back. The arrays belong to *ret until guest_setup_done(), the strings to the message.
 * -EPROTO for a body that does not fit, -EINVAL for a value that makes no sense.
 */
int guest_setup_get(const struct wire_msg *m, struct guest_setup *ret, struct err *err);
void guest_setup_done(struct guest_setup *s);

#define cleanup_guest_setup cleanup_(guest_setup_done)

static inline size_t guest_up_frames(size_t n_listeners)
{
	return n_listeners ? (n_listeners + WIRE_FDS_MAX - 1) / WIRE_FDS_MAX : 1;
}
