#include "engine/native/native.h"

#include "base/landlock.h"
#include "engine/probe-host.h"

/* By a guest that is started: whether the file that may make namespaces here really can. */
static int see_namespaces(struct doctor_rows *d, bool *usable, struct err *err)
{
	static const char use[] = "the native engine's walls";
	struct host_native n;
	struct host_facts f;
	int r = host_native_try(&n, err);

	if (r < 0)
		return r;
	host_facts(&f);
	if (n.usable)
		doctor_rows_add(d, "namespaces", DOCTOR_OK, use, NULL,
				"user, mount, pid, ipc, uts and network; /proc can be mounted");
	else
		doctor_rows_add(d, "namespaces", DOCTOR_MISSING, use,
				host_native_remedy(&f, n.born, n.failed), "%s", n.said);
	*usable = n.usable;
	return 0;
}

static void see_kernel(struct doctor_rows *d, bool *usable)
{
	int abi = landlock_abi();

	if (abi >= LANDLOCK_ABI_OWN_SOCKETS)
		doctor_rows_add(d, "Landlock", DOCTOR_OK,
				"a second wall around files, and one around unix sockets", NULL,
				"ABI %d", abi);
	else if (abi > 0)
		doctor_rows_add(
			d, "Landlock", DOCTOR_OK, "a second wall around files", NULL,
			"ABI %d; sandboxes that share a tree can connect to each other's unix "
			"sockets in it before ABI %d (Linux 7.1)",
			abi, LANDLOCK_ABI_OWN_SOCKETS);
	else
		doctor_rows_add(d, "Landlock", DOCTOR_LIMITED,
				"done without: files handed in go through a pipe",
				"a kernel with CONFIG_SECURITY_LANDLOCK and lsm=landlock",
				"not in this kernel");
	if (host_seccomp())
		doctor_rows_add(d, "seccomp", DOCTOR_OK, "refuses system calls no agent needs",
				NULL, "filters%s", host_seccomp_notif() ? " and notification" : "");
	else
		doctor_rows_add(d, "seccomp", DOCTOR_MISSING, "the native engine needs it",
				"a kernel with CONFIG_SECCOMP_FILTER", "not in this kernel");
	*usable = *usable && host_seccomp();
}

static int see_cgroups(struct doctor_rows *d, struct err *err)
{
	const unsigned need = CGROUP_MEMORY | CGROUP_PIDS;
	struct cgroup_support s = {0};
	cleanup_free char *text = NULL;
	int r = cgroup_probe(NULL, &s, err);

	if (r < 0)
		return r;
	text = cgroup_support_text(&s);
	if ((s.controllers & need) == need)
		doctor_rows_add(d, "cgroups", DOCTOR_OK, "limits for each sandbox as a whole", NULL,
				"%s", text);
	else
		doctor_rows_add(d, "cgroups", DOCTOR_LIMITED,
				"limits by rlimits where there is none: memory per "
				"process, not in sum",
				"a session of systemd on cgroup v2 (systemctl --user must answer)",
				"%s", text);
	cgroup_support_done(&s);
	return 0;
}

int native_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err)
{
	bool usable = false;
	int r = see_namespaces(ret, &usable, err);

	if (r < 0)
		return r;
	see_kernel(ret, &usable);
	r = see_cgroups(ret, err);
	if (r == 0)
		*ret_usable = usable;
	return r;
}
