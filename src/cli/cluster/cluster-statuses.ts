// Derives the status to write for each object in the cluster from the state of the pipeline.

import type { Enforcement } from '../../addons/mesh/controller/enforcement.js'
import type { ProvisionProblem } from '../../addons/provision/wanted-envoys.js'
import type { PipelineState } from '../../control/publish/pipeline.js'
import { resourceKey } from '../../control/schema/decode/resource-set.js'
import type { Problem } from '../../control/schema/kinds/resources.js'
import type { ObjectStatus } from '../../control/sources/kubernetes/status-writer.js'
import type { AttachedRoutes } from '../../control/translate/routes/route-chunks.js'
import { SUPPORTED_FEATURES } from '../../control/translate/status/supported-features.js'
import { keyIn, ownerKey } from '../../control/translate/world/world.js'
import { briefMemo, memo } from '../../kit/incremental/memo.js'
import type { Parts } from '../../kit/incremental/sorted-list.js'
import { mapEach, mapWork, type Work } from '../../kit/turns.js'
import {
  type Condition,
  type GatewayName,
  invalidCondition,
  type ResourceStatus,
  staleConditions,
} from '../../model/status.js'

/** What the controllers of this replica have found. */
export interface ControllerFindings {
  /** By NAMESPACE/NAME of the policy. */
  readonly enforced?: ReadonlyMap<string, Enforcement> | undefined
  /** Returns why the Envoys of a Gateway that Gatehouse creates do not serve it; absent: it creates none. */
  readonly provisionProblem?: ((gateway: GatewayName) => ProvisionProblem | undefined) | undefined
  /** Features of the Gateway API that the Envoys of Gateways have, sorted; absent: those of Envoys that users deploy. */
  readonly supportedFeatures?: readonly string[] | undefined
}

/** Returns nothing until every kind has been read: a reference to an object still unread would look broken. */
type ClusterStatuses = (
  state: PipelineState,
  findings?: ControllerFindings,
) => Work<Parts<ObjectStatus>>

/** Creates a function that derives statuses in slices, and keeps those it has derived: the same object, or list, is one that needs no comparison. */
export function createClusterStatuses(): ClusterStatuses {
  const enforcedStatus = memo((enforcement: Enforcement) =>
    briefMemo((status: ResourceStatus) => withEnforcement(status, enforcement)),
  )
  const featureStatus = memo((supportedFeatures: readonly string[]) =>
    memo((gatewayClass: ResourceStatus) => ({ ...gatewayClass, supportedFeatures })),
  )
  const isFinal = memo((part: readonly ResourceStatus[]) => part.every(isFinalByItself))
  return (state, findings = {}) =>
    statusesOf(state, findings, { enforcedStatus, featureStatus, isFinal })
}

/** Functions that return the same status for the same objects. */
interface KeptStatuses {
  readonly enforcedStatus: (enforcement: Enforcement) => (status: ResourceStatus) => ObjectStatus
  readonly featureStatus: (features: readonly string[]) => (status: ResourceStatus) => ObjectStatus
  /** Whether nothing but problems and enforcement may be added to the statuses of a part. */
  readonly isFinal: (part: readonly ResourceStatus[]) => boolean
}

const isFinalByItself = ({ kind }: ResourceStatus): boolean =>
  kind !== 'Gateway' && kind !== 'ListenerSet' && kind !== 'GatewayClass'

