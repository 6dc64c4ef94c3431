GO ?= go
LM  = bin/lm

.PHONY: build test demo bench lint check fmt

build:
	@mkdir -p bin
	@$(GO) build -o $(LM) ./cmd/lm

test:
	$(GO) test ./...

# demo asks the example vault a real question, as an agent's hook would.
demo: build
	@echo '$$ lm loadout "how do I add a new command to lm" --agent builder' && echo
	@$(LM) -C examples/vault loadout "how do I add a new command to lm" --agent builder
	@echo && echo '$$ lm loadout "how do I add a new command to lm" --agent builder --explain' && echo
	@$(LM) -C examples/vault loadout "how do I add a new command to lm" --agent builder --explain

# bench measures lm beside git (docs/bench.md); BENCH="-n 10000 -json figures.json" says how.
bench:
	@$(GO) run ./internal/bench $(BENCH)

fmt:
	@gofmt -w $$(git ls-files '*.go')

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# check is what CI runs. The race detector needs cgo and a C compiler.
check: lint build
	$(GO) mod tidy -diff
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null; then \
		echo "$(GO) test -race ./..." && $(GO) test -race ./...; \
	else \
		echo "no cgo here: the tests run without the race detector" && $(GO) test ./...; \
	fi
	$(LM) -C examples/vault validate
