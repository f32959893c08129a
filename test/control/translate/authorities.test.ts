// Bundles of authorities are long: one is parsed once, however many listeners and policies name it.

import type * as cryptoType from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { collectResources } from '../../../src/control/schema/decode/resource-set.js'
import type { Resources } from '../../../src/control/schema/kinds/resources.js'
import { createTranslator, type Translation } from '../../../src/control/translate/translator.js'
import { selfSigned } from '../../support/certificates.js'
import { decoded } from '../../support/decoded.js'
import { API_GROUP, type Document } from '../../support/resources.js'
import { OPTIONS } from '../../support/translate-case.js'

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
        name: `l-${at}`,
        port: 8443,
        protocol: 'HTTPS',
        hostname: `h${at}.example`,
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

/** Returns the resources with a bundle of so many certificates. */
function withBundleOf(certificates: number): Resources {
  const data = [
    {
      kind: 'ConfigMap',
      metadata: { name: 'bundle' },
      data: { 'ca.crt': pair.cert.repeat(certificates) },
    },
    {
      kind: 'Secret',
      metadata: { name: 'pair' },
      stringData: { 'tls.crt': pair.cert, 'tls.key': pair.key },
    },
  ].map((object) => ({ apiVersion: 'v1', ...object }))
  return collectResources([...documents, ...data].flatMap(decoded)).resources
}

const checkedBy = ({ ir }: Translation) =>
  ir.gateways
    .flatMap((one) => one.listeners)
    .flatMap((one) => one.chains)
    .flatMap(({ tls }) => tls?.clients ?? [])

test('a bundle is parsed once', () => {
  parsed.count = 0
  const translation = createTranslator(OPTIONS).translate(withBundleOf(10), new Map())
  expect(checkedBy(translation)).toHaveLength(20)
  // The bundle has ten certificates, and the pair of the listeners one.
  expect(parsed.count).toBe(11)
})

test('a long bundle is parsed one certificate in each step', () => {
  parsed.count = 0
  const work = createTranslator(OPTIONS).translationWork(withBundleOf(100), new Map())
  let most = 0
  for (let [isDone, before] = [false, 0]; !isDone; before = parsed.count) {
    isDone = work.next().done === true
    most = Math.max(most, parsed.count - before)
  }
  expect([parsed.count, most]).toEqual([101, 1])
})

test('a bundle of which Envoy would get too many copies is refused, and says how long it may be', () => {
  const certificates = Math.ceil((256 * 1024) / pair.cert.length)
  const translation = createTranslator(OPTIONS).translate(withBundleOf(certificates), new Map())
  expect(checkedBy(translation)).toEqual([])
  const gateway = translation.statuses.find(({ kind }) => kind === 'Gateway')
  expect(gateway?.conditions).toContainEqual(
    expect.objectContaining({
      section: 'l-0',
      type: 'ResolvedRefs',
      status: 'False',
      reason: 'InvalidCACertificateRef',
      message: `tls.frontend: the authorities have ${certificates * pair.cert.length} characters together; at most 262144 are possible`,
    }),
  )
  const reasons = translation.statuses
    .filter(({ kind }) => kind === 'BackendTLSPolicy')
    .flatMap(({ conditions }) => conditions.map(({ reason }) => reason))
  expect(reasons).not.toContain('NoValidCACertificate')
})

test('a bundle for backends may have a mebibyte', () => {
  const certificates = Math.ceil((1024 * 1024) / pair.cert.length)
  const { statuses } = createTranslator(OPTIONS).translate(withBundleOf(certificates), new Map())
  const policy = statuses.find(({ kind }) => kind === 'BackendTLSPolicy')
  expect(policy?.conditions).toContainEqual(
    expect.objectContaining({
      type: 'Accepted',
      status: 'False',
      reason: 'NoValidCACertificate',
      message: expect.stringContaining('at most 1048576 are possible') as string,
    }),
  )
})
