// Builds the report for /status from resources, their conditions, undecodable documents, Envoys and remote documents.

import { briefMemo, memo } from '../../kit/incremental/memo.js'
import { each, mapEach, type Work } from '../../kit/turns.js'
import {
  AUDIT,
  type Condition,
  gatewayText,
  invalidCondition,
  type ResourceStatus,
  staleConditions,
} from '../../model/status.js'
import type { KindCount, PolicyCounts } from './state-gauges.js'

/** Identity and source of a resource that was read. */
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
  /** Whether the last good version of the document stays in force. */
  readonly stays?: true
}

/** A resource and its conditions, as /status shows them. */
export interface ReportedResource extends ReadResource {
  readonly conditions: readonly ReportedCondition[]
  /** Whether this is an HTTPRoute that anybody may use, because no policy decides who may. */
  readonly open?: true
}

/** A condition, as /status shows it. */
export interface ReportedCondition extends Omit<Condition, 'ancestor'> {
  /** NAMESPACE/NAME of the Gateway; absent: the resource is not attached to any. */
  readonly ancestor?: string
}

/** An Envoy that is, or was, connected by ADS. */
export interface EnvoyReport {
  readonly node: string
  readonly cluster: string
  readonly connected: boolean
  readonly types: readonly EnvoyTypeReport[]
}

/** The versions of one type of xDS resource at an Envoy. */
export interface EnvoyTypeReport {
  readonly type: string
  /** Version last sent, last acknowledged and last rejected; absent: none yet. */
  readonly sent?: string
  readonly acked?: string
  readonly nacked?: { readonly version: string; readonly message: string; readonly at: string }
}

/** Short name of a type URL: "Listener". */
export const typeName = (type: string): string => type.slice(type.lastIndexOf('.') + 1)

/** A key set or discovery document that Gatehouse fetches. */
export interface RemoteReport {
  readonly kind: 'KeySet' | 'Discovery'
  readonly url: string
  /** ISO time of the last success; absent: never. */
  readonly fetchedAt?: string
  readonly ageSeconds?: number
  readonly error?: string
}

/** The content of /status. */
export interface StatusReport {
  readonly ready: boolean
  /** Why Gatehouse is not ready; empty if it is. */
  readonly reasons: readonly string[]
  /** Revision of the snapshot in force. */
  readonly revision?: string
  /** Why the last change is not in force: a bug in Gatehouse, never a user's mistake. */
  readonly failure?: string
  readonly resources: readonly ReportedResource[]
  readonly envoys: readonly EnvoyReport[]
  /** Set while the connected Envoys get their configuration elsewhere: they ask about requests alone. */
  readonly isBesideOthers?: true
  readonly remote: readonly RemoteReport[]
}

/** Finds an entry for each resource and each undecodable document, sorted by kind, namespace, name and source. */
export type ReportResources = (
  resources: readonly ReadResource[],
  statuses: readonly ResourceStatus[],
  problems: readonly ReadProblem[],
) => Work<readonly ReportedResource[]>

/** Creates a report that keeps the entries of resources: they stay the same objects while nothing about them changes. */
export function createResourceReport(): ReportResources {
  const identity = memo(identityOf)
  const orderOf = memo(placeOf)
  const reportedWith = createMemoisedReport({})
  const openWith = createMemoisedReport({ open: true })
  return function* (resources, statuses, problems) {
    const byIdentity = new Map<string, ResourceStatus>()
    yield* each(statuses, (status) => void byIdentity.set(identity(status), status))
    const broken = groupProblems(problems)
    const entryOf = (resource: ReadResource): ReportedResource => {
      const own = byIdentity.get(identity(resource)) ?? NOTHING
      const key = broken.size === 0 ? '' : documentKey(resource)
      const problem = broken.get(key)
      broken.delete(key)
      if (problem !== undefined)
        return reported(resource, own, staleConditions(problem.messages, own.conditions))
      return (own.open === true ? openWith : reportedWith)(own.conditions)(resource)
    }
    // Each place is looked up once: a sort of thousands compares each a dozen times.
    const placed = [
      ...(yield* mapEach(resources, (resource) => {
        const entry = entryOf(resource)
        return { place: orderOf(entry), entry }
      })),
    ]
    yield* each(broken.values(), ({ resource, messages }) => {
      const entry = { ...resource, conditions: shown([invalidCondition(messages)]) }
      placed.push({ place: orderOf(entry), entry })
    })
    placed.sort((a, b) => (a.place < b.place ? -1 : 1))
    yield
    return placed.map(({ entry }) => entry)
  }
}

