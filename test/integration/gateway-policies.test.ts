// Gateway policies through a real Envoy: defaults for the routes of a Gateway, which a route's own policy replaces, and
// changes of either during which no route is open.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { type Backend, startBackend } from '../support/backend.js'
import { bearer, send } from '../support/http.js'
import { ISSUER, jwt, provider, sign } from '../support/protected-stack.js'
import {
  allow,
  gateway,
  httpRoute,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  rule,
} from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { newKey, signToken } from '../support/tokens.js'
import { startTraffic, statusesOf } from '../support/traffic.js'

const [ofGateway, ofOther, ofRoute] = await Promise.all([
  newKey('gw'),
  newKey('other'),
  newKey('route'),
])

const token = bearer(await sign(ofGateway, { aud: 'app', role: 'user' }))
const otherToken = bearer(await sign(ofOther))
const ownToken = bearer(
  await signToken({ key: ofRoute, claims: { iss: `${ISSUER}/own`, role: 'user' } }),
)

let backend: Backend
let stack: Stack
let other: string

function onGateway(name: string, traffic: object, sectionName?: string): object {
  const { spec, ...policy } = proxyPolicy(sectionName ?? `of-${name}`, name, traffic)
  const target = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name }
  const targetRefs = [{ ...target, ...(sectionName !== undefined && { sectionName }) }]
  return { ...policy, spec: { ...spec, targetRefs } }
}

const DEFAULTS = onGateway('gw', {
  jwtAuthentication: jwt([ofGateway]),
  authorization: { action: 'Deny', policy: { matchExpressions: ['request.path == "/nothing/x"'] } },
})
const OTHERS = onGateway('other', { jwtAuthentication: jwt([ofOther]) })

const routeTo = (name: string, ...gateways: readonly string[]): object =>
  httpRoute(name, {
    parentRefs: (gateways.length === 0 ? ['gw'] : gateways).map((parent) => ({ name: parent })),
    rules: [rule(`/${name}`, 'backend')],
  })

beforeAll(async () => {
  backend = await startBackend()
  const port = await freePort()
  other = `http://127.0.0.1:${String(port)}`
  stack = await startStack({
    resources: (first) => [
      gateway([first]),
      gateway([port], 'other'),
      proxyBackend('backend', backend),
      DEFAULTS,
      OTHERS,
      routeTo('nothing'),
      routeTo('rules'),
      proxyPolicy('rules', 'rules', { authorization: allow('jwt.role == "user"') }),
      routeTo('tokens'),
      proxyPolicy('tokens', 'tokens', {
        jwtAuthentication: { providers: [provider([ofRoute], { issuer: `${ISSUER}/own` })] },
      }),
      routeTo('public'),
      proxyPolicy('public', 'public', {
        jwtAuthentication: jwt([ofRoute], { mode: 'Permissive' }),
        authorization: allow('true'),
      }),
      routeTo('both', 'gw', 'other'),
    ],
  })
})

afterAll(async () => {
  await stack.close()
  await backend.close()
})

const at = (path: string, headers: Record<string, string> = {}, origin = stack.origin) =>
  send(origin, path, { headers })
const statusOf = async (...args: Parameters<typeof at>): Promise<number> =>
  (await at(...args)).status

test('a route without a policy has those of its Gateway', async () => {
  expect(await statusOf('/nothing')).toBe(401)
  expect(await statusOf('/nothing', ownToken)).toBe(401)
  expect(await statusOf('/nothing', token)).toBe(200)
  expect(await statusOf('/nothing/x', token)).toBe(403)
})

test("a route's own policy replaces the rules, or the tokens, or both", async () => {
  expect([await statusOf('/rules'), await statusOf('/rules', token)]).toEqual([401, 200])
  expect(await statusOf('/rules', otherToken)).toBe(401)
  expect([await statusOf('/tokens', token), await statusOf('/tokens', ownToken)]).toEqual([
    401, 200,
  ])
  expect(await statusOf('/public')).toBe(200)
})

test('on two Gateways it has the policy of each', async () => {
  expect([await statusOf('/both', token), await statusOf('/both', otherToken)]).toEqual([200, 401])
  expect(await statusOf('/both', token, other)).toBe(401)
  expect(await statusOf('/both', otherToken, other)).toBe(200)
})

