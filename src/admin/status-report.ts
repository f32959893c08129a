// Resources, their conditions, undecodable documents, Envoys and remote documents → what /status says.

import { memo } from '../incremental/memo.js'
import {
  type Condition,
  gatewayText,
  invalidCondition,
  type ResourceStatus,
  staleConditions,
} from '../ir/status.js'
import type { KindCount } from './metrics.js'

/** What is said of any resource that was read; both ends of the arrow fit it. */
export interface ReadResource {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** FILE:LINE, or "kubernetes". */
  readonly source: string
}

/** A document that could not be decoded. */
export interface ReadProblem {
  /** FILE:LINE:COLUMN. */
  readonly source: string
  readonly message: string
  readonly apiVersion?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  /** The last good version of the document stays in force. */
  readonly stays?: true
}

export interface ReportedResource extends ReadResource {
  readonly conditions: readonly ReportedCondition[]
}

export interface ReportedCondition extends Omit<Condition, 'ancestor'> {
  /** NAMESPACE/NAME of the Gateway; absent: the resource is not attached to any. */
  readonly ancestor?: string
}

/** One Envoy that is, or was, connected by ADS. */
export interface EnvoyReport {
  readonly node: string
  readonly cluster: string
  readonly connected: boolean
  readonly types: readonly EnvoyTypeReport[]
}

export interface EnvoyTypeReport {
  readonly type: string
  /** Version last sent, last accepted and last refused; absent: none yet. */
  readonly sent?: string
  readonly acked?: string
  readonly nacked?: { readonly version: string; readonly message: string; readonly at: string }
}

/** Of a type URL, what people call it: "Listener". */
export const typeName = (type: string): string => type.slice(type.lastIndexOf('.') + 1)

/** A key set or discovery document that we fetch. */
export interface RemoteReport {
  readonly kind: 'KeySet' | 'Discovery'
  readonly url: string
  /** ISO time of the last success; absent: never. */
  readonly fetchedAt?: string
  readonly ageSeconds?: number
  readonly error?: string
}

export interface StatusReport {
  readonly ready: boolean
  /** Why not. */
  readonly reasons: readonly string[]
  /** Of the snapshot in force. */
  readonly revision?: string
  /** Why the last change is not in force: a bug of Gatehouse, never a user's mistake. */
  readonly failure?: string
  readonly resources: readonly ReportedResource[]
  readonly envoys: readonly EnvoyReport[]
  readonly remote: readonly RemoteReport[]
}

/** One entry per resource that was read and per document that could not be; sorted by kind, namespace, name, source. */
export function reportResources(
  resources: readonly ReadResource[],
  statuses: readonly ResourceStatus[],
  problems: readonly ReadProblem[],
): readonly ReportedResource[] {
  const conditions = new Map(statuses.map((status) => [identity(status), status.conditions]))
  const broken = groupProblems(problems)
  const reported = resources.map((resource): ReportedResource => {
    const own = conditions.get(identity(resource)) ?? NONE
    const key = broken.size === 0 ? '' : documentKey(resource)
    const problem = broken.get(key)
    broken.delete(key)
    return problem === undefined
      ? withConditions(resource, own)
      : { ...resource, conditions: shown(staleConditions(problem.messages, own)) }
  })
  for (const problem of broken.values())
    reported.push({ ...problem.resource, conditions: shown([invalidCondition(problem.messages)]) })
  return reported.sort(byKindAndName)
}

const NONE: readonly Condition[] = []

/** The same object while neither of the two is another one. */
const withConditions = (
  resource: ReadResource,
  conditions: readonly Condition[],
): ReportedResource => reportedWith(conditions)(resource)

const reportedWith = memo((conditions: readonly Condition[]) =>
  memo((resource: ReadResource): ReportedResource => ({
    ...resource,
    conditions: shown(conditions),
  })),
)

const shown = (conditions: readonly Condition[]): readonly ReportedCondition[] =>
  conditions.map((condition) => {
    const { ancestor, ...rest } = condition
    return ancestor === undefined ? rest : { ...condition, ancestor: gatewayText(ancestor) }
  })

interface Broken {
  readonly resource: ReadResource
  readonly messages: string[]
}

/** Several problems of one document make one entry. */
function groupProblems(problems: readonly ReadProblem[]): Map<string, Broken> {
  const broken = new Map<string, Broken>()
  for (const problem of problems) {
    const { apiVersion = '', kind = '', namespace = '', name = '' } = problem
    const resource = { apiVersion, kind, namespace, name, source: withoutColumn(problem.source) }
    const key = problemKey(problem, resource)
    const before = broken.get(key)
    if (before === undefined) broken.set(key, { resource, messages: [problem.message] })
    else before.messages.push(problem.message)
  }
  return broken
}

/** One that stays is the resource itself; any other is a document beside it, such as a second definition. */
function problemKey(problem: ReadProblem, resource: ReadResource): string {
  if (resource.name === '') return problem.source
  return problem.stays === true ? documentKey(resource) : `beside ${documentKey(resource)}`
}

const withoutColumn = (source: string): string => source.replace(/^(.*:\d+):\d+$/, '$1')
const fileOf = (source: string): string => withoutColumn(source).replace(/:\d+$/, '')

const identity = memo((resource: Omit<ReadResource, 'source'>): string =>
  [resource.apiVersion, resource.kind, resource.namespace, resource.name].join(' '),
)

/** No namespace is "default": a problem may not say it, and of kinds without one there are no two. */
function documentKey(resource: ReadResource): string {
  const namespace = resource.namespace === '' ? 'default' : resource.namespace
  return `${identity({ ...resource, namespace })} ${fileOf(resource.source)}`
}

const orderOf = memo((r: ReportedResource): string =>
  [r.kind, r.namespace, r.name, r.source].join('\u0000'),
)

const byKindAndName = (a: ReportedResource, b: ReportedResource): number =>
  orderOf(a) < orderOf(b) ? -1 : 1

/** For gatehouse_resources: a resource counts as accepted unless a condition says otherwise. */
export function countResources(resources: readonly ReportedResource[]): readonly KindCount[] {
  const counts = new Map<string, { kind: string; accepted: boolean; count: number }>()
  for (const resource of resources) {
    const { kind, accepted, key } = countedAs(resource)
    const entry = counts.get(key) ?? { kind, accepted, count: 0 }
    entry.count += 1
    counts.set(key, entry)
  }
  return [...counts.values()]
}

const countedAs = memo(({ kind, conditions }: ReportedResource) => {
  const accepted = !conditions.some(({ type, status }) => type === 'Accepted' && status !== 'True')
  return { kind, accepted, key: `${kind} ${accepted}` }
})
