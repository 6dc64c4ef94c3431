GO ?= go
LM  = bin/lm

.PHONY: build test stress fuzz demo bench lint check fmt

build:
	@mkdir -p bin
	@$(GO) build -o $(LM) ./cmd/lm

test:
	$(GO) test ./...

# stress kills lm at 200 random moments, and runs eight writers at once.
stress:
	LM_STRESS=200 $(GO) test ./cmd/lm -run TestKilledAtAnyMoment -v -timeout 30m
	LM_STRESS=25 $(GO) test ./cmd/lm -run TestManyAtOnce -v -timeout 30m

# fuzz runs each fuzz target for FUZZTIME.
FUZZTIME ?= 2m
fuzz:
	@for file in $$(git grep -l '^func Fuzz' -- '*_test.go'); do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\).*/\1/p' $$file); do \
			echo "$$file $$target" && \
			$(GO) test ./$$(dirname $$file) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) || exit 1; \
		done; \
	done

# demo asks the example vault a real question, as two agents' hooks would.
QUESTION = how do I check that a change to how lm writes is safe
demo: build
	@for agent in builder reviewer; do \
		echo "\$$ lm loadout \"$(QUESTION)\" --agent $$agent" && echo && \
		$(LM) -C examples/vault loadout "$(QUESTION)" --agent $$agent && echo; \
	done
	@echo "\$$ lm loadout \"$(QUESTION)\" --agent reviewer --explain" && echo
	@$(LM) -C examples/vault loadout "$(QUESTION)" --agent reviewer --explain

# bench measures lm beside git in one run (docs/bench.md); make bench BENCH="-n 10000" says how.
bench:
	@$(GO) run ./internal/bench $(BENCH)

fmt:
	@gofmt -w $$(git ls-files '*.go')

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "not formatted:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# check is what CI runs. The race detector needs cgo and a C compiler; the stories
# start lm thousands of times, each of which is one goroutine's work, so they run
# without it.
check: lint build
	$(GO) mod tidy -diff
	@if [ "$$($(GO) env CGO_ENABLED)" = 1 ] && command -v "$$($(GO) env CC)" >/dev/null; then \
		echo "$(GO) test -race, all but the stories" && $(GO) test -race -timeout 20m $$($(GO) list ./... | grep -v '/cmd/lm$$') && \
		echo "$(GO) test ./cmd/lm" && $(GO) test -timeout 20m ./cmd/lm; \
	else \
		echo "no cgo here: the tests run without the race detector" && $(GO) test ./...; \
	fi
	$(LM) -C examples/vault validate
	$(LM) -C examples/vault test
