// What a condition says about a provider that MCP clients log in at by themselves.

import { expect, test } from 'vitest'
import { providerNotes } from '../../../src/control/translate/policies/mcp.js'
import type { JsonObject } from '../../../src/model/json.js'

const S256 = { code_challenge_methods_supported: ['plain', 'S256'] }
const REGISTERS = { registration_endpoint: 'https://idp.example/register' }
const READS_DOCUMENTS = { client_id_metadata_document_supported: true }

const NO_WAY = /^The provider offers neither registration nor client metadata documents: /
const NO_DOCUMENTS = /^The provider does not support client metadata documents /
const NO_REGISTRATION = /^The provider does not offer registration /
const NO_S256 = /^The discovery document does not list S256 /
const NO_PAGES = /CORS/

test.each<[string, JsonObject, readonly RegExp[]]>([
  ['all that clients need', { ...S256, ...REGISTERS, ...READS_DOCUMENTS }, []],
  ['registration alone', { ...S256, ...REGISTERS }, [NO_DOCUMENTS]],
  ['client metadata documents alone', { ...S256, ...READS_DOCUMENTS }, [NO_REGISTRATION]],
  ['neither', S256, [NO_WAY]],
  ['no S256', { ...REGISTERS, ...READS_DOCUMENTS }, [NO_S256]],
])('with %s', (_what, discovery, expected) => {
  const notes = providerNotes(discovery, true)
  expect(notes).toHaveLength(expected.length)
  expected.forEach((pattern, index) => expect(notes[index]).toMatch(pattern))
  expect(providerNotes(discovery, false).slice(notes.length)).toEqual([
    expect.stringMatching(NO_PAGES),
  ])
})
