// Guarded LLM routes through the whole product: an LLM and a webhook whose answers tests define, and the resources for
// them.

import type { ServerResponse } from 'node:http'
import { type Backend, startBackend } from './backend.js'
import { type Answer, send } from './http.js'
import {
  API_GROUP,
  backendRef,
  CORS_FILTER,
  type Document,
  gateway,
  httpRoute,
  prefix,
  proxyBackend,
} from './resources.js'
import { type Stack, type StackOptions, startStack } from './stack.js'

/** The body of a webhook request. */
export interface Wire {
  readonly messages?: readonly { role: string; content: string }[]
  readonly choices?: readonly { message: { role: string; content: string } }[]
}

export type Reply = Parameters<Backend['answer']>[0]

export const asked = (webhook: Backend): Wire[] =>
  webhook.requests.map(({ body }) => (JSON.parse(body) as { body: Wire }).body)

export const answerJson =
  (value: unknown, status = 200) =>
  (_request: unknown, response: ServerResponse): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
  }

/** A minimal webhook: masks "secret" and rejects "block", in both phases. */
export const sample: Reply = ({ body }, response) => {
  const { messages, choices } = (JSON.parse(body) as { body: Wire }).body
  const texts = messages ?? (choices ?? []).map(({ message }) => message)
  const mask = (text: string) => text.replaceAll('secret', '****')
  const masked = texts.map(({ role, content }) => ({ role, content: mask(content) }))
  const action = texts.some(({ content }) => content.includes('block'))
    ? { body: 'request blocked', status_code: 403, reason: 'a word' }
    : texts.every(({ content }) => !content.includes('secret'))
      ? { reason: 'passed' }
      : {
          body: messages
            ? { messages: masked }
            : { choices: masked.map((message) => ({ message })) },
        }
  answerJson({ action })(undefined, response)
}

/** An LLM's chat completion. */
export const completion = (content: string | null, more: object = {}) => ({
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, ...more },
      finish_reason: 'stop',
      logprobs: null,
    },
  ],
})

/** The body of a chat completion request. */
export const chat = (content: string, more: object = {}): string =>
  JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...more })

/** A promptGuard webhook at the Service of that name. */
export const hook = (name: string, more: object = {}): object => ({
  webhook: { backendRef: { kind: 'Service', name, port: 80 }, ...more },
})

/** A promptGuard with these webhooks in both phases. */
export const both = (...hooks: readonly object[]): object => ({ request: hooks, response: hooks })

/** A guarded route that sends the requests of a path to the LLM, without the path's prefix. */
export const guardedRoute = (path: string, guards: object, name = path.slice(1)): Document[] => [
  httpRoute(name, {
    rules: [
      {
        matches: [prefix(path)],
        filters: [
          CORS_FILTER,
          {
            type: 'URLRewrite',
            urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/' } },
          },
        ],
        backendRefs: [backendRef('llm')],
      },
    ],
  }),
  {
    apiVersion: `${API_GROUP}/v1alpha1`,
    kind: 'ProxyPolicy',
    metadata: { name },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name }],
      backend: { ai: { promptGuard: guards } },
    },
  },
]

/** The path /both, guarded in both phases by the Service "guard". */
export const guardedBoth: readonly Document[] = guardedRoute('/both', both(hook('guard')))

/** A Service with one endpoint, which a requestTimeout can target. */
export const service = (name: string, port: number, requestTimeout?: string): object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: { ports: [{ port: 80, targetPort: port }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    ports: [{ port }],
    endpoints: [{ addresses: ['127.0.0.1'] }],
  },
  ...(requestTimeout === undefined
    ? []
    : [
        {
          apiVersion: `${API_GROUP}/v1alpha1`,
          kind: 'ProxyPolicy',
          metadata: { name: `${name}-timeout` },
          spec: {
            targetRefs: [{ group: '', kind: 'Service', name }],
            backend: { http: { requestTimeout } },
          },
        },
      ]),
]

/** The class of the Gateways, with limits of webhooks; their names are without GUARDRAIL_WEBHOOK_. */
export const webhookLimits = (limits: Readonly<Record<string, string>>): readonly object[] => [
  {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'gatehouse' },
    spec: {
      controllerName: `${API_GROUP}/gatehouse`,
      parametersRef: {
        group: API_GROUP,
        kind: 'ProxyParameters',
        name: 'limits',
        namespace: 'default',
      },
    },
  },
  {
    apiVersion: `${API_GROUP}/v1alpha1`,
    kind: 'ProxyParameters',
    metadata: { name: 'limits' },
    spec: {
      env: Object.entries(limits).map(([name, value]) => ({
        name: `GUARDRAIL_WEBHOOK_${name}`,
        value,
      })),
    },
  },
]

export interface GuardedStack extends Stack {
  readonly llm: Backend
  /** The Service "guard". */
  readonly webhook: Backend
  /** Requests a chat completion below this path. */
  post(path: string, body: string, headers?: Record<string, string>): Promise<Answer>
  /** Restores the initial state: the LLM answers "hello", the webhook is the sample, and no requests are recorded. */
  reset(): void
}

/** @param resources in addition to the Gateway, the LLM, the Service "guard" and /both; may depend on the webhook. */
export async function startGuardedStack(
  resources: readonly object[] | ((webhook: Backend) => readonly object[]) = [],
  options: Omit<StackOptions, 'resources'> = {},
): Promise<GuardedStack> {
  const llm = await startBackend('llm')
  const webhook = await startBackend('webhook')
  const stack = await startStack({
    ...options,
    resources: (port) => [
      gateway([port]),
      proxyBackend('llm', llm),
      ...service('guard', webhook.port),
      ...guardedBoth,
      ...(typeof resources === 'function' ? resources(webhook) : resources),
    ],
  })
  return {
    ...stack,
    llm,
    webhook,
    post: (path, body, headers = {}) =>
      send(stack.origin, `${path}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      }),
    reset: () => {
      llm.requests.length = 0
      webhook.requests.length = 0
      webhook.answer(sample)
      llm.answer(answerJson(completion('hello')))
    },
    close: async () => {
      await stack.close()
      await Promise.all([llm.close(), webhook.close()])
    },
  }
}
