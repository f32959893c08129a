// A backend, an LLM and a webhook of a mesh, and which prompts reached the first two.

import { type LlmServer, startLlmServer } from '../../../src/cli/demo/llm-server.js'
import { type Backend, startBackend } from '../../support/backend.js'
import { asked, completion, sample, type Wire } from '../../support/guardrails.js'

/** Path of the backend's guarded route. */
const GUARDED_PATH = '/both'

export interface GuardedParties {
  /** Answers with a chat completion. */
  readonly api: Backend
  readonly llm: LlmServer
  /** Rejects texts with "block". */
  readonly webhook: Backend
  /** Sets the backend's answer to the next request. */
  answerNext(type: string, body: string): void
  /** Returns the prompts that the LLM, or the backend on its guarded route, has received. */
  prompts(): string[]
  /** Returns those of them that the webhook had not been asked about. */
  unasked(): string[]
  /** Forgets what was received and asked. */
  forget(): void
  close(): Promise<void>
}

export async function startGuardedParties(): Promise<GuardedParties> {
  const ofLlm: string[] = []
  const [api, llm, webhook] = await Promise.all([
    startBackend(),
    startLlmServer({ onPrompt: (text) => ofLlm.push(text) }),
    startBackend('webhook'),
  ])
  const usual = { type: 'application/json', body: JSON.stringify(completion('Hi')) }
  let next = usual
  api.answer((_request, response) => {
    response.writeHead(200, { 'content-type': next.type }).end(next.body)
    next = usual
  })
  webhook.answer(sample)
  const prompts = (): string[] => {
    const guarded = api.requests.filter(({ url }) => url === GUARDED_PATH)
    return [...ofLlm, ...guarded.flatMap(({ body }) => textsOf(JSON.parse(body) as Wire))]
  }
  return {
    api,
    llm,
    webhook,
    prompts,
    answerNext: (type, body) => (next = { type, body }),
    unasked: () => {
      const texts = new Set(asked(webhook).flatMap(textsOf))
      return prompts().filter((prompt) => !texts.has(prompt))
    },
    forget: () => {
      for (const received of [ofLlm, api.requests, webhook.requests]) received.length = 0
    },
    close: async () => {
      await Promise.all([api, llm, webhook].map((party) => party.close()))
    },
  }
}

/** Returns the texts of a chat, or of the body of a webhook's request. */
const textsOf = ({ messages = [] }: Wire): string[] => messages.map(({ content }) => content)
