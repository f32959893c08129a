// Key sets of a TLS provider: fetched with the name and authority of its BackendTLSPolicy, or not at all.

import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { selfSigned } from '../support/certificates.js'
import { type DocumentServer, json, startDocumentServer } from '../support/document-server.js'
import { k1, type KeySetStack, routeByKeys, startKeySetStack } from '../support/key-set-stack.js'
import { API_GROUP, proxyBackend, remoteJwks } from '../support/resources.js'
import { keySet } from '../support/tokens.js'

const certificate = selfSigned('idp.internal')
const serverNames: (string | false | null)[] = []

let tlsIdp: DocumentServer
let stack: KeySetStack

beforeAll(async () => {
  tlsIdp = await startDocumentServer({ tls: certificate })
  tlsIdp.serve('/jwks', (request, response) => {
    serverNames.push((request.socket as TLSSocket).servername ?? null)
    json(keySet(k1))(request, response)
  })
  stack = await startKeySetStack()
})
afterAll(async () => {
  await stack.close()
  await tlsIdp.close()
})

describe('keys over TLS', () => {
  const tls = (name: string, validation: object): readonly object[] => [
    proxyBackend(name, tlsIdp),
    {
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'BackendTLSPolicy',
      metadata: { name },
      spec: { targetRefs: [{ group: API_GROUP, kind: 'ProxyBackend', name }], validation },
    },
    ...routeByKeys(name, remoteJwks(name, tlsIdp.port, '/jwks')),
  ]
  const authority = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'ca' },
    data: { 'ca.crt': certificate.cert },
  }
  const caCertificateRefs = [{ group: '', kind: 'ConfigMap', name: 'ca' }]

  test('with an authority of its own, by the name of the BackendTLSPolicy', async () => {
    await stack.write(
      'tls.yaml',
      authority,
      ...tls('tls', { hostname: 'idp.internal', caCertificateRefs }),
    )
    await eventually(async () => expect(await stack.statusOf('tls', k1)).toBe(200))
    expect([...new Set(serverNames)]).toEqual(['idp.internal'])
  })

  test.each([
    ['another-name', { hostname: 'other.internal', caCertificateRefs }],
    ['another-authority', { hostname: 'idp.internal', wellKnownCACertificates: 'System' }],
  ])('%s is refused', async (name, validation) => {
    const before = tlsIdp.requests.length
    await stack.write(`${name}.yaml`, authority, ...tls(name, validation))
    await eventually(async () =>
      expect((await stack.conditionsOf(name))['Attached']?.[2]).toMatch(
        /TLS to \w+\.internal failed/,
      ),
    )
    await eventually(async () => expect(await stack.statusOf(name, k1)).toBe(503))
    expect(tlsIdp.requests).toHaveLength(before)
  })
})
