// The yardsticks in Go, which scripts/bench.mjs builds where Go is: without it their columns are left out.

/** Paths; undefined: there is no Go. */
export const goPrograms = {
  noop: process.env['GATEHOUSE_BENCH_GO_NOOP'],
  opa: process.env['GATEHOUSE_BENCH_OPA'],
}
