/*
 * A sandbox with a kernel of its own: QEMU's microvm as the one command of a native sandbox, which
 * has the walls; and in it the same guest once more. See vm/vm.h.
 *
 * "vm" needs a KVM that runs code; "vm:emulated" does without, is slow, and is only ever asked for.
 */
#include "engine/vm/vm-engine.h"

#include <string.h>

#include "base/fd.h"
#include "engine/probe-host.h"

#define KVM_MS 1000

static void init(struct engine *e, bool emulated)
{
	engine_native.init(e);
	vm_of(e)->emulated = emulated;
	vm_of(e)->between = (struct child){-1, -1};
}

static void vm_init_engine(struct engine *e)
{
	init(e, false);
}

static void emulated_init(struct engine *e)
{
	init(e, true);
}

static int no_kvm(enum host_kvm kvm, struct err *err)
{
	static const char *const why[] = {
		[HOST_KVM_ABSENT] = "this machine has no /dev/kvm: switch virtualisation on in its "
				    "firmware, or ask its provider",
		[HOST_KVM_DENIED] =
			"/dev/kvm cannot be opened; run: sudo usermod -aG kvm $USER, and "
			"log in again",
		[HOST_KVM_BROKEN] = "/dev/kvm opens, but no guest runs",
	};
	int r = err_set(err, ENOTSUP,
			"engine vm needs KVM: %s. vm:emulated does without, and is very slow",
			why[kvm]);

	err->exit_code = EXIT_RALPH;
	return r;
}

static int check_kvm(struct err *err)
{
	enum host_kvm kvm = host_kvm(KVM_MS);

	return kvm == HOST_KVM_OK ? 0 : no_kvm(kvm, err);
}

static int vm_ask(struct sandbox_spec *spec, struct err *err)
{
	cleanup_vm_files struct vm_files f = {0};
	int r = vm_files_find(&f, false, VM_MEMORY_MIN, err);

	if (r < 0)
		return r;
	/* plan() says what is missing. */
	spec->kernel.program = f.qemu ? xstrdup(f.qemu) : NULL;
	spec->kernel.version = vm_files_identity(&f);
	return 0;
}

static int check_files(bool emulated, struct err *err)
{
	cleanup_vm_files struct vm_files f = {0};
	int r = vm_files_find(&f, emulated, VM_MEMORY_MIN, err);

	return r < 0 ? r : vm_files_check(&f, err);
}

static int vm_probe(struct err *err)
{
	int r = engine_native.probe(err);

	if (r == 0)
		r = check_kvm(err);
	return r < 0 ? r : check_files(false, err);
}

static int emulated_probe(struct err *err)
{
	int r = engine_native.probe(err);

	return r < 0 ? r : check_files(true, err);
}

static int start(struct engine *e, struct engine_proc *ret, struct err *err)
{
	struct engine_proc outer = {.pidfd = -1, .guest = -1};
	int r = vm_of(e)->emulated ? 0 : check_kvm(err);

	if (r == 0)
		r = engine_native.start(e, &outer, err);
	if (r == 0)
		r = vm_switch_start(vm_of(e), outer.guest, &ret->guest, err);
	closep(&outer.guest);
	ret->pidfd = outer.pidfd;
	return r;
}

/* The tree that the machine sees is that of the outer root. */
static int vm_cover(struct engine *e, const char *from, const char *path, enum spec_mount_kind kind,
		    struct err *err)
{
	cleanup_free char *there = xasprintf("/t%s", path);
	cleanup_free char *source = from ? xasprintf("/t%s", from) : NULL;

	return engine_native.cover(e, source, there, kind, err);
}

static int vm_stop(struct engine *e, struct err *err)
{
	struct vm *vm = vm_of(e);
	int r = engine_native.stop(e, err);

	if (vm->between.pid > 0)
		child_done(&vm->between);
	vm->between = (struct child){-1, -1};
	return r;
}

static void vm_done(struct engine *e)
{
	struct vm *vm = vm_of(e);

	guest_root_done(&vm->inner);
	strv_done(&vm->strings);
	strv_done(&vm->line);
	closep(&vm->between.pidfd);
	engine_native.done(e);
}

static pid_t vm_init_pid(struct engine *e)
{
	return engine_native.init_pid(e);
}

static void vm_complaint(struct engine *e, char *ret, size_t size)
{
	engine_native.complaint(e, ret, size);
}

static void vm_kill(struct engine *e)
{
	engine_native.kill(e);
}

static void vm_adopt(struct engine *e, struct engine_launch *l)
{
	engine_native.adopt(e, l);
}

static int vm_freeze(struct engine *e, struct err *err)
{
	return engine_native.freeze(e, err);
}

static void vm_thaw(struct engine *e)
{
	engine_native.thaw(e);
}

static void vm_clean(const struct sandbox_spec *spec)
{
	engine_native.clean(spec);
}

static int vm_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err)
{
	return vm_doctor_rows(ret, false, ret_usable, err);
}

static int emulated_doctor(struct doctor_rows *ret, bool *ret_usable, struct err *err)
{
	return vm_doctor_rows(ret, true, ret_usable, err);
}

static int vm_prepare(uint64_t limit, void (*say)(const char *text), struct err *err)
{
	int r = check_kvm(err);

	return r < 0 ? r : vm_setup(false, limit, say, err);
}

static int emulated_prepare(uint64_t limit, void (*say)(const char *text), struct err *err)
{
	return vm_setup(true, limit, say, err);
}

#define COMMON                                                                                     \
	.caps = ENGINE_GUEST_CAPS | ENGINE_MACHINE, .instance_size = sizeof(struct vm),            \
	.ask = vm_ask, .plan = vm_plan, .dump = vm_dump, .start = start, .adopt = vm_adopt,        \
	.init_pid = vm_init_pid, .complaint = vm_complaint, .kill = vm_kill, .cover = vm_cover,    \
	.freeze = vm_freeze, .thaw = vm_thaw, .stop = vm_stop, .done = vm_done, .clean = vm_clean

const struct engine_ops engine_vm = {
	.name = "vm",
	.probe = vm_probe,
	.doctor = vm_doctor,
	.prepare = vm_prepare,
	.init = vm_init_engine,
	.wall = "a kernel of its own, in a machine of QEMU's",
	.holds = "the same, and bugs of your kernel that QEMU's calls do not reach",
	.costs = "memory of a machine; its start; files are slower",
	COMMON,
};

const struct engine_ops engine_vm_emulated = {
	.name = "vm:emulated",
	.probe = emulated_probe,
	.doctor = emulated_doctor,
	.prepare = emulated_prepare,
	.init = emulated_init,
	.wall = "a kernel of its own, in an emulated machine",
	.holds = "the same as vm; for trying things where there is no KVM",
	.costs = "programs take ten to a hundred times as long",
	COMMON,
};
