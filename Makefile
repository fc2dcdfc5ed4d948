# One place for every task. Each target sets up .venv when needed and is quick when nothing changed.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
NATIVE := CMakeLists.txt $(shell find native -name '*.hpp' -o -name '*.cpp')
# Compiled modules are kept, also where PYTHONDONTWRITEBYTECODE forbids it: the tests start many processes, and
# each would compile everything that it imports.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/pycache
# For Python beside other processes: threads that wait for a core busily take it from them.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=passive
CMAKE := $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja -DVICINAL_PYTHON=OFF -DVICINAL_TESTS=ON

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 16

# What compiles the library is installed first, so that compilers run while pip unpacks the rest; and a pip that
# chooses versions in half the time of those that come with Python 3.11 and 3.12. The pip of $(PYTHON) installs it
# in a quarter of the time that unpacking and replacing the old one (ensurepip) takes, where there is such a pip.
$(VENV)/.builders: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv --without-pip $(VENV)
	$(BIN)/python -m pip --version > /dev/null 2>&1 || \
	  $(PYTHON) -m pip --python $(BIN)/python install --quiet --no-compile 'pip>=25' || \
	  $(BIN)/python -m ensurepip
	$(BIN)/python tools/requirements.py build-system compile | \
	  xargs $(BIN)/python -m pip install --quiet --no-compile 'pip>=25'
	touch $@

$(VENV)/.tools: $(VENV)/.builders
	$(BIN)/python tools/requirements.py core dev cluster data frames languages serve vocabularies | \
	  xargs $(BIN)/python -m pip install --quiet --no-compile
	touch $@

# The extension is compiled into a kept build folder, so that only what changed is compiled again.
$(VENV)/.compiled: $(VENV)/.builders $(NATIVE) reproduction/pyproject.toml
	CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) \
	  $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps -e . -e reproduction
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(VENV)/.compiled
	touch $@

.PHONY: setup
setup: $(VENV)/.installed ## Create .venv, build the extension, install the library and the reproduction

.PHONY: demo
demo: setup ## Train on the embedded data and show what it predicts
	$(BIN)/vicinal demo

# Compilers run beside pip, and the quick checks beside the Python tests, because each alone leaves a core idle.
# What a check says is shown when it has ended, what pytest says at once, if make is able to (not that of macOS).
SHOWN = $(if $(filter output-sync,$(.FEATURES)),--output-sync=$(1))
.PHONY: test
test: ## Everything CI checks: lint, types, native tests, documentation, pytest
	$(MAKE) --no-print-directory -j $(JOBS) $(call SHOWN,target) pytest-beside native-test types docs lint

.PHONY: pytest-beside
pytest-beside: setup
	$(MAKE) --no-print-directory $(call SHOWN,none) pytest

# One process more than cores, because tests of the service and the cluster mostly wait.
WORKERS ?= $(shell echo $$(($(JOBS) + 1)))
PYTEST := $(BIN)/python -m pytest --dist loadfile
FAST_TESTS = $(ONE_THREAD) $(PYTEST) -n $(WORKERS) -m 'not slow' -q
.PHONY: pytest
pytest: setup ## The Python tests and doctests, in parallel, without the slow ones
	$(FAST_TESTS)

.PHONY: test-slow
test-slow: setup ## The tests that take minutes
	$(PYTEST) -n $(JOBS) -m slow -q

MINIMUM := build/minimum-venv
.PHONY: test-minimum
test-minimum: setup ## The lowest declared version of every core dependency: import, fit, save, command line
	rm -rf build/wheel && $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -w build/wheel .
	test -x $(MINIMUM)/bin/python || $(PYTHON) -m venv $(MINIMUM)
	$(BIN)/python tools/requirements.py --lowest core | xargs $(MINIMUM)/bin/python -m pip install --quiet
	$(MINIMUM)/bin/python -m pip install --quiet --no-deps --force-reinstall build/wheel/vicinal-*.whl
	cd build && $(CURDIR)/$(MINIMUM)/bin/python ../tools/smoke_test.py

