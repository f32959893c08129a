// Paths of the reference servers written in Go. scripts/bench.mjs builds them if Go is installed; otherwise their
// columns are left out.

/** Paths of the programs; undefined without Go. */
export const goPrograms = {
  noop: process.env['GATEHOUSE_BENCH_GO_NOOP'],
  opaEnvoy: process.env['GATEHOUSE_BENCH_OPA_ENVOY'],
}
