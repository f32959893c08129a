// The lines of rules, which logs name.

import { expect, test } from 'vitest'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../../src/control/sources/files/file-record.js'
import { decode, PROVIDER, resource, TARGET, withProvider } from './documents.js'

function linesIn(text: string) {
  const { resources, problems } = decode(text)
  expect(problems).toEqual([])
  return resources.map(({ resource: { source, lines } }) => ({ source, lines }))
}

const authorization = (policy: string) =>
  resource(
    'ProxyPolicy',
    `spec:\n  ${TARGET}\n  traffic:\n    authorization:\n      policy:\n${policy}`,
  )

const EXPRESSIONS = 'traffic.authorization.policy.matchExpressions'

/** The list begins on line 10, 9 below the first. */
const RULES = authorization(
  `        matchExpressions:
          - a == 1

          # the second
          - |
            b == 2
          - 'c == 3'
`.replaceAll(/\b([abc]) ==/g, 'jwt.$1 =='),
)

test('rules are counted from the first line of their resource', () => {
  expect(linesIn(`# first\n---\n${RULES}`)).toEqual([
    { source: 'f.yaml:3', lines: { [EXPRESSIONS]: [9, 12, 14] } },
  ])
})

test('webhooks and scopes have lines, lists that are not there have none', () => {
  const webhook = 'webhook: { backendRef: { name: g, port: 80 } }'
  const text = resource(
    'ProxyPolicy',
    `spec:
  ${TARGET}
  traffic:
    authorization:
      policy:
        requiredScopes: [{ scopes: [a] },
          { scopes: [b] }]
  backend:
    ai: { promptGuard: { request: [{ ${webhook} }] } }
    mcp:
      guard:
        response:
          - ${webhook}
          - ${webhook}`,
  )
  expect(linesIn(text)[0]?.lines).toEqual({
    'traffic.authorization.policy.requiredScopes': [8, 9],
    'backend.ai.promptGuard.request': [11],
    'backend.mcp.guard.response': [15, 16],
  })
})

test('the items of a List are counted each from its own first line', () => {
  const item = (name: string) =>
    `  - ${RULES.replace('name: x', `name: ${name}`).trimEnd().replaceAll('\n', '\n    ')}\n`
  const lines = { [EXPRESSIONS]: [9, 12, 14] }
  expect(linesIn(`apiVersion: v1\nkind: List\nitems:\n${item('a')}${item('b')}`)).toEqual([
    { source: 'f.yaml:4', lines },
    { source: 'f.yaml:19', lines },
  ])
})

test('a list behind an alias or in a merged map has no lines', () => {
  const list = "&list ['jwt.a == 1']"
  expect(
    linesIn(
      authorization(`        matchExpressions: *list\n`).replace(
        'metadata: { name: x }',
        `metadata: { name: x }\nstatus: ${list}`,
      ),
    )[0]?.lines,
  ).toBeUndefined()
  const merged = authorization('        <<: *rules\n').replace(
    'metadata: { name: x }',
    'metadata: { name: x }\nstatus: &rules { matchExpressions: [jwt.a] }',
  )
  expect(linesIn(merged)[0]?.lines).toBeUndefined()
})

test('a policy without rules, and other kinds, have no lines', () => {
  const documents = [
    resource('ProxyPolicy', withProvider(PROVIDER)),
    resource('ProxyBackend', 'spec: { static: { host: h, port: 80 } }'),
  ]
  for (const { lines } of linesIn(documents.join('\n---\n'))) expect(lines).toBeUndefined()
})

test('a policy that moves within its file keeps the object of its lines', () => {
  const kinds = kindsOf('policy.gatehouse.dev')
  const read = (text: string, previous?: ReturnType<typeof decodeFile>) =>
    decodeFile(Buffer.from(text), 'f.yaml', kinds, previous)
  const before = read(`# one\n---\n${RULES}`)
  const after = read(`# one\n# two\n---\n${RULES}`, before)
  const [was, is] = [before, after].map(({ resources }) => resources[0]?.resource)
  expect([was?.source, is?.source]).toEqual(['f.yaml:3', 'f.yaml:4'])
  expect(is?.lines).toBe(was?.lines)
})
