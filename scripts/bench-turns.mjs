// npm run bench -- turns: sets up what is missing, bundles bench/turns.ts and runs it, which takes a minute. Writes its
// section of docs/performance.md.

import { bundleBench, formatPage, run } from './bench-programs.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'

await runScript(async () => {
  await setup()
  const [turns] = await bundleBench('turns', 'loop-probe')
  return run(turns) || formatPage()
})
