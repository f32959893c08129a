// Preloaded into the conformance suite, which prints no tokens: writes the access token that it reads to the file that
// GATEHOUSE_TEST_TOKEN_FILE names.

import { writeFileSync } from 'node:fs'

const parse = JSON.parse.bind(JSON)

JSON.parse = (text, reviver) => {
  const value: unknown = parse(text, reviver)
  const token = (value as { access_token?: unknown } | null)?.access_token
  const file = process.env['GATEHOUSE_TEST_TOKEN_FILE']
  if (typeof token === 'string' && file !== undefined) writeFileSync(file, token)
  return value
}
