// A WeakMap with an entry for each of thousands of resources makes the pauses of full collections longer. Entries are
// counted while routes, each with its own host, backend and policy, are translated.

import { expect, test, vi } from 'vitest'
import { buildSnapshot } from '../../../src/control/publish/build-snapshot.js'
import type { DecodedResource } from '../../../src/control/schema/decode/decode.js'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import { kindsOf } from '../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../src/control/sources/files/file-record.js'
import { createTranslator } from '../../../src/control/translate/translator.js'
import {
  API_GROUP,
  backendRef,
  type Document,
  gateway,
  httpRoute,
  prefix,
  proxyBackend,
} from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

const weak = vi.hoisted(() => {
  const counts = { entries: 0 }
  globalThis.WeakMap = class<Key extends WeakKey, Value> extends WeakMap<Key, Value> {
    override set(key: Key, value: Value): this {
      if (!this.has(key)) counts.entries += 1
      return super.set(key, value)
    }
  }
  return counts
})

const XDS = { listenAddress: '0.0.0.0', trustedHops: 0, systemCaFile: '/ca.pem', accessLog: false }
const KINDS = kindsOf(API_GROUP)

const policy = (name: string): Document => ({
  apiVersion: `${API_GROUP}/v1alpha1`,
  kind: 'ProxyPolicy',
  metadata: { name },
  spec: {
    targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
    traffic: {
      jwtAuthentication: {
        mode: 'Strict',
        providers: [{ issuer: 'https://idp.example', jwks: { inline: '{"keys":[]}' } }],
      },
    },
  },
})

const decoded = (document: Document): readonly DecodedResource[] =>
  decodeFile(Buffer.from(JSON.stringify(document)), 'f', KINDS).resources

function documentsOf(index: number): readonly Document[] {
  const name = `name-${String(index)}`
  const rules = [{ matches: [prefix(`/${name}`)], backendRefs: [backendRef(name)] }]
  return [
    proxyBackend(name, { host: '127.0.0.1', port: 1 + index }),
    httpRoute(name, { hostnames: [`${name}.example`], rules }),
    policy(name),
  ]
}

/** Returns the entries that WeakMaps get while this many routes are translated and built. */
function entriesFor(count: number): number {
  const documents = [gateway([8080]), ...[...Array(count).keys()].flatMap(documentsOf)]
  const { resources } = collectResources(documents.flatMap(decoded))
  const before = weak.entries
  const { ir } = createTranslator(OPTIONS).translate(resources, new Map())
  expect(ir.authz).toHaveLength(count)
  buildSnapshot(ir, XDS)
  return weak.entries - before
}

test('WeakMaps have no entry for each of thousands of routes', () => {
  entriesFor(10)
  const [few, many] = [entriesFor(200), entriesFor(600)]
  expect(few).toBeGreaterThan(0)
  expect(many - few).toBeLessThan(100)
})
