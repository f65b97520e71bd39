#include "check/doctor.h"

#include <stdarg.h>
#include <string.h>

#include "base/landlock.h"
#include "engine/cgroup.h"
#include "engine/probe-host.h"

#define CLIENT_MS 1000
#define KVM_MS 500

static const char *const state_names[DOCTOR_STATE_N] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_LIMITED] = "limited",
	[DOCTOR_MISSING] = "missing",
};

const char *doctor_state_name(enum doctor_state s)
{
	return state_names[s];
}

static void add(struct doctor *d, const char *name, enum doctor_state state, const char *use,
		const char *remedy, const char *fmt, ...) printf_like(6, 7);

static void add(struct doctor *d, const char *name, enum doctor_state state, const char *use,
		const char *remedy, const char *fmt, ...)
{
	struct doctor_row *row;
	va_list ap;

	if (d->n == DOCTOR_ROWS_MAX)
		return;
	row = &d->rows[d->n++];
	va_start(ap, fmt);
	*row = (struct doctor_row){
		.name = name,
		.state = state,
		.detail = xvasprintf(fmt, ap),
		.use = xstrdup(use),
		.remedy = remedy ? xstrdup(remedy) : NULL,
	};
	va_end(ap);
}

static int see_userns(struct doctor *d, struct err *err)
{
	struct host_userns u;
	int r = host_userns(&u, err);

	if (r < 0)
		return r;
	if (u.usable)
		add(d, "user namespaces", DOCTOR_OK, "the native engine's walls", NULL, "%s",
		    u.failed ? "bwrap may make them" : "can be made");
	else
		add(d, "user namespaces", DOCTOR_MISSING, "the native engine needs them",
		    host_userns_remedy(&u), "refused: %s", strerror(u.failed));
	d->native = u.usable;
	return 0;
}

static int see_bwrap(struct doctor *d, struct err *err)
{
	cleanup_(host_bwrap_done) struct host_bwrap b = {0};
	static const char use[] = "sets up the native sandbox";
	int r = host_bwrap(&b, err);

	if (r < 0)
		return r;
	if (!b.path)
		add(d, "bwrap", DOCTOR_MISSING, use, "sudo apt install bubblewrap", "not on PATH");
	else if (b.setuid)
		add(d, "bwrap", DOCTOR_LIMITED, use, "sudo chmod u-s the program",
		    "%s is setuid root", b.path);
	else if (!b.usable)
		add(d, "bwrap", DOCTOR_LIMITED, use, "install 0.8.0 or newer", "%s, %u.%u.%u",
		    b.path, b.major, b.minor, b.patch);
	else
		add(d, "bwrap", DOCTOR_OK, use, NULL, "%s, %u.%u.%u", b.path, b.major, b.minor,
		    b.patch);
	d->native = d->native && b.usable;
	return 0;
}

static void see_kernel(struct doctor *d)
{
	int abi = landlock_abi();

	if (abi > 0)
		add(d, "Landlock", DOCTOR_OK, "a second wall around files", NULL, "ABI %d", abi);
	else
		add(d, "Landlock", DOCTOR_LIMITED,
		    "done without: files handed in go through a pipe",
		    "a kernel with CONFIG_SECURITY_LANDLOCK and lsm=landlock",
		    "not in this kernel");
	if (host_seccomp())
		add(d, "seccomp", DOCTOR_OK, "refuses system calls no agent needs", NULL,
		    "filters%s", host_seccomp_notif() ? " and notification" : "");
	else
		add(d, "seccomp", DOCTOR_MISSING, "the native engine needs it",
		    "a kernel with CONFIG_SECCOMP_FILTER", "not in this kernel");
	d->native = d->native && host_seccomp();
}

static int see_cgroups(struct doctor *d, struct err *err)
{
	const unsigned need = CGROUP_MEMORY | CGROUP_PIDS;
	struct cgroup_support s = {0};
	cleanup_free char *text = NULL;
	int r = cgroup_probe(NULL, &s, err);

	if (r < 0)
		return r;
	text = cgroup_support_text(&s);
	if ((s.controllers & need) == need)
		add(d, "cgroups", DOCTOR_OK, "limits for each sandbox as a whole", NULL, "%s",
		    text);
	else
		add(d, "cgroups", DOCTOR_LIMITED,
		    "limits by rlimits where there is none: memory per "
		    "process, not in sum",
		    "a session of systemd on cgroup v2 (systemctl --user must answer)", "%s", text);
	cgroup_support_done(&s);
	return 0;
}

static void see_kvm(struct doctor *d)
{
	static const char use[] = "engines that boot a kernel of their own";

	switch (host_kvm(KVM_MS)) {
	case HOST_KVM_OK:
		add(d, "KVM", DOCTOR_OK, use, NULL, "runs a guest");
		break;
	case HOST_KVM_ABSENT:
		add(d, "KVM", DOCTOR_MISSING, use, "not needed by the native engine",
		    "no /dev/kvm");
		break;
	case HOST_KVM_DENIED:
		add(d, "KVM", DOCTOR_MISSING, use, "sudo usermod -aG kvm $USER, then log in again",
		    "/dev/kvm cannot be opened");
		break;
	case HOST_KVM_BROKEN:
	case HOST_KVM_N:
		add(d, "KVM", DOCTOR_LIMITED, use, "virtualisation must be on, also in an outer VM",
		    "/dev/kvm opens, but a guest does not run");
		break;
	}
}

static void see_client(struct doctor *d, const char *name, const char *use, const char *remedy,
		       int (*probe)(struct host_client *, int))
{
	cleanup_(host_client_done) struct host_client c = {0};

	(void)probe(&c, CLIENT_MS);
	if (!c.path)
		add(d, name, DOCTOR_MISSING, use, NULL, "not on PATH");
	else if (!c.answers)
		add(d, name, DOCTOR_LIMITED, use, remedy, "%s, does not answer", c.path);
	else
		add(d, name, DOCTOR_OK, use, NULL, "%s, %s", c.path, c.version);
}

static int examine(struct doctor *d, struct err *err)
{
	int r = see_userns(d, err);

	if (r == 0)
		r = see_bwrap(d, err);
	if (r < 0)
		return r;
	see_kernel(d);
	r = see_cgroups(d, err);
	if (r < 0)
		return r;
	see_kvm(d);
	see_client(d, "docker", "the docker engine", "start the daemon, or set DOCKER_HOST",
		   host_docker);
	see_client(d, "podman", "the podman engine", "run: podman --version", host_podman);
	see_client(d, "sbx", "the Docker Sandboxes engine", "run: sbx version", host_sbx);
	return 0;
}

int doctor_examine(struct doctor *ret, struct err *err)
{
	struct doctor d = {0};
	int r = examine(&d, err);

	if (r < 0)
		doctor_done(&d);
	else
		*ret = d;
	return r;
}

void doctor_done(struct doctor *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->rows[i].detail);
		free(d->rows[i].use);
		free(d->rows[i].remedy);
	}
	*d = (struct doctor){0};
}

json_t *doctor_to_json(const struct doctor *d)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < d->n; i++) {
		const struct doctor_row *row = &d->rows[i];

		(void)json_array_append_new(
			rows,
			json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", row->name, "state",
				  doctor_state_name(row->state), "detail", json_text(row->detail),
				  "use", json_text(row->use), "remedy",
				  row->remedy ? json_text(row->remedy) : json_null()));
	}
	return json_pack("{s:b, s:o}", "native", d->native, "checks", rows);
}
