// What the status page offers to have explained, and that a shell takes the command literally.

import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { explainCommand, requestToExplain } from '../../../../src/ops/admin/page/explain-link.js'

const WHERE = { address: '127.0.0.1:18001', needsToken: false, isTls: false }
const REQUEST = { method: 'POST', host: 'mcp.example:8080', path: '/mcp' }

test('a request becomes METHOD URL, with the scheme of the listeners', () => {
  expect(requestToExplain(REQUEST, WHERE)).toBe('POST http://mcp.example:8080/mcp')
  expect(requestToExplain(REQUEST, { ...WHERE, isTls: true })).toMatch(/^POST https:/)
})

test.each([
  { host: '' },
  { host: 'a b' },
  { host: 'a\u001b[31m' },
  { path: '/\n; rm -rf /' },
  { path: '/\u202e' },
  { path: 'no-slash' },
  { path: '/a b' },
  { method: 'GET;' },
  { method: '' },
])('%j cannot be explained', (over) => {
  expect(requestToExplain({ ...REQUEST, ...over }, WHERE)).toBeUndefined()
})

test("a shell takes the command's arguments as they are, whatever the client sent", () => {
  const path = `/'"$(id)\`id\`;id&|>x*?~#!\\'`
  const request = requestToExplain({ ...REQUEST, path }, WHERE) ?? ''
  const command = explainCommand(request, { ...WHERE, needsToken: true })
  const words = execFileSync('sh', ['-c', `printf '%s\\n' ${command}`], { encoding: 'utf8' })
  expect(words.trim().split('\n')).toEqual([
    'gatehouse',
    'explain',
    '--admin',
    '127.0.0.1:18001',
    '--admin-token-file',
    'ADMIN_TOKEN',
    '--token',
    'TOKEN_FILE',
    '--request',
    `POST http://mcp.example:8080${path}`,
  ])
})
