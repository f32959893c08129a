// `gatehouse run` as its users know it: files in, an Envoy that protects an MCP server out.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startBackend, type Backend } from '../support/backend.js'
import { startDocumentServer, type DocumentServer } from '../support/document-server.js'
import { envoyPath } from '../support/envoy.js'
import { eventually } from '../support/eventually.js'
import { bearer, initialize, send } from '../support/http.js'
import {
  allow,
  gateway,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
} from '../support/resources.js'
import { startStack, type Stack } from '../support/stack.js'
import { keySet, newKey, signToken, type SigningKey } from '../support/tokens.js'

const ISSUER = 'https://idp.example/application/o/mcp/'

let backend: Backend
let idp: DocumentServer
let key: SigningKey
let stack: Stack

const policy = (port: number, ...rules: readonly string[]): object =>
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [
        { issuer: ISSUER, audiences: ['mcp-client'], jwks: remoteJwks('idp', idp.port, '/jwks') },
      ],
      mcp: {
        provider: 'IdpOne',
        clientId: 'mcp-client',
        resourceMetadata: { resource: `http://127.0.0.1:${String(port)}/mcp` },
      },
    },
    authorization: allow(...rules),
  })

const resources = (port: number, ...rules: readonly string[]): readonly object[] => [
  gateway([port]),
  proxyBackend('backend', backend),
  proxyBackend('idp', idp),
  mcpRoute('mcp', 'backend'),
  policy(port, ...rules),
]

const tokenOf = (...groups: readonly string[]): Promise<string> =>
  signToken({ key, claims: { iss: ISSUER, aud: 'mcp-client', groups } })

beforeAll(async () => {
  backend = await startBackend()
  idp = await startDocumentServer()
  key = await newKey('k1')
  idp.serve('/jwks', keySet(key))
  idp.serve('/application/o/mcp/.well-known/openid-configuration', {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}authorize`,
    token_endpoint: `${ISSUER}token`,
    jwks_uri: `${ISSUER}jwks/`,
  })
  stack = await startStack({ resources: (port) => resources(port, '"mcp-users" in jwt.groups') })
  await eventually(async () => {
    const answer = await send(stack.origin, '/mcp', initialize)
    expect(answer.status).toBe(401)
  })
})

afterAll(async () => {
  await stack.close()
  await idp.close()
  await backend.close()
})

describe('an MCP client', () => {
  test('without a token is told where to log in', async () => {
    const answer = await send(stack.origin, '/mcp', initialize)
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${stack.origin}/.well-known/oauth-protected-resource/mcp"`,
    )
    expect(backend.requests).toEqual([])
  })

  test('finds the resource metadata, and in it the gateway as authorization server', async () => {
    const answer = await send(stack.origin, '/.well-known/oauth-protected-resource/mcp')
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body)).toMatchObject({
      resource: `${stack.origin}/mcp`,
      authorization_servers: [`${stack.origin}/mcp`],
      resource_type: 'mcp-server',
    })
  })

  test('finds the server metadata, with a registration endpoint at the gateway', async () => {
    const path = '/.well-known/oauth-authorization-server/mcp'
    const answer = await send(stack.origin, path)
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body)).toMatchObject({
      issuer: ISSUER,
      authorization_endpoint: `${ISSUER}authorize`,
      registration_endpoint: `${stack.origin}${path}/client-registration`,
    })
  })

  test('registers and gets the client that was registered by hand', async () => {
    const path = '/.well-known/oauth-authorization-server/mcp/client-registration'
    const answer = await send(stack.origin, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'test', redirect_uris: ['http://127.0.0.1:9/cb'] }),
    })
    expect(answer.status).toBe(201)
    expect(JSON.parse(answer.body)).toMatchObject({ client_id: 'mcp-client' })
  })

  test('with a token of the group gets through to the MCP server', async () => {
    const headers = { ...bearer(await tokenOf('mcp-users')), 'content-type': 'application/json' }
    const answer = await send(stack.origin, '/mcp', { ...initialize, headers })
    expect([answer.status, answer.body]).toEqual([200, 'backend'])
    expect(backend.requests.at(-1)?.body).toBe(initialize.body)
    expect(backend.requests.at(-1)?.headers.authorization).toBeUndefined()
  })

  test('with a token of another group is refused', async () => {
    const before = backend.requests.length
    const headers = bearer(await tokenOf('others'))
    const answer = await send(stack.origin, '/mcp', { ...initialize, headers })
    expect(answer.status).toBe(403)
    expect(backend.requests).toHaveLength(before)
  })
})

