// `gatehouse run` as its users know it: files in, an Envoy that protects an MCP server out.

import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { envoyPath } from '../support/envoy.js'
import { bearer, initialize, send } from '../support/http.js'
import { ISSUER, type McpParties, startMcpParties } from '../support/mcp-parties.js'
import { program, temporaryFolder } from '../support/program.js'
import { gateway } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'

let parties: McpParties
let stack: Stack

beforeAll(async () => {
  parties = await startMcpParties()
  stack = await parties.run('"mcp-users" in jwt.groups')
})
afterAll(async () => {
  await stack.close()
  await parties.close()
})

describe('an MCP client', () => {
  test('without a token gets the address to log in', async () => {
    const answer = await send(stack.origin, '/mcp', initialize)
    expect(answer.status).toBe(401)
    expect(answer.headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${stack.origin}/.well-known/oauth-protected-resource/mcp"`,
    )
    expect(parties.backend.requests).toEqual([])
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
    const headers = {
      ...bearer(await parties.tokenOf('mcp-users')),
      'content-type': 'application/json',
    }
    const answer = await send(stack.origin, '/mcp', { ...initialize, headers })
    expect([answer.status, answer.body]).toEqual([200, 'backend'])
    expect(parties.backend.requests.at(-1)?.body).toBe(initialize.body)
    expect(parties.backend.requests.at(-1)?.headers.authorization).toBeUndefined()
  })

  test('with a token of another group is refused', async () => {
    const before = parties.backend.requests.length
    const headers = bearer(await parties.tokenOf('others'))
    const answer = await send(stack.origin, '/mcp', { ...initialize, headers })
    expect(answer.status).toBe(403)
    expect(parties.backend.requests).toHaveLength(before)
  })
})

describe('the operator', () => {
  test('reads no warning without a problem, and every line is JSON', () => {
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
    expect(metrics).toMatch(/^gatehouse_envoys\{version="1\.\d+\.\d+"\} 1$/m)
    expect(metrics).toMatch(/^gatehouse_key_sets\{state="missing"\} 0$/m)
    expect(metrics).toMatch(
      /^gatehouse_key_set_last_fetch_timestamp_seconds\{url="http[^"?]+"\} \d+/m,
    )
    expect(metrics).toMatch(/gatehouse_key_set_fetches_total\{result="success"\} [1-9]/)
  })

  test('changes a rule in a file, and it is in force', async () => {
    const headers = bearer(await parties.tokenOf('editors'))
    const call = () => send(stack.origin, '/mcp', { ...initialize, headers })
    expect((await call()).status).toBe(403)
    await stack.write('resources.yaml', ...parties.resources(stack.port, '"editors" in jwt.groups'))
    await eventually(async () => expect((await call()).status).toBe(200))
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
    await eventually(() => expect(stack.log()).toContain('all resource problems resolved'))
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

  test('learns it also when another listener is accepted after the one that is refused', async () => {
    const [low = 0, high = 0] = [await freePort(), await freePort()].sort((a, b) => a - b)
    const other = createServer().listen(low, '127.0.0.1')
    await once(other, 'listening')
    const taken = await startStack({ resources: () => [gateway([low, high])], unready: true })
    const accepted = async (): Promise<readonly string[]> => {
      const { envoys } = (await (await fetch(`${taken.admin}/status`)).json()) as {
        envoys: { types: { type: string; acked?: string }[] }[]
      }
      return envoys.flatMap(({ types }) =>
        types.flatMap(({ type, acked }) => (acked === undefined ? [] : [type])),
      )
    }
    await eventually(async () =>
      expect(await accepted()).toContain('type.googleapis.com/envoy.config.listener.v3.Listener'),
    )
    const answer = await fetch(`${taken.admin}/readyz`)
    expect(await answer.text()).toMatch(/refuses its Listener: .*Address already in use/)
    await taken.close()
    other.close()
  })

  test('of a second one on the same port learns that it is taken', async () => {
    const second = await startStack({
      resources: () => parties.resources(stack.port),
      unready: true,
    })
    await eventually(async () => {
      const answer = await fetch(`${second.admin}/readyz`)
      expect(await answer.text()).toMatch(
        new RegExp(`refuses its Listener: .*:${String(stack.port)}': Address already in use`),
      )
    })
    await second.close()
  })

  test('loses the Envoy: /readyz is 503 until another one serves', async () => {
    const held = join(await temporaryFolder(), 'held')
    const envoy = await program(
      `while [ -e ${held} ]; do sleep 0.1; done\nexec ${envoyPath()} "$@"`,
    )
    const own = await startStack({
      envoy,
      resources: (port) => parties.resources(port, '"mcp-users" in jwt.groups'),
    })
    const readiness = async () => {
      const answer = await fetch(`${own.admin}/readyz`)
      return [answer.status, await answer.text()]
    }
    try {
      await writeFile(held, '')
      process.kill(Number(/"pid":(\d+),"msg":"Envoy is serving"/.exec(own.log())?.[1]), 'SIGKILL')
      const lost = [503, expect.stringContaining('Envoy') as string]
      await eventually(async () => expect(await readiness()).toEqual(lost))
      await rm(held)
      await eventually(async () => expect((await readiness())[0]).toBe(200))
      expect((await send(own.origin, '/mcp', initialize)).status).toBe(401)
      expect(own.log()).toContain('restarting it')
    } finally {
      await own.close()
    }
  })
})
