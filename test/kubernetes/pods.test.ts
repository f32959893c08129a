// What the chart's pods run: Gatehouse with the chart's arguments, Envoy with its bootstrap, a request through both.

import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { eventually } from '../support/eventually.js'
import { freePort } from '../support/ports.js'
import { gateway, httpRoute } from '../support/resources.js'
import { ADDRESS, startApiServer, type ApiServer } from './support/api-server.js'
import { render } from './support/chart.js'
import { endpointSlice, gatewayClass, policy, service } from './support/objects.js'
import * as pod from './support/pod.js'

const SERVER = selfSigned('gatehouse.default.svc')
const CLIENT = selfSigned('envoy.example')

let api: ApiServer
let backend: Backend
let folder: string
let plain: number
let secure: number
let running: ChildProcess[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-pods-'))
  plain = await freePort()
  secure = await freePort()
  backend = await startBackend('v1', { host: ADDRESS })
  api = await startApiServer()
  const { cert, key } = selfSigned('shop.example')
  const tls = { certificateRefs: [{ name: 'certificate' }] }
  await api.apply(
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'certificate' },
      type: 'kubernetes.io/tls',
      stringData: { 'tls.crt': cert, 'tls.key': key },
    },
    gatewayClass(),
    gateway([
      { name: 'http', port: plain, protocol: 'HTTP' },
      { name: 'https', port: secure, protocol: 'HTTPS', tls },
    ]),
    service('app'),
    endpointSlice('app', [{ address: ADDRESS, port: backend.port }]),
    httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] }),
    policy('no-post', {
      authorization: { policy: { matchExpressions: ['request.method == "GET"'] } },
    }),
  )
})

afterEach(async () => {
  await Promise.all(running.map(pod.ended))
  running = []
})

afterAll(async () => {
  await backend.close()
  await api.close()
  await rm(folder, { recursive: true })
})

const call = (method = 'GET') => fetch(`http://127.0.0.1:${String(plain)}/`, { method })

/** The status over TLS, which needs the private key in Envoy. */
const callSecurely = (): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const options = { rejectUnauthorized: false, agent: false as const }
    request(`https://127.0.0.1:${String(secure)}/`, options, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })

const isServed = () =>
  eventually(async () => {
    expect((await call()).status).toBe(200)
    expect((await call('POST')).status).toBe(403)
  }, 60_000)

const write = async (bootstrap: string): Promise<string> => {
  const path = join(folder, 'bootstrap.yaml')
  await writeFile(path, bootstrap)
  return path
}

describe('a pod of Envoy and Gatehouse', () => {
  test('serves the Gateway, TLS too, and sends its clients away before it ends', async () => {
    const objects = render({
      mode: 'sidecar',
      'sidecar.gateway': 'default/gw',
      'envoy.drainSeconds': 0,
    })
    const envoy = pod.containerNamed(objects, 'envoy')
    const gatehouse = pod.runGatehouse(
      pod.containerNamed(objects, 'gatehouse'),
      await api.kubeconfig(),
    )
    running = [pod.runEnvoy(envoy, await write(pod.bootstrapOf(objects))), gatehouse]
    await isServed()
    expect(await callSecurely()).toBe(200)
    const status = await (await fetch('http://127.0.0.1:18001/status')).text()
    expect(status).toContain('"node": "pod-1"')
    expect((await call()).headers.get('connection')).not.toBe('close')
    pod.preStop(envoy)
    expect((await call()).headers.get('connection')).toBe('close')
    expect(await pod.ended(gatehouse)).toBe(0)
  })
})

describe('an Envoy of another pod', () => {
  const ports = [{ name: 'http', port: 80 }]
  const CENTRAL = { envoys: [{ gateway: 'default/gw', ports }] }

  const start = async (values: object): Promise<void> => {
    const objects = render({ ...CENTRAL, ...values })
    const tls = pod.mountTls(await mkdtemp(join(folder, 'server-')), SERVER, CLIENT.cert)
    const own = pod.mountTls(await mkdtemp(join(folder, 'client-')), CLIENT, SERVER.cert)
    const bootstrap = pod
      .bootstrapOf(objects)
      .replaceAll('gatehouse.default.svc.cluster.local', ADDRESS)
      .replaceAll('/etc/gatehouse/tls', own)
    running = [
      pod.runEnvoy(pod.containerNamed(objects, 'envoy'), await write(bootstrap)),
      pod.runGatehouse(pod.containerNamed(objects, 'gatehouse'), await api.kubeconfig(), tls),
    ]
    await isServed()
  }

  test('gets the private keys by mutual TLS', async () => {
    await start({ tls: { secretName: 'server', clientSecretName: 'client' } })
    expect(await callSecurely()).toBe(200)
  })

  test('does not get them without it', async () => {
    await start({})
    await expect(callSecurely()).rejects.toThrow()
  })
})
