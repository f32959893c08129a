// Rules about resources: a URI that a server could read as another one is 400, and hidden in lists, wherever a rule reads
// mcp.resource.uri, and nowhere else.

import { describe, expect, test } from 'vitest'
import { Budget } from '../../src/extauthz/cel/budget.js'
import { listsIn } from '../../src/extauthz/mcp/lists.js'
import { compileRules } from '../../src/extauthz/rules/compile-rules.js'
import { isListed, rulesOfLists } from '../../src/extauthz/rules/listed.js'
import { readJsonText } from '../../src/kit/json/json-text.js'
import { atOnce } from '../../src/kit/turns.js'
import type { Authorization } from '../../src/model/authorization.js'
import { checker, entry } from './helpers.js'

const rules = (parts: Partial<Authorization>): Authorization => ({
  deny: [],
  require: [],
  allow: [],
  ...parts,
})

const DENY = rules({ deny: ['mcp.resource.uri.startsWith("file:///secret")'] })
/** Rules that read the URI, each in another way. */
const READING: readonly Partial<Authorization>[] = [
  DENY,
  { allow: ['mcp.resource.uri == "file:///open/a"'] },
  { require: ['cel.bind(r, mcp.resource, r.uri != "")'] },
  { deny: ['[mcp].exists(m, m.resource.uri == "file:///secret")'] },
  { deny: ['mcp["resource"]["uri"] == "file:///secret"'] },
  { requiredScopes: [{ scopes: ['s'], impliedBy: [], when: 'mcp.resource.uri == "a:b"' }] },
]
const rpc = (method: string, params: object): object => ({ jsonrpc: '2.0', id: 7, method, params })

async function statusOf(authorization: Authorization, body: object): Promise<unknown> {
  const { check } = checker([entry({ authorization })])
  const { status, body: answer } = await check({
    headers: [['content-type', 'application/json']],
    body: JSON.stringify(body),
  })
  if (status === 400)
    expect(JSON.parse(answer)).toMatchObject({
      id: 7,
      error: { code: -32_602, message: expect.stringContaining('normal form') as string },
    })
  return status
}

const METHODS: readonly (readonly [string, (uri: string) => object])[] = [
  ['resources/read', (uri) => rpc('resources/read', { uri })],
  ['resources/subscribe', (uri) => rpc('resources/subscribe', { uri })],
  ['resources/unsubscribe', (uri) => rpc('resources/unsubscribe', { uri })],
  [
    'subscriptions/listen',
    (uri) =>
      rpc('subscriptions/listen', {
        notifications: { resourceSubscriptions: ['file:///open/a', uri] },
      }),
  ],
  [
    'completion/complete',
    (uri) =>
      rpc('completion/complete', {
        ref: { type: 'ref/resource', uri },
        argument: { name: 'a', value: '' },
      }),
  ],
]

describe.each(METHODS)('%s', (method, body) => {
  test.each(['FILE:///secret', 'file:/secret', 'file:///open/../secret', 'file:///%73ecret', ''])(
    'of %j is 400 where rules read URIs, and passes where none does',
    async (uri) => {
      for (const rule of READING) expect(await statusOf(rules(rule), body(uri))).toBe(400)
      expect(await statusOf(rules({ deny: ['mcp.tool.name == "rm"'] }), body(uri))).toBe(200)
    },
  )

  test('of a URI in its normal form is judged', async () => {
    expect(await statusOf(DENY, body('file:///open/b'))).toBe(200)
    expect(await statusOf(DENY, body('file:///secret'))).toBe(403)
    const ofTemplate = method === 'completion/complete' ? 403 : 400
    expect(await statusOf(DENY, body('file:///secret/{Name}'))).toBe(ofTemplate)
  })
})

test('a message that names no resource is judged', async () => {
  expect(await statusOf(DENY, rpc('subscriptions/listen', { notifications: {} }))).toBe(200)
  expect(await statusOf(DENY, rpc('tools/call', { name: 'x' }))).toBe(200)
})

describe('a list', () => {
  const shown = (
    authorization: Authorization,
    method: string,
    member: string,
    items: readonly object[],
  ): unknown => {
    const compiled = atOnce(compileRules(authorization))
    const json = readJsonText(JSON.stringify({ result: { [member]: items } }))
    if (compiled === undefined || !json.ok) throw new Error('no rules, or no list')
    const of = rulesOfLists(compiled)
    return listsIn(json.value.root, [{ id: '1', method }]).flatMap((list) =>
      list.items.flatMap(({ call }) =>
        isListed(of, {}, { ...call, protocolVersion: '' }, new Budget())
          ? [call.resourceUri + call.toolName]
          : [],
      ),
    )
  }

  test('of resources hides what would be 400', () => {
    const uris = ['file:///a', 'FILE:///a', 'file:///{a}', 'file:///%61', 'file:///secret', 'a']
    const items = uris.map((uri) => ({ uri }))
    expect(shown(DENY, 'resources/list', 'resources', items)).toEqual(['file:///a'])
    expect(shown(rules({}), 'resources/list', 'resources', items)).toEqual(uris)
  })

  test('of templates compares their expressions as they are', () => {
    const templates = ['file:///{A}', 'FILE:///{a}', 'file:///x/../{a}', 'file:///secret/{a}']
    const items = templates.map((uriTemplate) => ({ uriTemplate }))
    expect(shown(DENY, 'resources/templates/list', 'resourceTemplates', items)).toEqual([
      'file:///{A}',
    ])
  })

  test('hides it also where the rule reads arguments, too', () => {
    const both = rules({ deny: ['mcp.resource.uri == mcp.tool.arguments.uri'] })
    const items = [{ uri: 'file:///a' }, { uri: 'file:/a' }]
    expect(shown(both, 'resources/list', 'resources', items)).toEqual(['file:///a'])
  })

  test('of tools has no URIs', () => {
    expect(shown(DENY, 'tools/list', 'tools', [{ name: 'x' }])).toEqual(['x'])
  })
})
