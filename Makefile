# Two targets for a fresh clone: `make demo` runs the main job, `make test` passes the tests.
# Both create .venv when it is missing and install only when the listed files changed.

PYTHON ?= python3
PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check
SETUP = pyproject.toml constraints.txt

.PHONY: demo test clean

demo: .venv/base
	.venv/bin/di-tui demo

test: .venv/test
	.venv/bin/python -m pytest -n auto --dist worksteal

clean:
	rm -rf .venv demo

.venv/bin/python:
	@echo "make: creating .venv"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: Python 3.11 or newer is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/base: $(SETUP) | .venv/bin/python
	@echo "make: installing di-tui into .venv"
	$(PIP) --constraint constraints.txt --editable .
	@touch $@

# torch comes first and by its exact pin: resolved as a dependency it would pull CUDA packages in.
.venv/test: $(SETUP) | .venv/bin/python
	@echo "make: installing di-tui with its test packages into .venv"
	$(PIP) "$$(grep '^torch==' constraints.txt)"
	$(PIP) --constraint constraints.txt --editable '.[test]'
	@touch $@ .venv/base
