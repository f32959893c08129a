// wellKnownCACertificates: System, on a machine whose authorities (SSL_CERT_FILE) include those of this test's parties.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { bearer, send } from '../support/http.js'
import {
  API_GROUP,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { keySet, newKey, signToken } from '../support/tokens.js'

const ISSUER = 'https://idp.example'
const key = await newKey('k1')
const certificate = selfSigned('backend.example', 'idp.example')

let backend: Backend
let idp: DocumentServer
let stack: Stack
let folder: string

const tlsTo = (name: string, hostname: string): object => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'BackendTLSPolicy',
  metadata: { name },
  spec: {
    targetRefs: [{ group: API_GROUP, kind: 'ProxyBackend', name }],
    validation: { hostname, wellKnownCACertificates: 'System' },
  },
})

beforeAll(async () => {
  backend = await startBackend('over TLS', { tls: certificate })
  idp = await startDocumentServer({ tls: certificate })
  idp.serve('/jwks', keySet(key))
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-system-'))
  const bundle = join(folder, 'bundle.pem')
  await writeFile(bundle, certificate.cert)
  stack = await startStack({
    environment: { SSL_CERT_FILE: bundle },
    resources: (port) => [
      gateway([port]),
      proxyBackend('good', backend),
      tlsTo('good', 'backend.example'),
      proxyBackend('misnamed', backend),
      tlsTo('misnamed', 'other.example'),
      proxyBackend('idp', idp),
      tlsTo('idp', 'idp.example'),
      httpRoute('open', { rules: [rule('/good', 'good'), rule('/misnamed', 'misnamed')] }),
      httpRoute('protected', { rules: [rule('/protected', 'good')] }),
      proxyPolicy('protected', 'protected', {
        jwtAuthentication: {
          providers: [{ issuer: ISSUER, jwks: remoteJwks('idp', idp.port, '/jwks') }],
        },
      }),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await idp.close()
  await backend.close()
  await rm(folder, { recursive: true })
})

test('Envoy trusts a backend that a system authority vouches for', async () => {
  expect(await send(stack.origin, '/good')).toMatchObject({ status: 200, body: 'over TLS' })
})

test('but not under another name', async () => {
  expect((await send(stack.origin, '/misnamed')).status).toBe(503)
})

test('Gatehouse fetches keys over such a connection', async () => {
  const token = await signToken({ key, claims: { iss: ISSUER } })
  await eventually(async () => {
    expect((await send(stack.origin, '/protected', { headers: bearer(token) })).status).toBe(200)
  })
})