/** A status without the name of its resource. */
type OwnStatus = Pick<ResourceStatus, 'conditions' | 'open'>

const NOTHING: OwnStatus = { conditions: [] }

/** Returns reported(), memoised by the conditions and the resource. */
const createMemoisedReport = (own: Pick<OwnStatus, 'open'>) =>
  memo((conditions: readonly Condition[]) =>
    briefMemo((resource: ReadResource) => reported(resource, own, conditions)),
  )

const reported = (
  resource: ReadResource,
  { open }: Pick<OwnStatus, 'open'>,
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

/** Groups the problems of each document into one entry. */
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

/** A document whose last good version stays is the resource itself; any other, e.g. a second definition, is not. */
function problemKey(problem: ReadProblem, resource: ReadResource): string {
  if (resource.name === '') return problem.source
  return problem.stays === true ? documentKey(resource) : `beside ${documentKey(resource)}`
}

const withoutColumn = (source: string): string => source.replace(/^(.*:\d+):\d+$/, '$1')
const fileOf = (source: string): string => withoutColumn(source).replace(/:\d+$/, '')

const identityOf = (resource: Omit<ReadResource, 'source'>): string =>
  [resource.apiVersion, resource.kind, resource.namespace, resource.name].join(' ')

/** An absent namespace counts as "default": a problem may lack it, and kinds without namespaces are unambiguous. */
function documentKey(resource: ReadResource): string {
  const namespace = resource.namespace === '' ? 'default' : resource.namespace
  return `${identityOf({ ...resource, namespace })} ${fileOf(resource.source)}`
}

const placeOf = (r: ReportedResource): string =>
  [r.kind, r.namespace, r.name, r.source].join('\u0000')

/** Counts for gatehouse_resources: a resource is accepted unless a condition denies it. */
export function countResources(resources: readonly ReportedResource[]): readonly KindCount[] {
  const counts = new Map<string, { kind: string; accepted: boolean; count: number }>()
  for (const resource of resources) {
    const { kind, conditions } = resource
    const accepted = !conditions.some(isNotAccepted)
    const key = `${kind} ${accepted}`
    const entry = counts.get(key) ?? { kind, accepted, count: 0 }
    entry.count += 1
    counts.set(key, entry)
  }
  return [...counts.values()]
}

const isNotAccepted = ({ type, status }: ReportedCondition): boolean =>
  type === 'Accepted' && status !== 'True'

/** Counts for gatehouse_open_routes. */
export const countOpenRoutes = (resources: readonly ReportedResource[]): number =>
  resources.reduce((count, { open }) => (open === true ? count + 1 : count), 0)

/** Counts for gatehouse_policies: every ProxyPolicy is in one state. */
export function countPolicies(resources: readonly ReportedResource[]): PolicyCounts {
  const counts = { attached: 0, audited: 0, refused: 0, without_target: 0, pending: 0 }
  for (const resource of resources)
    if (resource.kind === 'ProxyPolicy') counts[policyState(resource)] += 1
  return counts
}

/** A policy that is neither attached nor refused is pending: it waits for a Gateway or for its keys. */
function policyState({ conditions }: ReportedResource): keyof PolicyCounts {
  const attached = conditions.filter(({ type }) => type === 'Attached')
  if (conditions.some(isNotAccepted)) return 'refused'
  if (attached.some(({ reason }) => reason === 'TargetNotFound')) return 'without_target'
  if (attached.length === 0 || !attached.every(({ status }) => status === 'True')) return 'pending'
  return attached.some(({ reason }) => reason === AUDIT) ? 'audited' : 'attached'
}
