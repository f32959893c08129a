// npm run bench:memory: sets up what is missing, bundles bench/held.ts and runs it, which takes two minutes. Writes its
// section of docs/performance.md.

import { bundleBench, formatPage, run } from './bench-programs.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'

// The same settings as in the Dockerfile.
const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '65536',
}

await runScript(async () => {
  Object.assign(process.env, MALLOC)
  await setup()
  const [held] = await bundleBench('held')
  return run(held) || formatPage()
})
