// A gateway in front of a third-party LLM server, with the sample webhook in both phases and one that is unreachable.

import { freePort } from '../../testing/ports.js'
import type { Aimock } from './aimock.js'
import { type Backend, startBackend } from './backend.js'
import { both, guardedRoute, hook, sample, service } from './guardrails.js'
import { gateway, proxyBackend } from './resources.js'
import { type Stack, startStack } from './stack.js'

export interface LlmStack extends Stack {
  /** Masks "secret" and rejects "block". */
  readonly webhook: Backend
}

/**
 * Routes: /guarded asks the webhook, /tools shows it tool calls too, /prompts asks about prompts only; /away and /late
 * ask an unreachable one, about prompts and about replies.
 */
export async function startLlmStack(llm: Pick<Aimock, 'host' | 'port'>): Promise<LlmStack> {
  const webhook = await startBackend('webhook')
  webhook.answer(sample)
  const nobody = await freePort()
  const stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('llm', llm),
      ...service('guard', webhook.port),
      ...service('nobody', nobody),
      ...guardedRoute('/guarded', both(hook('guard'))),
      ...guardedRoute('/tools', both(hook('guard', { inspectToolCalls: true }))),
      ...guardedRoute('/prompts', { request: [hook('guard')] }),
      ...guardedRoute('/away', { request: [hook('nobody')] }),
      ...guardedRoute('/late', { response: [hook('nobody')] }),
    ],
  })
  return {
    ...stack,
    webhook,
    close: async () => {
      await stack.close()
      await webhook.close()
    },
  }
}
