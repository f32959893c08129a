// docs/providers/keycloak.md, step by step: its realm in a Keycloak and its resources in a gateway, on free ports
// instead of those of the page. The official clients log in and call a tool.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import type { McpClient } from '../support/clients/client-run.js'
import { python } from '../support/clients/python.js'
import { ts1 } from '../support/clients/ts1.js'
import { ts2 } from '../support/clients/ts2.js'
import { fences, PROVIDERS, resourcesIn } from '../support/documented-yaml.js'
import { providerFetched } from '../support/relay-stack.js'
import { gateway } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { type Keycloak, startKeycloak } from './support/keycloak.js'
import { visitAnywhere } from './support/person.js'

const START_MS = 400_000
const PAGE = `${PROVIDERS}/keycloak.md`
const CLIENTS: Record<string, McpClient> = { ts1, ts2, python }
const [REALM = ''] = fences(PAGE, 'json')
const [RESOURCES = ''] = fences(PAGE, 'yaml')

let keycloak: Keycloak
let server: McpServer
let stack: Stack

const withPorts = (text: string, ports: Readonly<Record<string, number>>): string =>
  Object.entries(ports).reduce((all, [from, to]) => all.replaceAll(from, String(to)), text)

beforeAll(async () => {
  server = await startMcpServer()
  // Its port is a part of the realm.
  stack = await startStack({ resources: (port) => [gateway([port])] })
  const ports = { '8080': stack.port, '3001': server.port }
  keycloak = await startKeycloak(JSON.parse(withPorts(REALM, ports)) as object)
  const page = withPorts(RESOURCES, { ...ports, '8180': keycloak.port })
  await stack.write('resources.yaml', ...resourcesIn([page]))
  await providerFetched(stack)
}, START_MS)

afterAll(async () => {
  await stack.close()
  await server.close()
  await keycloak.close()
})

test.each(Object.entries(CLIENTS))('%s registers, logs in and calls a tool', async (_, client) => {
  const run = await client(`http://localhost:${String(stack.port)}/mcp`, 'alice', visitAnywhere)
  expect(run.tools).toContain('echo')
  expect(run.echo).toBe('Echo: hi')
})

test('nothing of the policy cannot work', async () => {
  const policy = (await stack.status()).find(({ kind }) => kind === 'ProxyPolicy')
  expect(policy?.conditions).toMatchObject([
    { type: 'Accepted', status: 'True', reason: 'Valid' },
    { type: 'Attached', status: 'True' },
  ])
})
