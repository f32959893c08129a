// TLS between a real Envoy Gateway's Envoy and Gatehouse.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { type Gatehouse, startGatehouse } from '../support/gatehouse.js'
import { bearer, send } from '../support/http.js'
import { proxyBackend, proxyPolicy, remoteJwks } from '../support/resources.js'
import { keySet, newKey, signToken } from '../support/tokens.js'
import { type EnvoyGateway, startEnvoyGateway } from './support/envoy-gateway.js'
import { backend, gatewayDocuments, PORT, route } from './support/resources.js'
import { translateFor } from './support/translate.js'

const ORIGIN = `http://127.0.0.1:${PORT}`
const GRPC = '127.0.0.1:18005'
const NAME = 'gatehouse.example'
const ISSUER = 'https://idp.example'

let api: Backend
let idp: DocumentServer
let mesh: EnvoyGateway
let gatehouse: Gatehouse
let folder: string
const pair = selfSigned(NAME)
const stranger = selfSigned('stranger.example')
const key = await newKey('k1')

const authority = (cert: string): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'gatehouse-ca', namespace: 'default' },
  data: { 'ca.crt': cert },
})

const exported = (name: string): Promise<string> =>
  translateFor(
    'envoy-gateway',
    mesh.folder,
    gatehouse.folder,
    '--connect',
    GRPC,
    '--connect-tls',
    name,
  )

beforeAll(async () => {
  ;[api, idp, mesh] = await Promise.all([
    startBackend(),
    startDocumentServer(),
    startEnvoyGateway(),
  ])
  idp.serve('/jwks', keySet(key))
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-mesh-tls-'))
  await writeFile(join(folder, 'tls.crt'), pair.cert)
  await writeFile(join(folder, 'tls.key'), pair.key)
  await mesh.write(
    'mesh.yaml',
    ...gatewayDocuments,
    route('api', '/api', 'api'),
    backend('api', api.port),
  )
  await mesh.write('authority.yaml', authority(stranger.cert))
  // It looks at files that change only once it has begun to serve.
  await eventually(async () => {
    expect(await statusOf()).toBe(200)
  }, 90_000)
  const policy = proxyPolicy('api', 'api', {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [{ issuer: ISSUER, jwks: remoteJwks('idp', idp.port, '/jwks') }],
    },
  })
  gatehouse = await startGatehouse({
    command: 'serve',
    resources: [proxyBackend('idp', idp), policy],
    flags: [
      '--for',
      'envoy-gateway',
      '--resources',
      mesh.folder,
      '--grpc',
      GRPC,
      '--grpc-tls-cert',
      join(folder, 'tls.crt'),
      '--grpc-tls-key',
      join(folder, 'tls.key'),
    ],
  })
  await mesh.writeText('gatehouse.yaml', await exported(NAME))
}, 300_000)

afterAll(async () => {
  await gatehouse.close()
  await mesh.close()
  await Promise.all([api.close(), idp.close()])
  await rm(folder, { recursive: true })
})

const statusOf = async (headers = {}): Promise<number> =>
  (await send(ORIGIN, '/api', { headers })).status

test('another authority than that of the certificate: 503', async () => {
  await eventually(async () => {
    expect(await statusOf()).toBe(503)
  }, 90_000)
})

test('with its own, checks go by TLS', async () => {
  await mesh.write('authority.yaml', authority(pair.cert))
  const token = await signToken({ key, claims: { iss: ISSUER } })
  await eventually(async () => {
    expect([await statusOf(), await statusOf(bearer(token))]).toEqual([401, 200])
  }, 60_000)
})

test('another name than that of the certificate: 503', async () => {
  await mesh.writeText('gatehouse.yaml', await exported('stranger.example'))
  await eventually(async () => {
    expect(await statusOf()).toBe(503)
  }, 60_000)
})
