// A Gateway's client certificate for backends with TLS (Gateway tls.backend), through a real Envoy that serves several
// Gateways: each presents its own certificate, and one without a usable certificate contacts nobody.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { type KeyPair, selfSigned } from '../support/certificates.js'
import { send } from '../support/http.js'
import {
  API_GROUP,
  type Document,
  gateway,
  httpRoute,
  proxyBackend,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

const server = selfSigned('backend.example')
const known = selfSigned('gateway.example')
const stranger = selfSigned('gateway.example')

const NAMES = ['known', 'stranger', 'plain', 'broken'] as const
const ports = {} as Record<(typeof NAMES)[number], number>
let backend: Backend
let stack: Stack

const secret = (name: string, { cert, key }: KeyPair): object => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData: { 'tls.crt': cert, 'tls.key': key },
})
const presenting = ({ spec, ...own }: Document, name: string): object => ({
  ...own,
  spec: { ...spec, tls: { backend: { clientCertificateRef: { name } } } },
})
const tlsPolicy = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'BackendTLSPolicy',
  metadata: { name: 'backend' },
  spec: {
    targetRefs: [{ group: API_GROUP, kind: 'ProxyBackend', name: 'backend' }],
    validation: {
      hostname: 'backend.example',
      caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'authority' }],
    },
  },
}
const authority = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'authority' },
  data: { 'ca.crt': server.cert },
}

beforeAll(async () => {
  backend = await startBackend('for the known', { tls: { ...server, clients: known.cert } })
  for (const name of NAMES) ports[name] = await freePort()
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      presenting(gateway([ports.known], 'known'), 'known'),
      presenting(gateway([ports.stranger], 'stranger'), 'stranger'),
      presenting(gateway([ports.broken], 'broken'), 'missing'),
      gateway([ports.plain], 'plain'),
      secret('known', known),
      secret('stranger', stranger),
      authority,
      tlsPolicy,
      proxyBackend('backend', backend),
      httpRoute('all', {
        parentRefs: NAMES.map((name) => ({ name })),
        rules: [rule('/', 'backend')],
      }),
    ],
  })
})
afterAll(async () => {
  await stack.close()
  await backend.close()
})

const ask = (name: (typeof NAMES)[number]) => send(`http://127.0.0.1:${String(ports[name])}`, '/')

test('a backend that asks for a certificate serves only the Gateway that presents it', async () => {
  const { status, body } = await ask('known')
  expect({ status, body }).toEqual({ status: 200, body: 'for the known' })
  const before = backend.requests.length
  for (const name of ['stranger', 'plain'] as const) expect((await ask(name)).status).toBe(503)
  expect(backend.requests).toHaveLength(before)
})

test('a Gateway without a usable certificate does not contact it, until the Secret is there', async () => {
  expect((await ask('broken')).status).toBe(503)
  const { conditions = [] } =
    (await stack.status()).find(({ kind, name }) => kind === 'Gateway' && name === 'broken') ?? {}
  expect(conditions).toContainEqual(
    expect.objectContaining({ type: 'ResolvedRefs', reason: 'InvalidClientCertificateRef' }),
  )
  await stack.write('missing.yaml', secret('missing', known))
  await eventually(async () => expect((await ask('broken')).body).toBe('for the known'))
})

test('another certificate in the Secret is presented to the next connections', async () => {
  backend.answer((_, response) =>
    response.writeHead(200, { connection: 'close' }).end('for the known'),
  )
  await ask('broken')
  await stack.write('missing.yaml', secret('missing', stranger))
  await eventually(async () => expect((await ask('broken')).status).toBe(503))
  expect((await ask('known')).status).toBe(200)
})

test('no config dump shows a private key', async () => {
  const dump = await (await fetch(`${stack.admin}/config_dump`)).text()
  expect(dump).toContain('backend/default/backend@default/known')
  expect(dump).not.toContain(known.key.split('\n')[1])
})
