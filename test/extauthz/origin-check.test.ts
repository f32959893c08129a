// Which pages may call an MCP server (MCP 2026-07-28, Streamable HTTP, "Security Warning").

import { expect, test } from 'vitest'
import { isForeignOrigin } from '../../src/extauthz/origin-check.js'
import { entry } from './helpers.js'

const APP = 'https://app.example'

test.each<[string, readonly string[] | undefined, string | readonly string[] | undefined, boolean]>(
  [
    ['of an allowed origin', [APP], APP, false],
    ['of the second allowed origin', ['https://other.example', APP], APP, false],
    ['of another origin', [APP], 'https://evil.example', true],
    ['of any origin, with *', ['*'], 'https://evil.example', false],
    ['of the origin "*", without it', [APP], '*', true],
    ['of an origin, where none is allowed', [], APP, true],
    ['of an origin, where origins are not looked at', undefined, APP, false],
    ['without an origin', [APP], undefined, false],
    ['with two origins', [APP], [APP, APP], true],
    ['with two origins, with *', ['*'], [APP, APP], true],
  ],
)('a request %s', (_name, allowedOrigins, origin, isForeign) => {
  const route = entry(allowedOrigins === undefined ? {} : { allowedOrigins })
  const headers = new Map(origin === undefined ? [] : [['origin', origin]])
  expect(isForeignOrigin(route, { headers })).toBe(isForeign)
})