describe('the operator', () => {
  test('reads no warning when all is well, and every line is JSON', () => {
    const lines = stack.log().trim().split('\n')
    const levels = lines.map((line) => (JSON.parse(line) as { level: string }).level)
    expect(new Set(levels)).toEqual(new Set(['info']))
  })

  test('sees every resource accepted in /status, and the Envoy that took the configuration', async () => {
    const status = (await (await fetch(`${stack.admin}/status`)).json()) as {
      ready: boolean
      resources: { kind: string; conditions: { type: string; status: string }[] }[]
      envoys: { connected: boolean; types: { sent: string; acked: string }[] }[]
    }
    expect(status.ready).toBe(true)
    expect(status.resources.map(({ kind }) => kind).sort()).toEqual([
      'Gateway',
      'HTTPRoute',
      'ProxyBackend',
      'ProxyBackend',
      'ProxyPolicy',
    ])
    const conditions = status.resources.flatMap((resource) => resource.conditions)
    expect(conditions.filter((condition) => condition.status !== 'True')).toEqual([])
    expect(status.envoys).toHaveLength(1)
    for (const { sent, acked } of status.envoys[0]?.types ?? []) expect(acked).toBe(sent)
  })

  test('counts checks and pushes in /metrics', async () => {
    const metrics = await stack.metrics()
    expect(metrics).toMatch(/gatehouse_checks_total\{route="default\/mcp",decision="deny",.*\} \d/)
    expect(metrics).toMatch(/gatehouse_xds_pushes_total\{type="Listener"\} [1-9]/)
    expect(metrics).toMatch(/gatehouse_key_set_fetches_total\{result="success"\} [1-9]/)
  })

  test('changes a rule in a file, and it is in force within a second; nothing is dropped', async () => {
    const headers = bearer(await tokenOf('editors'))
    const call = () => send(stack.origin, '/mcp', { ...initialize, headers })
    expect((await call()).status).toBe(403)
    await stack.write('resources.yaml', ...resources(stack.port, '"editors" in jwt.groups'))
    await eventually(async () => expect((await call()).status).toBe(200), 1_000)
  })

  test('breaks a file, and only the status changes', async () => {
    await stack.writeText('broken.yaml', 'kind: [')
    await eventually(async () => {
      const broken = (await stack.status()).find(({ source }) => source.includes('broken.yaml'))
      expect(broken?.conditions[0]).toMatchObject({ status: 'False', reason: 'Invalid' })
      expect(broken?.source).toMatch(/broken\.yaml:\d+$/)
    })
    expect((await fetch(`${stack.admin}/readyz`)).status).toBe(200)
    expect((await send(stack.origin, '/mcp', initialize)).status).toBe(401)
    await stack.remove('broken.yaml')
  })

  test('reads of a broken file in the log, and that it is mended', async () => {
    await stack.writeText('broken.yaml', 'kind: [')
    await eventually(() => expect(stack.log()).toMatch(/"warn".*broken\.yaml:1:\d+: /))
    await stack.remove('broken.yaml')
    await eventually(() => expect(stack.log()).toContain('all well again'))
  })

  test('learns from /readyz why the first configuration is refused', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const taken = await startStack({ resources: () => [gateway([port])], unready: true })
    await eventually(async () => {
      const answer = await fetch(`${taken.admin}/readyz`)
      expect(await answer.text()).toMatch(/refuses its Listener: .*Address already in use/)
    })
    await taken.close()
    other.close()
  })

  test('of a second one on the same port learns that it is taken', async () => {
    const second = await startStack({ resources: () => resources(stack.port), unready: true })
    await eventually(async () => {
      const answer = await fetch(`${second.admin}/readyz`)
      expect(await answer.text()).toMatch(
        new RegExp(`refuses its Listener: .*:${String(stack.port)}': Address already in use`),
      )
    })
    await second.close()
  })

  test('loses the Envoy, and it is started again', async () => {
    const pid = Number(/"pid":(\d+),"msg":"Envoy serves"/.exec(stack.log())?.[1])
    process.kill(pid, 'SIGKILL')
    await eventually(async () => {
      const answer = await fetch(`${stack.admin}/readyz`)
      expect([answer.status, await answer.text()]).toEqual([
        503,
        expect.stringContaining('Envoy') as string,
      ])
    })
    await eventually(async () => expect((await fetch(`${stack.admin}/readyz`)).status).toBe(200))
    expect((await send(stack.origin, '/mcp', initialize)).status).toBe(401)
    expect(stack.log()).toContain('starting it again')
  })
})

