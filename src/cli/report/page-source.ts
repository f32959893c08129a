// Collects what the status page shows: the report, the map of routes, and the recent decisions of all processes.

import type { Pipeline } from '../../control/publish/pipeline.js'
import type { Publisher } from '../../control/publish/publisher.js'
import type { ProxyPolicySpec } from '../../control/schema/kinds/proxy-policy.js'
import type { Resource } from '../../control/schema/kinds/resources.js'
import { memo } from '../../kit/incremental/memo.js'
import { each, runInTurns, type Work } from '../../kit/turns.js'
import type { Ir } from '../../model/ir.js'
import type { ResourceStatus } from '../../model/status.js'
import type { AdminSource } from '../../ops/admin/admin-server.js'
import { type MappedRoute, type PolicyFacts, routeMap } from '../../ops/admin/page/route-map.js'
import {
  latestOf,
  type RecentDecision,
  type RecentDecisions,
} from '../../ops/admin/recent-decisions.js'
import type { StatusReport } from '../../ops/admin/status-report.js'
import type { Settings } from '../../ops/settings/settings.js'

interface Asked {
  ask(): Promise<readonly (readonly RecentDecision[])[]>
}

/** The running parts that the page shows. */
export interface PageParts {
  readonly settings: Settings
  readonly pipeline: Pick<Pipeline, 'state'>
  readonly publisher: Pick<Publisher, 'current'>
  /** Lines of this process. */
  readonly recent: RecentDecisions
  /** Absent: this process answers Envoy itself. */
  readonly workers: { readonly decisions: Asked } | undefined
}

/** Returns a function that collects the content of the page. */
export function createPageSource(
  parts: PageParts,
  status: () => Promise<StatusReport>,
): AdminSource['page'] {
  const { settings, publisher, recent, workers } = parts
  const routes = createRouteMap(parts)
  return async (address) => {
    const [mapped, others] = await Promise.all([routes(), workers?.decisions.ask()])
    return {
      report: await status(),
      routes: mapped,
      ...(settings.decisionLog.refusals && {
        decisions: latestOf([recent.lines(), ...(others ?? [])]),
      }),
      explain: {
        address,
        needsToken: settings.adminTokenFile !== undefined,
        isTls: isTls(publisher.current()?.ir),
      },
    }
  }
}

/** Whether every listener has TLS. */
function isTls(ir: Ir | undefined): boolean {
  const listeners = (ir?.gateways ?? []).flatMap((gateway) => gateway.listeners)
  const chains = listeners.flatMap((listener) => listener.chains)
  return chains.length > 0 && chains.every(({ tls }) => tls !== undefined)
}

/** Returns a function that maps the routes in force, anew only after a change. */
function createRouteMap({ pipeline, publisher }: PageParts): () => Promise<readonly MappedRoute[]> {
  const facts = memo(factsOf)
  let last: { readonly of: readonly unknown[]; readonly map: Promise<readonly MappedRoute[]> }
  return () => {
    const ir = publisher.current()?.ir
    if (ir === undefined) return NO_ROUTES
    const { provider, translation } = pipeline.state()
    const { proxyPolicies = [] } = provider?.resources ?? {}
    const statuses = translation?.statuses ?? []
    const of = [ir, provider?.resources.proxyPolicies, translation?.statuses]
    if (last !== undefined && of.every((one, index) => one === last.of[index])) return last.map
    last = { of, map: runInTurns(mapWork(ir, statuses, proxyPolicies, facts)) }
    return last.map
  }
}

function* mapWork(
  ir: Ir,
  statuses: readonly ResourceStatus[],
  proxyPolicies: readonly Resource<ProxyPolicySpec>[],
  facts: typeof factsOf,
): Work<readonly MappedRoute[]> {
  const open = new Set<string>()
  yield* each(statuses, (status) => {
    if (status.open === true) open.add(`${status.namespace}/${status.name}`)
  })
  const policies = new Map<string, PolicyFacts>()
  yield* each(proxyPolicies, (policy) => {
    const own = facts(policy)
    policies.set(own.policy, own)
  })
  return yield* routeMap(ir, open, policies)
}

const NO_ROUTES: Promise<readonly MappedRoute[]> = Promise.resolve([])

const factsOf = ({ metadata, spec, source }: Resource<ProxyPolicySpec>): PolicyFacts => ({
  policy: `${metadata.namespace}/${metadata.name}`,
  source,
  routes: spec.targetRefs
    .filter(({ kind }) => kind === 'HTTPRoute')
    .map(({ name }) => `${metadata.namespace}/${name}`),
  sets: wordsOf(spec),
  isAudit: spec.mode === 'Audit',
})

const MODES = {
  Strict: 'token',
  Optional: 'optional token',
  Permissive: 'permissive token',
} as const

function wordsOf({ traffic = {}, backend = {} }: ProxyPolicySpec): readonly string[] {
  const { jwtAuthentication: jwt, authorization, rateLimit, transformation } = traffic
  const words: readonly (string | false | undefined)[] = [
    jwt && MODES[jwt.mode],
    jwt?.mcp && 'login',
    authorization && `rules (${authorization.action})`,
    authorization?.policy.requiredScopes && 'scopes',
    rateLimit && 'limits',
    transformation && 'headers',
    backend.ai?.promptGuard && 'guardrail',
    backend.mcp?.guard && 'MCP guard',
    backend.http && 'timeout',
  ]
  return words.flatMap((word) => (typeof word === 'string' ? [word] : []))
}
