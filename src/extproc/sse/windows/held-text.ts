// One text of a streamed reply while it is held: what a webhook sees of it next, and what may leave after its answer.
// Offsets are those of the whole text, in UTF-16 units.

import type { Sliced } from './align.js'

/** A change of a text. */
export interface TextEdit {
  readonly start: number
  /** Equal to start for an insertion. */
  readonly end: number
  readonly text: string
}

/** What may leave of a text. */
export interface Release {
  /** Text before this offset may leave, with edits that begin before it (at the end of the whole text, also at it). */
  readonly upTo: number
  /** In order; edits do not overlap, not even those of different releases. */
  readonly edits: readonly TextEdit[]
  /** Changes after upTo, as far as the text has been seen. */
  readonly ahead?: readonly Pick<TextEdit, 'start' | 'end'>[]
}

/** The webhooks' answer to a window. */
export interface WindowAnswer {
  /** What the text that was taken has become. */
  readonly content: string
  /** Characters at the end that the webhooks still need; absent: one less than the hold-back. */
  readonly needed?: number | undefined
  /** What the other texts of the question have become; absent: no change. */
  readonly others?: readonly string[]
}

/**
 * Whether a webhook should be asked. no: the answer could free nothing. in-word: it could free something, but the
 * window would end in a word that may continue. yes: it could free something. at-once: nothing more comes, or a whole
 * window is unseen.
 */
export type Due = 'no' | 'in-word' | 'yes' | 'at-once'

/** One text of a reply while it is held. */
export interface HeldText {
  /** Length of what the model has said so far. */
  readonly length: number
  /** Number of characters that no webhook has been asked about. */
  readonly unseen: number
  /** type: that of the event. Returns a release if the text has been seen already. */
  push(text: string, type?: string): Release | undefined
  /** Called when nothing more comes. Returns a release if everything has been seen already. */
  end(): Release | undefined
  due(): Due
  /** Returns what a webhook is shown now; undefined: nothing is unseen, or a webhook is being asked. */
  take(): string | undefined
  /** What the same question shows besides what was taken. */
  readonly others: readonly string[]
  /** Returns undefined if nothing may leave yet. */
  answered(answer: WindowAnswer): Sliced<Release | undefined>
  /** Whether so much is held that cannot be cut that nothing more can be shown. */
  readonly isStuck: boolean
}
