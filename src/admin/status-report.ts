// Resources, their conditions, undecodable documents, Envoys and remote documents → what /status says.

import { memo } from '../incremental/memo.js'
import {
  type Condition,
  gatewayText,
  invalidCondition,
  type ResourceStatus,
  staleConditions,
} from '../ir/status.js'
import type { KindCount, PolicyCounts } from './state-gauges.js'

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
  /** An HTTPRoute through which anybody's requests reach a backend, because no policy decides who may use it. */
  readonly open?: true
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
  const said = new Map(statuses.map((status) => [identity(status), status]))
  const broken = groupProblems(problems)
  const all = resources.map((resource): ReportedResource => {
    const own = said.get(identity(resource)) ?? NOTHING
    const key = broken.size === 0 ? '' : documentKey(resource)
    const problem = broken.get(key)
    broken.delete(key)
    return problem === undefined
      ? withStatus(resource, own)
      : reported(resource, own, staleConditions(problem.messages, own.conditions))
  })
  for (const problem of broken.values())
    all.push({ ...problem.resource, conditions: shown([invalidCondition(problem.messages)]) })
  return all.sort(byKindAndName)
}

/** The part of a status that does not name its resource. */
type Said = Pick<ResourceStatus, 'conditions' | 'open'>

const NOTHING: Said = { conditions: [] }

/** The same object while neither of the two says anything else. */
const withStatus = (resource: ReadResource, said: Said): ReportedResource =>
  (said.open === true ? openWith : reportedWith)(said.conditions)(resource)

const reportedWith = memo((conditions: readonly Condition[]) =>
  memo((resource: ReadResource) => reported(resource, NOTHING, conditions)),
)
const openWith = memo((conditions: readonly Condition[]) =>
  memo((resource: ReadResource) => reported(resource, { open: true }, conditions)),
)

const reported = (
  resource: ReadResource,
  { open }: Pick<Said, 'open'>,
  conditions: readonly Condition[],
): ReportedResource => ({
  ...resource,
  conditions: shown(conditions),
  ...(open === true && { open }),
})

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

/** For gatehouse_open_routes. */
export const countOpenRoutes = (resources: readonly ReportedResource[]): number =>
  resources.reduce((count, { open }) => (open === true ? count + 1 : count), 0)

/** For gatehouse_policies: every ProxyPolicy is in one state. */
export function countPolicies(resources: readonly ReportedResource[]): PolicyCounts {
  const counts = { attached: 0, refused: 0, without_target: 0, pending: 0 }
  for (const resource of resources)
    if (resource.kind === 'ProxyPolicy') counts[policyState(resource)] += 1
  return counts
}

/** One that is neither attached nor refused waits: for a Gateway, or for its keys. */
const policyState = memo(({ conditions }: ReportedResource): keyof PolicyCounts => {
  const attached = conditions.filter(({ type }) => type === 'Attached')
  if (conditions.some(({ type, status }) => type === 'Accepted' && status !== 'True'))
    return 'refused'
  if (attached.some(({ reason }) => reason === 'TargetNotFound')) return 'without_target'
  return attached.length > 0 && attached.every(({ status }) => status === 'True')
    ? 'attached'
    : 'pending'
})
