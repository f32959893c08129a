// The chart's pods: Gatehouse with the chart's arguments, Envoy with its bootstrap, and a request through both.

import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { chmod, chown, copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { AnyObject } from '../../testing/api-call.js'
import { ADDRESS, type ApiServer } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { selfSigned } from '../support/certificates.js'
import { envoyPath } from '../support/envoy.js'
import { descendantsOf } from '../support/processes.js'
import { gateway, httpRoute } from '../support/resources.js'
import { render } from './support/chart.js'
import { endpointSlice, gatewayClass, policy, service } from './support/objects.js'
import * as pod from './support/pod.js'
import { apiServerFor } from './support/shared-api-server.js'

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
  await chmod(folder, 0o755)
  plain = await freePort()
  secure = await freePort()
  backend = await startBackend('v1', { host: ADDRESS })
  api = await apiServerFor()
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

/** Ports of these processes and of those below them, on any address: other tests have theirs in this network too. */
function listeningPorts(processes: readonly ChildProcess[]): readonly number[] {
  const roots = processes.map(({ pid }) => pid ?? 0)
  const ids = [...roots, ...roots.flatMap(descendantsOf)]
  const sockets = new Set(ids.flatMap((id) => socketsOf(id)))
  const listening = /^ *\d+: [0-9A-F]+:([0-9A-F]+) \S+ 0A \S+ \S+ \S+ +\d+ +\d+ (\d+) /gm
  return ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((path) => [...readFileSync(path, 'utf8').matchAll(listening)])
    .filter(([, , inode = '']) => sockets.has(`socket:[${inode}]`))
    .map(([, port = '']) => Number.parseInt(port, 16))
}

function socketsOf(id: number): readonly string[] {
  const folder = `/proc/${String(id)}/fd`
  return readdirSync(folder).flatMap((name) => {
    try {
      return [readlinkSync(join(folder, name))]
    } catch {
      // Closed meanwhile.
      return []
    }
  })
}

/** A folder in the place of /etc/envoy. mounts: what its files name. */
async function configFolder(objects: readonly AnyObject[], mounts: pod.Mounts): Promise<string> {
  const config = await mkdtemp(join(folder, 'config-'))
  await chmod(config, 0o755)
  for (const [name, text] of Object.entries(pod.filesOf(objects)))
    await writeFile(join(config, name), pod.mounted(text, mounts))
  return config
}

/** An emptyDir: everybody may write to it, and what is in it has the pod's group (fsGroup). */
async function emptyDir(group?: number): Promise<string> {
  const path = await mkdtemp(join(folder, 'e-'))
  if (group !== undefined && pod.hasUsers) await chown(path, 0, group)
  await chmod(path, group === undefined ? 0o777 : 0o2777)
  return path
}

/** Whether a user may connect to the socket: 0, or the error of the system. */
function connectAs(user: pod.User, socket: string): string {
  const script = `require('net').connect(process.argv[1], () => { console.log(0); process.exit() }).on('error', (e) => console.log(e.code))`
  return pod.outputAs(user, [process.execPath, '-e', script, socket]).trim()
}

describe('a pod of Envoy and Gatehouse', () => {
  const objectsOf = () =>
    render({ mode: 'sidecar', 'sidecar.gateway': 'default/gw', 'envoy.drainSeconds': 0 })
  let sockets: string
  let admin: string
  let token: string
  let envoyRun: pod.Run

  /** Each container by the user that the chart gives it. */
  const start = async (objects: readonly AnyObject[]): Promise<void> => {
    const users = {
      gatehouse: pod.userOf(objects, 'gatehouse'),
      envoy: pod.userOf(objects, 'envoy'),
    }
    const group = users.gatehouse.groups[0]
    ;[sockets, admin, token] = [await emptyDir(group), await emptyDir(group), await emptyDir(group)]
    const shared = { '/run/gatehouse': sockets }
    const config = await configFolder(objects, { ...shared, '/run/envoy': admin })
    envoyRun = {
      user: users.envoy,
      mounts: { ...shared, '/run/envoy': admin, '/etc/envoy': config },
    }
    const kubeconfig = join(folder, 'kubeconfig')
    await copyFile(await api.kubeconfig(), kubeconfig)
    await chmod(kubeconfig, 0o644)
    const binary = join(folder, 'envoy')
    await copyFile(envoyPath(), binary)
    running = [
      pod.runEnvoy(pod.containerNamed(objects, 'envoy'), envoyRun, binary),
      pod.runGatehouse(pod.containerNamed(objects, 'gatehouse'), kubeconfig, {
        user: users.gatehouse,
        mounts: { ...shared, '/run/gatehouse-admin': token },
      }),
    ]
    await isServed()
  }

  test('serves the Gateway over a socket between two users, TLS too, and sends clients away before it ends', async () => {
    const objects = objectsOf()
    await start(objects)
    expect(await callSecurely()).toBe(200)
    expect((await call()).headers.get('connection')).not.toBe('close')
    pod.preStop(pod.containerNamed(objects, 'envoy'), envoyRun)
    expect((await call()).headers.get('connection')).toBe('close')
    expect(await pod.ended(running[1] as ChildProcess)).toBe(0)
  })

  test('opens no port but the listeners, probes and the status page, which asks for the token of its file', async () => {
    await start(objectsOf())
    const ports = new Set(listeningPorts(running).filter((port) => port < 20_000))
    expect([...ports].sort()).toEqual([18_001, 18_002])
    for (const [path, status] of [
      ['/readyz', 200],
      ['/metrics', 200],
      ['/status', 404],
      ['/config_dump', 404],
    ] as const)
      expect((await fetch(`http://127.0.0.1:18001${path}`)).status).toBe(status)
    const url = 'http://127.0.0.1:18002/status'
    expect((await fetch(url)).status).toBe(401)
    const bearer = (await readFile(join(token, 'token'), 'utf8')).trim()
    const answer = await fetch(url, { headers: { authorization: `Bearer ${bearer}` } })
    expect(await answer.text()).toContain('"node": "pod-1"')
    const reached = await fetch(url.replace('127.0.0.1', ADDRESS)).catch(() => 'refused')
    expect(reached).toBe('refused')
  })

  test('keeps its sockets from users of another group', async () => {
    const objects = objectsOf()
    await start(objects)
    const grpc = join(sockets, 'gatehouse.sock')
    for (const socket of [grpc, join(admin, 'admin.sock')])
      expect((await stat(socket)).mode & 0o777).toBe(0o660)
    const envoy = pod.userOf(objects, 'envoy')
    expect(connectAs(envoy, grpc)).toBe('0')
    const stranger = { ...envoy, groups: [] }
    expect(connectAs(stranger, grpc)).toBe(pod.hasUsers ? 'EACCES' : '0')
    expect(() => pod.outputAs(envoy, ['cat', join(token, 'token')])).toThrow()
  })
})

describe('an Envoy of another pod', () => {
  const ports = [{ name: 'http', port: 80 }]
  const CENTRAL = { envoys: [{ gateway: 'default/gw', ports }] }

  const start = async (values: object): Promise<void> => {
    const objects = render({ ...CENTRAL, ...values })
    const tls = pod.mountTls(await mkdtemp(join(folder, 'server-')), SERVER, CLIENT.cert)
    const own = pod.mountTls(await mkdtemp(join(folder, 'client-')), CLIENT, SERVER.cert)
    const admin = { '/run/envoy': await emptyDir() }
    const named = {
      ...admin,
      '/etc/gatehouse/tls': own,
      'gatehouse.default.svc.cluster.local': ADDRESS,
    }
    const config = await configFolder(objects, named)
    running = [
      pod.runEnvoy(pod.containerNamed(objects, 'envoy'), {
        mounts: { ...admin, '/etc/envoy': config },
      }),
      pod.runGatehouse(pod.containerNamed(objects, 'gatehouse'), await api.kubeconfig(), {
        mounts: { '/etc/gatehouse/tls': tls, '/run/gatehouse-admin': await emptyDir() },
      }),
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
