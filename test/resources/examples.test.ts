import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createTranslator } from '../../src/gatewayapi/translator.js'
import { loadResources } from '../../src/resources/files/load-resources.js'
import type { Resource } from '../../src/resources/kinds/resources.js'

const API_GROUP = 'policy.gatehouse.dev'
const config = fileURLToPath(new URL('../../config', import.meta.url))
const examples = readdirSync(join(config, 'examples')).map((name) => `examples/${name}`)

it.each(['demo', ...examples])('config/%s decodes without a problem', async (name) => {
  const { problems, notes, complete, resources } = await loadResources([join(config, name)], {
    apiGroup: API_GROUP,
  })
  expect(problems).toEqual([])
  expect(notes).toEqual([])
  expect(complete).toBe(true)
  const all = Object.values(resources as unknown as Record<string, Resource<unknown>[]>).flat()
  expect(all.length).toBeGreaterThan(0)
  expect(all.flatMap(({ unsupported }) => unsupported)).toEqual([])
})

/** Conditions that are False only because nothing has been fetched. */
const UNFETCHED = ['KeySetUnavailable', 'DiscoveryUnavailable']
/** Wants a certificate and key of its user's own; wants guardrails. */
const UNFINISHED = [
  'examples/https-listener.yaml',
  'examples/guardrail.yaml',
  'examples/mcp-guardrail.yaml',
]
const whole = ['demo', ...examples].filter((name) => !UNFINISHED.includes(name))

it.each(whole)('config/%s is accepted as it is', async (name) => {
  const { resources } = await loadResources([join(config, name)], { apiGroup: API_GROUP })
  const translator = createTranslator({
    apiGroup: API_GROUP,
    clusterDomain: 'cluster.local',
    metadataIssuer: 'Provider',
  })
  const { statuses } = translator.translate(resources, new Map())
  const wrong = statuses.flatMap(({ kind, conditions }) =>
    conditions
      .filter(({ status, reason }) => status !== 'True' && !UNFETCHED.includes(reason))
      .map(({ type, message }) => `${kind} ${type}: ${message}`),
  )
  expect(wrong).toEqual([])
})

it('an unknown kind is a note', async () => {
  const { problems, notes } = await loadResources([join(config, 'crd')], { apiGroup: API_GROUP })
  expect(problems).toEqual([])
  expect(notes).toHaveLength(3)
})
