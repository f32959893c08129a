// Says what exactly of a policy of mode Audit is audited, and what has no effect.

import type { ProxyPolicySpec } from '../../resources/kinds/proxy-policy.js'

/** The parts of a policy by what mode Audit does with them. */
interface AuditedParts {
  /** Parts whose denials are logged and counted. */
  readonly logged: readonly string[]
  /** Parts that Envoy counts, without a line in the log. */
  readonly counted: readonly string[]
  /** Parts that have no effect. */
  readonly ignored: readonly string[]
}

/** Returns one sentence each. isMesh: whether a mesh's Envoys serve the policy's routes. */
export function auditSentences(spec: ProxyPolicySpec, isMesh: boolean): readonly string[] {
  const { logged, counted, ignored } = auditedParts(spec, isMesh)
  return [
    'Mode Audit: the policy refuses and changes nothing',
    ...sentence('Audited, that is logged and counted', logged),
    ...sentence("Audited by Envoy's statistics alone", counted),
    ...sentence('Not audited and not in force', ignored),
  ]
}

const sentence = (head: string, parts: readonly string[]): readonly string[] =>
  parts.length === 0 ? [] : [`${head}: ${parts.join(', ')}`]

function auditedParts({ traffic, backend }: ProxyPolicySpec, isMesh: boolean): AuditedParts {
  const limits = traffic?.rateLimit?.local ?? []
  const isCounted = limits.some(({ key }) => key === undefined) && !isMesh
  const isIgnored = limits.some(({ key }) => key !== undefined) || isMesh
  return {
    logged: [
      ...named(traffic?.jwtAuthentication, 'traffic.jwtAuthentication'),
      ...named(traffic?.authorization, 'traffic.authorization'),
      ...(isMesh ? [] : guards(backend)),
    ],
    counted: isCounted ? [isIgnored ? `limits of ${LIMITS} without a key` : LIMITS] : [],
    ignored: [
      ...(limits.length > 0 && isIgnored
        ? [isCounted ? `limits of ${LIMITS} with a key` : LIMITS]
        : []),
      ...named(traffic?.transformation, 'traffic.transformation'),
      ...named(traffic?.jwtAuthentication?.mcp, 'the documents of traffic.jwtAuthentication.mcp'),
      ...named(backend?.http?.requestTimeout, 'backend.http.requestTimeout'),
      ...(isMesh ? guards(backend) : []),
    ],
  }
}

const LIMITS = 'traffic.rateLimit'

const guards = (backend: ProxyPolicySpec['backend']): readonly string[] => [
  ...named(backend?.ai?.promptGuard, 'backend.ai.promptGuard'),
  ...named(backend?.mcp?.guard, 'backend.mcp.guard'),
]

const named = (part: unknown, name: string): readonly string[] => (part === undefined ? [] : [name])
