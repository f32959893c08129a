// npm run bench -- files: sets up what is missing, bundles bench/files.ts and runs it, which takes four to five minutes.
// Writes its section of docs/performance.md.

import { bundleBench, formatPage, run } from './bench-programs.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'

await runScript(async () => {
  await setup()
  const [files] = await bundleBench('files')
  return run(files) || formatPage()
})
