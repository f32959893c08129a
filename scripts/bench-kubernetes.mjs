// npm run bench -- kubernetes: sets up what is missing, bundles bench/kubernetes.ts and runs it with a real API server,
// which takes about five minutes. Writes its section of docs/performance.md.

import { bundleBench, formatPage } from './bench-programs.mjs'
import { runInCluster } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'

await runScript(async () => {
  await setup()
  const [kubernetes] = await bundleBench('kubernetes')
  return (await runInCluster([kubernetes])) || formatPage()
})
