// A text that is shown once, when it is complete: the arguments of a tool call (decision 19a).

import type { HeldText, Release } from './held-text.js'

export function createWholeText(): HeldText {
  let text = ''
  let state: 'comes' | 'ended' | 'asked' = 'comes'
  const all = (edits: Release['edits']): Release => ({ upTo: text.length, edits })
  const isUnseen = (): boolean => state === 'ended' && text !== ''
  return {
    get length() {
      return text.length
    },
    get unseen() {
      return state === 'asked' ? 0 : text.length
    },
    push: (more) => {
      text += more
    },
    end: () => {
      if (state === 'comes') state = 'ended'
      return text === '' ? all([]) : undefined
    },
    due: () => (isUnseen() ? 'at-once' : 'no'),
    take: () => {
      if (!isUnseen()) return undefined
      state = 'asked'
      return text
    },
    *answered({ content }) {
      return all(content === text ? [] : [{ start: 0, end: text.length, text: content }])
    },
    isStuck: false,
  }
}
