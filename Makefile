# Everything starts with one of these targets. `make` alone lists them.

.DEFAULT_GOAL := help
.NOTPARALLEL:
# So that what is shown in fewer lines still fails.
SHELL := bash
.SHELLFLAGS := -o pipefail -c

# No environment works there: PATH is cut at each colon, and recipes at the end of a line.
define newline


endef
ifneq (,$(or $(findstring :,$(CURDIR)),$(findstring $(newline),$(CURDIR))))
$(error The course lies in '$(CURDIR)'. No Python environment works in a folder whose path has a colon or a line break: rename it)
endif

VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/course-installed
LAB_SETTINGS := $(VENV)/share/jupyter/lab/settings
KERNEL_STARTUP := $(VENV)/etc/ipython/startup/course.py
# A text as one word of the shell, whatever is in it.
quoted = '$(subst ','\'',$(1))'
# The start page is written anew when a page is saved; the extension has places for guesses and folds results.
LAB_DESK := --FileContentsManager.post_save_hook=course_lib.desk.start.after_save --LabApp.extra_labextensions_path=$(call quoted,$(CURDIR)/.jupyterlab/labextensions)
LAB_STYLE := --log-level=WARN --custom-css $(call quoted,--ServerApp.tornado_settings={'static_custom_path': ['$(subst ',\',$(subst \,\\,$(CURDIR)))/.jupyterlab']})
EXTRAS := lab,test,book
ARGS   ?=
# `make setup PYTHON=python3.12` chooses another interpreter for a new environment.
PYTHON ?=
# The student's desk: chapters, exercises and points, out of git's sight. Its name reaches the shell as it was given.
DESK   ?= desk
export COURSE_DESK := $(value DESK)
# Cores that the tests may use. Where tests wait for ranks, one process more keeps them busy.
WORKERS ?= 2
WAITING := $(shell expr $(WORKERS) + 1)

# Without compiled modules every start of Python would be twice as slow.
unexport PYTHONDONTWRITEBYTECODE
# Cells that call `course` or `python` get this environment's; its kernel comes before the user's own.
export PATH := $(CURDIR)/$(BIN):$(value PATH)
export JUPYTER_PREFER_ENV_PATH := 1
export JUPYTER_PLATFORM_DIRS := 1

PIP    := $(BIN)/python -m pip --disable-pip-version-check install $(if $(CI),--quiet)
# What fails is run once more, by itself, at the end of its part; tests that then passed are named here.
# nbval takes three seconds to come, in each process: only for notebooks.
PYTEST := $(BIN)/python -m pytest -p no:nbval --second-try
SECOND_TRIES := .pytest_cache/second_tries
# pytest's exit status 5 means that nothing was selected.
OR_NONE := || [ $$? -eq 5 ]

.PHONY: help lab setup doctor test test-all no-second-tries test-unit test-slow test-exhaustive test-notebooks test-papermill test-browser check format bench book slides epub notebooks clean

help: ## list these targets
	@echo "make TARGET [ARGS=\"...\"]"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do printf '%-18s %s\n' "$$name" "$$text"; done

lab: $(STAMP) $(LAB_SETTINGS)/overrides.json $(KERNEL_STARTUP) ## open your desk in JupyterLab; DESK=FOLDER is another one, ARGS="--no-browser --port 8899" are passed on
	@$(BIN)/python -m course_lib desk -- "$$COURSE_DESK"
	@echo "JupyterLab opens in your browser. Control+C here ends it; your desk stays as it is."
	@course=$$PWD; cd -- "$$COURSE_DESK" && JUPYTERLAB_WORKSPACES_DIR="$$PWD/.desk/workspaces" "$$course/$(BIN)/python" -m jupyterlab $(if $(filter 0,$(shell id -u)),--allow-root) $(LAB_STYLE) $(LAB_DESK) --LabApp.default_url=/lab/tree/START.md $(ARGS)

setup: $(STAMP) ## create the environment in .venv, nothing else

