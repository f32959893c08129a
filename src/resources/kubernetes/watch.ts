// A watch that asks for bookmarks, ends by itself after some seconds (so that a connection that died unseen is noticed),
// and never comes back faster than a pause when the API server closes it at once.

import type { Watch } from '@kubernetes/client-node'
import { isJsonObject, type Json } from '../../ir/json.js'
import { trim } from './list.js'

type WatchCall = Watch['watch']

/**
 * Seconds. A connection of which one side alone knows that it is dead says nothing, and neither does one on which nothing
 * happens: only an end that does not come tells them apart, within 9 s. The API server sends a bookmark 2 s before the
 * end, so that the next watch goes on there. Replicas should not all come back at once.
 */
const LASTS = { atLeast: 5, spread: 2 }
const GRACE_SECONDS = 2
/** Milliseconds. */
const SHORTEST_WATCH = 1_000
/** The API server answers before anything has happened. */
const ANSWER_WITHIN = 30_000

/** reached: called once a watch runs, which is after all that was listed has been told. */
export const patientWatch = (inner: Watch, reached: () => void): Pick<Watch, 'watch'> => ({
  watch: async (path, query, onEvent, onDone) => {
    const timeoutSeconds = Math.round(LASTS.atLeast + Math.random() * LASTS.spread)
    const began = performance.now()
    const running: { controller?: AbortController } = {}
    let hasEnded = false
    const deadline = setTimeout(
      () => running.controller?.abort(),
      (timeoutSeconds + GRACE_SECONDS) * 1000,
    )
    const done = (error: unknown): void => {
      if (hasEnded) return
      hasEnded = true
      clearTimeout(deadline)
      const isOurs = error instanceof Error && error.name === 'AbortError'
      const early = SHORTEST_WATCH - (performance.now() - began)
      if (error !== null && !isOurs) onDone(error)
      else if (early <= 0) onDone(null)
      else setTimeout(() => onDone(null), early).unref()
    }
    const parameters = { ...query, allowWatchBookmarks: true, timeoutSeconds }
    try {
      running.controller = await inTime(inner.watch(path, parameters, trimmed(onEvent), done))
      if (!hasEnded) reached()
      return running.controller
    } catch (error) {
      // Whoever called may not wait for this promise: the end of the watch before it may have been the call.
      done(error)
      return new AbortController()
    }
  },
})

/** Without it a request that is never answered would wait as long as its connection lives. */
async function inTime(asked: Promise<AbortController>): Promise<AbortController> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), ANSWER_WITHIN)
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