# Debian's chromium; axe-core only for the tests, outside the repository.
AXE := axe-core@4.14.0
.PHONY: browser
browser: setup ## Install what the browser tests need (chromium, playwright, axe-core), and run them
	command -v chromium > /dev/null || apt-get install -y -q chromium
	$(BIN)/python -m pip install --quiet playwright
	mkdir -p build/axe && cd build/axe && (test -d package || tar xzf "$$(npm pack --silent $(AXE))")
	$(BIN)/python -m pytest tests/browser -q

.PHONY: pictures
pictures: setup ## Take the pictures of the page and of an explanation again (needs chromium, as make browser)
	$(BIN)/python -m pip install --quiet playwright
	$(BIN)/python tools/pictures.py

# The types of the extension, which mypy and editors read without compiling it.
STUB := src/vicinal/_native.pyi
.PHONY: stub
stub: setup ## Write the type stub of the compiled extension
	$(BIN)/python -m nanobind.stubgen -q -m vicinal._native -o $(STUB)

.PHONY: lint
lint: setup ## ruff, clang-format, the stub of the extension, the import contract, the layout of the sources, plain English
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	find native -name '*.hpp' -o -name '*.cpp' | xargs $(BIN)/clang-format --dry-run -Werror
	$(BIN)/python -m nanobind.stubgen -q -m vicinal._native -o build/_native.pyi
	cmp build/_native.pyi $(STUB) || { echo "$(STUB) differs from the extension: run 'make stub'"; exit 1; }
	$(BIN)/lint-imports
	$(BIN)/python tools/house.py
	$(BIN)/python tools/check_english.py

.PHONY: walks
walks: setup ## The files that run in five tasks, in the order in which they are reached (ARGS=--counts)
	$(BIN)/python tools/walks.py $(ARGS)

.PHONY: types
types: setup ## mypy --strict
	$(BIN)/mypy

.PHONY: format
format: setup ## Rewrite the sources as the linters want them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find native -name '*.hpp' -o -name '*.cpp' | xargs $(BIN)/clang-format -i

# -O1 compiles in two thirds of the time; the Python tests run what is compiled for users.
.PHONY: native-test
native-test: $(VENV)/.builders ## The C++ core, tested without Python
	$(CMAKE) -S . -B build/native -DCMAKE_CXX_FLAGS_RELEASE='-O1 -DNDEBUG' > /dev/null
	$(BIN)/cmake --build build/native -j $(JOBS)
	$(BIN)/ctest --test-dir build/native --output-on-failure -j $(JOBS)

# Debian's cross compiler, and qemu-user, which runs each test as the other processor would.
ARM64 := aarch64-linux-gnu
.PHONY: native-test-arm64
native-test-arm64: $(VENV)/.builders ## The C++ core compiled for AArch64 and tested under qemu-user
	command -v $(ARM64)-g++ qemu-aarch64 > /dev/null || apt-get install -y -q crossbuild-essential-arm64 qemu-user
	$(CMAKE) -S . -B build/native-arm64 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	  -DCMAKE_CXX_COMPILER=$(ARM64)-g++ -DCMAKE_CROSSCOMPILING_EMULATOR='qemu-aarch64;-L;/usr/$(ARM64)' \
	  -DCMAKE_CXX_FLAGS_RELEASE='-O1 -DNDEBUG' > /dev/null
	$(BIN)/cmake --build build/native-arm64 -j $(JOBS)
	$(BIN)/ctest --test-dir build/native-arm64 --output-on-failure -j $(JOBS)

# LD_PRELOAD because Python itself is not built with the sanitizer. The environment of its own finds the
# sanitized copy of the package, and the tools of the other one, whose editable install it passes over.
# Left out: scikit-learn's checks, many hundred calls of what the other tests call with worse input; limits on
# memory, which the sanitizer's own maps exceed; the tutorial, which needs the command in an environment.
NOT_SANITIZED := methods/test_sklearn_checks.py datasets/test_memory.py docs/test_pages.py
SANITIZED := build/sanitize-venv
PRELOADED = LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libubsan.so) $$(c++ -print-file-name=libstdc++.so.6)" \
	  ASAN_OPTIONS=detect_leaks=0
