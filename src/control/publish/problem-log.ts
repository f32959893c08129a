// Logs each new problem in the state of the pipeline once, one line when all problems are resolved, and which routes are
// open.

import { partDifferences } from '../../kit/incremental/diff.js'
import { compareText, type Parts } from '../../kit/incremental/sorted-list.js'
import type { Logger } from '../../kit/logger.js'
import { each, mapEach, type Work } from '../../kit/turns.js'
import {
  type Condition,
  inOneLine,
  isBad,
  isPartial,
  placeOf,
  type ResourceStatus,
} from '../../model/status.js'
import { problemLine } from '../schema/decode/problem-line.js'
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
  let open = ''
  const findIn = createStatusFindings()
  return function* ({ provider, translation }) {
    wasComplete ||= provider?.complete === true
    const problems = provider?.problems ?? []
    const isEarly = isCluster && provider?.complete !== true
    const found = yield* findIn(isEarly ? [] : (translation?.statusParts ?? []))
    const now = new Set([
      ...(yield* mapEach(problems, problemLine)),
      ...(problems.length > 0 && !wasComplete && !isCluster ? [NOTHING_YET] : []),
      ...found.problems,
    ])
    // Thousands of problems come together when thousands of files are written in place.
    yield* each(now, (problem) => {
      if (!known.has(problem)) logger.warn({}, problem)
    })
    if (known.size > 0 && now.size === 0) logger.info({}, 'all resource problems resolved')
    known = now
    const routes = openText(found.open)
    if (routes !== open && routes !== '') logger.warn({}, routes)
    open = routes
  }
}

/** How many open routes are named. */
const MOST_OPEN = 10

/** Names the open routes in one line: thousands may be meant to be open. */
function openText(routes: readonly string[]): string {
  if (routes.length === 0) return ''
  const named = routes.toSorted(compareText).slice(0, MOST_OPEN).join(', ')
  const more = routes.length > MOST_OPEN ? ` and ${routes.length - MOST_OPEN} more` : ''
  return `open routes (${routes.length}), as no policy decides who may use them: ${named}${more}`
}

/** Decision 27: at startup a broken document has no last good version to fall back on. */
const NOTHING_YET = 'nothing is published until every document has been read once'

/** What statuses say that is worth a warning. */
interface StatusFindings {
  readonly problems: readonly string[]
  /** NAMESPACE/NAME of the open HTTPRoutes. */
  readonly open: readonly string[]
}

/** Returns the findings of all statuses; only those that changed since the last call are looked at. */
function createStatusFindings(): (statuses: Parts<ResourceStatus>) => Work<StatusFindings> {
  let known: Parts<ResourceStatus> = []
  const bad = new Map<ResourceStatus, readonly string[]>()
  const open = new Map<ResourceStatus, string>()
  return function* (statuses) {
    const { removed, added } = partDifferences(known, statuses)
    for (const status of removed) {
      bad.delete(status)
      open.delete(status)
    }
    yield* each(added, (status) => {
      const problems = problemsOf(status)
      if (problems.length > 0) bad.set(status, problems)
      if (status.open === true) open.set(status, `${status.namespace}/${status.name}`)
    })
    known = statuses
    return { problems: [...bad.values()].flat(), open: [...open.values()] }
  }
}

const problemsOf = (status: ResourceStatus): readonly string[] =>
  status.conditions.filter(isOurs).map((condition) => sentence(status, condition))

/** Whether to log the condition. The remote store logs missing key sets itself; at startup each is missing briefly. */
const isOurs = (condition: Condition): boolean =>
  isPartial(condition) || (isBad(condition) && condition.reason !== 'KeySetUnavailable')

function sentence({ kind, namespace, name }: ResourceStatus, condition: Condition): string {
  const { type, status, reason, message } = condition
  const place = placeOf(condition)
  const where = place === '' ? '' : ` on ${place}`
  const who = namespace === '' ? name : `${namespace}/${name}`
  return `${kind} ${who}: ${type}=${status} (${reason})${where}: ${inOneLine(message)}`
}
