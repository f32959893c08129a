// npm run bench -- memory: sets up what is missing, bundles bench/held.ts and runs it, which takes two minutes. Writes its
// section of docs/performance.md.

import { bundleBench, formatPage, run } from './bench-programs.mjs'
import { MALLOC } from './malloc.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'

await runScript(async () => {
  Object.assign(process.env, MALLOC)
  await setup()
  const [held] = await bundleBench('held')
  return run(held) || formatPage()
})
