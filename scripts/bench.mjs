// npm run bench: sets up what is missing, bundles bench/, builds its Go servers (if Go is installed) and runs it.
// Writes its sections of docs/performance.md; with --short it takes a minute and writes nothing. `npm run bench -- NAME` runs
// one that has a script of its own.

import { join } from 'node:path'
import { bundleBench, formatPage, run } from './bench-programs.mjs'
import { goProgram, hasGo } from './go-program.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

/** Benchmarks with a script of their own. */
const SCRIPTS = ['files', 'kubernetes', 'memory', 'turns', 'workers']
const OTHERS = ['noop-server', 'noop-processor', 'llm-server', 'one-change']

const say = (text) => process.stderr.write(`bench: ${text}\n`)
const module = join(root, 'bench/go')

await runScript(async () => {
  const [name, ...rest] = process.argv.slice(2)
  if (SCRIPTS.includes(name)) return run(join(root, `scripts/bench-${name}.mjs`), ...rest)
  await setup()
  const [main] = await bundleBench('main', ...OTHERS)
  if (hasGo()) {
    process.env.GATEHOUSE_BENCH_GO_NOOP = goProgram({
      name: 'go-noop',
      module,
      part: './noop',
      say,
    })
    process.env.GATEHOUSE_BENCH_OPA_ENVOY = goProgram({
      name: 'opa-envoy',
      module: join(root, 'bench/opa-envoy'),
      part: 'github.com/open-policy-agent/opa-envoy-plugin/cmd/opa-envoy-plugin',
      takes: 'about two minutes',
      say,
    })
  }
  const args = process.argv.slice(2)
  return run(main, ...args) || (args.includes('--short') ? 0 : formatPage())
})
