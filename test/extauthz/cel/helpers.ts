// Helpers for tests of expressions: request attributes, and rules evaluated with them.

import { type Attributes, lazyValue } from '../../../src/extauthz/cel/attributes.js'
import { compileRule } from '../../../src/extauthz/cel/rule.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { JsonObject } from '../../../src/model/json.js'

export const json = (text: string): JsonObject => JSON.parse(text) as JsonObject

export const CLAIMS = json(`{
  "sub": "alice", "email": "alice@x.org", "groups": ["mcp-users", "eng"], "level": 3, "ratio": 1.5,
  "exp": 1800000000, "big": 9007199254740993, "nullclaim": null, "admin": true,
  "tenants": { "t1": { "roles": ["admin", "user"] } },
  "constructor": "boom", "__proto__": { "admin": true }, "hasOwnProperty": "x", "toString": "y"
}`)

export const ATTRIBUTES: Attributes = {
  jwt: lazyValue(CLAIMS),
  request: {
    method: 'POST',
    host: 'gw.example',
    scheme: 'https',
    pathAndQuery: '/mcp/x?a=1',
    version: 'HTTP/1.1',
    headers: new Map<string, string | readonly string[]>([
      ['x-team', 'eng'],
      ['x-two', ['1', '2']],
    ]),
  },
  source: { address: '10.1.2.3', port: 4711 },
}

export const withoutToken: Attributes = { ...ATTRIBUTES, jwt: undefined }

/** true, false, the code of an evaluation error, or the message of a load error after "load: ". */
export function run(source: string, attributes: Attributes = ATTRIBUTES): boolean | string {
  const rule = atOnce(compileRule(source))
  if (!rule.ok) return `load: ${rule.error.message}`
  const result = rule.value.evaluate(attributes)
  return result.ok ? result.value : result.error
}
