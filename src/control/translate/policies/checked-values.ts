// Checks the expressions of a policy whose values become text: keys of limits, headers of transformations and of webhooks.

import { compileValue, type Denied, RULE_VARIABLES } from '../../../extauthz/cel/value.js'
import type { Work } from '../../../kit/turns.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'

/** Problems of expressions, by their source. Absent: the expression compiles. */
export interface CheckedValues {
  /** Keys of limits, and headers of transformations. */
  readonly ofRequests: ReadonlyMap<string, string>
  readonly ofWebhooks: ReadonlyMap<string, string>
}

/** Yields after each expression: a long one takes milliseconds, and a policy may have thousands. */
export function* checkValues(spec: ProxyPolicySpec): Work<CheckedValues> {
  return {
    ofRequests: yield* problemsOf(requestSources(spec), RULE_VARIABLES),
    ofWebhooks: yield* problemsOf(webhookSources(spec)),
  }
}

function* problemsOf(
  sources: readonly string[],
  denied?: Denied,
): Work<ReadonlyMap<string, string>> {
  const problems = new Map<string, string>()
  for (const source of new Set(sources)) {
    const compiled = yield* compileValue(source, denied)
    if (!compiled.ok) problems.set(source, compiled.error.message)
    yield
  }
  return problems
}

function requestSources({ traffic }: ProxyPolicySpec): readonly string[] {
  const { request, response } = traffic?.transformation ?? {}
  return [
    ...(traffic?.rateLimit?.local ?? []).flatMap(({ key }) => key ?? []),
    ...[request?.set, request?.add, response?.set].flatMap((headers) =>
      Object.values(headers ?? {}),
    ),
  ]
}

const webhookSources = ({ backend }: ProxyPolicySpec): readonly string[] =>
  [backend?.ai?.promptGuard, backend?.mcp?.guard]
    .flatMap((guard) => [...(guard?.request ?? []), ...(guard?.response ?? [])])
    .flatMap(({ webhook }) => Object.values(webhook.headers))
