// Translates resources and remote documents, builds a snapshot and publishes it, again at every change.

import { errorText } from '../errors.js'
import type { Translation } from '../gatewayapi/translator.js'
import type { RemoteState, WantedDocument } from '../ir/remote-target.js'
import type { NameState } from '../ir/resolved-name.js'
import type { Logger } from '../logger.js'
import type { ProviderState, Resources } from '../resources/kinds/resources.js'
import { buildSnapshot, type Snapshot } from '../snapshot/build-snapshot.js'
import type { XdsOptions } from '../xds/translator/xds-resources.js'

export interface PipelineDeps {
  readonly translator: {
    translate(resources: Resources, remote: RemoteState, names?: NameState): Translation
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
  /** Called when a change could not be turned into a snapshot, which is a bug. */
  onFailure(): void
  /** Called after every run. */
  onRun(state: PipelineState): void
  /** Calls back once after `ms` milliseconds, unless the returned function is called first. */
  startTimer(callback: () => void, ms: number): () => void
}

export interface PipelineState {
  /** Absent: nothing has been read yet. */
  readonly provider?: ProviderState
  /** Result of the last run that succeeded. */
  readonly translation?: Translation
  /** Why the last run failed (a bug); the snapshot before it stays in force. */
  readonly failure?: string
}

export interface Pipeline {
  resourcesChanged(state: ProviderState): void
  /** Reports that documents or names have changed. */
  remoteChanged(): void
  /** Runs now if remoteChanged() has scheduled a run. */
  flush(): void
  state(): PipelineState
  close(): void
}

// Several key sets that arrive together make one snapshot.
const REMOTE_DEBOUNCE_MS = 20
// A backend whose name has not been looked up yet has no endpoints, so a snapshot that refers to it waits for the first
// answer. At startup the wait may be longer: Envoys may still serve their earlier configuration, with known addresses.
const NAME_PATIENCE_MS = 500
const FIRST_NAME_PATIENCE_MS = 5_000

export function createPipeline(deps: PipelineDeps): Pipeline {
  let state: PipelineState = {}
  let stopTimer: (() => void) | undefined
  const patience = createPatience(deps, () => run())

  const run = (): void => {
    stopTimer?.()
    stopTimer = undefined
    if (state.provider === undefined) return
    try {
      state = { provider: state.provider, translation: advance(state.provider, deps, patience) }
    } catch (error) {
      deps.logger.error({ err: error }, 'a change could not be translated; the last good one stays')
      deps.onFailure()
      state = { ...state, failure: errorText(error) }
    }
    deps.onRun(state)
  }

  return {
    resourcesChanged(provider) {
      state = { ...state, provider }
      run()
    },
    remoteChanged() {
      stopTimer ??= deps.startTimer(run, REMOTE_DEBOUNCE_MS)
    },
    flush() {
      if (stopTimer !== undefined) run()
    },
    state: () => state,
    close: () => {
      stopTimer?.()
      patience.close()
    },
  }
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

function advance(provider: ProviderState, deps: PipelineDeps, patience: Patience): Translation {
  const { translator, remote, names, publisher, options, rememberedTokens, logger } = deps
  const translation = translator.translate(provider.resources, remote.state(), names?.state())
  remote.want(translation.wanted)
  names?.want(translation.names)
  const previous = publisher.current()
  // Decision 27: at startup a broken document has no last good version to fall back on.
  if (previous === undefined && !provider.complete) return translation
  if (patience.waitsFor(translation.names)) return translation
  const snapshot = buildSnapshot(translation.ir, options, previous, rememberedTokens)
  if (publisher.publish(snapshot))
    logger.info({ revision: snapshot.revision }, 'configuration published')
  return translation
}
