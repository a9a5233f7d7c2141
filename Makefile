# The few verbs everybody uses. Each sets up what it needs; `make test` is what CI runs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help quickstart setup environment mariadb tools engine fmt check test test-fast test-rust test-python test-systems wheel bench bench-quick bench-rust docs clean

help:
	@echo "make quickstart   set up, then run plans/quickstart.toml: a demonstration of two minutes"
	@echo "make test         set up, check and test everything, real servers included"
	@echo "make test-fast    tests of pure logic only, in seconds"
	@echo "make test-systems every version of every server, every workload on each, and the largest clusters: hundreds of MB"
	@echo "make setup        the virtual environment $(VENV), with the engine"
	@echo "make bench        bakeoff and its peers on managed servers: about two hours, on a quiet machine"
	@echo "make wheel        a wheel in dist/ that needs no Rust, for any Linux of ARCH=x86_64 or aarch64, and its test"
	@echo "make fmt | check | bench-quick | bench-rust | docs | clean"

# The compiler works while packages and servers are fetched.
quickstart:
	@$(MAKE) --no-print-directory --jobs=2 environment mariadb
	$(BIN)/bakeoff run plans/quickstart.toml

setup:
	@$(MAKE) --no-print-directory --jobs=2 $(VENV)/.tools engine
	@$(LINK)

environment: $(VENV)/.installed engine
	@$(LINK)

# Makes the environment's programs those just built.
LINK = ln -sf "$(CURDIR)/target/release/bakeoff-engine" "$(CURDIR)/target/release/bakeoff-powerloss" $(BIN)

mariadb: $(VENV)/.installed
	@$(BIN)/bakeoff systems install mariadb || echo "MariaDB is not available here; the demonstration leaves it out."

# Before the long build begins: what would stop it.
tools:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "bakeoff needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 3; }
	@command -v cargo >/dev/null || { echo "bakeoff needs Rust (cargo): see the README"; exit 3; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "cannot make a virtual environment; on Debian: apt install python3-venv"; exit 3; }

# The package goes in editable, so only its own metadata makes it worth installing again.
$(VENV)/.installed: pyproject.toml | tools
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# What tests and checks need, too.
$(VENV)/.tools: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

# Cargo knows whether there is anything to do.
engine: | tools
	cargo build --release --locked --quiet -p bakeoff-engine -p bakeoff-powerloss

fmt: setup
	cargo fmt
	$(BIN)/ruff check --fix --quiet python tests benches release
	$(BIN)/ruff format --quiet python tests benches release

check: setup
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff format --check --quiet python tests benches release
	$(BIN)/ruff check --quiet python tests benches release
	$(BIN)/mypy

test: check test-rust test-python

# Not the examples, which `make check` looks through; the documentation has no tests.
test-rust: setup
	cargo test --workspace --tests --locked --quiet

# Four at a time, also on two cores: many tests wait for a server or for a window to end, and none depends on how long
# that took. In the order of the folders: tests of real systems first, whose files are long, so that the many short ones
# fill the end.
test-python: setup
	$(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder -m "not (slow and servers)"

test-systems: setup
	$(BIN)/python -m pytest -m "slow and servers"

test-fast: setup
	$(BIN)/python -m pytest -m "not servers and not browser and not slow"

# The method and the last results: docs/method/benchmarks.md. `$(BIN)/python -m benches.suite --help` for single rows.
bench: setup
	$(BIN)/python -m benches.suite --out benches/results/bench.json

# That everything works, in about six minutes; its figures are worth nothing.
bench-quick: setup
	$(BIN)/python -m benches.suite --quick

bench-rust: setup
	cargo bench --locked -p bakeoff-measure

# The command reference is made from the parser, tables of options from the engine's; tests fail when they are stale.
# site/index.html opens from disk, search included.
docs: setup
	$(BIN)/python -m bakeoff.cli.reference docs
	$(BIN)/python -m pip install --quiet 'bakeoff[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	$(BIN)/python -m benches.tutorial --check

# Builds the wheel from the source distribution, so that neither has a file that the other lacks. zig links to the glibc
# that the wheel's tag names. The first build of an ARCH takes minutes; what it needs is kept in build/wheel.
ARCH ?= x86_64
TOOLS := build/wheel
wheel: | tools
	@test -d "$$(rustc --print target-libdir --target $(ARCH)-unknown-linux-gnu)" || { \
	    echo "Rust has no library for $(ARCH) here: rustup target add $(ARCH)-unknown-linux-gnu"; exit 3; }
	test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet --requirement release/requirements.txt
	$(TOOLS)/bin/python release/notices.py $(ARCH) > THIRD-PARTY-NOTICES
	rm -rf build/made
	PATH="$(CURDIR)/$(TOOLS)/bin:$$PATH" CARGO="$(CURDIR)/release/cargo-for-wheels" CARGO_TARGET_DIR="$(CURDIR)/target" \
	    ARCH=$(ARCH) $(TOOLS)/bin/python -m build --no-isolation --outdir build/made .
	$(TOOLS)/bin/wheel tags --remove --python-tag py3 --abi-tag none --platform-tag manylinux_2_17_$(ARCH) build/made/*.whl
	mkdir -p dist && mv build/made/* dist/
	ARCH=$(ARCH) $(TOOLS)/bin/python -m pytest -rPs release/test_wheel.py

clean:
	rm -rf $(VENV) target build dist site THIRD-PARTY-NOTICES *.egg-info python/*.egg-info