/** The first line of the decision log about refusals of a route for this reason. */
const lineOf = (route: string, reason: string): Promise<Record<string, unknown>> =>
  eventually(() => {
    const lines = stack
      .log()
      .split('\n')
      .filter((line) => line.includes(`"reason":"${reason}"`))
    const found = lines.find((line) => line.includes(`"route":"default/${route}"`))
    expect(found, stack.log()).toBeDefined()
    return JSON.parse(found ?? '') as Record<string, unknown>
  })

test('the decision log names the policy that decided, the status which is in force', async () => {
  const stranger = bearer(await sign(ofGateway, { role: 'guest' }))
  const paths = [['/rules'], ['/rules', stranger], ['/nothing/x', token]] as const
  for (const [path, headers] of paths) await statusOf(path, headers)
  expect(await lineOf('rules', 'no-token')).toMatchObject({ policy: 'default/of-gw' })
  expect(await lineOf('rules', 'no-rule-allows')).toMatchObject({ policy: 'default/rules' })
  expect(await lineOf('nothing', 'denied-by-rule')).toMatchObject({
    policy: 'default/of-gw',
    rule: 'matchExpressions[0]',
  })
  const status = await stack.status()
  const said = (kind: string, name: string): string =>
    status.find((one) => one.kind === kind && one.name === name)?.conditions[0]?.message ?? ''
  expect(said('HTTPRoute', 'rules')).toContain(
    'In force: traffic.jwtAuthentication of ProxyPolicy default/of-gw, by its Gateway',
  )
  expect(said('ProxyPolicy', 'of-gw')).toContain(
    'Replaced: traffic.authorization by ProxyPolicy default/rules on HTTPRoute default/rules',
  )
  expect(said('ProxyPolicy', 'rules')).toContain(
    'In force: traffic.authorization in place of ProxyPolicy default/of-gw of the Gateway',
  )
})

test('an MCP route has the documents of the policy of its listener', async () => {
  const document = '/.well-known/oauth-protected-resource/mcp'
  await stack.write('mcp.yaml', mcpRoute('mcp', 'backend'))
  await eventually(async () => expect(await statusOf(document)).toBe(401))
  const providers = [provider([ofGateway], { audiences: ['app'] })]
  await stack.write(
    'listener.yaml',
    onGateway(
      'gw',
      { jwtAuthentication: { providers, mcp: { clientId: 'app' } } },
      `http-${String(stack.port)}`,
    ),
  )
  await eventually(async () => expect(await statusOf(document)).toBe(200))
  const { headers } = await at('/mcp')
  expect(headers['www-authenticate']).toContain(`${stack.origin}${document}`)
  expect(await statusOf('/mcp', token)).toBe(200)
  // Its rules are still those of the whole Gateway.
  expect(await statusOf('/nothing/x', token)).toBe(403)
  await stack.remove('listener.yaml')
  await eventually(async () => expect(await statusOf(document)).toBe(401))
})

test('while a route moves between Gateways, and policies of its own come and go, it is never open', async () => {
  await stack.write('moving.yaml', routeTo('moving', 'gw', 'other'))
  await eventually(async () => expect(await statusOf('/moving')).toBe(401))
  await eventually(async () => expect(await statusOf('/moving', {}, other)).toBe(401))
  const traffics = [stack.origin, other].map((origin) =>
    startTraffic({ url: `${origin}/moving`, headers: {}, connections: 2 }),
  )
  const own = proxyPolicy('moving', 'moving', {
    jwtAuthentication: { providers: [provider([ofRoute], { issuer: `${ISSUER}/own` })] },
  })
  for (let round = 0; round < 3; round++) {
    await stack.write('moving.yaml', routeTo('moving', 'gw'))
    await eventually(async () => expect(await statusOf('/moving', {}, other)).toBe(404))
    await stack.write('own.yaml', own)
    await eventually(async () => expect(await statusOf('/moving', ownToken)).toBe(200))
    await stack.write('moving.yaml', routeTo('moving', 'other'))
    await eventually(async () => expect(await statusOf('/moving', ownToken, other)).toBe(200))
    await stack.remove('own.yaml')
    await eventually(async () => expect(await statusOf('/moving', otherToken, other)).toBe(200))
    await stack.write('moving.yaml', routeTo('moving', 'gw', 'other'))
    await eventually(async () => expect(await statusOf('/moving', token)).toBe(200))
  }
  const seen = await Promise.all(traffics.map(async (traffic) => statusesOf(await traffic.stop())))
  for (const statuses of seen)
    expect(Object.keys(statuses).toSorted().join()).toMatch(/^401(,404)?$/)
})
