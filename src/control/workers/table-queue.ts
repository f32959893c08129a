// In a worker: applies changes of tables one after another, and lets other messages wait for those received before them.

import type { TableChanges, ToWorker } from './messages.js'

type TablesMessage = Extract<ToWorker, { readonly type: 'tables' }>

/** How a queue of changes applies them. */
export interface TableQueueDeps {
  /** Puts all parts of one change into force, in several turns. Rejects on a bug, which ends the worker. */
  readonly change: (parts: readonly TableChanges[]) => Promise<void>
  readonly onTaken: (sequence: number) => void
}

/** The queue of table changes. */
export class TableQueue {
  readonly #deps: TableQueueDeps
  readonly #parts: TableChanges[] = []
  /** The changes in progress, in order; undefined: none. */
  #changing: Promise<void> | undefined

  constructor(deps: TableQueueDeps) {
    this.#deps = deps
  }

  take({ sequence, changes, isLast }: TablesMessage): void {
    this.#parts.push(changes)
    if (!isLast) return
    const parts = this.#parts.splice(0)
    const changing = this.taken()
      .then(() => this.#deps.change(parts))
      .then(() => {
        if (this.#changing === changing) this.#changing = undefined
        this.#deps.onTaken(sequence)
      })
    this.#changing = changing
  }

  /** Resolves when all changes received so far are in force. */
  taken(): Promise<void> {
    return this.#changing ?? Promise.resolve()
  }

  /** Runs the action when all changes received so far are in force; at once if none is in progress. */
  afterTables(action: () => void): void {
    if (this.#changing === undefined) return action()
    void this.#changing.then(action)
  }
}
