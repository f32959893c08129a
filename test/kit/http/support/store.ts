// A remote store whose clock, timers and parties the test controls.

import type { RemoteFailure } from '../../../../src/kit/http/connect/remote-failure.js'
import type { CallRemote, RemoteAnswer } from '../../../../src/kit/http/http-call.js'
import {
  createRemoteStore,
  type RemoteStore,
  type RemoteStoreDeps,
} from '../../../../src/kit/http/remote-store.js'
import type { Result } from '../../../../src/kit/result.js'
import type { JsonObject } from '../../../../src/model/json.js'
import type {
  RemoteState,
  RemoteTarget,
  WantedDocument,
} from '../../../../src/model/remote-target.js'

export const keySet = (...kids: string[]): JsonObject => ({
  keys: kids.map((kid) => ({ kid, kty: 'RSA' })),
})

export const target = (url: string): RemoteTarget => ({
  url,
  endpoints: { type: 'name', host: 'idp.example', port: 443 },
})

export const wantKeySet = (id = 'keys', ...urls: string[]): WantedDocument => ({
  id,
  kind: 'KeySet',
  targets: (urls.length === 0 ? [`https://idp.example/${id}`] : urls).map(target),
})

export const wantDiscovery = (id: string, ...urls: string[]): WantedDocument => ({
  ...wantKeySet(id, ...urls),
  kind: 'Discovery',
})

type Reply = Result<RemoteAnswer, RemoteFailure>

export const answer = (
  body: JsonObject | string,
  status = 200,
  headers: Record<string, string> = {},
): Reply => ({
  ok: true,
  value: {
    status,
    headers,
    body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  },
})

export const failure = (error: RemoteFailure = { type: 'timeout', timeoutMs: 5000 }): Reply => ({
  ok: false,
  error,
})

export interface TestStore extends RemoteStore {
  /** Sets the answer of the party at this URL, which does not answer at all before. */
  replies: Map<string, Reply | 'never'>
  /** URLs as they were called. */
  readonly calls: string[]
  readonly changes: RemoteState[]
  readonly logs: { level: string; fields: Record<string, unknown> }[]
  readonly fetches: string[]
  /** Moves the clock on, runs what is due and lets it settle. */
  advance(ms: number): Promise<void>
  /** Timers that are set. */
  pending(): number
  /** Calls that have neither been answered nor given up. */
  open(): number
}

export function testStore(options: Partial<RemoteStoreDeps> = {}): TestStore {
  let now = 1_000_000
  let open = 0
  const timers = new Set<{ at: number; callback: () => void }>()
  const replies = new Map<string, Reply | 'never'>()
  const [calls, changes, fetches]: [string[], RemoteState[], string[]] = [[], [], []]
  const logs: TestStore['logs'] = []
  const log = (level: string) => (fields: object) =>
    void logs.push({ level, fields: fields as Record<string, unknown> })

  const callRemote: CallRemote = ({ url }, { signal }) => {
    calls.push(url)
    const reply = replies.get(url) ?? 'never'
    if (reply !== 'never') return Promise.resolve(reply)
    open += 1
    return new Promise((resolve) => {
      const giveUp = () => {
        open -= 1
        resolve(failure({ type: 'aborted' }))
      }
      if (signal?.aborted === true) giveUp()
      else signal?.addEventListener('abort', giveUp)
    })
  }
  const store = createRemoteStore({
    now: () => now,
    random: () => 0,
    logger: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    metrics: { keySetFetch: (result) => fetches.push(result) },
    onChange: (state) => changes.push(state),
    callRemote,
    startTimer: (callback, ms) => {
      const timer = { at: now + ms, callback }
      timers.add(timer)
      return () => timers.delete(timer)
    },
    ...options,
  })
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve))
  return {
    want: (documents) => store.want(documents),
    refetch: (id) => store.refetch(id),
    answers: (id) => store.answers(id),
    state: () => store.state(),
    close: () => store.close(),
    replies,
    calls,
    changes,
    logs,
    fetches,
    pending: () => timers.size,
    open: () => open,
    advance: async (ms) => {
      const end = now + ms
      await settle()
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
        if (next === undefined) break
        now = Math.max(now, next.at)
        timers.delete(next)
        next.callback()
        await settle()
      }
      now = end
    },
  }
}
