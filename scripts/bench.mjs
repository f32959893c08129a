// npm run bench: sets up what is missing, bundles bench/ and runs it. It writes its sections of docs/performance.md.

import { bundleBench, formatPage, run } from './bench-programs.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'

const OTHERS = ['noop-server', 'noop-processor', 'llm-server', 'one-change']

await runScript(async () => {
  await setup()
  const [main] = await bundleBench('main', ...OTHERS)
  return run(main) || formatPage()
})
