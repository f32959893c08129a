// Which Secrets of a cluster are read: those that may be served, and no others.

import { expect, test } from 'vitest'
import { referencedObjects, referenceKey } from '../../../src/resources/kubernetes/references.js'
import type { PlainMap } from '../../../src/resources/decode/field-path.js'
import { decodeObject } from '../../../src/resources/decode/decode.js'
import { kindsOf } from '../../../src/resources/kinds/kinds.js'
import { collectResources } from '../../../src/resources/decode/resource-set.js'

const GROUP = 'gateway.networking.k8s.io'
const CONTROLLER = 'policy.gatehouse.dev/gatehouse'

const secret = (name: string): object => ({ kind: 'Secret', name, namespace: 'bank' })
const shop = {
  apiVersion: `${GROUP}/v1`,
  kind: 'Gateway',
  metadata: { name: 'gw', namespace: 'shop' },
  spec: {
    gatewayClassName: 'gatehouse',
    listeners: [
      {
        name: 'https',
        port: 443,
        protocol: 'HTTPS',
        tls: { certificateRefs: [secret('one'), secret('two')] },
      },
    ],
  },
}
const gatewayClass = {
  apiVersion: `${GROUP}/v1`,
  kind: 'GatewayClass',
  metadata: { name: 'gatehouse' },
  spec: { controllerName: CONTROLLER },
}
const grant = (to: object, from: object = {}): PlainMap => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'ReferenceGrant',
  metadata: { name: 'grant', namespace: 'bank' },
  spec: {
    from: [{ group: GROUP, kind: 'Gateway', namespace: 'shop', ...from }],
    to: [{ group: '', kind: 'Secret', ...to }],
  },
})

function readWith(...more: readonly PlainMap[]): readonly string[] {
  const kinds = kindsOf('policy.gatehouse.dev')
  const decoded = [gatewayClass, shop, ...more].flatMap(
    (object) => decodeObject(object, 'kubernetes', kinds).resources,
  )
  return referencedObjects(collectResources(decoded).resources, CONTROLLER).map(referenceKey)
}

test.each([
  ['no grant', [], []],
  ['a grant for all', [grant({})], ['Secret/bank/one', 'Secret/bank/two']],
  ['a grant for one by its name', [grant({ name: 'one' })], ['Secret/bank/one']],
  ['a grant for another group', [grant({ group: 'example.com' })], []],
  ['a grant for a Gateway of another API', [grant({}, { group: 'example.com' })], []],
] as const)('of another namespace with %s', (_, grants, read) => {
  expect(readWith(...grants)).toEqual(read)
})
