import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { loadResources } from '../../src/resources/load-resources.js'

const config = fileURLToPath(new URL('../../config', import.meta.url))
const examples = readdirSync(join(config, 'examples')).map((name) => join(config, 'examples', name))

it.each([join(config, 'demo'), ...examples])('%s decodes without a problem', async (path) => {
  const { problems, notes, complete, resources } = await loadResources([path], {
    apiGroup: 'policy.gatehouse.dev',
  })
  expect(problems).toEqual([])
  expect(notes).toEqual([])
  expect(complete).toBe(true)
  expect(Object.values(resources).flat().length).toBeGreaterThan(0)
})

it('the examples together define nothing twice', async () => {
  const { problems } = await loadResources([config], { apiGroup: 'policy.gatehouse.dev' })
  expect(problems).toEqual([])
})

it('what is read can be printed but for the texts of Secrets', async () => {
  const path = join(config, 'examples', 'https-listener.yaml')
  const { resources } = await loadResources([path], { apiGroup: 'policy.gatehouse.dev' })
  expect(resources.secrets[0]?.spec.data['tls.key']).toContain('PRIVATE KEY')
})
