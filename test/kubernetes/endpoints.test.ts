// Endpoints follow EndpointSlices through EDS alone, without lost requests; certificates follow their Secrets.

import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type PeerCertificate } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Replica, startReplica } from '../../testing/replica.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { type OtherEnvoy, startOtherEnvoy } from '../support/other-envoy.js'
import { gateway, httpRoute } from '../support/resources.js'
import { startTraffic, statusesOf } from '../support/traffic.js'
import { endpointSlice, gatewayClass, service, tlsSecret } from './support/objects.js'
import { apiServerFor } from './support/shared-api-server.js'

let api: ApiServer
let folder: string
let replica: Replica
let envoy: OtherEnvoy
let backends: readonly Backend[]
let port: number
let tlsPort: number

const NAMES = ['v1', 'v2', 'v3'] as const
const slice = (index: number): object =>
  endpointSlice(
    'app',
    [{ address: ADDRESS, port: backends[index]?.port ?? 0 }],
    `app-${String(index)}`,
  )
const httpsOn = (listenerPort: number, secret = 'web'): object => ({
  name: 'https',
  port: listenerPort,
  protocol: 'HTTPS',
  tls: { certificateRefs: [{ name: secret }] },
})
const ask = async (): Promise<string> => (await fetch(`http://127.0.0.1:${String(port)}/`)).text()

/** Updates that Envoy has taken, by type. */
async function updates(): Promise<Readonly<Record<string, number | undefined>>> {
  return {
    listeners: await envoy.stat('listener_manager.lds.update_success'),
    clusters: await envoy.stat('cluster_manager.cds.update_success'),
  }
}

beforeAll(async () => {
  port = await freePort()
  tlsPort = await freePort()
  backends = await Promise.all(NAMES.map((name) => startBackend(name, { host: ADDRESS })))
  api = await apiServerFor()
  await api.apply(
    gatewayClass(),
    gateway([{ name: 'http', port, protocol: 'HTTP' }, httpsOn(tlsPort)]),
    tlsSecret('web', selfSigned('first.test')),
    tlsSecret('unrelated', selfSigned('unrelated.test')),
    service('app'),
    slice(0),
    httpRoute('app', { rules: [{ backendRefs: [{ name: 'app', port: 80 }] }] }),
  )
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-endpoints-'))
  const grpc = `unix:${join(folder, 'grpc.sock')}`
  replica = await startReplica({ kubeconfig: await api.kubeconfig(), grpc })
  envoy = await startOtherEnvoy(replica.grpc)
})

afterAll(async () => {
  await envoy.stop()
  await replica.stop()
  await Promise.all(backends.map((backend) => backend.close()))
  await api.close()
  await rm(folder, { recursive: true })
})

describe('the endpoints of a Service', () => {
  test('come and go under traffic, with nothing else sent and no request lost', async () => {
    await eventually(async () => expect(await ask()).toBe('v1'))
    const before = await updates()
    const traffic = startTraffic({ url: `http://127.0.0.1:${String(port)}/` })
    const answeredBy = (...names: readonly string[]) =>
      eventually(() => {
        const last = new Set(traffic.outcomes.slice(-40).map(({ body }) => body))
        expect([...last].sort()).toEqual(names)
      })
    await api.apply(slice(1), slice(2))
    await answeredBy('v1', 'v2', 'v3')
    await api.delete(slice(0), slice(1))
    await answeredBy('v3')
    await api.apply(slice(0))
    await answeredBy('v1', 'v3')
    expect(statusesOf(await traffic.stop())).toEqual({ '200': expect.any(Number) as number })
    expect(await updates()).toEqual(before)
  })
})

describe('the certificate of a listener', () => {
  const served = async (): Promise<string> => {
    const socket = connect({ host: '127.0.0.1', port: tlsPort, rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const { subjectaltname = '' }: PeerCertificate = socket.getPeerCertificate()
    socket.destroy()
    return subjectaltname
  }

  test('is waited for when a new Gateway names it', async () => {
    await api.apply(
      tlsSecret('late', selfSigned('late.test')),
      gateway([httpsOn(await freePort(), 'late')], 'late'),
    )
    await eventually(async () => {
      const { status } = await api.get('gateway.networking.k8s.io/v1', 'Gateway', 'late')
      expect(status).toMatchObject({ conditions: [{ type: 'Accepted', status: 'True' }, {}] })
    })
    expect(replica.log()).not.toContain('InvalidCertificateRef')
  })

  test('follows its Secret; no other Secret is read', async () => {
    await eventually(async () => expect(await served()).toBe('DNS:first.test'))
    await api.apply(tlsSecret('web', selfSigned('second.test')))
    await eventually(async () => expect(await served()).toBe('DNS:second.test'))
    const status = await replica.status()
    expect(status).toContain('"web"')
    expect(status).not.toContain('unrelated')
  })
})
