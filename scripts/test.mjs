// npm test: sets up what is missing, then runs the core tests that need nothing but Node, Python and an Envoy. Arguments
// are passed to vitest, e.g. `npm test -- test/ops/settings`; a file that they name runs whether it is core or nightly. The
// integration tests find Envoy and Python's MCP client themselves (test/support/global-setup.ts).
//
// `--project NAME` runs another suite with the programs that it needs (test-NAME.mjs), `--goldens` rewrites what is
// generated from the sources, and `--watch` runs the unit tests again at each change.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'
import { runVitest } from './vitest.mjs'

/** Suites that need programs of others, each with a script. */
const OTHERS = [
  'cluster',
  'conformance',
  'containers',
  'gateway-api',
  'kubernetes',
  'mesh',
  'parties',
  'soak',
]
/** Projects without an Envoy. */
const UNIT = ['unit', 'isolated', 'long'].flatMap((name) => ['--project', name])
/** Tests that write what they compare, if UPDATE_GOLDEN is set. */
const GOLDENS = [
  '--project',
  'golden',
  '--project',
  'unit',
  'test/golden',
  'test/settings-page.test.ts',
  'test/chart-values.test.ts',
  'test/alert-rules.test.ts',
  'test/reference.test.ts',
  'test/control/schema/crd/crd.test.ts',
  'test/xds/bootstrap/chart-bootstrap.test.ts',
]

await runScript(async () => {
  const args = process.argv.slice(2)
  const at = args.indexOf('--project')
  const project = args[at + 1]
  if (at !== -1 && OTHERS.includes(project)) return runSuite(project, args.toSpliced(at, 2))
  await setup()
  const without = (flag) => args.filter((arg) => arg !== flag)
  if (args.includes('--goldens')) {
    process.env['UPDATE_GOLDEN'] = '1'
    return runVitest(['run', ...GOLDENS, ...without('--goldens')])
  }
  if (args.includes('--watch')) return runVitest(['watch', ...UNIT, ...without('--watch')])
  return runVitest(['run', ...args])
})

function runSuite(name, args) {
  const command = [join(root, `scripts/test-${name}.mjs`), ...args]
  return spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' }).status ?? 1
}
