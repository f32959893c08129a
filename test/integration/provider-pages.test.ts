// The YAML of docs/providers/authentik.md and descope.md, with the addresses of stand-in providers: the official
// clients log in and call a tool, and users outside the group or role are denied.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Shape } from '../../src/cli/demo/idp/shape.js'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { ClientFailure, type McpClient } from '../support/clients/client-run.js'
import { python } from '../support/clients/python.js'
import { ts1 } from '../support/clients/ts1.js'
import { ts2 } from '../support/clients/ts2.js'
import { fences, PROVIDERS, resourcesIn } from '../support/documented-yaml.js'
import { MANAGEMENT_KEY, startTestIdp, type TestIdp } from '../support/identity-provider.js'
import { type Stack, startStack } from '../support/stack.js'

const CLIENTS: Record<string, McpClient> = { ts1, ts2, python }

interface Page {
  readonly page: string
  readonly host: string
  readonly shape: Shape
}

const AUTHENTIK: Page = {
  page: 'authentik',
  host: 'authentik.example',
  shape: { type: 'IdpOne', slug: 'mcp' },
}
const DESCOPE: Page = {
  page: 'descope',
  host: 'api.descope.com',
  shape: {
    type: 'IdpTwo',
    project: 'P2example',
    server: 'MS2example',
    managementKey: MANAGEMENT_KEY,
  },
}

let server: McpServer
beforeAll(async () => {
  server = await startMcpServer()
})
afterAll(() => server.close())

/** Returns the resources without TLS: the stand-in has no certificate. */
function resources({ page, host }: Page, idp: TestIdp, port: number): readonly object[] {
  const yaml = [`${PROVIDERS}/README.md`, `${PROVIDERS}/${page}.md`].flatMap((path) =>
    fences(path, 'yaml'),
  )
  return resourcesIn(yaml, {
    [`https://${host}`]: idp.origin,
    [`host: ${host}`]: `host: ${idp.host}`,
    'port: 443': `port: ${String(idp.port)}`,
    'port: 3001': `port: ${String(server.port)}`,
    'port: 8080': `port: ${String(port)}`,
    'https://mcp.example': `http://127.0.0.1:${String(port)}`,
  }).filter((document) => Reflect.get(document, 'kind') !== 'BackendTLSPolicy')
}

describe.each([AUTHENTIK, DESCOPE])('$page', (page) => {
  let idp: TestIdp
  let stack: Stack

  beforeAll(async () => {
    idp = await startTestIdp(page.shape, { clientId: 'mcp-client' })
    stack = await startStack({ resources: (port) => resources(page, idp, port) })
  })

  afterAll(async () => {
    await stack.close()
    await idp.close()
  })

  test.each(Object.entries(CLIENTS))('%s logs in and calls a tool', async (_name, client) => {
    const run = await client(`${stack.origin}/mcp`, 'alice')
    expect(run.echo).toBe('Echo: hi')
  })

  test('a user without the group or role is refused', async () => {
    const failure = await ts2(`${stack.origin}/mcp`, 'bob').catch((error: unknown) => error)
    if (!(failure instanceof ClientFailure)) throw new Error(`it did not fail: ${String(failure)}`)
    expect(failure.calls).toContain('POST /mcp 403')
  })

  test('nothing of the policy is in doubt', async () => {
    const policy = (await stack.status()).find(({ kind }) => kind === 'ProxyPolicy')
    expect(policy?.conditions).toMatchObject([
      { type: 'Accepted', status: 'True', reason: 'Valid' },
      { type: 'Attached', status: 'True' },
    ])
  })
})

describe('descope with authorizationServer Provider', () => {
  let idp: TestIdp
  let stack: Stack

  beforeAll(async () => {
    idp = await startTestIdp(DESCOPE.shape, { openRegistration: true, sendIss: true })
    stack = await startStack({
      resources: (port) => resources(DESCOPE, idp, port).map(withProvider),
    })
  })

  afterAll(async () => {
    await stack.close()
    await idp.close()
  })

  /** Replaces clientId and metadataIssuer, as the page describes. */
  function withProvider(document: object): object {
    const text = JSON.stringify(document)
    const before = '"clientId":"mcp-client","metadataIssuer":"Gateway"'
    if (Reflect.get(document, 'kind') === 'ProxyPolicy') expect(text).toContain(before)
    return JSON.parse(text.replace(before, '"authorizationServer":"Provider"')) as object
  }

  test.each(Object.entries(CLIENTS))('%s registers and logs in there', async (_name, client) => {
    const run = await client(`${stack.origin}/mcp`, 'alice')
    expect(run.echo).toBe('Echo: hi')
    expect(run.calls.filter((call) => call.includes('client-registration'))).toEqual([])
  })
})
