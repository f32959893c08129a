// Bundles of authorities are long: one is parsed once, however many listeners and policies name it.

import type * as cryptoType from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { createTranslator } from '../../src/gatewayapi/translator.js'
import { collectResources } from '../../src/resources/decode/resource-set.js'
import { decodeFile } from '../../src/resources/files/file-record.js'
import { kindsOf } from '../../src/resources/kinds/kinds.js'
import { selfSigned } from '../support/certificates.js'
import { API_GROUP, type Document } from '../support/resources.js'
import { OPTIONS } from '../support/translate-case.js'

const parsed = vi.hoisted(() => ({ count: 0 }))

vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof cryptoType>()
  class X509Certificate extends crypto.X509Certificate {
    constructor(...args: ConstructorParameters<typeof crypto.X509Certificate>) {
      super(...args)
      parsed.count += 1
    }
  }
  return { ...crypto, X509Certificate }
})

const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const pair = selfSigned('a.example')

const ref = { group: '', kind: 'ConfigMap', name: 'bundle' }

const documents: readonly Document[] = [
  {
    apiVersion: GATEWAY_API,
    kind: 'Gateway',
    metadata: { name: 'gw' },
    spec: {
      gatewayClassName: 'gatehouse',
      listeners: Array.from({ length: 20 }, (_, at) => ({
        ...{ name: `l-${at}`, port: 8443, protocol: 'HTTPS', hostname: `h${at}.example` },
        tls: { certificateRefs: [{ name: 'pair' }] },
      })),
      tls: { frontend: { default: { validation: { caCertificateRefs: [ref] } } } },
    },
  },
  ...Array.from({ length: 20 }, (_, index): Document => ({
    apiVersion: GATEWAY_API,
    kind: 'BackendTLSPolicy',
    metadata: { name: `tls-${index}` },
    spec: {
      targetRefs: [{ group: API_GROUP, kind: 'ProxyBackend', name: `b-${index}` }],
      validation: { hostname: 'a.example', caCertificateRefs: [ref] },
    },
  })),
]

const data = [
  { kind: 'ConfigMap', metadata: { name: 'bundle' }, data: { 'ca.crt': pair.cert.repeat(10) } },
  {
    kind: 'Secret',
    metadata: { name: 'pair' },
    stringData: { 'tls.crt': pair.cert, 'tls.key': pair.key },
  },
].map((object) => ({ apiVersion: 'v1', ...object }))

test('a bundle is parsed once', () => {
  const decoded = [...documents, ...data].flatMap((document) => {
    const { resources, problems } = decodeFile(
      Buffer.from(JSON.stringify(document)),
      'f',
      kindsOf(API_GROUP),
    )
    expect(problems).toEqual([])
    return resources
  })
  parsed.count = 0
  const { resources } = collectResources(decoded)
  const { ir } = createTranslator(OPTIONS).translate(resources, new Map())
  const chains = ir.gateways.flatMap((one) => one.listeners).flatMap((one) => one.chains)
  expect(chains.filter(({ tls }) => tls?.clients !== undefined)).toHaveLength(20)
  // The bundle has ten certificates, and the pair of the listeners one.
  expect(parsed.count).toBe(11)
})
