// Bodies with every member that the documentation of an API has: a webhook that writes every text in upper case changes
// what is a text there ("a text") and nothing else, so that the API accepts the body as before.

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readReply, readRequest } from '../../src/llm/read-body.js'
import { rewrite } from '../../src/llm/text/conversation.js'
import { atOnce } from '../../src/turns.js'

const FOLDER = new URL('./every-member/', import.meta.url)
const INSPECTS = { tools: true, files: false }

const namesOf = (kind: string): readonly string[] =>
  readdirSync(FOLDER).filter((name) => name.startsWith(`${kind}-`))

const bodyIn = (name: string): string =>
  JSON.stringify(parse(readFileSync(new URL(name, FOLDER), 'utf8')))

/** The body after a webhook that does not ask for tool calls has written each text in upper case. */
function shouted(
  read: (body: Uint8Array) => ReturnType<typeof readRequest>,
  json: string,
): unknown {
  const found = atOnce(read(Buffer.from(json)))
  if (!found.ok) throw new Error(found.error)
  const contents = found.value.entries.map(({ kind, content }) =>
    kind === 'text' || kind === 'definition' ? content.toUpperCase() : content,
  )
  return JSON.parse(atOnce(rewrite(found.value, contents)))
}

const expected = (json: string): unknown => JSON.parse(json.replaceAll('"a text"', '"A TEXT"'))

describe('requests', () => {
  test.each(namesOf('request'))('%s', (name) => {
    const json = bodyIn(name)
    expect(shouted((body) => readRequest(body, '', INSPECTS), json)).toEqual(expected(json))
  })
})

describe('replies', () => {
  test.each(namesOf('reply'))('%s', (name) => {
    const json = bodyIn(name)
    expect(shouted((body) => readReply(body, 'model', '', INSPECTS), json)).toEqual(expected(json))
    // The same bodies, when they are stored and answer a GET.
    expect(shouted((body) => readReply(body, 'any', '', INSPECTS), json)).toEqual(expected(json))
  })
})