function* statusesOf(
  { translation, provider }: PipelineState,
  { enforced, provisionProblem, supportedFeatures = SUPPORTED_FEATURES }: ControllerFindings,
  { enforcedStatus, featureStatus, isFinal }: KeptStatuses,
): Work<Parts<ObjectStatus>> {
  if (provider?.complete !== true || translation === undefined) return []
  const broken = brokenObjects(provider.problems)
  // Comparing names first avoids making a key for each of thousands of statuses.
  const names = new Set([...broken.values()].map(({ name }) => name))
  const finished = (status: ResourceStatus): ObjectStatus => {
    const now = names.has(status.name) ? withProblems(status, broken) : status
    if (status.kind === 'Gateway')
      return withRoutes(withProvision(now, provisionProblem?.(status)), translation.attachedRoutes)
    if (status.kind === 'ListenerSet') return withRoutes(now, translation.attachedRoutes)
    if (status.kind === 'GatewayClass') return featureStatus(supportedFeatures)(now)
    const enforcement = enforced?.get(keyIn(status.namespace, status.name))
    const isPolicy = status.kind === 'ProxyPolicy' && enforcement !== undefined
    return isPolicy ? enforcedStatus(enforcement)(now) : now
  }
  const isAsTranslated = names.size === 0 && enforced === undefined
  const own = yield* mapWork(translation.statusParts, function* (part) {
    return isAsTranslated && isFinal(part) ? part : yield* mapEach(part, finished)
  })
  const others = [...broken.values()].map(({ messages, ...object }) => ({
    ...object,
    conditions: [invalidCondition(messages)],
  }))
  return [...own, others]
}

type Named = Pick<ObjectStatus, 'kind' | 'namespace' | 'name'>

interface Broken extends Named {
  readonly messages: string[]
}

const objectKey = ({ kind, namespace, name }: Named): string => resourceKey(kind, namespace, name)

/** Broken objects by objectKey(); one condition lists all problems of an object. */
function brokenObjects(problems: readonly Problem[]): Map<string, Broken> {
  const broken = new Map<string, Broken>()
  for (const { kind = '', namespace = '', name = '', message } of problems) {
    if (name === '') continue
    const key = objectKey({ kind, namespace, name })
    const before = broken.get(key)
    if (before === undefined) broken.set(key, { kind, namespace, name, messages: [message] })
    else before.messages.push(message)
  }
  return broken
}

/** Adds the problems of the object to its status and removes them from `broken`. */
function withProblems(status: ResourceStatus, broken: Map<string, Broken>): ResourceStatus {
  const key = objectKey(status)
  const problem = broken.get(key)
  if (problem === undefined) return status
  broken.delete(key)
  return { ...status, conditions: staleConditions(problem.messages, status.conditions) }
}

/** Adds the condition Enforced for each ancestor. */
function withEnforcement(
  status: ResourceStatus,
  { isEnforced, reason, message }: Enforcement,
): ObjectStatus {
  const byAncestor = new Map(status.conditions.map((each) => [JSON.stringify(each.ancestor), each]))
  const added = [...byAncestor.values()].map(({ ancestor, observedGeneration }) => ({
    type: 'Enforced',
    status: isEnforced ? ('True' as const) : ('False' as const),
    reason,
    message,
    ...(ancestor !== undefined && { ancestor }),
    ...(observedGeneration !== undefined && { observedGeneration }),
  }))
  return { ...status, conditions: [...status.conditions, ...added] }
}

/** Makes Programmed False while the Envoys that Gatehouse creates are not there. */
const withProvision = (
  status: ResourceStatus,
  problem: ProvisionProblem | undefined,
): ResourceStatus =>
  problem === undefined
    ? status
    : {
        ...status,
        conditions: status.conditions.map((condition) =>
          isProgrammed(condition) ? { ...condition, ...problem, status: 'False' } : condition,
        ),
      }

/** Whether it says that the Gateway, not only one of its listeners, is programmed. */
const isProgrammed = ({ type, status, section }: Condition): boolean =>
  type === 'Programmed' && status === 'True' && section === undefined

const NO_ROUTES: ReadonlyMap<string, number> = new Map()

/** Adds the routes of the listeners of a Gateway or ListenerSet. */
const withRoutes = (owner: ResourceStatus, attached: AttachedRoutes): ObjectStatus => ({
  ...owner,
  attachedRoutes: attached.get(ownerKey(owner)) ?? NO_ROUTES,
})
