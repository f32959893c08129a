// The state of the pipeline after each run → a log line for each problem that is new, and one when all are mended.

import { differences } from '../incremental/diff.js'
import { type Condition, isBad, placeOf, type ResourceStatus } from '../ir/status.js'
import type { Logger } from '../logger.js'
import { problemLine } from '../resources/decode/problem-line.js'
import type { PipelineState } from './pipeline.js'

/**
 * What it returns is to be called after every run; what was said once is not said again while it lasts.
 * isCluster: kinds come one after the other, and what refers to one that is still to come is not broken.
 */
export function createProblemLog(
  logger: Logger,
  isCluster = false,
): (state: PipelineState) => void {
  let known: ReadonlySet<string> = new Set()
  let wasComplete = false
  const problemsIn = createStatusProblems()
  return ({ provider, translation }) => {
    wasComplete ||= provider?.complete === true
    const problems = provider?.problems ?? []
    const isEarly = isCluster && provider?.complete !== true
    const statuses = isEarly ? [] : (translation?.statuses ?? [])
    const now = new Set([
      ...problems.map(problemLine),
      ...(problems.length > 0 && !wasComplete && !isCluster ? [NOTHING_YET] : []),
      ...problemsIn(statuses),
    ])
    for (const problem of now) if (!known.has(problem)) logger.warn({}, problem)
    if (known.size > 0 && now.size === 0) logger.info({}, 'the resources are all well again')
    known = now
  }
}

/** Decision 27: at the start there is no last good version that a broken document could fall back on. */
const NOTHING_YET = 'nothing is published until every document has been read once'

/** The sentences of all statuses: of thousands those alone are looked at that are others than the last time. */
function createStatusProblems(): (statuses: readonly ResourceStatus[]) => readonly string[] {
  let known: readonly ResourceStatus[] = []
  const bad = new Map<ResourceStatus, readonly string[]>()
  return (statuses) => {
    const { removed, added } = differences(known, statuses)
    for (const status of removed) bad.delete(status)
    for (const status of added) {
      const problems = problemsOf(status)
      if (problems.length > 0) bad.set(status, problems)
    }
    known = statuses
    return [...bad.values()].flat()
  }
}

const problemsOf = (status: ResourceStatus): readonly string[] =>
  status.conditions.filter(isOurs).map((condition) => sentence(status, condition))

/** The remote store says itself which key set it cannot have, and every one is missing for a moment at the start. */
const isOurs = (condition: Condition): boolean =>
  isBad(condition) && condition.reason !== 'KeySetUnavailable'

function sentence({ kind, namespace, name }: ResourceStatus, condition: Condition): string {
  const { type, status, reason, message } = condition
  const place = placeOf(condition)
  const where = place === '' ? '' : ` on ${place}`
  const who = namespace === '' ? name : `${namespace}/${name}`
  return `${kind} ${who}: ${type}=${status} (${reason})${where}: ${message.replaceAll('\n', '; ')}`
}
