// npm test -- --project kubernetes: runs test/kubernetes with a real API server. Arguments are passed to vitest, e.g.
// `npm test -- --project kubernetes provider`.

import { join } from 'node:path'
import { runInCluster } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

await runScript(async () => {
  await setup()
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  return runInCluster([vitest, 'run', '--project', 'kubernetes', ...process.argv.slice(2)])
})
