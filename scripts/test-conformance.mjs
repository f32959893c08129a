// npm test -- --project conformance: downloads Project Wycheproof's vectors, a Go module whose hash is in test/conformance/wycheproof,
// and runs test/conformance. Arguments are passed to vitest.

import { join } from 'node:path'
import { goModule } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'
import { runVitest } from './vitest.mjs'

const MODULE = 'github.com/c2sp/wycheproof'
const FOLDER = join(root, 'test/conformance/wycheproof')

await runScript(async () => {
  await setup()
  const env = {
    ...process.env,
    GATEHOUSE_WYCHEPROOF: goModule(MODULE, 'testvectors_v1', FOLDER),
  }
  return runVitest(['run', '--project', 'conformance', ...process.argv.slice(2)], { env })
})
