// Header modifiers of a rule and of its backendRefs that apply to the same request.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { backendRef, gateway, prefix } from '../support/resources.js'
import { route, startTwoBackends, type TwoBackends } from '../support/two-backends.js'

const changes = (requestHeaderModifier: object): object => ({
  filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier }],
})

const byRule = changes({
  set: [{ name: 'X-Env', value: 'rule' }],
  add: [
    { name: 'x-list', value: 'rule' },
    { name: 'x-gone', value: 'rule' },
  ],
  remove: ['x-removed'],
})
const byBackend = changes({
  set: [
    { name: 'x-env', value: 'backend' },
    { name: 'x-removed', value: 'backend' },
  ],
  add: [{ name: 'x-list', value: 'backend' }],
  remove: ['X-Gone'],
})

let world: TwoBackends
beforeAll(async () => {
  world = await startTwoBackends((port) => [
    gateway([port]),
    route('both', 'both.example', {
      matches: [prefix('/')],
      ...byRule,
      backendRefs: [{ ...backendRef('a'), ...byBackend }, backendRef('b')],
    }),
  ])
})
afterAll(() => world.close())

test('the backendRef comes after its rule, and the rule holds for the others', async () => {
  const headers = {
    'x-env': 'client',
    'x-list': 'client',
    'x-gone': 'client',
    'x-removed': 'client',
  }
  for (let count = 0; count < 40; count++) await world.ask('both.example', '/', { headers })
  const seen = (requests: TwoBackends['a']['requests']) =>
    requests.map((request) =>
      ['x-env', 'x-list', 'x-gone', 'x-removed'].map((name) => request.headers[name]),
    )
  const [ofA, ofB] = [seen(world.a.requests), seen(world.b.requests)]
  expect(ofA.length + ofB.length).toBe(40)
  expect(ofA[0]).toEqual(['backend', 'client, rule, backend', undefined, 'backend'])
  expect(ofB[0]).toEqual(['rule', 'client, rule', 'client, rule', undefined])
  for (const one of ofA) expect(one).toEqual(ofA[0])
  for (const one of ofB) expect(one).toEqual(ofB[0])
})
