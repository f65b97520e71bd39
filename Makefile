# Everything a bare Debian 12 or 13 needs is installed by the target that needs it.
# meson does the building; this file only names the things one does with the tree.
PREFIX ?= /usr/local
DESTDIR ?=
T ?= 60
M ?= 10

all: setup-build
	@scripts/build.sh build --prefix=$(PREFIX)

demo: setup-demo
	@scripts/stage.sh
	@demo/demo.sh "$$(scripts/stage.sh --path)"
	@demo/loop.sh "$$(scripts/stage.sh --path)"

# What only the tests need is installed while the compiler runs.
test: setup-build
	@scripts/setup.sh test & setup=$$!; scripts/stage.sh; built=$$?; wait $$setup && [ $$built -eq 0 ]
	@tests/run.sh

# Workers in a real Kubernetes, whose programs are built once: about 20 minutes. Needs root.
test-kubernetes: setup-kubernetes
	@scripts/stage.sh
	@RALPH_KUBERNETES="$$(scripts/kubernetes.sh)" && export RALPH_KUBERNETES && tests/run.sh --as root tests/fleet-kubernetes/*.bats

install: all
	meson install -C build --no-rebuild $(if $(DESTDIR),--destdir "$(abspath $(DESTDIR))")

# A Debian package, and a tarball that runs where it is unpacked.
deb: setup-package
	@scripts/deb.sh

dist: setup-package
	@scripts/dist.sh

test-package: setup-package
	@tests/package/run.sh

bench: setup-bench
	@scripts/stage.sh
	@bench/run

# The pictures of docs/images, from a real terminal.
screenshots: setup-screenshots
	@scripts/stage.sh
	@scripts/screenshots.sh

lint: setup-lint
	@tests/lint/run.sh

# The analyses that take minutes: for a nightly run.
lint-deep: setup-lint
	@tests/lint/run.sh --deep

sanitize: setup-test
	@tests/instrumented.sh

# Loops, commands, network, kills, full disks, no memory and clock jumps at once: M minutes of it. SEED repeats the choices.
soak: setup-soak
	@soak/run.sh $(M)

# An agent of random operations against a user who works in the same repository, for M minutes.
soak-git: setup-soak
	@scripts/stage.sh
	@python3 soak/git-soak.py --stage "$$(scripts/stage.sh --path)" --minutes $(M) $(if $(SEED),--seed $(SEED))

# One loop of 20 tasks through an outage, a usage limit, a credential that ends, and kills.
soak-loop: setup-soak
	@scripts/stage.sh
	@python3 soak/loop-soak.py --stage "$$(scripts/stage.sh --path)"

# The run of `make sanitize`, and the lines of src/ that it ran.
coverage: setup-test setup-coverage
	@tests/instrumented.sh --coverage

fuzz: setup-lint
	@scripts/fuzz.sh $(T)

format: setup-lint
	git ls-files -z '*.c' '*.h' | xargs -0 clang-format -i

clean:
	rm -rf build build-*
	scripts/stage.sh --remove

setup-%:
	@scripts/setup.sh $*

.PHONY: all demo test test-kubernetes install deb dist test-package bench screenshots lint lint-deep sanitize soak soak-git soak-loop coverage fuzz format clean
