// npm run bench -- workers: sets up what is missing, bundles bench/workers.ts and runs it, which takes two minutes. Writes
// its section of docs/performance.md.

import { bundleBench, formatPage, run } from './bench-programs.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'

await runScript(async () => {
  await setup()
  const [workers] = await bundleBench('workers')
  return run(workers) || formatPage()
})
