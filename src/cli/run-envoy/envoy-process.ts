// Keeps an Envoy child running: restarts it when it dies, drains it before it is stopped.

import { setTimeout as delay } from 'node:timers/promises'
import { errorText } from '../../kit/errors.js'
import { formatAddress, type ServerAddress } from '../../ops/settings/values.js'
import { askAdmin } from './ask-admin.js'
import { type EnvoyChild, type EnvoyChildOptions, startEnvoy } from './child.js'
import { exitSentence, isLive } from './wait-until-live.js'

/** What Envoy is run with. */
export interface EnvoyProcessOptions extends EnvoyChildOptions {
  readonly admin: ServerAddress
  /** Whether Envoy has acknowledged its configuration, as the ADS server saw. */
  accepted(): boolean
  /** Called when Envoy died before it ever served: a restart would not help. */
  onHopeless(error: Error): void
}

/** An Envoy that is kept running. */
export interface EnvoyProcess {
  /** Why Envoy does not serve; undefined if it does. */
  obstacle(): string | undefined
  /** Stops accepting connections and waits at most `timeoutMs` for the requests in progress. */
  drain(timeoutMs: number): Promise<void>
  stop(): Promise<void>
  /** Sends the signal without waiting, for the end of this process. */
  kill(): void
}

const POLL_MS = 25
const FIRST_RESTART_MS = 200
const LAST_RESTART_MS = 10_000
// An Envoy that ran this long was healthy: the delay before its restart starts from the shortest again.
const HEALTHY_MS = 60_000

/** Starts Envoy and keeps it running. Rejects when the binary cannot be started. */
export async function runEnvoy(options: EnvoyProcessOptions): Promise<EnvoyProcess> {
  const runner = new EnvoyRunner(options)
  await runner.start()
  return runner
}

class EnvoyRunner implements EnvoyProcess {
  #child: EnvoyChild | undefined
  #why: string | undefined = 'Envoy is starting'
  #everServed = false
  #restartMs = FIRST_RESTART_MS
  readonly #stopping = new AbortController()

  constructor(private readonly options: EnvoyProcessOptions) {}

  async start(): Promise<void> {
    const child = await startEnvoy(this.options)
    const startedAt = Date.now()
    this.#child = child
    void this.#watch(child)
    void child.exited.then((exit) => {
      this.#child = undefined
      if (this.#stopping.signal.aborted) return
      this.#why = exitSentence(exit)
      if (!this.#everServed) return this.options.onHopeless(new Error(this.#why))
      if (Date.now() - startedAt > HEALTHY_MS) this.#restartMs = FIRST_RESTART_MS
      return this.#restart(this.#why)
    })
  }

  async #restart(why: string): Promise<void> {
    this.options.logger.error({ restartInMs: this.#restartMs }, `${why}; restarting it`)
    await delay(this.#restartMs, undefined, { signal: this.#stopping.signal }).catch(
      () => undefined,
    )
    if (this.#stopping.signal.aborted) return
    this.#restartMs = Math.min(this.#restartMs * 2, LAST_RESTART_MS)
    await this.start().catch((error: unknown) =>
      this.#restart(`Envoy did not start: ${errorText(error)}`),
    )
  }

  /** Waits until the child serves. Configuration that it rejects later leaves the previous one in force. */
  async #watch(child: EnvoyChild): Promise<void> {
    this.#why = 'Envoy has not taken its first configuration yet'
    while (this.#child === child && !this.#stopping.signal.aborted) {
      if (this.options.accepted() && (await isServing(this.options.admin))) {
        if (this.#child !== child) return
        this.#why = undefined
        this.#everServed = true
        const admin = formatAddress(this.options.admin)
        this.options.logger.info({ admin, pid: child.pid }, 'Envoy is serving')
        return
      }
      await delay(POLL_MS)
    }
  }

  obstacle(): string | undefined {
    return this.#why
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#stopping.abort()
    const { admin } = this.options
    if (this.#child === undefined) return
    await askAdmin(admin, '/drain_listeners', 'POST')
    const deadline = Date.now() + timeoutMs
    while (this.#child !== undefined && Date.now() < deadline && (await isBusy(admin)))
      await delay(Math.min(100, Math.max(0, deadline - Date.now())))
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#child?.stop()
  }

  kill(): void {
    this.#stopping.abort()
    this.#child?.kill()
  }
}

/** Whether Envoy is LIVE, its workers have started and no listener waits for its routes. */
async function isServing(admin: ServerAddress): Promise<boolean> {
  if (!(await isLive(admin))) return false
  const stats = await readStats(
    admin,
    '^listener_manager\\.(workers_started|total_listeners_warming)$',
  )
  return (
    stats.get('listener_manager.workers_started') === 1 &&
    stats.get('listener_manager.total_listeners_warming') === 0
  )
}

/** Whether a request is in progress on a listener; those on the admin address do not count. */
async function isBusy(admin: ServerAddress): Promise<boolean> {
  const stats = await readStats(admin, '^http\\..*\\.downstream_rq_active$')
  return [...stats].some(([name, value]) => value > 0 && !name.startsWith('http.admin.'))
}

/** Statistics that match the filter; empty when the admin address does not answer. */
async function readStats(
  admin: ServerAddress,
  filter: string,
): Promise<ReadonlyMap<string, number>> {
  const answer = await askAdmin(admin, `/stats?filter=${encodeURIComponent(filter)}`)
  return new Map(
    (answer?.text ?? '')
      .split('\n')
      .map((line) => line.split(': '))
      .map(([name = '', value]) => [name, Number(value)]),
  )
}
