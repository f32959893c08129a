// One text of a streamed reply while it is held: what a webhook is to see of it next, and what may leave by its
// answer. Offsets are those of the whole text, in UTF-16 units.

import type { Sliced } from './align.js'

export interface TextEdit {
  readonly start: number
  /** start: something is put in there. */
  readonly end: number
  readonly text: string
}

export interface Release {
  /** What is before it may leave, with the edits that begin before it (at the end of the whole text, also there). */
  readonly upTo: number
  /** In their order; none overlaps another, of whichever release. */
  readonly edits: readonly TextEdit[]
  /** Where something changes behind upTo, as far as it has been seen. */
  readonly ahead?: readonly Pick<TextEdit, 'start' | 'end'>[]
}

/** What webhooks say of a window. */
export interface WindowAnswer {
  /** What became of the text that was taken. */
  readonly content: string
  /** Characters at the end that they still need; absent: one less than the hold-back. */
  readonly needed?: number | undefined
}

/**
 * Whether a webhook should be asked. no: nothing could be freed by it. in-word: something could, but the window would
 * end in a word that may go on. yes: something could. at-once: nothing more comes, or a whole window is unseen.
 */
export type Due = 'no' | 'in-word' | 'yes' | 'at-once'

export interface HeldText {
  /** What the model said so far. */
  readonly length: number
  /** What no webhook has been asked about. */
  readonly unseen: number
  push(text: string): void
  /** Nothing more comes. A release where all of it has been seen already. */
  end(): Release | undefined
  due(): Due
  /** What a webhook is shown now; undefined: nothing is unseen, or one is being asked. */
  take(): string | undefined
  /** The release is undefined when nothing may leave yet. */
  answered(answer: WindowAnswer): Sliced<Release | undefined>
  /** Whether so much is held that cannot be cut that nothing more can be shown. */
  readonly isStuck: boolean
}
