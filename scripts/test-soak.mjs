// node scripts/test-soak.mjs: runs test/soak, what takes minutes each: floods, soaks and long streams. Arguments are
// passed to vitest, e.g. `node scripts/test-soak.mjs guarded-load`.

import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { runVitest } from './vitest.mjs'

await runScript(async () => {
  await setup()
  const env = { ...process.env, GATEHOUSE_TEST_SOAK: 'yes' }
  return runVitest(['run', '--project', 'soak', ...process.argv.slice(2)], { env })
})