doctor: $(STAMP) ## say whether this machine can run the course, and what to do where it cannot
	$(BIN)/python -m course_lib doctor

# The files that have such tests: to collect all others takes ten seconds.
MARKED = $(shell grep -rl --include='*.py' 'mark\.$(1)\b' tests)

# `make test` runs what --by-day chooses (by_day.py); every other target runs its part whole.
test: CHOICE := --by-day
test: no-second-tries test-unit test-notebooks test-papermill test-browser ## what CI runs: a fixed sample, more of it near a change
	@if [ -s $(SECOND_TRIES) ]; then echo "Passed, but needed a second try:"; sed 's/^/  /' $(SECOND_TRIES); fi

PARTS := unit slow notebooks papermill browser exhaustive
RESUMED := $(filter --last-failed --lf,$(ARGS))
# All parts run, whatever fails. One that has come to its end leaves a mark: --last-failed runs the others whole.
test-all: DAY := $(or $(DAY),$(shell date +%u))
test-all: no-second-tries ## everything; of what is exhaustive the share of a weekday, DAY=1 to 7; ARGS=--last-failed goes on
	@mkdir -p .pytest_cache; $(if $(RESUMED),,rm -f .pytest_cache/ended-*;) failed=; \
	for part in $(PARTS); do mark=.pytest_cache/ended-$$part; \
	  if [ -e "$$mark" ]; then args=$(call quoted,$(ARGS)); else args=$(call quoted,$(filter-out --last-failed --lf,$(ARGS))); fi; \
	  $(MAKE) --no-print-directory test-$$part DAY=$(DAY) ARGS="$$args" || failed+=" $$part"; touch "$$mark"; \
	done; \
	if [ -s $(SECOND_TRIES) ]; then echo "Passed, but needed a second try:"; sed 's/^/  /' $(SECOND_TRIES); fi; \
	if [ "$$failed" ]; then echo "Failed:$$failed. Once it is mended: make test-all ARGS=--last-failed"; exit 1; fi

no-second-tries:
	@rm -f $(SECOND_TRIES)

test-unit: $(STAMP) ## unit tests, the library's doctests and the graders' own tests
	@failed=; set -x; $(PYTEST) course_lib by_day.py --doctest-modules -n $(WORKERS) $(ARGS) $(OR_NONE) || failed=1; \
	$(PYTEST) tests -m "not ($(if $(CHOICE),,slow or )exhaustive or alone or browser or lectures)" $(CHOICE) -n $(WAITING) --dist worksteal $(ARGS) $(OR_NONE) || failed=1; \
	$(PYTEST) $(call MARKED,alone) -m "alone and not (exhaustive or browser or lectures)" $(CHOICE) $(ARGS) $(OR_NONE) || failed=1; \
	{ set +x; } 2>/dev/null; [ ! "$$failed" ]

test-slow: $(STAMP) ## the unit tests that take longer
	$(PYTEST) $(call MARKED,slow) -m "slow and not (exhaustive or alone or browser or lectures)" -n $(WAITING) --dist load --maxschedchunk 1 $(ARGS) $(OR_NONE)

test-exhaustive: $(STAMP) ## every answer, every cheat at every level, every page's claims with other ranks and seeds; DAY=1 to 7 runs a weekday's share
	$(PYTEST) tests -m "exhaustive and not (browser or lectures)" --share "$(DAY)" -n $(WORKERS) --dist load --maxschedchunk 1 $(ARGS) $(OR_NONE)

test-notebooks: $(STAMP) ## run every notebook; cells tagged nbval-check-output must print what is stored
	$(BIN)/python -m pytest --second-try notebooks $(if $(CHOICE),,solutions) --nbval-lax --nbval-sanitize-with tests/sanitize.cfg --nbval-cell-timeout 240 --timeout 300 $(CHOICE) -n $(WAITING) --dist loadscope $(ARGS) $(OR_NONE)

