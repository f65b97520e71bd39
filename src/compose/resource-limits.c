#include "compose/resource-limits.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/path.h"
#include "config/config.h"

/* These values apply when the configuration says 0, or more than the machine has. */
#define MEMORY_SHARE(total) ((total) / 4 * 3)
#define MEMORY_MIN (16 * MiB) /* the guest has to fit */
#define PIDS_DEFAULT 4096
#define PIDS_MIN 8
#define OPEN_FILES_DEFAULT 65536
#define TMP_SHARE(memory) ((memory) / 4)

static uint64_t hard_limit(int resource)
{
	struct rlimit r;

	return getrlimit((__rlimit_resource_t)resource, &r) == 0 ? r.rlim_max : RLIM_INFINITY;
}

static uint64_t read_pid_max(void)
{
	cleanup_buf struct buf b = {0};
	uint64_t v;

	buf_init(&b, 64);
	if (path_read(AT_FDCWD, "/proc/sys/kernel/pid_max", &b) < 0)
		return 32768;
	if (b.len)
		b.data[strcspn(b.data, "\n")] = '\0';
	return parse_uint(buf_str(&b), 1, UINT32_MAX, &v) == 0 ? v : 32768;
}

/* "5.14.0-1" is at least 5.14. */
static bool kernel_at_least(uint64_t major, uint64_t minor)
{
	cleanup_strv struct strv part = {0};
	struct utsname u;
	uint64_t a, b;

	if (uname(&u) < 0)
		return false;
	strv_split(&part, u.release, '.');
	if (part.n < 2)
		return false;
	part.v[1][strspn(part.v[1], "0123456789")] = '\0';
	if (parse_uint(part.v[0], 0, 9999, &a) < 0 || parse_uint(part.v[1], 0, 9999, &b) < 0)
		return false;
	return a > major || (a == major && b >= minor);
}

int limits_facts_read(const struct cgroup_source *src, struct limits_facts *ret, struct err *err)
{
	struct sysinfo info;
	cpu_set_t cpus;

	if (sysinfo(&info) < 0)
		return err_sys(err, errno, "cannot find out how much memory there is");
	*ret = (struct limits_facts){
		.mem_total = (uint64_t)info.totalram * info.mem_unit,
		.root = geteuid() == 0,
		.mem_enclosing = cgroup_memory_limit(src),
		.nofile_hard = hard_limit(RLIMIT_NOFILE),
		.nproc_hard = hard_limit(RLIMIT_NPROC),
		.pids_max = read_pid_max(),
		.cpus = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus)
								       : 1,
		.nproc_per_userns = kernel_at_least(5, 14),
	};
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t memory_share(const struct limits_facts *facts)
{
	return MEMORY_SHARE(least(facts->mem_total, facts->mem_enclosing));
}

int limits_memory_share(uint64_t *ret, struct err *err)
{
	struct limits_facts facts;
	int r = limits_facts_read(NULL, &facts, err);

	if (r == 0)
		*ret = memory_share(&facts);
	return r;
}

bool limits_pids_unbounded(const struct limits_facts *facts, unsigned cgroup_controllers)
{
	return facts->root && !(cgroup_controllers & CGROUP_PIDS);
}

int limits_decide(const struct config *c, const struct limits_facts *facts,
		  const struct cgroup_support *cgroup, struct spec_limits *ret, struct err *err)
{
	struct spec_limits l = {.timeout_ms = c->limits.timeout_ms, .cpu = c->limits.cpu};

	l.memory = c->limits.memory ? c->limits.memory : memory_share(facts);
	if (l.memory < MEMORY_MIN)
		return err_usage(err,
				 "limits.memory: %llu bytes are too few for a sandbox; at "
				 "least 16M are needed",
				 (unsigned long long)l.memory);
	l.pids = c->limits.pids ? c->limits.pids : PIDS_DEFAULT;
	if (l.pids < PIDS_MIN)
		return err_usage(err,
				 "limits.pids: %llu is too few for a sandbox; at least %d are "
				 "needed",
				 (unsigned long long)l.pids, PIDS_MIN);
	/* A bomb inside must leave the host pids to work with. */
	l.pids = least(l.pids, facts->pids_max / 2);
	l.open_files = least(c->limits.open_files ? c->limits.open_files : OPEN_FILES_DEFAULT,
			     facts->nofile_hard);
	l.tmp = c->limits.tmp ? c->limits.tmp : TMP_SHARE(l.memory);
	/* A limit of all cores is no limit. */
	if (l.cpu >= (uint64_t)facts->cpus * 100)
		l.cpu = 0;
	l.method = limits_pids_unbounded(facts, cgroup->controllers)
			   ? xstrdup("rlimits (processes of root are not counted)")
			   : cgroup_support_text(cgroup);
	*ret = l;
	return 0;
}

size_t limits_rlimits(const struct spec_limits *l, const struct limits_facts *facts,
		      unsigned cgroup_controllers, struct spec_rlimit ret[SPEC_RLIMITS_MAX])
{
	size_t n = 0;

	ret[n++] = (struct spec_rlimit){RLIMIT_NOFILE, l->open_files};
	if (!(cgroup_controllers & CGROUP_MEMORY))
		ret[n++] = (struct spec_rlimit){RLIMIT_DATA, l->memory};
	if (!(cgroup_controllers & CGROUP_PIDS))
		ret[n++] = (struct spec_rlimit){RLIMIT_NPROC, least(l->pids, facts->nproc_hard)};
	return n;
}

char *limits_unbounded(const struct spec_limits *l)
{
	bool memory = !(l->controllers & CGROUP_MEMORY),
	     cpu = l->cpu && !(l->controllers & CGROUP_CPU);

	if (!memory && !cpu)
		return NULL;
	return xasprintf("%s%s%s",
			 memory ? "the sum of memory (each process has the limit, for its private "
				  "data), shared memory, memory files"
				: "",
			 memory && cpu ? ", " : "", cpu ? "the processor" : "");
}
