// Which new routes of a cluster wait for a policy that cannot be decoded.

import { expect, test } from 'vitest'
import { holdBackNewRoutes } from '../../../../src/control/schema/decode/quarantine.js'
import { collectResources } from '../../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import { KUBERNETES, type Problem } from '../../../../src/control/schema/kinds/resources.js'
import { decodeFile } from '../../../../src/control/sources/files/file-record.js'
import { atOnce } from '../../../../src/kit/turns.js'
import { API_GROUP, toYaml } from '../../../support/resources.js'

const route = (namespace: string, gatewayNamespace: string): object => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: { name: 'shop', namespace },
  spec: { parentRefs: [{ name: 'gw', namespace: gatewayNamespace }], rules: [{}] },
})

const resourcesOf = (...documents: readonly object[]) =>
  collectResources(
    decodeFile(Buffer.from(toYaml(...documents)), 'r.yaml', kindsOf(API_GROUP)).resources,
  ).resources

test('those of its namespace, and those whose Gateway is of its namespace', () => {
  const undecoded: Problem = {
    source: KUBERNETES,
    message: 'spec: is missing',
    kind: 'ProxyPolicy',
    namespace: 'infra',
    name: 'default',
  }
  const state = {
    resources: resourcesOf(
      route('infra', 'other'),
      route('tenant', 'infra'),
      route('elsewhere', 'elsewhere'),
    ),
    problems: [],
    undecoded: [undecoded],
    complete: true,
  }
  const previous = { resources: resourcesOf(), problems: [], complete: true }
  const { resources, problems } = atOnce(holdBackNewRoutes(state, previous))
  expect(resources.httpRoutes.map(({ metadata }) => metadata.namespace)).toEqual(['elsewhere'])
  expect(problems.map(({ namespace }) => namespace)).toEqual(['infra', 'tenant'])
  // Tenants read the statuses of their own routes.
  expect(problems.map(({ message }) => message)).toEqual([
    expect.stringContaining('waits until ProxyPolicy default'),
    expect.stringContaining('waits until a ProxyPolicy of another namespace can'),
  ])
})
