// npm test -- --project containers: builds both targets of the Dockerfile with one base, and the sidecar on a base without Node as
// it is published, then runs test/containers with a real container engine. Arguments are passed to vitest, e.g. `npm test -- --project containers image`.

import { baseImages, buildImage, findCompose, startEngine } from './containers.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { testEnvoy } from './test-envoy.mjs'
import { runVitest } from './vitest.mjs'

const say = (text) => process.stderr.write(`test:containers: ${text}\n`)

await runScript(async () => {
  await setup()
  const engine = await startEngine(say)
  try {
    const bases = baseImages(engine, await testEnvoy(say), say)
    const args = { NODE_IMAGE: bases.node }
    buildImage(engine, { target: 'parties', image: 'gatehouse-parties', args }, say)
    buildImage(engine, { target: 'gatehouse', image: 'gatehouse', args }, say)
    const bare = { ...args, RUNTIME_IMAGE: bases.runtime }
    buildImage(engine, { target: 'gatehouse', image: 'gatehouse-bare', args: bare }, say)
    const env = {
      ...process.env,
      ...engine.env,
      GATEHOUSE_TEST_COMPOSE: findCompose(say),
      GATEHOUSE_TEST_NODE_IMAGE: bases.node,
    }
    return await runVitest(['run', '--project', 'containers', ...process.argv.slice(2)], { env })
  } finally {
    engine.stop()
  }
})
