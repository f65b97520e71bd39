#pragma once

#include "engine/native/native.h"

/*
 * The engine whose sandboxes have a kernel of their own, in a machine of QEMU's. Shared by its parts: what a
 * machine is made of and where (vm-files.c), how it is prepared (vm-setup.c), what it would do
 * (vm-plan.c), and doing it (vm-engine.c, vm-switch.c). vm/vm.h has the picture.
 */

/* The parts of a machine, on this host. */
struct vm_files {
	bool emulated;
	char *dir;			    /* $XDG_CACHE_HOME/ralph/vm */
	char *qemu;			    /* NULL: not on PATH */
	char *guest, *program;		    /* ralph's, which are in the initramfs */
	char *kernel, *modules, *initramfs; /* in dir; the initramfs is named by what is in it */
	char *kept; /* a machine of that size that has come up; it may not be there */
};

/* In MiB, what a sandbox's limit leaves; 0: too little. QEMU needs some memory beside it. */
uint32_t vm_memory(uint64_t limit, bool emulated);
#define VM_OVERHEAD (160 * MiB)
#define VM_MEMORY_MIN 256 /* MiB */

/* Looks only. */
int vm_files_find(struct vm_files *f, bool emulated, uint32_t memory, struct err *err);
void vm_files_done(struct vm_files *f);
#define cleanup_vm_files cleanup_(vm_files_done)
/* QEMU and the machine are there; the error says what to do. */
int vm_files_check(const struct vm_files *f, struct err *err);
bool vm_files_exist(const char *path);
/* Of QEMU and of all that its machine starts from: another file has another identity. */
char *vm_files_identity(const struct vm_files *f);

/* QEMU's words for a machine; the same for one that is kept and for one that goes on from it. */
struct vm_machine {
	const char *qemu, *kernel, *initramfs, *tree;
	bool emulated;
	uint32_t memory; /* MiB */
	unsigned cpus;
};

unsigned vm_cpus(bool emulated);
void vm_machine_words(const struct vm_machine *m, struct strv *out);

struct vm {
	struct native native; /* the sandbox around the machine */
	bool emulated;
	struct guest_root inner; /* in the machine */
	struct strv strings;	 /* of the rows above */
	struct strv line;	 /* the command of the outer sandbox */
	struct child between;	 /* our fork that passes frames on */
};

static inline struct vm *vm_of(struct engine *e)
{
	return (struct vm *)e;
}

int vm_plan(struct engine *e, const struct sandbox_spec *spec, struct err *err);
void vm_dump(const struct engine *e, FILE *out);
/* Starts the machine in the sandbox at `outer`, and gives the line to what is in it. */
int vm_switch_start(struct vm *vm, int outer, int *ret_line, struct err *err);

/* Prepares what vm_files_find() looks for. say: each step, for people. */
int vm_setup(bool emulated, uint64_t limit, void (*say)(const char *text), struct err *err);
int vm_doctor_rows(struct doctor_rows *ret, bool emulated, bool *ret_usable, struct err *err);
