// The status that the analysis of a real istiod gives an EnvoyFilter: what the controller reads of it.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { acceptanceProblem } from '../../src/addons/mesh/controller/enforcement.js'
import type { JsonObject } from '../../src/model/json.js'
import { eventually } from '../../testing/eventually.js'
import { type Istio, startIstio } from './support/istio.js'

let mesh: Istio

beforeAll(async () => {
  mesh = await startIstio({}, { PILOT_ENABLE_ANALYSIS: 'true' })
}, 300_000)

afterAll(() => mesh.close())

/** Has an operation that the analysis reports as an error. */
const faulty = {
  apiVersion: 'networking.istio.io/v1alpha3',
  kind: 'EnvoyFilter',
  metadata: { name: 'faulty', namespace: 'default' },
  spec: {
    configPatches: [
      {
        applyTo: 'HTTP_ROUTE',
        match: { context: 'GATEWAY', routeConfiguration: { vhost: { name: 'no.example:80' } } },
        patch: { operation: 'REMOVE' },
      },
    ],
  },
}

test('an error is found and named', async () => {
  await mesh.api.apply(faulty)
  await eventually(async () => {
    const object = await mesh.api.get(faulty.apiVersion, 'EnvoyFilter', 'faulty')
    expect(acceptanceProblem('EnvoyFilter', object as unknown as JsonObject, [])).toContain(
      'istiod reports IST0154 (https://',
    )
  }, 60_000)
})
