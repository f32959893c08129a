// What ADS streams have to do, in turns of the event loop: a hundred Envoys that connect at once, or that are told of a
// change, must not hold up checks.

/** Units of work in one turn: a few milliseconds. One resource of a response is one. */
const MOST = 1_024
/** Of a job that sends nothing. */
const JOB = 128

export class Turns {
  readonly #waiting: (() => void)[] = []
  /** Done since the last turn. */
  #units = 0
  #next: NodeJS.Immediate | undefined

  /** At once (true), while there is time in this turn; else in a later one, behind what waits. job: never throws. */
  run(job: () => void): boolean {
    const isNow = this.#waiting.length === 0 && this.#units < MOST
    if (isNow) this.#do(job)
    else this.#waiting.push(job)
    this.#next ??= setImmediate(() => this.#turn())
    return isNow
  }

  /** Of the job that runs, beside what every job costs. */
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
