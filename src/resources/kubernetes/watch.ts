// Wraps a watch: requests bookmarks, limits its duration to some seconds (which detects dead connections), and delays
// the next watch when the API server closes this one immediately.

import type { Watch } from '@kubernetes/client-node'
import { isJsonObject, type Json } from '../../ir/json.js'
import { trim } from './list.js'

type WatchCall = Watch['watch']

/**
 * Duration of a watch, in seconds. A half-open connection is as silent as an idle one; only a missing end reveals it,
 * within 9 s. The API server sends a bookmark 2 s before the end, where the next watch continues. The spread keeps
 * replicas from reconnecting all at once.
 */
const LASTS = { atLeast: 5, spread: 2 }
const GRACE_SECONDS = 2
/** Shortest time between the starts of two watches, in milliseconds. */
const SHORTEST_WATCH = 1_000
/**
 * How long the response headers may take, in milliseconds: the API server sends them before the first event. A connection that was
 * kept may have died since; an API server that is slow is given twice as long each time.
 */
const ANSWER_WITHIN = { first: 8_000, most: 30_000 }

/**
 * The end of a watch, in the words in which the library takes it for one. After any other end without an event it pauses, each time
 * twice as long, up to half a minute in which no change is seen.
 */
const OVER = new DOMException('the watch is over', 'TimeoutError')

/** What a watch tells beside its events. */
export interface WatchNews {
  /** Called once a watch runs, which is after all listed objects were reported. */
  reached(): void
  /** Called when nothing has been heard of a watch for so long that changes may have been missed. */
  silent(): void
}

/** Wraps inner. */
export function patientWatch(inner: Watch, news: WatchNews): Pick<Watch, 'watch'> {
  let patience = ANSWER_WITHIN.first
  return {
    watch: async (path, query, onEvent, onDone) => {
      const timeoutSeconds = Math.round(LASTS.atLeast + Math.random() * LASTS.spread)
      const end = endOnce(onDone)
      const parameters = { ...query, allowWatchBookmarks: true, timeoutSeconds }
      try {
        const asked = inner.watch(path, parameters, trimmed(onEvent), end.done)
        const controller = await inTime(asked, patience)
        patience = ANSWER_WITHIN.first
        if (end.hasCome()) return controller
        news.reached()
        const giveUp = (): void => {
          news.silent()
          controller.abort()
        }
        end.expect(giveUp, (timeoutSeconds + GRACE_SECONDS) * 1000)
        return controller
      } catch (error) {
        const isLate = error === LATE
        if (isLate) {
          patience = Math.min(patience * 2, ANSWER_WITHIN.most)
          news.silent()
        }
        // The caller may not await this promise: the end of the previous watch may have made the call.
        end.done(isLate ? null : error)
        return new AbortController()
      }
    },
  }
}

/** Passes on the first end of a watch: as OVER, and no sooner than the next watch may begin, if nothing has failed. */
function endOnce(onDone: (error: unknown) => void) {
  const began = performance.now()
  let deadline: NodeJS.Timeout | undefined
  let hasEnded = false
  return {
    hasCome: () => hasEnded,
    /** Calls giveUp unless the end comes within these milliseconds. */
    expect: (giveUp: () => void, within: number): void => {
      deadline = setTimeout(giveUp, within)
    },
    done: (error: unknown): void => {
      if (hasEnded) return
      hasEnded = true
      clearTimeout(deadline)
      const isOurs = error instanceof Error && error.name === 'AbortError'
      const early = SHORTEST_WATCH - (performance.now() - began)
      if (error !== null && !isOurs) onDone(error)
      else if (early <= 0) onDone(OVER)
      else setTimeout(() => onDone(OVER), early).unref()
    },
  }
}

/** What inTime throws when there is no answer in time. */
const LATE = new Error('no answer in time')

/** Limits the wait for a response: an unanswered request would otherwise last as long as its connection. */
async function inTime(asked: Promise<AbortController>, within: number): Promise<AbortController> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(LATE), within)
  })
  try {
    return await Promise.race([asked, late])
  } catch (error) {
    void asked.then(
      (controller) => controller.abort(),
      () => undefined,
    )
    throw error
  } finally {
    clearTimeout(timer)
  }
}

const trimmed =
  (onEvent: Parameters<WatchCall>[2]): Parameters<WatchCall>[2] =>
  (phase, object: Json, event) =>
    onEvent(phase, isJsonObject(object) ? trim(object) : object, event)
