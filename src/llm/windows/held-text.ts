// One text of a streamed reply while it is held: what a webhook is to see of it next, and what may leave by its
// answer. Offsets are those of the whole text, in UTF-16 units.

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

export interface HeldText {
  /** What the model said so far. */
  readonly length: number
  /** What no webhook has been asked about. */
  readonly unseen: number
  push(text: string): void
  /** Nothing more comes. A release where all of it has been seen already. */
  end(): Release | undefined
  /** So much is unseen, or nothing more comes, that a webhook should be asked now. */
  isDue(): boolean
  /** Whether time makes it due as well. */
  isTimed(): boolean
  /** What a webhook is shown now; undefined: nothing is unseen, or one is being asked. */
  take(): string | undefined
  /** content: what became of the text that was taken. undefined: nothing may leave yet. */
  answered(content: string): Release | undefined
}