describe('the end', () => {
  /** A request that the backend has and does not answer yet. */
  async function underWay(at: Stack) {
    const headers = bearer(await tokenOf('editors'))
    const arrived = new Promise<() => void>((arrive) => {
      backend.answer((_request, response) => {
        arrive(() => response.end('late'))
      })
    })
    const answer = send(at.origin, '/mcp', { ...initialize, headers })
    return { answer, finish: await arrived }
  }

  const isGone = (at: Stack) => expect(fetch(`${at.envoyAdmin}/ready`)).rejects.toThrow()

  test('SIGTERM: the request under way finishes, new ones are refused, the exit code is 0 and no Envoy is left', async () => {
    const { answer, finish } = await underWay(stack)
    const stopped = stack.stop()
    await eventually(() => expect(send(stack.origin, '/mcp')).rejects.toThrow('ECONNREFUSED'))
    expect((await fetch(`${stack.admin}/readyz`)).status).toBe(503)
    finish()
    expect((await answer).body).toBe('late')
    expect(await stopped).toBe(0)
    await isGone(stack)
  })

  test('a second signal does not wait: the exit code is 1, and still no Envoy is left', async () => {
    const other = await startStack({
      resources: (port) => resources(port, '"editors" in jwt.groups'),
      flags: ['--drain-timeout', '1h'],
    })
    await eventually(async () => {
      expect((await send(other.origin, '/mcp', initialize)).status).toBe(401)
    })
    const { answer } = await underWay(other)
    const failed = expect(answer).rejects.toThrow()
    other.child.kill('SIGINT')
    await eventually(() => expect(other.log()).toContain('draining'))
    expect(await other.stop('SIGINT')).toBe(1)
    await failed
    await eventually(() => isGone(other))
    await other.close()
  })
})

describe('says what is wrong in one sentence and ends with 1', () => {
  const main = resolve(import.meta.dirname, '../../dist/main.js')
  const runWith = async (...flags: readonly string[]) => {
    const args = [main, 'run', '--resources', 'config/demo', '--log-level', 'silent', ...flags]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = once(child, 'close')
    const stderr = await text(child.stderr)
    await ended
    return { code: child.exitCode, stderr }
  }

  test('the admin address is taken', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const address = `127.0.0.1:${String(port)}`
    const { code, stderr } = await runWith('--admin', address)
    taken.close()
    expect([code, stderr]).toEqual([
      1,
      `gatehouse: ${address} is in use by another process: stop it, or choose another address with --admin or --grpc\n`,
    ])
  })

  test("Envoy's admin address is taken", async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as { port: number }
    const { code, stderr } = await runWith(
      ...['--admin', '127.0.0.1:0', '--envoy', envoyPath()],
      ...['--envoy-admin', `127.0.0.1:${String(port)}`],
    )
    taken.close()
    expect(code).toBe(1)
    expect(stderr).toMatch(/^gatehouse: Envoy ended with code 1: .*Address already in use.*\n$/)
  })

  test('there is no such Envoy', async () => {
    const { code, stderr } = await runWith('--admin', '127.0.0.1:0', '--envoy', '/nonexistent')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^gatehouse: \/nonexistent cannot be run: .*\n$/)
  })
})
