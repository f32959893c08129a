// npm test -- --project kubernetes: runs test/kubernetes with a real API server. Arguments are passed to vitest, e.g.
// `npm test -- --project kubernetes provider`.

import { cluster } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { runVitest } from './vitest.mjs'

await runScript(async () => {
  await setup()
  return runVitest(['run', '--project', 'kubernetes', ...process.argv.slice(2)], await cluster())
})
