// A text that is shown once, when it is complete: the arguments of a tool call (decision 19a).

import type { Sliced } from './align.js'
import type { HeldText, Release, WindowAnswer } from './held-text.js'

/** Creates a text that is shown once, when it is complete. */
export const createWholeText = (): HeldText => new WholeText()

class WholeText implements HeldText {
  readonly isStuck = false
  readonly others = []
  private text = ''
  private state: 'comes' | 'ended' | 'asked' = 'comes'

  get length(): number {
    return this.text.length
  }

  get unseen(): number {
    return this.state === 'asked' ? 0 : this.text.length
  }

  push(more: string): undefined {
    this.text += more
  }

  end(): Release | undefined {
    if (this.state === 'comes') this.state = 'ended'
    return this.text === '' ? this.all([]) : undefined
  }

  due(): 'at-once' | 'no' {
    return this.isUnseen() ? 'at-once' : 'no'
  }

  take(): string | undefined {
    if (!this.isUnseen()) return undefined
    this.state = 'asked'
    return this.text
  }

  *answered({ content }: WindowAnswer): Sliced<Release> {
    const { text } = this
    return this.all(content === text ? [] : [{ start: 0, end: text.length, text: content }])
  }

  private all(edits: Release['edits']): Release {
    return { upTo: this.text.length, edits }
  }

  private isUnseen(): boolean {
    return this.state === 'ended' && this.text !== ''
  }
}
