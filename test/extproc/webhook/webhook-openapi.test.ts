// docs/guardrail-webhook.openapi.yaml matches what Gatehouse sends to a webhook and what it accepts as a verdict.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { compileWebhook } from '../../../src/extproc/webhook/compiled-guard.js'
import {
  readVerdict,
  type Shown,
  type Verdict,
} from '../../../src/extproc/webhook/webhook-answer.js'
import { type ShownTool, webhookRequest } from '../../../src/extproc/webhook/webhook-request.js'
import { atOnce } from '../../../src/kit/turns.js'
import type { Phase } from '../../../src/model/proc-entry.js'
import { runs } from '../../support/runs.js'
import { someRows } from '../../support/some-rows.js'
import { webhook } from '../support/guards.js'

interface Content {
  readonly schema: { readonly $ref: string }
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>
}

interface Operation {
  readonly requestBody: { readonly content: { readonly 'application/json': Content } }
  readonly responses: {
    readonly 200: { readonly content: { readonly 'application/json': Content } }
  }
}

interface OpenApi {
  readonly paths: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

const FILE = resolve(import.meta.dirname, '../../../docs/guardrail-webhook.openapi.yaml')
const document = parse(readFileSync(FILE, 'utf8')) as OpenApi
const PHASES: readonly Phase[] = ['request', 'response']

function partsOf(phase: Phase): { readonly question: Content; readonly verdict: Content } {
  const post = document.paths[`/${phase}`]?.post
  if (post === undefined) throw new Error(`no /${phase}`)
  return {
    question: post.requestBody.content['application/json'],
    verdict: post.responses[200].content['application/json'],
  }
}

/** A schema of the document, as zod reads it. */
function schemaOf({ schema: { $ref } }: Content): z.ZodType {
  const { schemas } = document.components
  const all = { $ref, $defs: schemas }
  const text = JSON.stringify(all).replaceAll('#/components/schemas/', '#/$defs/')
  return z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0])
}

interface Message {
  readonly role: string
  readonly content: string
  readonly message?: number
  readonly part?: { readonly index: number; readonly of: number }
}

/** Messages of a question, or of a modify. */
function messagesIn(json: unknown): readonly Message[] {
  const { messages, choices } = json as {
    messages?: Message[]
    choices?: { message: Message }[]
  }
  return messages ?? (choices ?? []).map(({ message }) => message)
}

const shownOf = ({ role, content, message, part }: Message): Shown => ({
  role,
  content,
  ...(message !== undefined && part !== undefined && { part: { message, ...part } }),
  isJson: role === 'tool_call',
  isWritable: true,
})

/** body.tool of a question. */
const toolIn = (value: unknown): ShownTool | undefined =>
  (value as { body: { tool?: ShownTool } }).body.tool

const questionsOf = (phase: Phase): readonly Shown[][] =>
  Object.values(partsOf(phase).question.examples).map(({ value }) =>
    messagesIn((value as { body: unknown }).body).map(shownOf),
  )

/** The JSON that is sent, and where to. */
function asked(
  phase: Phase,
  shown: readonly Shown[],
  tool?: ShownTool,
): { path: string; json: unknown } {
  const { url } = webhook(1).target
  const target = { ...webhook(1).target, url: url.replace('/request', `/${phase}`) }
  const compiled = compileWebhook(webhook(1, { target }))
  const built = webhookRequest(compiled, phase, shown, {}, undefined, tool)
  const { path, body } = 'next' in built ? atOnce(built) : built
  return { path, json: JSON.parse(new TextDecoder().decode(body)) }
}

const read = async (phase: Phase, answer: unknown, shown: readonly Shown[]) =>
  readVerdict([new TextEncoder().encode(JSON.stringify(answer))], phase, shown)

describe.each(PHASES)('%s', (phase) => {
  const { question, verdict } = partsOf(phase)
  const [questions, verdicts] = [schemaOf(question), schemaOf(verdict)]

  test('every example of a question is sent so', () => {
    const tools = Object.values(question.examples).map(({ value }) => toolIn(value))
    const sent = questionsOf(phase).map((shown, index) => asked(phase, shown, tools[index]))
    const expected = Object.values(question.examples).map(({ value }) => ({
      path: `/${phase}`,
      json: value,
    }))
    expect(sent).toEqual(expected)
    expect(sent.every(({ json }) => questions.safeParse(json).success)).toBe(true)
  })

  test.each(someRows(Object.entries(verdict.examples)))(
    'the verdict %s is read so',
    async (name, { value }) => {
      expect(verdicts.safeParse(value).success).toBe(true)
      const results = await Promise.all(
        questionsOf(phase).map((shown) => read(phase, value, shown)),
      )
      const types = results.flatMap((result) => (result.ok ? [result.value.type] : []))
      const wanted: Verdict['type'] | undefined = (['allow', 'modify', 'reject'] as const).find(
        (type) => name.startsWith(type),
      )
      // An example of a modify answers one of the questions, the others fit every one.
      expect(types).toEqual(wanted === 'modify' ? ['modify'] : questionsOf(phase).map(() => wanted))
    },
  )

  test('whatever is asked is in the shape of the question', () => {
    const message = fc.record({ role: fc.string(), content: fc.string({ unit: 'binary' }) })
    fc.assert(
      fc.property(fc.array(message), (messages) => {
        const { json } = asked(phase, messages.map(shownOf))
        expect(questions.safeParse(json).success).toBe(true)
      }),
    )
  })

  // Count and roles depend on the question: here it is always two messages of the user.
  test('an answer is a verdict exactly when it has the shape of one', async () => {
    const shown = ['a', 'b'].map((content) => shownOf({ role: 'user', content }))
    const odd = fc.constantFrom(null, 1, '', {}, [], { role: 'user' }, { content: 'x' })
    const message = fc.record({ role: fc.constant('user'), content: fc.string() })
    const entry = fc.oneof({ weight: 9, arbitrary: message }, odd)
    const messages = fc.array(entry, { minLength: 2, maxLength: 2 })
    const choices = messages.map((list) => list.map((each) => ({ message: each })))
    const body = fc.oneof(odd, fc.string(), fc.record({ messages, choices }, { requiredKeys: [] }))
    const status_code = fc.oneof(fc.constantFrom(199, 200, 599, 600), fc.double(), odd)
    const parts = { body, status_code, reason: fc.option(fc.string()) }
    const action = fc.oneof(odd, fc.record(parts, { requiredKeys: [] }))
    const answer = fc.oneof({ weight: 9, arbitrary: fc.record({ action }) }, odd)
    await fc.assert(
      fc.asyncProperty(answer, async (value) => {
        const hasShape = verdicts.safeParse(JSON.parse(JSON.stringify(value))).success
        expect((await read(phase, value, shown)).ok).toBe(hasShape)
      }),
      { numRuns: runs(2_000) },
    )
  })
})