.PHONY: sanitize
sanitize: sanitized-package ## Native tests and the Python tests that reach the extension, under ASan + UBSan
	$(CMAKE) -S . -B build/sanitize-native -DVICINAL_SANITIZE=address,undefined > /dev/null
	$(BIN)/cmake --build build/sanitize-native -j $(JOBS)
	$(BIN)/ctest --test-dir build/sanitize-native --output-on-failure -j $(JOBS)
	$(PRELOADED) $(SANITIZED)/bin/python -m pytest --dist loadfile -n $(JOBS) -m 'native and not slow' -q \
	  -p no:cacheprovider $(addprefix --ignore tests/unit/,$(NOT_SANITIZED)) tests reproduction/tests

.PHONY: sanitized-package
sanitized-package: setup
	$(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --upgrade --target build/sanitize-site \
	  -C build-dir=build/sanitize-python -C cmake.define.VICINAL_SANITIZE=address,undefined .
	$(BIN)/python -m venv --without-pip $(SANITIZED)
	for site in $(CURDIR)/build/sanitize-site $(CURDIR)/reproduction/src "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"; \
	  do echo "$$site"; done > "$$($(SANITIZED)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/sites.pth"

# One BLAS thread, because the inputs are tried in forked processes.
MINUTES ?= 5
.PHONY: fuzz
fuzz: sanitized-package ## Damaged files, models and matrices under ASan + UBSan (MINUTES=120 for hours; ARGS=--help)
	$(PRELOADED) OPENBLAS_NUM_THREADS=1 $(SANITIZED)/bin/python -m tests.fuzz --minutes $(MINUTES) $(ARGS)

.PHONY: chaos
chaos: setup ## Kills, full and read-only disks, forks, threads and signals (MINUTES=60 for an hour)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.chaos --minutes $(MINUTES) $(ARGS)

# Threads only: a data race in the loops that the C++ tests run in parallel.
.PHONY: sanitize-threads
sanitize-threads: $(VENV)/.builders ## The native tests under TSan
	$(CMAKE) -S . -B build/sanitize-threads -DVICINAL_SANITIZE=thread > /dev/null
	$(BIN)/cmake --build build/sanitize-threads -j $(JOBS)
	$(BIN)/ctest --test-dir build/sanitize-threads --output-on-failure -j $(JOBS)

.PHONY: bench
bench: bench-parsing bench-index bench-methods bench-tuning ## Every benchmark against the alternatives

.PHONY: bench-parsing
bench-parsing: setup ## Readers against those of other libraries
	$(BIN)/python -m benchmarks.parsing

.PHONY: bench-index
bench-index: setup ## Search against its alternatives: time and memory (ARGS=--full for larger rows)
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks.index $(ARGS)

.PHONY: bench-index-table
bench-index-table: setup ## The published table of exact search, on an idle machine (ARGS="--only binary" for some rows)
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks.index_table $(ARGS)

PEERS := build/peers-venv
.PHONY: bench-index-approximate
bench-index-approximate: setup ## Search against an approximate index, in an environment of its own
	test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet -r benchmarks/requirements-approximate.txt
	$(BIN)/python -m benchmarks.index_approximate $(PEERS)/bin/python $(ARGS)

.PHONY: bench-methods
bench-methods: setup ## Methods against their time bars and scikit-multilearn-ng (ARGS=--full for all)
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks.methods $(ARGS)

.PHONY: bench-busy
bench-busy: setup ## The blend beside two busy loops, at most twice its time (ARGS="Blend LabelRidge")
	$(BIN)/python -m benchmarks.busy $(ARGS)

.PHONY: bench-scale
bench-scale: setup ## Data larger than memory, and two workers against one process (ARGS="--rows 1780000 --features 1600000")
	$(BIN)/python -m benchmarks.scale $(ARGS)

.PHONY: bench-scale-commands
bench-scale-commands: setup ## Large data sets by the command line (ARGS="texts yso-finna-en.tsv.xz --method lcif")
	$(BIN)/python -m benchmarks.scale_commands $(ARGS)

.PHONY: bench-scale-model
bench-scale-model: setup ## The default model as rows grow, in memory or from a stream (ARGS="--rows 200000 --out-of-core --limit-mb 1000")
	$(BIN)/python -m benchmarks.scale_model $(ARGS)

.PHONY: test-cluster-faults
test-cluster-faults: setup ## A cluster whose workers die, stand still and join at random moments, for minutes
	$(BIN)/python -m pytest -m slow -q tests/cluster

.PHONY: bench-tuning
bench-tuning: setup ## The grid of LCIF from one search against GridSearchCV (ARGS=--full for delicious too)
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks.tuning $(ARGS)

# river is a peer of one benchmark only: it is installed beside the environment, not into it.
.PHONY: bench-incremental
bench-incremental: setup ## One row learned, forgotten, predicted (ARGS=--full for the published table)
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target build/river river
	PYTHONPATH=build/river $(BIN)/python -m benchmarks.incremental $(ARGS)

.PHONY: test-incremental
test-incremental: setup ## Incremental learning for minutes: threads, 100,000 pairs, long random sequences of every method
	$(BIN)/python -m pytest -m slow -q -s --timeout 3600 tests/invariants/test_long_changes.py

QUALITY_PEERS := build/quality-venv
.PHONY: bench-quality
bench-quality: setup ## Predictions of the blend against linear models (ARGS=names of data sets)
	test -x $(QUALITY_PEERS)/bin/python || $(PYTHON) -m venv $(QUALITY_PEERS)
	$(QUALITY_PEERS)/bin/python -m pip install --quiet -r benchmarks/requirements-quality.txt
	$(if $(ARGS),,$(BIN)/python -m benchmarks.quality_many --peers $(QUALITY_PEERS)/bin/python)
	$(BIN)/python -m benchmarks.quality --peers $(QUALITY_PEERS)/bin/python $(ARGS)
	$(BIN)/python tools/readme_figures.py

.PHONY: bench-quality-times
bench-quality-times: setup ## Seconds and memory of the blend and its peers, on an idle machine (ARGS=names of data sets)
	$(BIN)/python -m benchmarks.quality_times --peers $(QUALITY_PEERS)/bin/python $(or $(ARGS),bibtex delicious debtags eurlex57k)

.PHONY: bench-quality-text
bench-quality-text: setup ## What counts and word pairs add on texts (ARGS=names of data sets)
	$(BIN)/python -m benchmarks.quality_text $(ARGS)

.PHONY: bench-service
bench-service: setup ## The service under load and beside hostile clients (ARGS="--seconds 60 --memory 100000" as published)
	$(BIN)/python -m benchmarks.service --hostile 20 $(ARGS)

.PHONY: kill-test
kill-test: setup ## Kill the service 50 times while it learns 20,000 examples: count what is lost or doubled
	$(BIN)/python -m benchmarks.service --seconds 0 --kills 50 $(ARGS)

.PHONY: fuzz-service
fuzz-service: setup ## The long form of the requests that schemathesis makes from the OpenAPI document
	VICINAL_FUZZ_EXAMPLES=500 $(BIN)/python -m pytest tests/service/test_schema.py -q --timeout 3600

# Annif pins its own versions of NumPy, SciPy and scikit-learn, so it gets an environment of its own.
ANNIF := build/annif-venv
.PHONY: annif
annif: setup
	test -x $(ANNIF)/bin/python || $(PYTHON) -m venv $(ANNIF)
	rm -rf build/wheels && $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps -w build/wheels .
	$(ANNIF)/bin/python -m pip install --quiet annif==1.4.3 omikuji
	$(ANNIF)/bin/python -m pip install --quiet --force-reinstall --no-deps build/wheels/vicinal-*.whl
	$(BIN)/python tools/requirements.py core | xargs $(ANNIF)/bin/python -m pip install --quiet

.PHONY: annif-test
annif-test: annif ## Annif itself with our backend and our service (needs annif-archaeology and yso-finna-en)
	VICINAL_ANNIF=$(CURDIR)/$(ANNIF)/bin/annif $(BIN)/python -m pytest tests/annif -m slow -q --timeout 1200

.PHONY: bench-annif
bench-annif: annif ## Quality, training time and memory in Annif: vicinal, tfidf, Omikuji
	VICINAL_ANNIF=$(CURDIR)/$(ANNIF)/bin/annif $(BIN)/python -m benchmarks.annif $(ARGS)

LABEL_STUDIO := build/label-studio-venv
.PHONY: label-studio-test
label-studio-test: setup ## Label Studio itself with our service as its ML backend; records the requests it sends
	test -x $(LABEL_STUDIO)/bin/python || $(PYTHON) -m venv $(LABEL_STUDIO)
	$(LABEL_STUDIO)/bin/python -m pip install --quiet label-studio==1.23.2
	VICINAL_LABEL_STUDIO=$(CURDIR)/$(LABEL_STUDIO)/bin/label-studio \
	  $(BIN)/python -m pytest tests/label_studio -m slow -q --timeout 900

.PHONY: docs
docs: setup ## Check the documentation: its examples run, its links lead somewhere
	$(ONE_THREAD) $(BIN)/python tools/check_docs.py

$(VENV)/.docs: $(VENV)/.tools
	$(BIN)/python tools/requirements.py docs | xargs $(BIN)/python -m pip install --quiet
	touch $@

$(VENV)/.quality: $(VENV)/.tools
	$(BIN)/python tools/requirements.py quality | xargs -d '\n' $(BIN)/python -m pip install --quiet
	touch $@

# One job, because the programs of the gallery share the processor with the library's own threads.
.PHONY: site
site: setup $(VENV)/.docs ## The documentation site in build/site: pages, gallery, API reference
	MPLBACKEND=Agg $(BIN)/python -m sphinx -W --keep-going -q -j 1 -b html docs build/site
	$(BIN)/python tools/check_site.py build/site

.PHONY: wheels
wheels: $(VENV)/.quality ## Source archives and wheels in dist/, built without git, installed offline and tried
	$(BIN)/python tools/build_wheels.py $(PYTHONS)

.PHONY: release-wheels
release-wheels: $(VENV)/.quality ## Wheels by cibuildwheel, on the forge's machines
	$(BIN)/python -m cibuildwheel --output-dir dist

.PHONY: coverage
coverage: setup $(VENV)/.quality ## Branch coverage of src: docs/evidence/coverage.csv, and every line in build/coverage
	$(FAST_TESTS) --cov --cov-branch --cov-report=term-missing --cov-report=html:build/coverage \
	  --cov-report=json:build/coverage.json
	$(BIN)/python tools/coverage_page.py

# An environment without the editable install, which would import the sources instead of the changed copy,
# and with an older pytest, because mutmut 3.8 reads an attribute of tests that pytest 9 no longer has.
MUTATED := build/mutation-venv
.PHONY: mutation
mutation: setup $(VENV)/.quality ## Changes of the code that no test notices (ARGS='vicinal.decision.never_empty.*')
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target build/mutation-site 'pytest<9'
	$(BIN)/python -m venv --without-pip $(MUTATED)
	site="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"; \
	  printf '%s\n' $(CURDIR)/build/mutation-site "$$site" > $$(echo $(MUTATED)/lib/python*/site-packages)/sites.pth; \
	  mkdir -p mutants/src/vicinal && cp "$$site"/vicinal/_native.* mutants/src/vicinal/
	$(ONE_THREAD) $(MUTATED)/bin/python -m mutmut run --max-children $(JOBS) $(ARGS)
	$(MUTATED)/bin/python -m mutmut results | { grep -v "not checked" || true; }

.PHONY: repo-review
repo-review: $(VENV)/.quality ## Scientific Python's review of the repository, and zizmor's of the workflows
	$(BIN)/python -m repo_review .
	$(BIN)/zizmor --offline --quiet .github

.PHONY: clean
clean: ## Remove what the targets above made
	rm -rf dist docs/api docs/gallery docs/evidence/measurements.md docs/evidence/benchmark-*.svg $(filter-out $(addprefix docs/project/,index.md),$(wildcard docs/project/*))
	rm -rf $(VENV) build mutants .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
