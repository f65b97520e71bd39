#include "engine/vm/vm-engine.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "engine/plan.h"

/*
 * Two roots follow from the spec's. The outer one holds QEMU, and below VM_TREE what of the host's
 * files the sandbox has: with its read-only and hidden paths, which the machine's kernel cannot
 * lift. The inner one is made of that tree, by the guest in the machine, as the spec says; it has them once more.
 */
#define VM_TREE "/t"
#define PLACE "/k" /* the machine's own files, in the outer root */
#define OUTER_EXTRA 24

static const char *keep(struct vm *vm, const char *a, const char *b)
{
	strv_pushf(&vm->strings, "%s%s", a, b);
	return vm->strings.v[vm->strings.n - 1];
}

static void add(struct guest_root *root, enum guest_mount_kind kind, const char *source,
		const char *target)
{
	root->mounts[root->n_mounts++] = (struct guest_mount){
		.kind = kind, .source = source, .target = target, .mode = 0755};
}

/* Programs and libraries of the host, for QEMU alone. */
static void add_system(struct vm *vm, struct guest_root *outer)
{
	static const char *const links[] = {"/bin", "/sbin", "/lib", "/lib32", "/lib64"};
	struct stat st;

	add(outer, GUEST_BIND_RO, "/usr", "/usr");
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		char text[256];
		ssize_t n = readlink(links[i], text, sizeof(text) - 1);

		if (n > 0) {
			text[n] = '\0';
			add(outer, GUEST_SYMLINK, keep(vm, text, ""), links[i]);
		} else if (stat(links[i], &st) == 0) {
			add(outer, GUEST_BIND_RO, links[i], links[i]);
		}
	}
	if (stat("/etc/ld.so.cache", &st) == 0)
		add(outer, GUEST_COPY, "/etc/ld.so.cache", "/etc/ld.so.cache");
	add(outer, GUEST_PROC, "", "/proc");
	add(outer, GUEST_DEVICES, vm->emulated ? "" : "kvm", "/dev");
}

static bool is_bind(const struct guest_mount *m)
{
	return m->kind == GUEST_BIND_RO || m->kind == GUEST_BIND_RW;
}

/* The host's files lie where row i goes, by a row before it. */
static bool on_host_files(const struct guest_root *root, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_bind(&root->mounts[k]) &&
		    path_under(root->mounts[i].target, root->mounts[k].target))
			return true;
	return false;
}

static bool is_cover(enum guest_mount_kind k)
{
	return k == GUEST_TMPFS || k == GUEST_MASK || k == GUEST_MASK_DIR;
}

static bool is_wall(enum guest_mount_kind k)
{
	return k == GUEST_PIN || k == GUEST_PROTECT || k == GUEST_HIDE || k == GUEST_REMOUNT_RO;
}

/* Each row goes to the tree that the machine sees, to the machine, or to both. */
static void divide(struct vm *vm, const struct guest_root *all, struct guest_root *outer)
{
	for (size_t i = 0; i < all->n_mounts; i++) {
		const struct guest_mount *m = &all->mounts[i];
		bool below = on_host_files(all, i);
		bool bind = is_bind(m) || m->kind == GUEST_COPY;
		const char *there = keep(vm, VM_TREE, streq(m->target, "/") ? "" : m->target);

		if (bind || (below && (is_cover(m->kind) || is_wall(m->kind)))) {
			outer->mounts[outer->n_mounts] = *m;
			outer->mounts[outer->n_mounts++].target = there;
		}
		vm->inner.mounts[vm->inner.n_mounts] = *m;
		if (bind)
			vm->inner.mounts[vm->inner.n_mounts].source = there;
		vm->inner.n_mounts++;
	}
}

static void plan_roots(struct vm *vm, const struct vm_files *f)
{
	struct guest_root all = vm->native.root, *outer = &vm->native.root;

	*outer = vm->inner = all;
	outer->mounts = xcalloc(all.n_mounts + OUTER_EXTRA, sizeof(*outer->mounts));
	vm->inner.mounts = xcalloc(all.n_mounts + 1, sizeof(*outer->mounts));
	outer->n_mounts = vm->inner.n_mounts = 0;
	add_system(vm, outer);
	add(outer, GUEST_BIND_RO, keep(vm, f->program, ""), PLACE "/vm");
	add(outer, GUEST_BIND_RO, keep(vm, f->kernel, ""), PLACE "/kernel");
	add(outer, GUEST_BIND_RO, keep(vm, f->initramfs, ""), PLACE "/initramfs");
	if (vm_files_exist(f->kept))
		add(outer, GUEST_BIND_RO, keep(vm, f->kept, ""), PLACE "/kept");
	add(outer, GUEST_TMPFS, "", VM_TREE);
	divide(vm, &all, outer);
	add(outer, GUEST_REMOUNT_RO, "", VM_TREE);
	add(outer, GUEST_REMOUNT_RO, "", "/");
	free(all.mounts);
}

/* What `vm line` is told, and QEMU. */
static void plan_line(struct vm *vm, const struct vm_files *f, uint32_t memory)
{
	const struct vm_machine m = {
		.qemu = f->qemu,
		.kernel = PLACE "/kernel",
		.initramfs = PLACE "/initramfs",
		.tree = VM_TREE,
		.emulated = vm->emulated,
		.memory = memory,
		.cpus = vm_cpus(vm->emulated),
	};
	bool kept = vm_files_exist(f->kept);

	strv_push(&vm->line, PLACE "/vm");
	strv_push(&vm->line, "line");
	strv_push(&vm->line, kept ? PLACE "/kept" : "-");
	strv_pushf(&vm->line, "%llu", (unsigned long long)vm->native.spec->limits.pids);
	strv_push(&vm->line, "0"); /* the machine has no more memory than it may use */
	vm_machine_words(&m, &vm->line);
	strv_push(&vm->line, "-chardev");
	strv_push(&vm->line, "socket,id=line,fd=3");
	if (kept) {
		strv_push(&vm->line, "-incoming");
		strv_push(&vm->line, "fd:4");
	}
}

int vm_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err)
{
	struct vm *vm = vm_of(e);
	uint32_t memory = vm_memory(spec->limits.memory, vm->emulated);
	cleanup_vm_files struct vm_files f = {0};
	int r;

	if (!memory)
		return err_usage(err,
				 "limits.memory: a machine of its own needs %d MiB beside what "
				 "QEMU takes; at least %lluM",
				 VM_MEMORY_MIN,
				 (unsigned long long)(VM_MEMORY_MIN + VM_OVERHEAD / MiB));
	r = vm_files_find(&f, vm->emulated, memory, err);
	if (r == 0)
		r = vm_files_check(&f, err);
	if (r == 0)
		r = engine_native.plan(e, spec, err);
	if (r < 0)
		return r;
	if (vm->native.root.n_mounts + OUTER_EXTRA > GUEST_MOUNTS_MAX)
		return err_set(err, E2BIG, "too many mounts for a machine of its own");
	plan_roots(vm, &f);
	plan_line(vm, &f, memory);
	return 0;
}

void vm_dump(const struct engine *e, FILE *out)
{
	const struct vm *vm = (const struct vm *)e;

	engine_native.dump(e, out);
	(void)fputs("\nthe machine, started in there:\n ", out);
	plan_put_words(&vm->line, out);
	(void)fputs("\n\nin the machine:\n", out);
	plan_put_root(&vm->inner, out);
}
