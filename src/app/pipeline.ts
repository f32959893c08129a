// Resources and remote documents → translated, built, published: the one arrow, run anew at every change.

import type { Translation } from '../gatewayapi/translator.js'
import type { RemoteState, WantedDocument } from '../ir/remote-target.js'
import type { Logger } from '../logger.js'
import type { ProviderState, Resources } from '../resources/kinds/resources.js'
import { buildSnapshot, type Snapshot } from '../snapshot/build-snapshot.js'
import type { XdsOptions } from '../xds/translator/xds-resources.js'

export interface PipelineDeps {
  readonly translator: { translate(resources: Resources, remote: RemoteState): Translation }
  readonly remote: { want(documents: readonly WantedDocument[]): void; state(): RemoteState }
  readonly publisher: {
    publish(snapshot: Snapshot): boolean
    current(): Snapshot | undefined
  }
  readonly options: XdsOptions
  readonly logger: Logger
  /** A change could not be turned into a snapshot: a bug. */
  onFailure(): void
  /** After every run. */
  onRun(state: PipelineState): void
  /** Calls back once after so many milliseconds, unless the function it returns is called before. */
  startTimer(callback: () => void, ms: number): () => void
}

export interface PipelineState {
  /** Absent: nothing was read yet. */
  readonly provider?: ProviderState
  /** Of the last run that succeeded. */
  readonly translation?: Translation
  /** Why the last run failed: a bug; the snapshot before it stays in force. */
  readonly failure?: string
}

export interface Pipeline {
  resourcesChanged(state: ProviderState): void
  remoteChanged(): void
  /** Runs now what remoteChanged has put off. */
  flush(): void
  state(): PipelineState
  close(): void
}

// Several key sets that arrive at once make one snapshot.
const REMOTE_DEBOUNCE_MS = 20

export function createPipeline(deps: PipelineDeps): Pipeline {
  let state: PipelineState = {}
  let stopTimer: (() => void) | undefined

  const run = (): void => {
    stopTimer?.()
    stopTimer = undefined
    if (state.provider === undefined) return
    try {
      state = { provider: state.provider, translation: advance(state.provider, deps) }
    } catch (error) {
      deps.logger.error({ err: error }, 'a change could not be translated; the last good one stays')
      deps.onFailure()
      state = { ...state, failure: error instanceof Error ? error.message : String(error) }
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
    close: () => stopTimer?.(),
  }
}

function advance(provider: ProviderState, deps: PipelineDeps): Translation {
  const { translator, remote, publisher, options, logger } = deps
  const translation = translator.translate(provider.resources, remote.state())
  remote.want(translation.wanted)
  const previous = publisher.current()
  // Decision 27: at the start there is no last good version that a broken document could fall back on.
  if (previous === undefined && !provider.complete) return translation
  const snapshot = buildSnapshot(translation.ir, options, previous)
  if (publisher.publish(snapshot))
    logger.info({ revision: snapshot.revision }, 'configuration published')
  return translation
}
