// Translates resources and remote documents, builds a snapshot and publishes it, again at every change. A run takes
// slices, so that checks go on meanwhile, and publishes as a whole. Changes that arrive during a run wait for its end; one
// run then takes all of them.

import { OwnEnding } from '../../kit/ending.js'
import { errorText } from '../../kit/errors.js'
import type { Logger } from '../../kit/logger.js'
import { inTurns, nextTurn, type Slice, type Work } from '../../kit/turns.js'
import type { RemoteState, WantedDocument } from '../../model/remote-target.js'
import type { NameState } from '../../model/resolved-name.js'
import type { XdsOptions } from '../../xds/translator/xds-resources.js'
import type { ProviderState, Resources } from '../schema/kinds/resources.js'
import type { Translation } from '../translate/translator.js'
import { type Snapshot, snapshotWork } from './build-snapshot.js'

/** What the pipeline is created with. */
export interface PipelineDeps {
  readonly translator: {
    translationWork(resources: Resources, remote: RemoteState, names?: NameState): Work<Translation>
  }
  readonly remote: { want(documents: readonly WantedDocument[]): void; state(): RemoteState }
  /** Absent: Envoy resolves the names. */
  readonly names?: { want(names: readonly string[]): void; state(): NameState } | undefined
  readonly publisher: {
    publish(snapshot: Snapshot): boolean
    current(): Snapshot | undefined
  }
  readonly options: XdsOptions
  /** Verified tokens remembered for each provider; absent: the default. */
  readonly rememberedTokens?: number
  readonly logger: Logger
  /** Decides when a run lets other tasks run. */
  readonly slice: Slice
  /** Called when a change could not be turned into a snapshot, which is a bug. */
  onFailure(): void
  /** Called after every run; its work is part of the run's slices. */
  onRun(state: PipelineState): Work<void>
  /** Calls back once after `ms` milliseconds, unless the returned function is called first. */
  startTimer(callback: () => void, ms: number): () => void
}

/** Input and result of the last run. */
export interface PipelineState {
  /** Input of the last run, or the state that was read if no run has succeeded. Absent: nothing has been read yet. */
  readonly provider?: ProviderState
  /** Result of the last run that succeeded. */
  readonly translation?: Translation
  /** Why the last run failed (a bug); the snapshot before it stays in force. */
  readonly failure?: string
}

/** Runs the translation at every change. */
export interface Pipeline {
  resourcesChanged(state: ProviderState): void
  /** Reports that documents or names have changed. */
  remoteChanged(): void
  /** Resolves when all changes so far are in force. Begins the run that remoteChanged() has scheduled. */
  flush(): Promise<void>
  state(): PipelineState
  close(): void
}

// Several key sets that arrive together make one snapshot.
const REMOTE_DEBOUNCE_MS = 20
// A backend whose name has not been looked up yet has no endpoints, so a snapshot that refers to it waits for the first
// answer. At startup the wait may be longer: Envoys may still serve their earlier configuration, with known addresses.
const NAME_PATIENCE_MS = 500
const FIRST_NAME_PATIENCE_MS = 5_000

/** Creates a pipeline that has not run. */
export function createPipeline(deps: PipelineDeps): Pipeline {
  let state: PipelineState = {}
  let read: ProviderState | undefined
  let stopTimer: (() => void) | undefined
  const ending = new OwnEnding()
  const patience = createPatience(deps, () => void runs.begin())

  function* translateAndPublish(provider: ProviderState): Work<void> {
    try {
      state = { provider, translation: yield* advance(provider, deps, patience) }
    } catch (error) {
      deps.logger.error(
        { err: error },
        'a change could not be translated; the previous configuration stays in force',
      )
      deps.onFailure()
      state = { ...state, provider, failure: errorText(error) }
    }
    yield* deps.onRun(state)
  }

  const runs = createRuns(() => {
    stopTimer?.()
    stopTimer = undefined
    return read === undefined || ending.aborted
      ? undefined
      : inTurns(translateAndPublish(read), ending, deps.slice)
  })

  return {
    resourcesChanged(provider) {
      read = provider
      if (state.translation === undefined) state = { ...state, provider }
      void runs.begin()
    },
    remoteChanged() {
      stopTimer ??= deps.startTimer(() => void runs.begin(), REMOTE_DEBOUNCE_MS)
    },
    flush: async () => (stopTimer === undefined ? runs.settled() : runs.begin()),
    state: () => state,
    close: () => {
      ending.abort()
      stopTimer?.()
      patience.close()
    },
  }
}

interface Runs {
  /** Runs now, or once more after the current run. Returns a promise unless the run has ended. */
  begin(): Promise<void> | undefined
  /** Resolves when all runs that were begun have ended. */
  settled(): Promise<void> | undefined
}

/** Runs one at a time: half of a translation belongs to the run that began it. */
function createRuns(run: () => void | Promise<void>): Runs {
  let current: Promise<void> | undefined
  let next: Promise<void> | undefined
  const begin = (): Promise<void> | undefined => {
    if (current !== undefined) return (next ??= current.then(nextTurn).then(beginNext))
    const running = run()
    if (running instanceof Promise) current = running.finally(() => (current = undefined))
    return current
  }
  const beginNext = (): Promise<void> | undefined => {
    next = undefined
    return begin()
  }
  return { begin, settled: () => next ?? current }
}

interface Patience {
  /** Whether to wait for the names; calls run() when the patience has run out. */
  waitsFor(names: readonly string[]): boolean
  close(): void
}

/** After it has run out, nothing waits until all names are known: new unanswered names must not delay every change. */
function createPatience(deps: PipelineDeps, run: () => void): Patience {
  let stopTimer: (() => void) | undefined
  let isOver = false
  const end = (): void => {
    stopTimer?.()
    stopTimer = undefined
  }
  return {
    waitsFor(wanted) {
      const known = deps.names?.state()
      if (known === undefined || wanted.every((name) => known.has(name))) {
        end()
        isOver = false
        return false
      }
      if (isOver) return false
      const isFirst = deps.publisher.current() === undefined
      stopTimer ??= deps.startTimer(
        () => {
          stopTimer = undefined
          isOver = true
          run()
        },
        isFirst ? FIRST_NAME_PATIENCE_MS : NAME_PATIENCE_MS,
      )
      return true
    },
    close: end,
  }
}

function* advance(
  provider: ProviderState,
  deps: PipelineDeps,
  patience: Patience,
): Work<Translation> {
  const { translator, remote, names, publisher, options, rememberedTokens, logger } = deps
  const translation = yield* translator.translationWork(
    provider.resources,
    remote.state(),
    names?.state(),
  )
  remote.want(translation.wanted)
  names?.want(translation.names)
  const previous = publisher.current()
  // Decision 27: at startup a broken document has no last good version to fall back on.
  if (previous === undefined && !provider.complete) return translation
  if (patience.waitsFor(translation.names)) return translation
  const snapshot = yield* snapshotWork(translation.ir, options, previous, rememberedTokens)
  yield
  if (publisher.publish(snapshot))
    logger.info({ revision: snapshot.revision }, 'configuration published')
  yield
  return translation
}
