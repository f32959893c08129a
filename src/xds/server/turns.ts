// Spreads the work of ADS streams over turns of the event loop: a hundred Envoys that connect or are updated at once
// must not delay checks.

/** Maximum units of work per turn, a few milliseconds; one resource of a response is one unit. */
const MOST = 256
/** Units of a job that sends nothing. */
const JOB = 32

/** A queue of work for later turns. */
export class Turns {
  readonly #waiting: (() => void)[] = []
  /** Units spent since the last turn. */
  #units = 0
  #next: NodeJS.Immediate | undefined

  /** Runs the job now and returns true if this turn has time left; otherwise queues it. The job must not throw. */
  run(job: () => void): boolean {
    const isNow = this.#waiting.length === 0 && this.#units < MOST
    if (isNow) this.#do(job)
    else this.#waiting.push(job)
    this.#next ??= setImmediate(() => this.#turn())
    return isNow
  }

  /** Queues the job for a later turn. The job must not throw. */
  later(job: () => void): void {
    this.#waiting.push(job)
    this.#next ??= setImmediate(() => this.#turn())
  }

  /** Runs the rest of the running job now if this turn has time left; otherwise queues it, as a job of its own. */
  goOn(rest: () => void): void {
    if (this.#units < MOST) rest()
    else this.#waiting.push(rest)
  }

  /** Adds units for the running job to its fixed cost. */
  spend(units: number): void {
    this.#units += units
  }

  #do(job: () => void): void {
    this.#units += JOB
    job()
  }

  #turn(): void {
    this.#next = undefined
    this.#units = 0
    while (this.#units < MOST) {
      const job = this.#waiting.shift()
      if (job === undefined) break
      this.#do(job)
    }
    if (this.#units > 0) this.#next ??= setImmediate(() => this.#turn())
  }
}
