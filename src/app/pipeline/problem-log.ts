// Logs each new problem in the state of the pipeline once, and one line when all problems are resolved.

import { partDifferences } from '../../incremental/diff.js'
import type { Parts } from '../../incremental/sorted-list.js'
import { type Condition, inOneLine, isBad, placeOf, type ResourceStatus } from '../../ir/status.js'
import type { Logger } from '../../logger.js'
import { problemLine } from '../../resources/decode/problem-line.js'
import { each, mapEach, type Work } from '../../turns.js'
import type { PipelineState } from './pipeline.js'

/**
 * Returns a function to call after every run. A problem is logged once for as long as it lasts.
 * isCluster: kinds are read one after the other, so statuses are ignored until all of them have been.
 */
export function createProblemLog(
  logger: Logger,
  isCluster = false,
): (state: PipelineState) => Work<void> {
  let known: ReadonlySet<string> = new Set()
  let wasComplete = false
  const problemsIn = createStatusProblems()
  return function* ({ provider, translation }) {
    wasComplete ||= provider?.complete === true
    const problems = provider?.problems ?? []
    const isEarly = isCluster && provider?.complete !== true
    const statuses = isEarly ? [] : (translation?.statusParts ?? [])
    const now = new Set([
      ...(yield* mapEach(problems, problemLine)),
      ...(problems.length > 0 && !wasComplete && !isCluster ? [NOTHING_YET] : []),
      ...(yield* problemsIn(statuses)),
    ])
    // Thousands of problems come together when thousands of files are written in place.
    yield* each(now, (problem) => {
      if (!known.has(problem)) logger.warn({}, problem)
    })
    if (known.size > 0 && now.size === 0) logger.info({}, 'all resource problems resolved')
    known = now
  }
}

/** Decision 27: at startup a broken document has no last good version to fall back on. */
const NOTHING_YET = 'nothing is published until every document has been read once'

/** Returns the problems of all statuses; only those that changed since the last call are looked at. */
function createStatusProblems(): (statuses: Parts<ResourceStatus>) => Work<readonly string[]> {
  let known: Parts<ResourceStatus> = []
  const bad = new Map<ResourceStatus, readonly string[]>()
  return function* (statuses) {
    const { removed, added } = partDifferences(known, statuses)
    for (const status of removed) bad.delete(status)
    yield* each(added, (status) => {
      const problems = problemsOf(status)
      if (problems.length > 0) bad.set(status, problems)
    })
    known = statuses
    return [...bad.values()].flat()
  }
}

const problemsOf = (status: ResourceStatus): readonly string[] =>
  status.conditions.filter(isOurs).map((condition) => sentence(status, condition))

/** Whether to log the condition. The remote store logs missing key sets itself; at startup each is missing briefly. */
const isOurs = (condition: Condition): boolean =>
  isBad(condition) && condition.reason !== 'KeySetUnavailable'

function sentence({ kind, namespace, name }: ResourceStatus, condition: Condition): string {
  const { type, status, reason, message } = condition
  const place = placeOf(condition)
  const where = place === '' ? '' : ` on ${place}`
  const who = namespace === '' ? name : `${namespace}/${name}`
  return `${kind} ${who}: ${type}=${status} (${reason})${where}: ${inOneLine(message)}`
}
