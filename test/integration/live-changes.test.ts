// File changes under traffic come into force without dropped requests or an open moment.

import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { appendFile, mkdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { bearer, send } from '../support/http.js'
import {
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
  toYaml,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { keySet, newKey, signToken } from '../support/tokens.js'
import { startTraffic, statusesOf, type Traffic } from '../support/traffic.js'

const ISSUER = 'https://idp.example'

const key = await newKey('k1')
const token = bearer(await signToken({ key, claims: { iss: ISSUER } }))
const backends = [await startBackend('one'), await startBackend('two')] as [Backend, Backend]
let stack: Stack

beforeAll(async () => {
  backends[0].answer((recorded, response) => {
    if (recorded.url !== '/constant/events') {
      response.end('one')
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const timer = setInterval(() => response.write('data: tick\n\n'), 50)
    response.on('close', () => clearInterval(timer))
  })
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('one', backends[0]),
      proxyBackend('two', backends[1]),
      httpRoute('constant', { rules: [rule('/constant', 'one', { timeouts: { request: '0s' } })] }),
      policyOn('constant'),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await Promise.all(backends.map((backend) => backend.close()))
})

const policyOn = (route: string): object =>
  proxyPolicy(route, route, {
    jwtAuthentication: {
      providers: [{ issuer: ISSUER, jwks: { inline: JSON.stringify(keySet(key)) } }],
    },
  })

/** A route /NAME to one of the two backends. */
const routeTo = (name: string, backend: 'one' | 'two'): object =>
  httpRoute(name, { rules: [rule(`/${name}`, backend)] })

/** Status and body. */
async function get(path: string, headers: Record<string, string> = {}): Promise<unknown[]> {
  const { status, body } = await send(stack.origin, path, { headers })
  return status === 200 ? [status, body] : [status]
}

const inForce = (path: string, ...expected: readonly unknown[]): Promise<void> =>
  eventually(async () => expect(await get(path)).toEqual(expected))

/** An endless event stream; ended: it broke or was closed. */
function openStream(): { readonly chunks: string[]; ended(): boolean; close(): void } {
  const chunks: string[] = []
  let ended = false
  const outgoing = request(`${stack.origin}/constant/events`, { headers: token }, (incoming) => {
    incoming.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
    incoming.on('close', () => (ended = true))
  })
  outgoing.on('error', () => (ended = true))
  outgoing.end()
  return { chunks, ended: () => ended, close: () => outgoing.destroy() }
}

describe('under constant traffic', () => {
  let traffic: Traffic
  let events: ReturnType<typeof openStream>

  beforeAll(async () => {
    const url = `${stack.origin}/constant`
    // With pauses: it goes on for all of these tests, and a connection that is lost shows in the next request too.
    traffic = startTraffic({ url, headers: token, connections: 3, pauseMs: 5 })
    events = openStream()
    await eventually(() => expect(events.chunks.length).toBeGreaterThan(0))
  })

  test('a new file is in force', async () => {
    await stack.write('new.yaml', routeTo('new', 'one'))
    await inForce('/new', 200, 'one')
  })

  test('a file changed by an atomic rename is in force', async () => {
    await stack.write('new.yaml', routeTo('new', 'two'))
    await inForce('/new', 200, 'two')
  })

  test('a file that an editor truncates and writes is in force, and its route never gone', async () => {
    const path = join(stack.folder, 'new.yaml')
    const watching = startTraffic({ url: `${stack.origin}/new`, connections: 1 })
    await writeFile(path, '')
    await writeFile(path, toYaml(routeTo('new', 'one')))
    await inForce('/new', 200, 'one')
    expect(Object.keys(statusesOf(await watching.stop()))).toEqual(['200'])
  })

  test('a file that an editor saves by a backup and a new file is in force, and its route never gone', async () => {
    const path = join(stack.folder, 'new.yaml')
    const watching = startTraffic({ url: `${stack.origin}/new`, connections: 1 })
    // Without a turn of the event loop between them, as an editor does it.
    renameSync(path, `${path}~`)
    writeFileSync(path, toYaml(routeTo('new', 'two')))
    rmSync(`${path}~`)
    await inForce('/new', 200, 'two')
    expect(Object.keys(statusesOf(await watching.stop()))).toEqual(['200'])
  })

  test('a file whose policies are written slowly behind its routes lets no request through without a token', async () => {
    const path = join(stack.folder, 'slow.yaml')
    /** Gatehouse has looked at the folder since: what came after the file, at once, is in force. */
    const isRead = async (backend: 'one' | 'two'): Promise<void> => {
      await stack.write('after-slow.yaml', routeTo('after-slow', backend))
      await inForce('/after-slow', 200, backend)
    }
    const watching = startTraffic({ url: `${stack.origin}/slow`, connections: 1 })
    await writeFile(path, toYaml(routeTo('slow', 'one')))
    await isRead('one')
    await appendFile(path, `---\n${toYaml(policyOn('slow'))}`)
    await inForce('/slow', 401)
    // Again, over what is there.
    await writeFile(path, toYaml(routeTo('slow', 'two')))
    await isRead('two')
    await appendFile(path, `---\n${toYaml(policyOn('slow'))}`)
    await eventually(async () => {
      const { body } = await send(stack.origin, '/slow', { headers: token })
      expect(body).toBe('two')
    })
    expect(Object.keys(statusesOf(await watching.stop())).sort()).toEqual(['401', '404'])
  })

  test('a symlink swap, as a mounted ConfigMap is updated, is in force', async () => {
    const mount = join(stack.folder, 'mounted')
    for (const [version, backend] of [
      ['..v1', 'one'],
      ['..v2', 'two'],
    ] as const) {
      await mkdir(join(mount, version), { recursive: true })
      await writeFile(join(mount, version, 'route.yaml'), toYaml(routeTo('mounted', backend)))
    }
    await symlink('..v1', join(mount, '..data'))
    await symlink('..data/route.yaml', join(mount, 'route.yaml'))
    await inForce('/mounted', 200, 'one')
    await symlink('..v2', join(mount, '..data_tmp'))
    await rename(join(mount, '..data_tmp'), join(mount, '..data'))
    await rm(join(mount, '..v1'), { recursive: true })
    await inForce('/mounted', 200, 'two')
    expect(await readlink(join(mount, '..data'))).toBe('..v2')
  })

  test.each([
    ['cannot be parsed', 'kind: ['],
    ['is half written', toYaml(routeTo('new', 'one')).slice(0, -20)],
    ['cannot be decoded', toYaml({ ...routeTo('new', 'one'), spec: { rules: 'none' } })],
  ])('a file that %s changes nothing but the status', async (_what, text) => {
    const revision = await revisionNow()
    await stack.writeText('new.yaml', text)
    await eventually(async () => {
      const broken = (await stack.status()).filter(({ source }) => source.includes('new.yaml'))
      expect(broken.flatMap(({ conditions }) => conditions)).toContainEqual(
        expect.objectContaining({ status: 'False', reason: 'Invalid' }),
      )
    })
    expect(await get('/new')).toEqual([200, 'two'])
    expect(await revisionNow()).toBe(revision)
    await stack.write('new.yaml', routeTo('new', 'two'))
    await eventually(async () => {
      const conditions = (await stack.status()).flatMap((resource) => resource.conditions)
      expect(conditions.filter(({ status }) => status !== 'True')).toEqual([])
    })
  })

  test('a deleted file takes its resources out', async () => {
    await stack.remove('new.yaml')
    await inForce('/new', 404)
    expect((await stack.status()).filter(({ name }) => name === 'new')).toEqual([])
  })

  test('a listener comes and goes', async () => {
    const port = await freePort()
    const other = gateway([{ name: 'more', port: port, protocol: 'HTTP' }], 'more')
    await stack.write(
      'more.yaml',
      other,
      httpRoute('more', { parentRefs: [{ name: 'more' }], rules: [rule('/', 'two')] }),
    )
    const origin = `http://127.0.0.1:${String(port)}`
    await eventually(async () => expect((await send(origin, '/')).body).toBe('two'))
    await stack.remove('more.yaml')
    await eventually(() => expect(send(origin, '/')).rejects.toThrow('ECONNREFUSED'))
  })

  test('a route that is gone stays gone when its listener has another one, after a while without any', async () => {
    const port = await freePort()
    const origin = `http://127.0.0.1:${String(port)}`
    const statusFor = async (host: string) =>
      (await send(origin, '/', { headers: { host } })).status
    const on = (name: string, hostnames?: readonly string[]) =>
      httpRoute(name, {
        parentRefs: [{ name: 'lonely' }],
        ...(hostnames && { hostnames }),
        rules: [rule('/', 'one')],
      })
    await stack.write('lonely.yaml', gateway([port], 'lonely'), on('any-host'))
    await eventually(async () => expect(await statusFor('other.example')).toBe(200))
    await stack.write('lonely.yaml', gateway([port], 'lonely'))
    await eventually(async () => expect(await statusFor('other.example')).toBe(404))
    await stack.write('lonely.yaml', gateway([port], 'lonely'), on('one-host', ['one.example']))
    await eventually(async () => expect(await statusFor('one.example')).toBe(200))
    expect(await statusFor('other.example')).toBe(404)
    await stack.remove('lonely.yaml')
  })

  test('and none of it dropped a request or the stream', async () => {
    const outcomes = await traffic.stop()
    expect(outcomes.length).toBeGreaterThan(100)
    expect(Object.keys(statusesOf(outcomes))).toEqual(['200'])
    const before = events.chunks.length
    await eventually(() => expect(events.chunks.length).toBeGreaterThan(before + 1))
    expect(events.ended()).toBe(false)
    events.close()
  })
})

const revisionNow = async (): Promise<unknown> =>
  ((await (await fetch(`${stack.admin}/status`)).json()) as { revision: unknown }).revision

describe('a policy', () => {
  test('that comes to an open route closes it', async () => {
    await stack.write('open.yaml', routeTo('open', 'one'))
    await inForce('/open', 200, 'one')
    const traffic = startTraffic({ url: `${stack.origin}/open` })
    await stack.write('policy.yaml', policyOn('open'))
    await inForce('/open', 401)
    await eventually(() =>
      expect(
        new Set(
          traffic.outcomes
            .filter(({ status }) => status === 401)
            .map(({ connection }) => connection),
        ).size,
      ).toBe(2),
    )
    const outcomes = await traffic.stop()
    for (const connection of [0, 1]) {
      const own = outcomes.filter((outcome) => outcome.connection === connection)
      const closed = own.findIndex(({ status }) => status === 401)
      expect(Object.keys(statusesOf(own.slice(0, closed)))).toEqual(['200'])
      expect(Object.keys(statusesOf(own.slice(closed)))).toEqual(['401'])
    }
    expect(await get('/open', token)).toEqual([200, 'one'])
  })

  test('that breaks leaves the route as closed as it was', async () => {
    await stack.writeText(
      'policy.yaml',
      'apiVersion: policy.gatehouse.dev/v1alpha1\nkind: ProxyPolicy\n',
    )
    await eventually(async () => {
      const [broken] = (await stack.status()).filter(({ source }) =>
        source.includes('policy.yaml:'),
      )
      expect(broken?.conditions[0]?.status).toBe('False')
    })
    expect(await get('/open')).toEqual([401])
    expect(await get('/open', token)).toEqual([200, 'one'])
    await stack.write('policy.yaml', policyOn('open'))
  })

  test('whose rule cannot be compiled closes its route, and other routes are served', async () => {
    const broken = policyOn('open') as { spec: { traffic: Record<string, unknown> } }
    broken.spec.traffic['authorization'] = {
      action: 'Allow',
      policy: { matchExpressions: ['jwt.'] },
    }
    await stack.write('policy.yaml', broken)
    await eventually(async () => expect(await get('/open', token)).toEqual([500]))
    expect(await get('/constant', token)).toEqual([200, 'one'])
    await stack.write('policy.yaml', policyOn('open'))
    await eventually(async () => expect(await get('/open', token)).toEqual([200, 'one']))
  })

  test('that is written with its route in one file never lets the route be open', async () => {
    const origin = `${stack.origin}/together`
    const traffic = startTraffic({ url: origin })
    await stack.write('together.yaml', policyOn('together'), routeTo('together', 'one'))
    await inForce('/together', 401)
    expect(Object.keys(statusesOf(await traffic.stop())).sort()).toEqual(['401', '404'])
  })

  test('that is removed opens the route', async () => {
    await stack.remove('policy.yaml')
    await inForce('/open', 200, 'one')
  })
})

describe('the first start', () => {
  test('with a broken document publishes nothing, reports why, and starts when it is fixed', async () => {
    const resources = (port: number): readonly object[] => [
      gateway([port]),
      proxyBackend('one', backends[0]),
      routeTo('first', 'one'),
    ]
    const fresh = await startStack({
      unready: true,
      resources: (port) => [...resources(port), { kind: 'Gateway' }],
    })
    try {
      await eventually(async () => {
        const answer = await fetch(`${fresh.admin}/readyz`)
        expect([answer.status, await answer.text()]).toEqual([
          503,
          expect.stringMatching(/resources\.yaml:\d+:\d+: /) as string,
        ])
      })
      await expect(send(fresh.origin, '/first')).rejects.toThrow('ECONNREFUSED')
      await fresh.write('resources.yaml', ...resources(fresh.port))
      await eventually(async () => expect((await fetch(`${fresh.admin}/readyz`)).status).toBe(200))
      expect((await send(fresh.origin, '/first')).body).toBe('one')
    } finally {
      await fresh.close()
    }
  })
})
