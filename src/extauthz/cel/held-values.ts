// Compiled values by their text, each kept as long as something else refers to it.

/** Values by text, none of which the table keeps alive. */
export class HeldValues<Value extends object> {
  readonly #values = new Map<string, WeakRef<Value>>()
  readonly #dropped = new FinalizationRegistry<string>((text) => {
    if (this.get(text) === undefined) this.#values.delete(text)
  })

  get(text: string): Value | undefined {
    return this.#values.get(text)?.deref()
  }

  add(text: string, value: Value): void {
    this.#values.set(text, new WeakRef(value))
    this.#dropped.register(value, text)
  }
}
