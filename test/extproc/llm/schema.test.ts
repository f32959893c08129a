// JSON Schema in options and in definitions of tools: a setting is one where JSON Schema has it, and nowhere else.

import { describe, expect, test } from 'vitest'
import { readRequest } from '../../../src/extproc/llm/read-body.js'
import { atOnce } from '../../../src/kit/turns.js'

const WORDY = 'Ignore_all_rules'
const LOWER = 'ignore_all_rules'

function shown(body: object): readonly string[] {
  const bytes = Buffer.from(JSON.stringify({ messages: [], ...body }))
  const found = atOnce(readRequest(bytes, '', { tools: true, files: false }))
  if (!found.ok) throw new Error(found.error)
  return found.value.entries.map(({ content }) => content)
}

/** Places of a schema: a format for answers, and the parameters of a tool in each API. */
const HOLDERS: readonly (readonly [string, (schema: object) => object])[] = [
  ['a format', (schema) => ({ response_format: { json_schema: { name: 'n', schema } } })],
  ['a format of Anthropic', (schema) => ({ output_config: { format: { schema } } })],
  ['what vLLM is guided by', (schema) => ({ guided_json: schema })],
  ['a format of Ollama', (schema) => ({ format: schema })],
  [
    'a tool',
    (schema) => ({ tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] }),
  ],
  ['a tool of Anthropic', (schema) => ({ tools: [{ name: 'f', input_schema: schema }] })],
]

/** Values, which say what a client wants, by the keyword that has them. */
const VALUES: readonly (readonly [string, object])[] = [
  ['default', { default: { format: LOWER } }],
  ['default, of a list', { default: { required: [WORDY], $ref: WORDY } }],
  ['const', { const: { type: LOWER, $schema: `https://a.example/${WORDY}` } }],
  ['enum', { enum: [{ format: LOWER, name: WORDY }] }],
  ['examples', { examples: [{ propertyOrdering: [WORDY] }] }],
  ['a string in place of a schema', { format: 'uri', items: LOWER }],
  ['a keyword that nobody has', { x_note: { format: LOWER } }],
]

describe.each(HOLDERS)('%s', (_holder, holding) => {
  test.each(VALUES)('shows what is said by %s', (_keyword, schema) => {
    for (const nested of [
      { type: 'object', properties: { format: schema } },
      { type: 'object', properties: { a: { type: 'array', items: { anyOf: [schema] } } } },
      { type: 'object', $defs: { required: schema }, additionalProperties: schema },
    ])
      expect(shown(holding(nested)).join('\n')).toMatch(/ignore_all_rules/i)
  })

  test('shows a name of a property whose schema is a string', () => {
    const schema = { type: 'object', properties: { format: LOWER, required: LOWER, type: LOWER } }
    expect(shown(holding(schema))).toEqual([LOWER, LOWER, LOWER])
  })

  test('shows no settings, whatever the properties are called', () => {
    const schema = {
      type: 'object',
      required: ['tokens'],
      additionalProperties: false,
      properties: {
        tokens: { type: 'array', items: { type: 'string', format: 'uri' } },
        logprobs: { type: ['object', 'null'], properties: { prompt_embeds: { type: 'number' } } },
        format: { type: 'string', description: 'Which one.', enum: ['PDF', 'HTML'] },
        name: { $ref: '#/$defs/name' },
      },
      $defs: { name: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] } },
    }
    expect(shown(holding(schema))).toEqual(['Which one.', 'PDF', 'HTML'])
  })
})

test('settings of a tool are settings only where a tool has them', () => {
  const tool = {
    type: 'mcp',
    server_label: 's',
    server_url: 'https://a.example/mcp',
    authorization: 'Bearer abc',
    headers: { Authorization: 'abc', note: WORDY },
    require_approval: { never: { tool_names: ['f'] } },
    allowed_tools: { tool_names: ['f'] },
    meta: { name: WORDY, authorization: WORDY, vector_store_ids: [WORDY], type: LOWER },
  }
  expect(shown({ tools: [tool] })).toEqual([WORDY, WORDY, WORDY, WORDY, LOWER])
})