test-papermill: $(STAMP) ## run every chapter with another number of ranks; COURSE_WORLD_SIZE=8 goes bigger
	$(PYTEST) tests/notebooks/test_lectures_papermill.py $(CHOICE) -n $(WORKERS) --maxschedchunk 1 $(ARGS) $(OR_NONE)

test-browser: $(STAMP) $(LAB_SETTINGS)/overrides.json $(KERNEL_STARTUP) ## read the book, and run a chapter in JupyterLab in headless Chromium
	$(PYTEST) tests/browser tests/book -m browser $(CHOICE) -n $(WAITING) --dist loadfile $(ARGS) $(OR_NONE)

check: $(STAMP) ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m mypy

format: $(STAMP) ## format the code and mend what the linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)-bench ## measure this machine: launching, all-reduce, the simulator; beside their peers
	$(BIN)/python -m benchmarks $(ARGS)

book: $(STAMP) ## build the book, static pages of all chapters: build/book/index.html
	$(BIN)/python -m sphinx --quiet --fail-on-warning --jobs $(WORKERS) --conf-dir book --doctree-dir build/doctrees . build/book $(ARGS)

slides: $(STAMP) ## make a deck of slides of each lecture, which needs no network: build/slides/index.html
	$(BIN)/python book/slides.py $(ARGS)

epub: $(STAMP) ## make the book as an e-book, with still pictures: build/epub/distributed_training.epub
	$(BIN)/python book/epub.py $(ARGS)

notebooks: $(STAMP) ## execute the chapters again and store their outputs in normal form
	$(BIN)/python -m course_lib notebooks $(ARGS)

clean: ## remove caches; the environment stays
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis artifacts build

# The environment, installed once: the stamp is newer than what it was made from.
$(STAMP): constraints.txt pyproject.toml
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { $(FIND_PYTHON); $(CREATE); }
	@echo "Installing PyTorch, then the rest (a minute or two, only this once)."
	@$(PIP) "$$(grep '^torch==' constraints.txt)" | $(ON_ONE_LINE)
	@$(PIP) --quiet --constraint constraints.txt setuptools
	@$(PIP) --constraint constraints.txt --no-build-isolation --editable ".[$(EXTRAS)]" | $(ON_ONE_LINE)
	@$(BIN)/python -m ipykernel install --sys-prefix >/dev/null
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib course_lib >/dev/null 2>&1 || true # some packages ship templates
	@touch $@

$(LAB_SETTINGS)/overrides.json: .jupyterlab-settings.json $(STAMP)
	@mkdir -p $(LAB_SETTINGS) && cp $< $@

# Kernels of this environment run what lies there.
$(KERNEL_STARTUP): .jupyterlab/kernel_startup.py $(STAMP)
	@mkdir -p $(@D) && cp $< $@

# The peers that only the benchmarks need.
$(STAMP)-bench: $(STAMP)
	$(PIP) --constraint constraints.txt --no-build-isolation --editable ".[$(EXTRAS),bench]"
	@touch $@

# What pip does, on one line of a terminal; its errors are printed beside this.
define ON_ONE_LINE
awk -v terminal="$$(test -t 1 && echo 1)" ' \
  /^ *(Collecting|Requirement|Downloading|Installing)/ { n += /Collecting|Requirement/; if (terminal) { printf "\r\033[K%.78s", $$0; fflush() } } \
  END { if (terminal) printf "\r\033[K"; if (n) print n " packages are there." }'
endef

define FIND_PYTHON
for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
  $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break; python=; \
done; \
test -n "$$python" || { echo "The course needs Python 3.11 or newer, and found none. Install one, or name it: make setup PYTHON=/path/to/python3"; exit 1; }
endef

define CREATE
echo "Creating $(VENV) with $$($$python --version)."; \
$$python -m venv $(VENV) || { echo "Could not create $(VENV). On Debian and Ubuntu: sudo apt-get install python3-venv"; exit 1; }
endef
